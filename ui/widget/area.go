package widget

import (
	"math"
	"strings"

	"meshscope/themes"
)

// Area is a stacked area chart, column by column, with a limit line across it
// and a column that is pointed at.
type Area struct {
	Fills   []themes.Fill // from the bottom up
	Columns [][]float64   // values of the fills; nil: nothing is known there
	Scale   float64       // value of the full height
	Limit   float64       // 0: none
	Cursor  int           // column; -1: none
}

// LimitScale returns the scale of a chart h lines high that shows values up to most, with its limit in the
// middle of a line, where it is drawn: what stays below the limit is drawn below it.
func LimitScale(most, limit float64, h int) float64 {
	const middle = 0.5
	if line := math.Floor(limit/most*float64(h) - middle); line >= 0 && line < float64(h) {
		return limit * float64(h) / (line + middle)
	}
	return most
}

// Render draws the chart w cells wide and h lines high.
func (a *Area) Render(t *themes.Theme, g Glyphs, w, h int) []string {
	if w <= 0 || h <= 0 {
		return nil
	}
	p := areaPainter{a: a, t: t, g: g, h: h, limit: -1, fine: g.Unicode && t.Colours}
	if a.Limit > 0 && a.Limit <= a.Scale {
		p.limit = min(int(a.Limit/a.Scale*float64(h)), h-1)
	}
	p.edges = make([][]int, min(w, len(a.Columns)))
	for x := range p.edges {
		p.edges[x] = a.edges(a.Columns[x], 8*h)
	}
	lines := make([]string, h)
	for row := range h {
		lines[row] = p.row(h-1-row, w)
	}
	return lines
}

// edges returns the upper ends of the fills in eighths of a line.
func (a *Area) edges(values []float64, full int) []int {
	if values == nil {
		return nil
	}
	out := make([]int, len(a.Fills))
	sum, last := 0.0, 0
	for i := range out {
		if i < len(values) && values[i] > 0 && a.Scale > 0 && !math.IsInf(values[i], 0) {
			sum += values[i]
		}
		if share := sum / a.Scale; share > 0 {
			last = max(last, int(math.Round(min(share, 1)*float64(full))))
		}
		out[i] = last
	}
	return out
}

type areaPainter struct {
	a     *Area
	t     *themes.Theme
	g     Glyphs
	h     int
	limit int // line from the bottom
	fine  bool
	edges [][]int
}

// row draws the line y, counted from the bottom.
func (p *areaPainter) row(y, w int) string {
	var b strings.Builder
	b.Grow(4 * w)
	open := ""
	for x := range w {
		paint, sign := p.cell(x, y)
		if paint.Open() != open {
			if open != "" {
				b.WriteString("\x1b[m")
			}
			open = paint.Open()
			b.WriteString(open)
		}
		b.WriteString(sign)
	}
	if open != "" {
		b.WriteString("\x1b[m")
	}
	return b.String()
}

func (p *areaPainter) cell(x, y int) (themes.Paint, string) {
	var edges []int
	if x < len(p.edges) {
		edges = p.edges[x]
	}
	lower, upper, eighths := p.cover(edges, y)
	if y == p.limit && p.over(x) && eighths < 8 {
		// Where the line is crossed it is seen in any case.
		if lower = upper; upper == themes.Empty {
			lower = p.top(edges)
		}
		eighths = 8
	}
	if x == p.a.Cursor && eighths < 8 { // a line without gaps, to the nearest half cell
		if eighths < 4 {
			lower = upper
		}
		eighths = 8
	}
	whole := eighths == 8
	switch {
	case x == p.a.Cursor && whole && lower == themes.Empty:
		return p.t.Paint(themes.Current), p.g.Limit
	case x == p.a.Cursor && whole:
		return p.t.Area(lower), p.g.Limit
	case whole && y == p.limit && lower == themes.Empty:
		return p.t.Paint(themes.Limit), p.g.Dash
	case whole && y == p.limit:
		return p.t.Area(lower), p.g.Dash
	case whole && lower == themes.Empty:
		return themes.Paint{}, " "
	case whole:
		return p.t.Area(lower), p.sign(lower, edges, x, y)
	case upper == themes.Empty:
		return p.t.Line(lower), rising(eighths)
	default:
		return p.t.Edge(lower, upper), rising(eighths)
	}
}

// over reports whether a column is above the limit.
func (p *areaPainter) over(x int) bool {
	sum := 0.0
	if x < len(p.a.Columns) {
		for _, v := range p.a.Columns[x] {
			sum += max(v, 0)
		}
	}
	return sum > p.a.Limit
}

// top returns the uppermost fill of a column.
func (p *areaPainter) top(edges []int) themes.Fill {
	last, fill := 0, themes.Empty
	for i, e := range edges {
		if e > last {
			last, fill = e, p.a.Fills[i]
		}
	}
	return fill
}

// cover finds the two fills that have most of the cell: the lower one and how
// many eighths of it, and the one above. Where eighths cannot be shown the cell
// is of the fill at its middle.
func (p *areaPainter) cover(edges []int, y int) (lower, upper themes.Fill, eighths int) {
	from, to := 8*y, 8*y+8
	at := func(e int) themes.Fill { // the fill just above the height e
		for i, top := range edges {
			if top > e {
				return p.a.Fills[i]
			}
		}
		return themes.Empty
	}
	if !p.fine {
		return at(from + 4), themes.Empty, 8
	}
	lower = at(from)
	end := to
	for i, top := range edges {
		if p.a.Fills[i] == lower {
			end = min(top, to)
		}
	}
	if lower == themes.Empty || end == to {
		return lower, lower, 8
	}
	// Of several fills above, the largest represents all.
	upper, most, bottom := at(to-1), 0, end
	for i, top := range edges {
		if size := min(top, to) - bottom; size > most {
			upper, most, bottom = p.a.Fills[i], size, min(top, to)
		}
	}
	if to-bottom > most {
		upper = themes.Empty
	}
	return lower, upper, end - from
}

// sign returns what stands in a cell of one fill: its letter in the middle of the
// band, now and then along it, so that colour is not the only carrier; a shade
// or letters all over where colours are missing.
func (p *areaPainter) sign(f themes.Fill, edges []int, x, y int) string {
	const apart = 16
	mark := f.Mark()
	switch {
	case !p.t.Colours && p.g.Unicode:
		if x%apart == apart/4 && p.middle(f, edges) == y {
			return string(mark.Letter)
		}
		return string(mark.Shade)
	case !p.g.Unicode && !p.t.Colours:
		return string(mark.Letter)
	case x%apart == apart/4 && p.middle(f, edges) == y:
		return string(mark.Letter)
	}
	return " "
}

// middle returns the line in the middle of a fill's band.
func (p *areaPainter) middle(f themes.Fill, edges []int) int {
	from := 0
	for i, top := range edges {
		if p.a.Fills[i] == f {
			return (from + top) / 2 / 8
		}
		from = top
	}
	return -1
}

// rising returns the block that fills n eighths of a cell from below, 1 to 7.
func rising(n int) string {
	return [8]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇"}[n&7]
}
