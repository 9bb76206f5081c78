package scan

import (
	"slices"

	"meshscope/engine/record"
	enginescan "meshscope/engine/scan"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// linesPerTick is how many lines of a chart there are for each value of its vertical
// axis.
const linesPerTick = 4

// ticks returns the texts next to the lines of a chart: round values, and the capacity.
func (v *View) ticks(c *widget.Curve, h int) map[int]string {
	low, high, some := c.Span()
	if !some {
		return nil
	}
	unit := 1.0
	switch v.grid.Unit {
	case record.Memory:
		unit = float64(units.GiB)
	case record.Share:
		unit = 0.01
	default:
	}
	out := map[int]string{}
	for _, n := range widget.Ticks(low/unit, high/unit, max(h/linesPerTick, 2)) {
		out[widget.RowOf(n*unit, low, high, h)] = tickText(v.grid.Unit, n*unit)
	}
	if len(out) == 0 {
		out[0], out[h-1] = tickText(v.grid.Unit, high), tickText(v.grid.Unit, low)
	}
	if c.Limit >= low && c.Limit <= high && c.Limit > 0 {
		out[widget.RowOf(c.Limit, low, high, h)] = tickText(v.grid.Unit, c.Limit)
	}
	return out
}

// tickText returns a figure in the cells next to the axis; without its unit where there is
// no room for both.
func tickText(u record.Unit, v float64) string {
	if text := figure.Of(u, v); widget.Width(text) <= tickWidth-2 {
		return text
	}
	return brief(u, v)
}

// axis returns the values of the knob, the figures, and what does not fit. Where there is
// no room for all, those under the cursor, current, first and last come first, and
// none is cut.
func (v *View) axis(in *screen.Context, row []enginescan.Point, w int, each float64) []string {
	names, numbers, others := newLabels(w), newLabels(w), newLabels(w)
	put := func(l *labels, i int, p themes.Paint, text string) bool {
		return l.put(tickWidth+int((float64(i)+0.5)*each), tickWidth, p, text)
	}
	var named, unnamed []int
	for _, i := range v.order(row) {
		text, role := row[i].X, themes.Muted
		if row[i].Current {
			role, text = themes.Current, "["+text+"]"
		}
		if v.inChart && i == v.column {
			role = themes.Focus
		}
		if put(names, i, in.Paint(role), text) {
			named = append(named, i)
		} else {
			unnamed = append(unnamed, i)
		}
	}
	for _, i := range append(named, unnamed...) { // a figure under each name, then others
		switch p := &row[i]; {
		case p.Value != nil:
			put(numbers, i, in.Paint(themes.Text), figure.Of(v.grid.Unit, *p.Value))
		case p.Verdict == enginescan.Illegal:
			put(numbers, i, in.Paint(themes.Muted), in.Glyphs.Cross)
		}
		if other := v.beside(i); other != nil {
			role := themes.Text
			if row[i].Verdict == enginescan.DoesNotFit && v.other.Unit == record.Memory {
				role = themes.Bad
			}
			put(others, i, in.Paint(role), brief(v.other.Unit, *other))
		}
	}
	lines := []string{names.line(), numbers.line(), noFitLine(in, row, w, each)}
	if len(others.list) == 0 {
		return lines
	}
	word, _ := besideOf(v.drawn.figure)
	word += unitWords(v.other.Unit)
	others.list = append(others.list, placed{0, len(word), in.Paint(themes.Muted), word})
	return []string{lines[0], lines[1], others.line(), lines[2]}
}

// noFitLine marks the points that do not fit, each run of them with words where there
// is room.
func noFitLine(in *screen.Context, row []enginescan.Point, w int, each float64) string {
	const words, brief = "! does not fit", "no fit"
	marks := widget.NewLine(w)
	column := func(i int) int { return tickWidth + int((float64(i)+0.5)*each) }
	if len(brief)+1 < int(each) { // under each
		for i := range row {
			if row[i].Verdict == enginescan.DoesNotFit {
				marks.To(column(i)-len(brief)/2).Put(in.Paint(themes.Bad), brief)
			}
		}
		return marks.String()
	}
	for i := range row {
		if row[i].Verdict != enginescan.DoesNotFit || marks.Used() > 0 && column(i) <= marks.Used() {
			continue
		}
		last := i
		for last+1 < len(row) && row[last+1].Verdict == enginescan.DoesNotFit {
			last++
		}
		text := "!"
		first := i == 0 || row[i-1].Verdict != enginescan.DoesNotFit
		if end := column(last) + int(each); first && column(i)+len(words) <= min(end, w) {
			text = words
		}
		marks.To(column(i)).Put(in.Paint(themes.Bad), text)
	}
	return marks.String()
}

// order returns the points by how much their names matter.
func (v *View) order(row []enginescan.Point) []int {
	var out []int
	take := func(i int) {
		if i >= 0 && i < len(row) && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	if v.inChart {
		take(v.column)
	}
	take(slices.IndexFunc(row, func(p enginescan.Point) bool { return p.Current }))
	take(0)
	take(len(row) - 1)
	for i := range row {
		take(i)
	}
	return out
}

// labels are texts on one line, centred on their places, put in any order.
type labels struct {
	w    int
	list []placed
}

type placed struct {
	from, to int
	paint    themes.Paint
	text     string
}

func newLabels(w int) *labels { return &labels{w: w} }

// put adds a text around a column, within the line and no farther left than least;
// false where it would touch another one.
func (l *labels) put(column, least int, p themes.Paint, text string) bool {
	n := widget.Width(text)
	from := min(max(column-n/2, least), l.w-n)
	if from < least || text == "" {
		return false
	}
	for _, other := range l.list {
		if from < other.to+1 && other.from < from+n+1 {
			return false
		}
	}
	l.list = append(l.list, placed{from, from + n, p, text})
	return true
}

func (l *labels) line() string {
	slices.SortFunc(l.list, func(a, b placed) int { return a.from - b.from })
	out := widget.NewLine(l.w)
	for _, p := range l.list {
		out.To(p.from).Put(p.paint, p.text)
	}
	return out.String()
}

// span says which columns of a map are shown, where not all are.
func span(first, n, all int) string {
	if n >= all {
		return ""
	}
	return ", columns " + figure.Comma(first+1) + " to " + figure.Comma(first+n) + " of " + figure.Comma(all)
}
