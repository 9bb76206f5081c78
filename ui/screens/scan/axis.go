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

// unitOf returns the size of the unit in which figures are written.
func unitOf(u record.Unit) float64 {
	switch u {
	case record.Memory:
		return float64(units.GiB)
	case record.Share:
		return 0.01
	default:
		return 1
	}
}

// tickText returns a figure in the cells next to the axis; without its unit where there is
// no room for both.
func tickText(u record.Unit, v float64) string {
	if text := figure.Round(figure.Of(u, v)); widget.Width(text) <= tickWidth-2 {
		return text
	}
	return figure.Round(brief(u, v))
}

// axis returns the values of the knob and the figures, those that do not fit marked. Where there is
// no room for all, those under the cursor, current, first and last come first, and
// none is cut.
func (v *View) axis(in *screen.Context, row []enginescan.Point, w, each int) []string {
	unit, number := written(v.grid)
	unitBeside, beside := written(v.other)
	names, numbers, others := newLabels(w), newLabels(w), newLabels(w)
	put := func(l *labels, i int, p themes.Paint, text string) bool {
		return l.put(middle(i, each), tickWidth, p, text)
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
			put(numbers, i, in.Paint(themes.Text), number(*p.Value))
		case p.Verdict == enginescan.Illegal:
			put(numbers, i, in.Paint(themes.Muted), in.Glyphs.Cross)
		}
		if other := v.beside(&row[i]); other != nil {
			role := themes.Text
			text := beside(*other)
			if row[i].Verdict == enginescan.DoesNotFit && v.other.Unit == record.Memory {
				role, text = themes.Bad, text+"!"
			}
			put(others, i, in.Paint(role), text)
		}
	}
	title := func(l *labels, text string) {
		if widget.Width(text) < tickWidth {
			l.list = append(l.list, placed{0, widget.Width(text), in.Paint(themes.Muted), text})
		}
	}
	title(names, label(v.drawn.x))
	title(numbers, short(v.drawn.figure)+unit)
	if v.other != nil {
		word, _ := besideOf(v.drawn.figure)
		title(others, word+unitBeside)
	}
	return []string{names.line(), numbers.line(), others.line()}
}

// written returns the unit that figures of a row share, as the title of the row has it, and how each is
// written below it.
func written(g *enginescan.Grid) (unit string, number func(float64) string) {
	switch {
	case g == nil:
		return "", func(float64) string { return "" }
	case g.Unit == record.Seconds:
		size, name := 1e-3, ", ms"
		if slices.ContainsFunc(values(g.Rows[0]), func(x float64) bool { return x >= 1 }) {
			size, name = 1, ", s"
		}
		return name, func(x float64) string { return figure.Three(x / size) }
	case g.Unit == record.Memory:
		return unitWords(g.Unit), func(x float64) string { return brief(g.Unit, x) }
	}
	return "", func(x float64) string { return figure.Of(g.Unit, x) }
}

// middle returns the column of a point of a chart.
func middle(i, each int) int { return tickWidth + i*each + each/2 }

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
