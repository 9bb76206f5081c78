package widget

import "meshscope/themes"

// Slider is a ladder of values with the one in force marked.
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
// its values are (columns of the line). The mark takes the places beside its
// value, so nothing moves when it does.
func (s *Slider) Render(l *Line, t *themes.Theme, g Glyphs, w int) []Span {
	w = min(w, l.Left())
	if w < 3 || len(s.Values) == 0 {
		return nil
	}
	first, last := s.window(w)
	value, rule := t.Paint(themes.Muted), t.Paint(themes.Faint)
	current := t.Paint(themes.Current)
	if s.Focused {
		value, rule, current = t.Paint(themes.Focus), t.Paint(themes.Focus), t.Paint(themes.Focus)
	}
	spans := make([]Span, 0, last-first)
	for i := first; i < last; i++ {
		s.separator(l, g, rule, current, i, first)
		from := l.Used()
		paint := value
		if i == s.Current {
			paint = current
		}
		l.Put(paint, s.Values[i])
		spans = append(spans, Span{From: from, To: l.Used(), Index: i})
	}
	switch {
	case last-1 == s.Current:
		l.Put(current, "]")
	case last < len(s.Values):
		l.Put(rule, g.More)
	default:
		l.Put(rule, " ")
	}
	return spans
}

// separator draws what stands before value i.
func (s *Slider) separator(l *Line, g Glyphs, rule, current themes.Paint, i, first int) {
	between := " "
	if s.Joined {
		between = g.Track
	}
	switch {
	case i == s.Current:
		l.Put(current, "[")
	case i == first && first > 0:
		l.Put(rule, g.MoreLeft)
	case i == first:
		l.Put(rule, " ")
	case i-1 == s.Current:
		l.Put(current, "]")
	default:
		l.Put(rule, between)
	}
}

// window is the range of values that fits, the current one among them and, if
// possible, in the middle.
func (s *Slider) window(w int) (first, last int) {
	current := min(max(s.Current, 0), len(s.Values)-1)
	first, last = current, current+1
	used := Width(s.Values[current]) + 2
	for {
		grown := false
		if last < len(s.Values) && used+Width(s.Values[last])+1 <= w {
			used += Width(s.Values[last]) + 1
			last++
			grown = true
		}
		if first > 0 && used+Width(s.Values[first-1])+1 <= w {
			first--
			used += Width(s.Values[first]) + 1
			grown = true
		}
		if !grown {
			return first, last
		}
	}
}
