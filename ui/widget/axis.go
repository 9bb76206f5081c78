package widget

import (
	"math"

	"meshscope/themes"
)

// Axis is a vertical axis of some lines: round values stand on lines at even distances.
type Axis struct {
	Low, High float64 // of the lowest and the highest line
	h, every  int     // lines; lines from one round value to the next
	step      float64 // between round values
}

// NewAxis returns the axis of h lines that holds low to high with the least room left over. Round values
// are multiples of 1, 2 or 5 times a power of ten of the unit.
func NewAxis(low, high float64, h int, unit float64) Axis {
	span := high - low
	best := Axis{Low: low, High: high, h: h}
	if h < 2 || !(span > 0) || !usable(span) {
		return best
	}
	least, most := 2, 4 // lines between round values
	if h < 10 {
		least, most = 1, min(3, h-1)
	}
	size := math.Inf(1) // of a line
	power := math.Floor(math.Log10(span / unit / float64(h-1)))
	for _, p := range [...]float64{power, power + 1, power + 2} {
		for _, f := range [...]float64{1, 2, 5} {
			for every := least; every <= most; every++ {
				step := f * math.Pow(10, p) * unit
				line := step / float64(every)
				first := math.Floor(low/line + 1e-9)
				if line >= size || (first+float64(h-1))*line < high-1e-9*span {
					continue
				}
				a := Axis{
					Low: first * line, High: (first + float64(h-1)) * line, h: h, every: every,
					step: step,
				}
				if len(a.Ticks()) >= 2 {
					best, size = a, line
				}
			}
		}
	}
	return best
}

// Row returns the line of a value, 0 at the top.
func (a *Axis) Row(v float64) int { return RowOf(v, a.Low, a.High, a.h) }

// Ticks returns the round values, the lowest first.
func (a *Axis) Ticks() []float64 {
	if a.every == 0 {
		return nil
	}
	var out []float64
	first := math.Ceil(a.Low/a.step - 1e-9)
	for i := range a.h { // at most one a line, also where a step is lost in a value's rounding
		v := (first+float64(i))*a.step + 0
		if !(v <= a.High+1e-9*a.step) || i > 0 && v == out[i-1] {
			break
		}
		out = append(out, v)
	}
	return out
}

// Plot draws the curve in h lines of w cells with its axis on the left, label cells wide: round values as
// tick writes them, and the limit.
func (c *Curve) Plot(t *themes.Theme, g Glyphs, w, h, label int, tick func(float64) string) []string {
	a, ok := c.Axis(h)
	texts := map[int]string{}
	if ok {
		for _, v := range a.Ticks() {
			texts[a.Row(v)] = tick(v)
		}
		if c.limited(&a) {
			texts[a.Row(c.Limit)] = tick(c.Limit)
		}
	}
	drawn := c.Render(t, g, w-label, h)
	lines := make([]string, 0, h)
	for i := range drawn {
		l := NewLine(w)
		if text := texts[i]; Width(text) < label-1 {
			l.RightAligned(t.Paint(themes.Muted), text, label-2)
		}
		l.To(label-1).Put(t.Paint(themes.Faint), g.Limit)
		lines = append(lines, l.Raw(drawn[i], w-label).String())
	}
	return Height(lines, w, h)
}
