package pipeline

import "meshscope/ui/screen"

// Mouse moves the cursor to a click and zooms about the pointer with the
// wheel. Coordinates are those inside the screen's area.
func (v *View) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	w, h := in.W, in.H
	if in.Theme == nil {
		return false, do
	}
	if v.table.open {
		return v.mouseTable(w, h, y, button), do
	}
	l := v.layout(in, w, h)
	if l == nil || y < 0 || y >= h {
		return false, do
	}
	v.drawn = l
	col := min(max(0, x-l.label), l.plot-1)
	place := l.axis.Place(l.frame.Time(col))
	switch button {
	case "left":
		return v.click(l, x, y), do
	case "wheelup":
		v.magnify(l, 2*v.zoomed(), place)
	case "wheeldown":
		v.magnify(l, v.zoomed()/2, place)
	case "wheelleft":
		v.pan(l, -0.1)
	case "wheelright":
		v.pan(l, 0.1)
	default:
		return false, do
	}
	return true, do
}

// click puts the cursor under the pointer, or moves the window by the overview.
func (v *View) click(l *layout, x, y int) bool {
	if x < l.label || x >= l.label+l.plot {
		return false
	}
	if l.overview >= 0 && y >= l.overview && y < l.overview+l.strips {
		v.at = (float64(x-l.label) + 0.5) / float64(l.plot)
		v.reveal(l) // which may change what is left out
		v.left = l.axis.Place(v.at*l.axis.Whole) - 0.5/v.zoomed()
		v.left, _ = v.window()
		return true
	}
	for i := range l.blocks {
		b := &l.blocks[i]
		n := (y - b.top) / l.per
		if b.hidden || y < b.top || n >= b.lines() {
			continue
		}
		if b.two {
			n *= 2 // the upper one, or where it has the cursor already the lower one
			if b.ranks[n] == v.rank && v.below == (i == 1) {
				n = min(n+1, len(b.ranks)-1)
			}
		}
		v.rank, v.below = b.ranks[n], i == 1
		v.at = min(1, l.frame.Time(x-l.label)/l.axis.Whole)
		return true
	}
	return false
}

// mouseTable returns the wheel and a click on the table.
func (v *View) mouseTable(w, h, y int, button string) bool {
	t := &v.table
	last := max(0, len(t.rows)-1)
	switch button {
	case "wheelup":
		t.move(-1)
	case "wheeldown":
		t.move(1)
	case "left":
		if t.pictured(w, h) > 0 {
			i, ok := t.multipleAt(h, y)
			if ok {
				t.row = i
			}
			return ok
		}
		from, n := t.page(h)
		if y < 2 || y-2 >= n || from+y-2 > last {
			return false
		}
		t.row = from + y - 2
	default:
		return false
	}
	return true
}
