package explore

import (
	"math"
	"strings"

	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Figure is a figure of the setup in brief, with the effect of the last change.
type Figure struct {
	Name, Value, Change string
	Role, Changed       themes.Role
	Stands              themes.Role // of the value
}

// Width returns the cells that a figure takes.
func (f *Figure) Width() int {
	n := widget.Width(f.Name) + 1 + widget.Width(f.Value)
	if f.Change != "" {
		n += 1 + widget.Width(f.Change)
	}
	return n
}

// Brief returns fit, step time and MFU of a setup; nothing where there are no figures.
func Brief(in *screen.Context, before Vital) []Figure {
	now := VitalOf(in.Report)
	if !now.Known {
		return nil
	}
	r := in.Report
	speed, muted := "MFU", themes.Muted
	word, role := screen.Fit(r.Memory)
	if r.Memory.Fit == engine.Over {
		speed = "reach"
	}
	step := 0.0
	if before.Step > 0 {
		step = 100 * (now.Step/before.Step - 1)
	}
	out := []Figure{
		{
			Name: word, Role: role,
			Value:  bandOf(in, &r.Memory.Evidence).Of(figure.GiB(r.Memory.Peak) + " GiB"),
			Change: moved(in, now.Peak-before.Peak, ""),
		},
		{
			Name: "step", Role: muted, Value: bandOf(in, &r.Time.Evidence).Of(figure.Seconds(r.Time.Step)),
			Change: moved(in, step, " %"), Changed: better(-step),
		},
		{
			Name: speed, Role: muted,
			Value:  bandOf(in, &r.Throughput.Evidence).Of(figure.PercentValue(now.MFU/100) + " %"),
			Change: moved(in, now.MFU-before.MFU, ""), Changed: better(now.MFU - before.MFU),
		},
	}
	out[0].Changed = themes.Muted
	for i := range out {
		if !before.Known {
			out[i].Change = ""
		}
		out[i].Stands = glowing(in, out[i].Change != "")
	}
	return out
}

// better returns the role of a change whose growth is for the better.
func better(by float64) themes.Role {
	if by > 0 {
		return themes.Good
	}
	return themes.Bad
}

// moved returns a change as an arrow and its size; empty where there is none to speak of.
func moved(in *screen.Context, by float64, unit string) string {
	switch text := figure.Signed(by, 1) + unit; {
	case math.Abs(by) < 0.05:
		return ""
	case !in.Glyphs.Unicode:
		return text
	case by < 0:
		return in.Glyphs.Down + strings.TrimLeft(text, "-−")
	default:
		return in.Glyphs.Up + strings.TrimLeft(text, "+")
	}
}
