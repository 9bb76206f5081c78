package widget

import (
	"math"

	"github.com/NimbleMarkets/ntcharts/v2/canvas"
	"github.com/NimbleMarkets/ntcharts/v2/linechart"

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
	// Beside are other values at the same places, drawn as marks without a line, and Low to
	// High the range of each; nil: none.
	Beside, Low, High []float64
}

// Render draws the curve into w x h cells, without axes.
func (c *Curve) Render(t *themes.Theme, g Glyphs, w, h int) []string {
	low, high, any := c.span()
	if w <= 0 || h <= 0 {
		return nil
	}
	if !any {
		return Height(nil, w, h)
	}
	// The axes of ntcharts count dots: a cell has two across and four up. A line
	// goes through the middle of the cells that its points are drawn in, else
	// marks would float next to it.
	chart := linechart.New(w, h, 0, float64(2*w-1), 0, float64(4*h-1), linechart.WithXYSteps(0, 0))
	point := func(i int) canvas.Float64Point {
		v := min(max(c.Values[i], low), high)
		bottom := float64(4 * (h - 1 - RowOf(v, low, high, h)))
		dot := (v - low) / (high - low) * float64(4*h-1)
		if !usable(dot) { // the span is beyond the largest number
			dot = bottom + 1
		}
		return canvas.Float64Point{X: float64(2 * c.At[i]), Y: min(max(dot, bottom+1), bottom+2)}
	}
	if g.Unicode {
		for i := 1; i < len(c.Values); i++ {
			if usable(c.Values[i-1]) && usable(c.Values[i]) {
				chart.DrawBrailleLine(point(i-1), point(i))
			}
		}
	}
	grid := make([][]mark, h)
	for y := range grid {
		grid[y] = make([]mark, w)
		for x := range grid[y] {
			if r := chart.Canvas.Cell(canvas.Point{X: x, Y: y}).Rune; r != 0 {
				grid[y][x] = mark{sign: string(r), paint: t.Paint(c.Role)}
			}
		}
	}
	c.drawLimit(grid, t, g, low, high)
	c.drawRanges(grid, t, g, low, high)
	c.drawPoints(grid, t, g, low, high)
	for i, v := range c.Beside {
		if usable(v) && c.At[i] >= 0 && c.At[i] < w {
			grid[RowOf(v, low, high, h)][c.At[i]] = mark{sign: g.Here, paint: t.Paint(themes.Strong)}
		}
	}
	return rows(grid)
}

type mark struct {
	sign  string
	paint themes.Paint
}

func (c *Curve) drawLimit(grid [][]mark, t *themes.Theme, g Glyphs, low, high float64) {
	if c.Limit <= 0 || c.Limit > high || c.Limit < low {
		return
	}
	y := RowOf(c.Limit, low, high, len(grid))
	for x := range grid[y] {
		if grid[y][x].sign == "" {
			grid[y][x] = mark{sign: g.Dash, paint: t.Paint(themes.Limit)}
		}
	}
}

// drawRanges draws the range of each value as a line down its column.
func (c *Curve) drawRanges(grid [][]mark, t *themes.Theme, g Glyphs, low, high float64) {
	for i := range min(len(c.Low), len(c.High)) {
		if x := c.At[i]; usable(c.Low[i]) && usable(c.High[i]) && x >= 0 && x < len(grid[0]) {
			for y := RowOf(c.High[i], low, high, len(grid)); y <= RowOf(c.Low[i], low, high, len(grid)); y++ {
				grid[y][x] = mark{sign: g.Limit, paint: t.Paint(themes.Muted)}
			}
		}
	}
}

func (c *Curve) drawPoints(grid [][]mark, t *themes.Theme, g Glyphs, low, high float64) {
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
		grid[RowOf(v, low, high, len(grid))][c.At[i]] = m
	}
}

// Span returns the range of the vertical axis; false where there is no value.
func (c *Curve) Span() (low, high float64, any bool) { return c.span() }

// span returns the range of the vertical axis: all values, the limit when it is
// near them, and a little air.
func (c *Curve) span() (low, high float64, any bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, values := range [][]float64{c.Values, c.Beside, c.Low, c.High} {
		for _, v := range values {
			if usable(v) {
				low, high, any = min(low, v), max(high, v), true
			}
		}
	}
	if !any {
		return 0, 1, false
	}
	if c.Limit > 0 && c.Limit < 4*high {
		low, high = min(low, c.Limit), max(high, c.Limit)
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
