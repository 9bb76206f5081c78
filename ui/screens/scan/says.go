package scan

import (
	"cmp"
	"slices"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/record"
	enginescan "meshscope/engine/scan"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// says draws the sentence above the curves, as many of its clauses as have room: at which values the setup
// fits and at which of those the step is shortest; blank while a question is open or the scan is an old one.
func (v *View) says(in *screen.Context, w int) string {
	l, text := widget.NewLine(w), ""
	if v.grid == nil || v.drawn.by != "" || v.working() || in.Asks || len(in.Masked) > 0 {
		return l.String()
	}
	for _, clause := range append(v.fits(in), v.shortest(in)...) {
		if widget.Width(text+clause) < w {
			text += clause
		}
	}
	if text != "" {
		text += "."
	}
	return l.Put(in.Paint(themes.Strong), text).String()
}

// points returns the points of one curve that have a value, or what does not fit left out.
func (v *View) points(id string, fit bool) []enginescan.Point {
	g := v.grid
	if _, beside := besideOf(v.drawn.figure); id == beside {
		g = v.other
	}
	if g == nil || len(g.Rows) == 0 || g == v.grid && id != v.drawn.figure {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(g.Rows[0]), func(p enginescan.Point) bool {
		return p.Value == nil || fit && p.Verdict != enginescan.Fits
	})
}

// fits says at which values of the knob the setup fits.
func (v *View) fits(in *screen.Context) []string {
	peaks, fit := v.points("memory.peak", false), v.points("memory.peak", true)
	name, n := label(v.drawn.x), len(fit)
	switch {
	case len(peaks) == 0:
		return nil
	case n == 0:
		p := slices.MinFunc(peaks, byValue)
		peak := "; the peak is least at " + valueText(&p) + ": " + banded(in, &p, record.Memory)
		return []string{"Fits at no value of " + name, peak}
	case n == len(peaks):
		return []string{"Fits at every value of " + name}
	case n == 1:
		return []string{"Fits at " + name + " " + valueText(&fit[0]) + " alone"}
	}
	first := slices.IndexFunc(peaks, func(p enginescan.Point) bool { return p.X == fit[0].X })
	switch from, last := valueText(&fit[0]), &fit[n-1]; {
	case peaks[first+n-1].X != last.X:
		return []string{"Fits at " + strconv.Itoa(n) + " of the values of " + name}
	case first == 0:
		return []string{"Fits up to " + name + " " + valueText(last)}
	case first+n == len(peaks):
		return []string{"Fits from " + name + " " + from}
	default:
		return []string{"Fits from " + name + " " + from + " to " + valueText(last)}
	}
}

// worthSaying is by how much a step is longer that a sentence has room for.
const worthSaying = 1.01

// shortest says where the step is shortest of what fits, and how far from it the setup itself and the
// slowest are.
func (v *View) shortest(in *screen.Context) []string {
	fit := v.points("time.step", true)
	if len(fit) == 0 {
		return nil
	}
	took := func(p *enginescan.Point) string { return banded(in, p, record.Seconds) }
	gpus, batch := v.grid.GPUs(), v.grid.Batch()
	if gpus.Low != gpus.High || batch.Low != batch.High && v.drawn.x != knob.Seq {
		return []string{"; the step goes from " + took(&fit[0]) + " to " + took(&fit[len(fit)-1])}
	}
	least, most := slices.MinFunc(fit, byValue), slices.MaxFunc(fit, byValue)
	over := func(p *enginescan.Point) string {
		return figure.Three(*p.Value / *least.Value) + in.Glyphs.Times + " as long"
	}
	best, yours, far := ", with the shortest step at "+valueText(&least), "; yours does not fit", ""
	if least.Current {
		best, yours = best+", yours", ""
	} else if i := slices.IndexFunc(fit, func(p enginescan.Point) bool { return p.Current }); i >= 0 {
		yours = "; yours is too close to call"
		b := fit[i].ErrorBand
		if b == nil || *fit[i].Value / *least.Value - 1 > engine.CloseShare**b {
			yours = "; yours " + over(&fit[i])
		}
	}
	if *most.Value / *least.Value >= worthSaying {
		far = "; " + over(&most) + " at " + valueText(&most)
	}
	return []string{best, ": " + took(&least), yours, far}
}

// banded writes the figure of a point with its error band.
func banded(in *screen.Context, p *enginescan.Point, u record.Unit) string {
	text := figure.Of(u, *p.Value)
	if p.ErrorBand != nil {
		text += " " + (&engine.Evidence{ErrorBand: *p.ErrorBand}).Band(in.Glyphs.PlusMinus)
	}
	return text
}

func byValue(a, b enginescan.Point) int { return cmp.Compare(*a.Value, *b.Value) }

// valueText returns a value of the knob, a large number with its commas.
func valueText(p *enginescan.Point) string {
	if n, err := strconv.Atoi(p.X); err == nil {
		return figure.Comma(n)
	}
	return p.X
}
