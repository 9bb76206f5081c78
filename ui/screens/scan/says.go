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
	clauses := v.fits(in)
	if len(clauses) > 0 {
		clauses = append(clauses, v.shortest(in)...)
	}
	for _, clause := range clauses {
		if widget.Width(text+clause) >= w {
			break // what follows is about it
		}
		text += clause
	}
	if text != "" {
		text += "."
	}
	return l.Put(in.Paint(themes.Strong), text).String()
}

// points returns the points of one curve that have a value.
func (v *View) points(id string) []enginescan.Point {
	g := v.grid
	if _, beside := besideOf(v.drawn.figure); id == beside {
		g = v.other
	}
	if g == nil || len(g.Rows) == 0 || g == v.grid && id != v.drawn.figure {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(g.Rows[0]), func(p enginescan.Point) bool { return p.Value == nil })
}

// split returns the points that fit, and those that are tight.
func split(points []enginescan.Point) (fit, tight []enginescan.Point) {
	for _, p := range points {
		switch {
		case p.Tight:
			tight = append(tight, p)
		case p.Verdict == enginescan.Fits:
			fit = append(fit, p)
		}
	}
	return fit, tight
}

// fits says at which values of the knob the setup fits, and at which it is tight.
func (v *View) fits(in *screen.Context) []string {
	peaks := v.points("memory.peak")
	fit, tight := split(peaks)
	name := label(v.drawn.x)
	switch where := valuesOf(fit, peaks, name); {
	case len(peaks) == 0:
		return nil
	case len(fit) == 0 && len(tight) == 0:
		p := slices.MinFunc(peaks, byValue)
		peak := "; the peak is least at " + valueText(&p) + ": " + banded(in, &p, record.Memory)
		return []string{"Fits at no value of " + name, peak}
	case len(fit) == 0:
		return []string{"Tight " + valuesOf(tight, peaks, name)}
	case len(tight) == 1:
		return []string{"Fits " + where + ", tight at " + valueText(&tight[0])}
	case len(tight) > 1:
		return []string{"Fits " + where + ", tight at " + strconv.Itoa(len(tight)) + " more"}
	default:
		return []string{"Fits " + where}
	}
}

// valuesOf says at which of all values of a knob some points are.
func valuesOf(some, all []enginescan.Point, name string) string {
	n := len(some)
	switch {
	case n == 0:
		return ""
	case n == len(all):
		return "at every value of " + name
	case n == 1:
		return "at " + name + " " + valueText(&some[0]) + " alone"
	}
	first := slices.IndexFunc(all, func(p enginescan.Point) bool { return p.X == some[0].X })
	switch from, last := valueText(&some[0]), &some[n-1]; {
	case all[first+n-1].X != last.X:
		return "at " + strconv.Itoa(n) + " of the values of " + name
	case first == 0:
		return "up to " + name + " " + valueText(last)
	case first+n == len(all):
		return "from " + name + " " + from
	default:
		return "from " + name + " " + from + " to " + valueText(last)
	}
}

// shortest says where the step is shortest of what fits, or else of what is tight, and how far from it the
// setup itself and the slowest are.
func (v *View) shortest(in *screen.Context) []string {
	of, tight := split(v.points("time.step"))
	if len(of) == 0 {
		of = tight
	}
	if len(of) == 0 {
		return nil
	}
	took := func(p *enginescan.Point) string { return banded(in, p, record.Seconds) }
	gpus, batch := v.grid.GPUs(), v.grid.Batch()
	if gpus.Low != gpus.High || batch.Low != batch.High && v.drawn.x != knob.Seq {
		if len(of) == 1 {
			return []string{"; the step is at " + took(&of[0])}
		}
		return []string{"; the step goes from " + took(&of[0]) + " to " + took(&of[len(of)-1])}
	}
	least, most := slices.MinFunc(of, byValue), slices.MaxFunc(of, byValue)
	close := func(p *enginescan.Point) bool {
		return p.ErrorBand != nil && *p.Value / *least.Value - 1 <= engine.CloseShare**p.ErrorBand
	}
	if len(of) > 1 && close(&most) {
		return []string{", with about the same step at each", ": " + took(&least)}
	}
	over := func(p *enginescan.Point) string {
		return figure.Three(*p.Value / *least.Value) + in.Glyphs.Times + " as long"
	}
	best, yours, far := ", with the shortest step at "+valueText(&least), "", ""
	switch i := slices.IndexFunc(of, func(p enginescan.Point) bool { return p.Current }); {
	case i >= 0 && *of[i].Value == *least.Value:
		best = ", with the shortest step at " + valueText(&of[i]) + ", yours"
	case i >= 0 && close(&of[i]):
		yours = "; yours is too close to call"
	case i >= 0:
		yours = "; yours " + over(&of[i])
	case slices.ContainsFunc(v.grid.Rows[0], func(p enginescan.Point) bool {
		return p.Current && p.Verdict == enginescan.DoesNotFit && !p.Tight
	}):
		yours = "; yours does not fit"
	}
	if !most.Current && len(of) > 1 {
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
