package widget

import "meshscope/themes"

// Slider is a ladder of values with the current one marked.
type Slider struct {
	Values  []string
	Current int
	Joined  bool // values lie on one line (numbers); words stand apart
	Focused bool
}

// Span is where a value stands in a drawn slider: columns From to To (not
// included) of value Index.
type Span struct{ From, To, Index int }

// Render draws the slider into a line, at most w cells wide, and says where
// its values are (columns of the line). The handle takes the places next to its
// value, so nothing else moves when it does.
func (s *Slider) Render(l *Line, t *themes.Theme, g Glyphs, w int) []Span {
	w = min(w, l.Left())
	if len(s.Values) == 0 || Width(s.Values[min(max(s.Current, 0), len(s.Values)-1)])+2 > w {
		return nil
	}
	d := s.drawing(t, g, w)
	spans := make([]Span, 0, d.last-d.first)
	for i := d.first; i < d.last; i++ {
		s.before(l, &d, i)
		from, paint := l.Used(), d.value
		if i == s.Current {
			paint = d.current
		}
		l.Put(paint, s.Values[i])
		spans = append(spans, Span{From: from, To: l.Used(), Index: i})
	}
	switch {
	case d.last-1 == s.Current:
		l.Put(d.current, d.right)
	case d.last < len(s.Values):
		l.Put(d.rule, g.More)
	default:
		l.Put(d.rule, " ")
	}
	return spans
}

// drawing holds the decisions made before the first cell is written.
type drawing struct {
	first, last          int
	between              string // one or three cells
	left, right          string // ends of the handle
	more                 string
	value, rule, current themes.Paint
}

func (s *Slider) drawing(t *themes.Theme, g Glyphs, w int) drawing {
	d := drawing{
		between: " ", left: "[", right: "]", more: g.MoreLeft,
		value: t.Paint(themes.Muted), rule: t.Paint(themes.Muted), current: t.Paint(themes.Current),
	}
	if s.Joined {
		d.between, d.left, d.right = g.Track, g.HandleL, g.HandleR
	}
	if s.Focused {
		focus := t.Paint(themes.Focus)
		d.value, d.rule, d.current = focus, focus, focus
	}
	sep := 1
	if !s.Joined {
		sep = 2
	}
	d.first, d.last = s.window(w, sep)
	if d.first == 0 && d.last == len(s.Values) && s.width(3) <= w {
		sep = 3
	}
	d.between = Fill(d.between, sep)
	return d
}

// width returns that of all values with sep cells between them and one at each end.
func (s *Slider) width(sep int) int {
	n := 2 - sep
	for _, v := range s.Values {
		n += Width(v) + sep
	}
	return n
}

// before draws what stands before value i. The handle takes the cell on either
// side of the current value.
func (s *Slider) before(l *Line, d *drawing, i int) {
	here, after := i == s.Current, i-1 == s.Current
	switch {
	case i == d.first && here:
		l.Put(d.current, d.left)
	case i == d.first && d.first > 0:
		l.Put(d.rule, d.more)
	case i == d.first:
		l.Put(d.rule, " ")
	case here:
		l.Put(d.rule, cells(d.between, 1)).Put(d.current, d.left)
	case after:
		l.Put(d.current, d.right).Put(d.rule, cells(d.between, 1))
	default:
		l.Put(d.rule, d.between)
	}
}

// cells returns a text of one-cell signs without its last n.
func cells(s string, n int) string {
	r := []rune(s)
	return string(r[:max(len(r)-n, 0)])
}

// window returns the range of values that fits, the current one among them and, if
// possible, in the middle.
func (s *Slider) window(w, sep int) (first, last int) {
	current := min(max(s.Current, 0), len(s.Values)-1)
	first, last = current, current+1
	used := Width(s.Values[current]) + 2
	for {
		grown := false
		if last < len(s.Values) && used+Width(s.Values[last])+sep <= w {
			used += Width(s.Values[last]) + sep
			last++
			grown = true
		}
		if first > 0 && used+Width(s.Values[first-1])+sep <= w {
			first--
			used += Width(s.Values[first]) + sep
			grown = true
		}
		if !grown {
			return first, last
		}
	}
}
