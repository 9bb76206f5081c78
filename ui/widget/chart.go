package widget

import (
	"cmp"
	"math"

	"charm.land/lipgloss/v2"
	"github.com/NimbleMarkets/ntcharts/v2/canvas"
	"github.com/NimbleMarkets/ntcharts/v2/canvas/graph"
	"github.com/NimbleMarkets/ntcharts/v2/canvas/runes"

	"meshscope/themes"
)

// Curve is a line chart over columns: value i stands at column At[i]. NaN is a
// value that cannot be had; the line is broken there.
type Curve struct {
	Values  []float64
	At      []int
	Current int    // marked; -1: none
	Warned  []bool // points that represent something that does not work, drawn as !; nil: none
	Limit   float64
	Role    themes.Role
	Unit    float64 // in which the values next to the axis are round; 0: 1
	Band    float64 // error band of the current value: the axis is no shorter than it
	// Beside are other values at the same places, drawn as marks without a line, and Low to
	// High the range of each; nil: none.
	Beside, Low, High []float64
}

// Render draws the curve into w x h cells, without axes.
func (c *Curve) Render(t *themes.Theme, g Glyphs, w, h int) []string {
	if w <= 0 || h <= 0 {
		return nil
	}
	a, ok := c.Axis(h)
	if !ok {
		return Height(nil, w, h)
	}
	line := canvas.New(w, h)
	point := func(i int) canvas.Point { return canvas.Point{X: c.At[i], Y: a.Row(c.Values[i])} }
	for i := 1; i < len(c.Values); i++ {
		if usable(c.Values[i-1]) && usable(c.Values[i]) {
			graph.DrawLinePoints(&line, graph.GetLinePoints(point(i-1), point(i)), runes.ArcLineStyle,
				lipgloss.Style{})
		}
	}
	grid := make([][]mark, h)
	for y := range grid {
		grid[y] = make([]mark, w)
		for x := range grid[y] {
			if r := line.Cell(canvas.Point{X: x, Y: y}).Rune; r != 0 {
				grid[y][x] = mark{sign: lineSign(g, r), paint: t.Paint(c.Role)}
			}
		}
	}
	c.drawLimit(grid, t, g, &a)
	c.drawRanges(grid, t, g, &a)
	c.drawPoints(grid, t, g, &a)
	for i, v := range c.Beside {
		if usable(v) && c.At[i] >= 0 && c.At[i] < w {
			grid[a.Row(v)][c.At[i]] = mark{sign: g.Here, paint: t.Paint(themes.Strong)}
		}
	}
	return rows(grid)
}

// lineSign returns a part of a line as the terminal can show it.
func lineSign(g Glyphs, r rune) string {
	switch {
	case g.Unicode:
		return string(r)
	case r == runes.LineHorizontal:
		return "-"
	case r == runes.LineVertical:
		return "|"
	}
	return "."
}

type mark struct {
	sign  string
	paint themes.Paint
}

// limited reports whether the limit is on the axis.
func (c *Curve) limited(a *Axis) bool { return c.Limit > 0 && c.Limit >= a.Low && c.Limit <= a.High }

func (c *Curve) drawLimit(grid [][]mark, t *themes.Theme, g Glyphs, a *Axis) {
	if !c.limited(a) {
		return
	}
	y := a.Row(c.Limit)
	for x := range grid[y] {
		if grid[y][x].sign == "" {
			grid[y][x] = mark{sign: g.Dash, paint: t.Paint(themes.Limit)}
		}
	}
}

// drawRanges draws the range of each value as a line down its column.
func (c *Curve) drawRanges(grid [][]mark, t *themes.Theme, g Glyphs, a *Axis) {
	for i := range min(len(c.Low), len(c.High)) {
		if x := c.At[i]; usable(c.Low[i]) && usable(c.High[i]) && x >= 0 && x < len(grid[0]) {
			for y := a.Row(c.High[i]); y <= a.Row(c.Low[i]); y++ {
				grid[y][x] = mark{sign: g.Limit, paint: t.Paint(themes.Muted)}
			}
		}
	}
}

func (c *Curve) drawPoints(grid [][]mark, t *themes.Theme, g Glyphs, a *Axis) {
	for i, v := range c.Values {
		if !usable(v) || c.At[i] < 0 || c.At[i] >= len(grid[0]) {
			continue
		}
		m := mark{sign: g.Point, paint: t.Paint(c.Role)}
		warned := i < len(c.Warned) && c.Warned[i]
		switch {
		case i == c.Current && warned:
			m = mark{sign: g.Here, paint: t.Paint(themes.Bad)}
		case i == c.Current:
			m = mark{sign: g.Here, paint: t.Paint(themes.Current)}
		case warned:
			m = mark{sign: "!", paint: t.Paint(themes.Bad)}
		}
		grid[a.Row(v)][c.At[i]] = m
	}
}

// Axis returns the vertical axis of h lines; false where there is no value.
func (c *Curve) Axis(h int) (Axis, bool) {
	low, high, some := c.span()
	return NewAxis(low, high, h, cmp.Or(c.Unit, 1)), some
}

// span returns the range of the vertical axis: all values, the limit when it is near them, and
// the band of the current value, in which a difference says nothing.
func (c *Curve) span() (low, high float64, some bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, values := range [][]float64{c.Values, c.Beside, c.Low, c.High} {
		for _, v := range values {
			if usable(v) {
				low, high, some = min(low, v), max(high, v), true
			}
		}
	}
	if !some {
		return 0, 1, false
	}
	if c.Limit > 0 && c.Limit < 4*high {
		low, high = min(low, c.Limit), max(high, c.Limit)
	}
	if i := c.Current; i >= 0 && i < len(c.Values) && usable(c.Values[i]) && c.Values[i] > 0 {
		low, high = min(low, c.Values[i]/(1+c.Band)), max(high, c.Values[i]*(1+c.Band))
	}
	if high-low < 1e-3*math.Abs(high) {
		low, high = low-0.5*math.Abs(low), high+0.5*math.Abs(high)
	}
	if high <= low {
		high = low + 1
	}
	return low, high, true
}

func usable(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// RowOf returns the line of a value on an axis of h lines, 0 at the top.
func RowOf(v, low, high float64, h int) int {
	y := int(math.Round((v - low) / (high - low) * float64(h-1)))
	return h - 1 - min(max(y, 0), h-1)
}

// rows writes a grid of marks, one run per look.
func rows(grid [][]mark) []string {
	lines := make([]string, len(grid))
	for y, row := range grid {
		l := NewLine(len(row))
		for x := 0; x < len(row); {
			if row[x].sign == "" {
				x++
				continue
			}
			run, j := "", x
			for j < len(row) && row[j].sign != "" && row[j].paint == row[x].paint {
				run += row[j].sign
				j++
			}
			l.To(x).Put(row[x].paint, run)
			x = j
		}
		lines[y] = l.String()
	}
	return lines
}
