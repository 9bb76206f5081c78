package widget

import (
	"math"

	"meshscope/themes"
)

// Spot is how a dot of a scatter plot is drawn; of several in one cell the
// highest wins.
type Spot uint8

// Kinds of dots.
const (
	SpotNone Spot = iota
	SpotLine      // of a curve that dots are compared with
	SpotPlain
	SpotMarked
	SpotHere
	SpotPointed
	Spots
)

// Dot is one value of a scatter plot.
type Dot struct {
	X, Y float64
	Spot Spot
	// Loose dots have no say in the range of the axes: beyond it they stand at the edge.
	Loose bool
}

// Scatter is a plot of dots over two linear axes, with a limit across x.
type Scatter struct {
	Points    []Dot
	Limit     float64 // of x; 0: none
	LimitName string
	Tick      func(float64) string // writes a value of an axis
}

const scatterTicks = 7 // width of the values next to the vertical axis

// Render draws the plot in h lines of w cells, the axes included.
func (s *Scatter) Render(t *themes.Theme, g Glyphs, w, h int) []string {
	pw, ph := w-scatterTicks, h-1
	if pw < 8 || ph < 2 || len(s.Points) == 0 {
		return Height(nil, max(w, 0), h)
	}
	x, y := s.scales()
	a := NewAxis(y.low, y.high, ph+1, 1) // a line for each of its steps
	y = scale{a.Low, a.High}
	grid := s.cells(x, y, pw, ph)
	limit := -1
	if s.Limit > 0 && s.Limit >= x.low && s.Limit <= x.high {
		limit = min(int(x.share(s.Limit)*float64(pw)), pw-1)
	}
	ticks := map[int]float64{}
	for _, v := range a.Ticks() {
		ticks[ph-1-int((v-a.Low)/(a.High-a.Low)*float64(ph)+1e-6)] = v
	}
	lines := make([]string, 0, h)
	for row := range ph {
		l := NewLine(w)
		if v, ok := ticks[row]; ok {
			l.RightAligned(t.Paint(themes.Muted), s.Tick(v), scatterTicks-1)
		}
		l.To(scatterTicks-1).Put(t.Paint(themes.Faint), g.Limit)
		for col := range pw {
			if col == limit && grid.kind(col, row) == SpotNone {
				l.Put(t.Paint(themes.Limit), g.Limit)
				continue
			}
			grid.Draw(l, t, g, col, row, themes.Good)
		}
		lines = append(lines, l.String())
	}
	return append(lines, s.foot(t, x, w, pw, limit))
}

// foot returns the horizontal axis: its values, and the name of the limit.
func (s *Scatter) foot(t *themes.Theme, x scale, w, pw, limit int) string {
	name := s.LimitName
	if limit >= 0 && name != "" {
		name = s.Tick(s.Limit) + " " + name
	}
	from, to := w, w // cells that the name takes
	if limit >= 0 && name != "" {
		from = min(max(scatterTicks+limit-Width(name)/2, scatterTicks), w-Width(name))
		to = from + Width(name)
	}
	l := NewLine(w)
	put := func(at int, p themes.Paint, text string) {
		if at >= l.Used() && at+Width(text) <= w {
			l.To(at).Put(p, text)
		}
	}
	named := to == w && from == w
	for _, v := range x.ticks(max(pw/12, 2)) {
		text := s.Tick(v)
		at := max(scatterTicks+int(x.share(v)*float64(pw))-Width(text)/2, 0)
		if at+Width(text)+1 > from && at < to+1 {
			continue // the limit's own value stands there
		}
		if at > from && !named {
			put(from, t.Paint(themes.Limit), name)
			named = true
		}
		if l.Used() == 0 || at > l.Used() {
			put(at, t.Paint(themes.Muted), text)
		}
	}
	if !named {
		put(from, t.Paint(themes.Limit), name)
	}
	return l.String()
}

// Legend names the kinds of dots; those without a name are left out.
func (s *Scatter) Legend(t *themes.Theme, g Glyphs, w int, names [Spots]string) string {
	l := NewLine(w).Gap(scatterTicks)
	SpotNames(l, t, g, names, themes.Good)
	return l.String()
}

// SpotNames names kinds of dots, behind what is in the line; those without a name are left out. The
// marked ones have a role of their own.
func SpotNames(l *Line, t *themes.Theme, g Glyphs, names [Spots]string, marked themes.Role) {
	from := l.Used()
	for kind, name := range names {
		if name == "" || l.Left() < Width(name)+4 {
			continue
		}
		if l.Used() > from {
			l.Gap(2)
		}
		paint, sign := spotSign(t, g, Spot(kind), marked)
		l.Put(paint, sign).Put(t.Paint(themes.Muted), " "+name)
	}
}

func spotSign(t *themes.Theme, g Glyphs, kind Spot, marked themes.Role) (themes.Paint, string) {
	switch kind {
	case SpotLine:
		return t.Paint(themes.Faint), "."
	case SpotPlain:
		if g.Unicode {
			return t.Paint(themes.Time), "⠶"
		}
		return t.Paint(themes.Time), "+"
	case SpotMarked:
		return t.Paint(marked), g.Point
	case SpotHere:
		return t.Paint(themes.Current), g.Here
	case SpotPointed:
		return t.Paint(themes.Accent), g.Cross
	case SpotNone, Spots:
	}
	return themes.Paint{}, " "
}

// Raster is the cells of a plot, two dots across and four up in each.
type Raster struct {
	w, h  int
	cells []spotCell
}

type spotCell struct {
	kind Spot
	dots rune // Braille bits of one kind
}

// NewRaster returns w x h cells without dots.
func NewRaster(w, h int) *Raster { return &Raster{w, h, make([]spotCell, w*h)} }

// Put puts a dot, counted from the left and from the bottom.
func (r *Raster) Put(x, y int, kind Spot) {
	c := &r.cells[(r.h-1-y/4)*r.w+x/2]
	bit := [2][4]rune{{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}[x%2][y%4]
	switch {
	case kind > c.kind:
		*c = spotCell{kind, bit}
	case kind == c.kind:
		c.dots |= bit
	}
}

func (r *Raster) kind(column, row int) Spot { return r.cells[row*r.w+column].kind }

// Draw writes the cell of a column and of a row from the top.
func (r *Raster) Draw(l *Line, t *themes.Theme, g Glyphs, column, row int, marked themes.Role) {
	c := r.cells[row*r.w+column]
	paint, sign := spotSign(t, g, c.kind, marked)
	if g.Unicode && (c.kind == SpotPlain || c.kind == SpotLine) {
		sign = string(0x2800 + c.dots)
	}
	l.Put(paint, sign)
}

// cells sorts the dots into the cells of the plot.
func (s *Scatter) cells(x, y scale, pw, ph int) *Raster {
	grid := NewRaster(pw, ph)
	for _, p := range s.Points {
		if usable(p.X) && usable(p.Y) {
			dx := min(max(int(x.share(p.X)*float64(2*pw)), 0), 2*pw-1)
			dy := min(max(int(y.share(p.Y)*float64(4*ph)), 0), 4*ph-1)
			grid.Put(dx, dy, p.Spot)
		}
	}
	return grid
}

// scale is the range of a linear axis.
type scale struct{ low, high float64 }

func (a scale) share(v float64) float64 { return (v - a.low) / (a.high - a.low) }

// scales returns the ranges of both axes: all dots and the limit, with a little air.
func (s *Scatter) scales() (x, y scale) {
	x, y = scale{math.Inf(1), math.Inf(-1)}, scale{math.Inf(1), math.Inf(-1)}
	for _, p := range s.Points {
		if usable(p.X) && usable(p.Y) && !p.Loose {
			x.low, x.high = min(x.low, p.X), max(x.high, p.X)
			y.low, y.high = min(y.low, p.Y), max(y.high, p.Y)
		}
	}
	if s.Limit > 0 {
		x.low, x.high = min(x.low, s.Limit), max(x.high, s.Limit)
	}
	for _, a := range [...]*scale{&x, &y} {
		if !(a.low <= a.high) {
			*a = scale{0, 1}
		}
		air := 0.05 * (a.high - a.low)
		if air <= 1e-6*math.Abs(a.high) {
			air = max(0.1*math.Abs(a.high), 1e-9)
		}
		a.low, a.high = a.low-air, a.high+air
	}
	return x, y
}

// Beyond reports whether a dot is outside the axes, and so stands at their edge.
func (s *Scatter) Beyond(p Dot) bool {
	x, y := s.scales()
	return p.X < x.low || p.X > x.high || p.Y < y.low || p.Y > y.high
}

// ticks returns round values on the axis, at most n.
func (a scale) ticks(n int) []float64 {
	span := a.high - a.low
	step := math.Pow(10, math.Floor(math.Log10(span/float64(n))))
	for _, f := range [...]float64{1, 2, 5, 10, 20, 50} {
		if span/(step*f) <= float64(n) {
			step *= f
			break
		}
	}
	var out []float64
	for v := math.Ceil(a.low/step) * step; v <= a.high && len(out) < n+1; v += step {
		out = append(out, v)
	}
	return out
}
