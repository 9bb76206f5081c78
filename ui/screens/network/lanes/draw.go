package lanes

import (
	"math"
	"strings"

	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"

	lane "meshscope/engine/lanes"
)

// Render draws the pane: exactly in.H lines of in.W cells.
func (v *View) Render(in *screen.Context) []string {
	if lines, empty := in.Empty(); empty {
		return lines
	}
	w, h := in.W, in.H
	s := v.drawn.step
	if !known(in) || s == nil {
		text := "no figures for this setup"
		if known(in) {
			text = "working"
		}
		l := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), text)
		return widget.Height([]string{in.Heading(w, title, "", ""), l.String()}, w, h)
	}
	p := v.plan(in)
	lines := widget.Height(nil, w, h)
	put := func(y int, text string) {
		if y >= 0 && y < h {
			lines[y] = text
		}
	}
	put(0, v.heading(in))
	for row, y := range p.lines {
		if l := v.laneAt(row); l != nil {
			put(y, v.lane(in, row, l))
			for more := range p.tall {
				put(y+1+more, widget.NewLine(w).To(labelWidth).Raw(v.bar(in, l, true), v.drawn.plot).String())
			}
			continue
		}
		list := v.listAt(row)
		put(y, v.choices(in, row, list))
		if list == 0 && p.costs || list > 0 && p.allCosts && y >= 0 {
			put(y+1, v.prices(in, list))
		}
	}
	y := p.lines[v.lanesTo()-1] + 1 + p.tall
	for _, more := range []struct {
		shown bool
		line  func(*screen.Context) string
	}{{p.bracket, v.bracket}, {p.ticks, v.ticks}, {p.legend, v.legend}} {
		if more.shown {
			put(y, more.line(in))
			y++
		}
	}
	for i, text := range v.explained(in, h-p.below) {
		put(p.below+i, text)
	}
	return lines
}

const title = "LANES OF A STEP"

// heading says of what the picture is.
func (v *View) heading(in *screen.Context) string {
	s := v.drawn.step
	detail := figure.Seconds(s.Length) + " on one GPU"
	if len(s.Stages) > 1 {
		detail = figure.Seconds(s.Length) + " on a GPU of pipeline rank " + figure.Comma(s.Rank)
	}
	role := themes.Muted
	if c := v.choice(); c != nil {
		detail, role = figure.Seconds(s.Length)+", "+listName(v.list)+" "+v.choiceName(v.list,
			c)+", not your setup", themes.Warn
	}
	l := widget.NewLine(in.W).Put(in.Paint(themes.Heading), title).Gap(1).Put(in.Paint(role), detail).Gap(1)
	if in.W < leastWidth {
		return l.String()
	}
	if rule := in.W - rightWidth - l.Used(); rule > 1 {
		l.Put(in.Paint(themes.Faint), widget.Fill(in.Glyphs.Rule, rule))
	}
	l.RightAligned(in.Paint(themes.Muted), "exposed", in.W-rightWidth+9).RightAligned(in.Paint(themes.Muted),
		"traffic", in.W)
	return l.String()
}

// label begins a row.
func (v *View) label(in *screen.Context, row int, name string) *widget.Line {
	l := widget.NewLine(in.W)
	paint := themes.Strong
	if row == v.row {
		l.Put(in.Paint(themes.Accent), in.Glyphs.Pointer)
		paint = themes.Accent
	}
	return l.To(2).Put(in.Paint(paint), name).To(labelWidth)
}

// lane draws one lane and its exposed part.
func (v *View) lane(in *screen.Context, row int, l *lane.Lane) string {
	name := "compute"
	if l.Dimension != "" {
		name = strings.ToUpper(l.Dimension)
	}
	line := v.label(in, row, name).Raw(v.bar(in, l, false), v.drawn.plot)
	if in.W < leastWidth {
		return line.String()
	}
	if l.Dimension == "" {
		line.RightAligned(in.Paint(themes.Muted),
			"computes "+figure.Seconds(v.drawn.step.Time.Compute+v.drawn.step.Time.Recompute), in.W)
		return line.String()
	}
	c := &v.drawn.step.Traffic[row-v.lanesFrom()-1]
	role := themes.Muted
	if c.Exposed > 0 && l.Dimension != "pp" {
		role = themes.Bad
	}
	line.RightAligned(in.Paint(role), figure.Seconds(c.Exposed), in.W-rightWidth+9)
	line.RightAligned(in.Paint(themes.Text), figure.Seconds(c.Seconds), in.W)
	return line.String()
}

// fill returns what a segment is drawn with, and its label.
func fill(g *lane.Segment) (themes.Fill, string) {
	odd := g.Micro%2 == 1
	switch g.Kind {
	case lane.Forward:
		if odd {
			return themes.ForwardAlt, "forward"
		}
		return themes.Forward, "forward"
	case lane.Backward, lane.Pair:
		if odd {
			return themes.BackwardAlt, "backward"
		}
		return themes.Backward, "backward"
	case lane.InputGradient:
		return themes.InputGrad, "input gradient"
	case lane.WeightGradient:
		return themes.WeightGrad, "weight gradient"
	case lane.Recompute:
		return themes.Recompute, "recompute"
	case lane.Update:
		return themes.Update, "update"
	case lane.Bubble:
		return themes.Idle, "bubble"
	case lane.Hidden:
		return themes.Gauge, "hidden"
	case lane.Exposed:
		return themes.Exposed, "exposed"
	case lane.Folded:
	}
	return themes.Empty, ""
}

// bar draws the segments of a lane; what is folded as a few dots.
func (v *View) bar(in *screen.Context, l *lane.Lane, plain bool) string {
	a := newAxis(v.drawn.step, v.drawn.plot)
	end := float64(a.w)
	if v.head > 0 {
		end *= v.head
	}
	from, to := int(math.Round(a.place(a.from))), int(math.Round(a.place(a.to)))
	if a.to <= a.from {
		from, to = a.w, a.w
	}
	cells := v.cells(l, &a, end)
	thin := 0.25
	if !in.Theme.Colours {
		thin = 0.5
	}
	part := func(from, to int) string {
		stack := widget.Stack{Scale: float64(to - from), NoTrack: true, Plain: plain}
		for x := from; x < to; {
			n := x + 1
			f, name := themes.Empty, ""
			if cells[x].of != nil {
				f, name = fill(cells[x].of)
			}
			if cells[x].thin {
				stack.Segments = append(stack.Segments, widget.Segment{Fill: f, Value: thin},
					widget.Segment{Fill: themes.Empty, Value: 1 - thin})
				x = n
				continue
			}
			for n < to && cells[x].like(cells[n]) {
				n++
			}
			stack.Segments = append(stack.Segments,
				widget.Segment{Fill: f, Value: float64(n - x), Label: name})
			x = n
		}
		return stack.Render(in.Theme, in.Glyphs, to-from)
	}
	out := part(0, from)
	if to > from {
		text := ""
		if float64(from) <= end && !plain {
			text = v.foldText(in, l, to-from)
		}
		out += widget.NewLine(to-from).Put(in.Paint(themes.Muted), text).String()
	}
	return out + part(to, a.w)
}

// cell is what stands in a column: of a thin one less than half of it.
type cell struct {
	of   *lane.Segment // nil: nothing
	thin bool
}

// like reports whether two cells look the same.
func (c cell) like(d cell) bool {
	if c.of == nil || d.of == nil || c.thin || d.thin {
		return c == d
	}
	f, _ := fill(c.of)
	g, _ := fill(d.of)
	return f == g
}

// cells returns what stands in each column of a lane up to an end. Traffic that would not be seen
// is drawn thin.
func (v *View) cells(l *lane.Lane, a *axis, end float64) []cell {
	const least = 0.01 // of a column
	cells := make([]cell, a.w)
	for i := range l.Segments {
		g := &l.Segments[i]
		begin, stop := a.place(g.Start), min(a.place(g.End()), end)
		if g.Kind == lane.Folded || stop-begin <= 0 {
			continue
		}
		from, to := int(math.Round(begin)), min(int(math.Round(stop)), a.w)
		if at := min(int(begin), a.w-1); from >= to && stop-begin >= least && l.Dimension != "" &&
			(cells[at].of == nil || cells[at].thin && g.Kind == lane.Exposed) {
			cells[at] = cell{g, true}
		}
		for x := from; x < to; x++ {
			cells[x] = cell{of: g}
		}
	}
	return cells
}

// foldText stands where the middle of the step is folded away.
func (v *View) foldText(in *screen.Context, l *lane.Lane, w int) string {
	dots := in.Glyphs.Cut
	if l.Dimension != "" {
		return strings.Repeat(" ", (w-1)/2) + dots
	}
	text := dots + " " + figure.Comma(v.drawn.step.Folded) + " more ops " + dots
	if widget.Width(text) > w {
		return strings.Repeat(" ", (w-1)/2) + dots
	}
	return strings.Repeat(" ", (w-widget.Width(text))/2) + text
}

// focused returns the segment under the cursor; nil: a list is focused.
func (v *View) focused() *lane.Segment {
	if l := v.laneAt(v.row); l != nil {
		if i := v.segment(l); i >= 0 {
			return &l.Segments[i]
		}
	}
	return nil
}

// bracket marks the segment under the cursor below the lanes.
func (v *View) bracket(in *screen.Context) string {
	l := widget.NewLine(in.W)
	g := v.focused()
	if g == nil {
		return l.String()
	}
	a := newAxis(v.drawn.step, v.drawn.plot)
	from, to := int(math.Round(a.place(g.Start))), int(math.Round(a.place(g.End())))-1
	if to < from { // thin
		from = min(int(a.place(g.Start)), a.w-1)
		to = from
	}
	mark := in.Glyphs.Up
	if n := to - from - 1; n >= 0 {
		ends := [2]string{"└", "┘"}
		if !in.Glyphs.Unicode {
			ends = [2]string{"+", "+"}
		}
		mark = ends[0] + widget.Fill(in.Glyphs.Rule, n) + ends[1]
	}
	text := figure.Seconds(g.Length)
	if before := labelWidth + from - 1 - widget.Width(text); labelWidth+to+2+widget.Width(text) > labelWidth+
		a.w && before >= 0 {
		l.To(before).Put(in.Paint(themes.Strong), text)
	}
	l.To(labelWidth+from).Put(in.Paint(themes.Accent), mark)
	if l.Used() > labelWidth+from && l.Left() > widget.Width(text) &&
		labelWidth+to+2+widget.Width(text) <= labelWidth+a.w {
		l.Gap(1).Put(in.Paint(themes.Strong), text)
	}
	return l.String()
}

// ticks writes the times at which something else begins.
func (v *View) ticks(in *screen.Context) string {
	a := newAxis(v.drawn.step, v.drawn.plot)
	cells := make([]rune, a.w)
	for i := range cells {
		cells[i] = ' '
	}
	write := func(x int, text string) {
		runes := []rune(text)
		if x < 0 || x+len(runes) > a.w {
			return
		}
		for i := max(0, x-1); i < min(a.w, x+len(runes)+1); i++ {
			if cells[i] != ' ' {
				return
			}
		}
		copy(cells[x:], runes)
	}
	end := figure.Seconds(v.drawn.step.Length)
	write(0, "0")
	write(a.w-widget.Width(end), end)
	for _, kinds := range [][]lane.Kind{
		{lane.Update},
		{lane.Folded},
		{lane.Backward, lane.Forward, lane.Pair, lane.Bubble, lane.InputGradient, lane.WeightGradient},
	} {
		for _, g := range v.drawn.step.Lanes[0].Segments {
			for _, k := range kinds {
				if g.Kind == k && g.Start > 0 && g.First == firstOf(&g) {
					write(int(math.Round(a.place(g.Start))), in.Glyphs.Limit+figure.Seconds(g.Start))
				}
			}
		}
	}
	return widget.NewLine(in.W).To(labelWidth).Put(in.Paint(themes.Muted), string(cells)).String()
}

// firstOf returns the layer that a segment has that begins its operation.
func firstOf(g *lane.Segment) int {
	if g.Kind == lane.Forward || g.Layers == 0 {
		return 0
	}
	return g.First // a backward begins anywhere: its pieces stand close
}

// legend names the fills of the picture.
func (v *View) legend(in *screen.Context) string {
	l := widget.NewLine(in.W).To(2)
	seen := map[themes.Fill]bool{themes.ForwardAlt: true, themes.BackwardAlt: true}
	for i := range v.drawn.step.Lanes {
		for j := range v.drawn.step.Lanes[i].Segments {
			f, name := fill(&v.drawn.step.Lanes[i].Segments[j])
			if seen[f] || name == "" || l.Left() < widget.Width(name)+4 {
				continue
			}
			seen[f] = true
			widget.Swatch(l, in.Theme, in.Glyphs, f)
			l.Put(in.Paint(themes.Muted), " "+name+"  ")
		}
	}
	return l.String()
}
