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

// Vital are the three figures of the gauges, kept to show the effect of a change.
type Vital struct {
	Known   bool
	Peak    float64 // GiB
	MFU     float64 // percent
	Exposed float64 // percent of the step
	Step    float64 // seconds
}

// VitalOf takes the three figures out of a report.
func VitalOf(r *engine.Report) Vital {
	if r == nil || r.Memory == nil || r.Throughput == nil || r.Time == nil || r.Time.Step <= 0 {
		return Vital{}
	}
	return Vital{
		Known: true, Peak: r.Memory.Peak.GiB(), MFU: 100 * r.Throughput.MFU,
		Exposed: 100 * float64(r.Time.Exposed/r.Time.Step), Step: float64(r.Time.Step),
	}
}

// gauge is one of the three, ready to draw.
type gauge struct {
	name, brief string
	value       string
	brief2      string // value where room is short
	role        themes.Role
	change      float64
	better      int // sign of a change for the better; 0: neither
	bar         widget.Gauge
	masked      bool
}

// mask takes the figure out of a gauge.
func (g *gauge) mask(name string) {
	g.name, g.brief, g.role, g.masked = name, name, themes.Muted, true
	g.value, g.brief2, g.change = "???", "???", 0
}

// Gauges draws the three gauges in two lines: figures above, bars below. In one line the first
// gauge says whether the setup fits, which else the headline above it does.
func Gauges(in *screen.Context, before Vital, w, h int) []string {
	now := VitalOf(in.Report)
	if !now.Known {
		return widget.Height(nil, w, 2)
	}
	gauges := gauges(in, now, before)
	if h > 1 {
		gauges[0].name, gauges[0].brief = "peak", "peak"
	}
	figures, bars := widget.NewLine(w), widget.NewLine(w)
	gap := 2
	if w >= 100 {
		gap = 4
	}
	for i, g := range gauges {
		x := i * (w + gap) / 3
		each := (i+1)*(w+gap)/3 - gap - x
		figures.To(x)
		bars.To(x)
		gaugeText(in, figures, &g, x+each)
		bar := g.bar.Render(in.Theme, in.Glyphs, each)
		if g.masked {
			bar = screen.Unknown(in, each)
		}
		bars.Raw(bar, each)
	}
	return []string{figures.String(), bars.String()}
}

func gauges(in *screen.Context, now, before Vital) [3]gauge {
	m := in.Report.Memory
	usable := m.Usable.GiB()
	fit := gauge{
		better: 0, change: now.Peak - before.Peak,
		value:  bandOf(in, &m.Evidence).Of(figure.GiB(m.Peak)+" GiB") + " of " + figure.GiB(m.Usable),
		brief2: bandOf(in, &m.Evidence).Of(figure.GiB(m.Peak) + "/" + figure.GiB(m.Usable) + " GiB"),
		bar: widget.Gauge{
			Value: now.Peak, Full: max(now.Peak, usable/0.92), Limit: usable,
			Fill: themes.Gauge, Over: themes.GaugeBad,
		},
	}
	fit.name, fit.role = screen.Fit(m)
	fit.brief = fit.name
	mfu := bandOf(in, &in.Report.Throughput.Evidence).Of(figure.PercentValue(now.MFU/100) + " %")
	speed := gauge{
		name: "MFU", brief: "MFU", role: themes.Muted, better: 1, change: now.MFU - before.MFU,
		value: mfu, brief2: mfu,
		bar: widget.Gauge{Value: now.MFU, Full: 100, Fill: themes.Compute},
	}
	if m.Fit == engine.Over {
		speed.name, speed.brief = "would reach", "reach"
		speed.value, speed.brief2 = mfu+" MFU", mfu
	}
	exposed := gauge{
		name: "exposed communication", brief: "exposed", role: themes.Muted, better: -1,
		change: now.Exposed - before.Exposed,
		value:  figure.PercentValue(now.Exposed/100) + " % of the step",
		brief2: figure.PercentValue(now.Exposed/100) + " % of step",
		bar:    widget.Gauge{Value: now.Exposed, Full: 100, Fill: themes.Exposed},
	}
	if !before.Known {
		fit.change, speed.change, exposed.change = 0, 0, 0
	}
	if in.Hides("memory.peak", "memory.free", "memory.fits", "memory.fullest.", "memory.ranks.") {
		fit.mask("peak")
		fit.value = "??? of " + figure.GiB(m.Usable) + " GiB"
		speed.name, speed.brief, speed.value, speed.brief2 = "MFU", "MFU", mfu, mfu
	}
	if in.Hides(screen.Speed()...) {
		speed.mask("MFU")
	}
	if in.Hides(append(screen.Speed(), "time.exposed", "communication.")...) { // a share of the step
		exposed.mask("exposed")
	}
	return [3]gauge{fit, speed, exposed}
}

// StaleWords say that the figures shown are not of the current setup, and of which; after that in brief.
func StaleWords(in *screen.Context, working bool) []string {
	illegal := in.Glyphs.Cross + " ILLEGAL"
	switch {
	case working:
		return []string{
			"evaluating this setup" + in.Glyphs.Ellipsis + " figures: previous setup",
			"evaluating" + in.Glyphs.Ellipsis,
		}
	case !VitalOf(in.Report).Known:
		return []string{illegal + " " + in.Glyphs.Dot + " no figures: no legal setup yet", illegal}
	}
	return []string{illegal + " " + in.Glyphs.Dot + " figures: last legal setup", illegal}
}

// Stale stands in the place of the gauges while the setup is illegal: whose
// figures the panels show, and these in brief. plain is the theme of the current setup; there may have been
// no legal setup yet.
func Stale(in *screen.Context, plain *themes.Theme, working bool, w int) []string {
	l := widget.NewLine(w)
	now := VitalOf(in.Report)
	text, role := StaleWords(in, working)[0], themes.Bad
	if working {
		role = themes.Accent
	}
	l.Put(plain.Paint(role), text)
	if !now.Known {
		return widget.Height([]string{l.String()}, w, 2)
	}
	for _, g := range gauges(in, now, Vital{}) {
		if l.Left() < widget.Width(g.brief)+widget.Width(g.brief2)+4 {
			break
		}
		l.Gap(3).Put(in.Paint(themes.Muted), g.brief+" "+g.brief2)
	}
	return []string{l.String(), Gauges(in, Vital{}, w, 2)[1]}
}

// gaugeText writes name, value and change into the cells up to end.
func gaugeText(in *screen.Context, l *widget.Line, g *gauge, end int) {
	room := end - l.Used()
	name, value := g.name, g.value
	change, role := change(in, g)
	need := func() int {
		n := widget.Width(name) + 1 + widget.Width(value)
		if change != "" {
			n += 1 + widget.Width(change)
		}
		return n
	}
	if need() > room {
		name = g.brief
	}
	if need() > room {
		value = g.brief2
	}
	if need() > room {
		value = strings.TrimSuffix(value, " of step")
	}
	if widget.Width(name)+1+widget.Width(value) > room+1 { // a blank stays; the band is on the panels
		value, _, _ = strings.Cut(value, " "+in.Glyphs.PlusMinus)
	}
	l.Put(in.Theme.Word(g.role, name), name).Gap(1).Put(in.Paint(glowing(in, change != "")), value)
	if change != "" && end-l.Used() > widget.Width(change) {
		l.RightAligned(in.Paint(role), change, end)
	}
}

// glowing returns the role of a figure, which stands out until the next change where it has changed.
func glowing(in *screen.Context, changed bool) themes.Role {
	if in.Glow && changed {
		return themes.Focus
	}
	return themes.Strong
}

// change returns the effect of the last change on a gauge; empty when there is none.
func change(in *screen.Context, g *gauge) (text string, role themes.Role) {
	if math.Abs(g.change) < 0.05 {
		return "", themes.Muted
	}
	arrow, sign := in.Glyphs.Up, 1
	if g.change < 0 {
		arrow, sign = in.Glyphs.Down, -1
	}
	role = themes.Muted
	if g.better != 0 {
		role = themes.Bad
		if sign == g.better {
			role = themes.Good
		}
	}
	return arrow + " " + figure.Signed(g.change, 1), role
}

// Title returns the first line: program, model, machine, batch.
func Title(in *screen.Context, w int) string {
	s := in.Setup
	l := widget.NewLine(w)
	l.Put(in.Paint(themes.Title), "meshscope").Gap(2)
	nodes := figure.Plural(s.Nodes(), "node")
	machine := figure.Comma(s.GPUs) + " " + in.Glyphs.Times + " " + s.Cluster.GPU.Name
	tokens := figure.Short(s.Tokens()) + " tokens" // in a step; at every width
	sequences, model := figure.Comma(s.GBS), s.Model.Name
	product := sequences + " " + in.Glyphs.Times + " " + figure.Comma(s.Seq)
	whose := s.Cluster.Called(strings.TrimSuffix(s.Cluster.Name, " nodes")) // not 8 nodes of H200 nodes
	parts := [][]string{
		{
			model, machine, nodes + " of " + whose,
			"sequence " + figure.Comma(s.Seq),
			figure.Plural(s.GBS, "sequence") + " = " + tokens + " per step",
		},
		{model, machine, nodes + " of " + whose, product + " = " + tokens},
		{model, machine, nodes + " of " + s.Cluster.Called(s.Cluster.ID), product + " = " + tokens},
		{model, machine, s.Cluster.Called(s.Cluster.ID), product + " = " + tokens},
		{model, machine, s.Cluster.Called(s.Cluster.ID), tokens},
		{model, machine, tokens},
		{model, tokens},
		{model},
	}
	if run := runWords(in.Report); run != "" { // once tokens are set it stands at every width
		for i := range parts {
			parts[i] = append(parts[i], run)
		}
		parts = append(parts, []string{model})
	}
	const apart = 3
	for i, choice := range parts {
		need := -apart
		for _, p := range choice {
			need += widget.Width(p) + apart
		}
		if need > l.Left() && i < len(parts)-1 {
			continue
		}
		for j, p := range choice {
			role := themes.Text
			if j == 0 {
				role = themes.Strong
			} else {
				l.Gap(1).Put(in.Paint(themes.Faint), in.Glyphs.Dot).Gap(1)
			}
			l.Put(in.Paint(role), p)
		}
		break
	}
	return l.String()
}

// runWords returns how long the whole run takes and what it costs; empty where no tokens are
// given.
func runWords(r *engine.Report) string {
	if r == nil || r.Run == nil {
		return ""
	}
	words := figure.Days(r.Run.Days)
	if r.Run.Cost != nil {
		words += ", " + figure.Dollars(*r.Run.Cost)
	}
	return words
}
