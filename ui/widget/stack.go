package widget

import (
	"math"
	"strings"

	"meshscope/themes"
)

// Segment is one part of a stacked bar.
type Segment struct {
	Fill  themes.Fill
	Value float64
	Label string // written into the part where it fits; else its letter is
}

// Stack is a stacked bar with an optional limit line.
type Stack struct {
	Segments []Segment
	Scale    float64 // value of the full width
	Limit    float64 // 0: none
	Plain    bool    // no letters or labels inside
	NoTrack  bool    // leave the unused part blank
}

// cell is what one cell of the bar shows: the fill on its left, the number of
// eighths that it covers, and the fill of the rest.
type cell struct {
	left, right themes.Fill
	eighths     int // 8: left only
}

// Render draws the bar w cells wide.
func (s *Stack) Render(t *themes.Theme, g Glyphs, w int) string {
	if w <= 0 {
		return ""
	}
	cells := s.cells(w, g.Unicode && t.Colours)
	limit := s.LimitAt(w)
	signs := s.signs(cells, t, g, limit)
	var b strings.Builder
	b.Grow(4 * w)
	open := ""
	put := func(p themes.Paint, sign string) {
		if p.Open() != open {
			if open != "" {
				b.WriteString("\x1b[m")
			}
			open = p.Open()
			b.WriteString(open)
		}
		b.WriteString(sign)
	}
	for i, c := range cells {
		switch {
		case i == limit && c.left == themes.Empty:
			put(t.Paint(themes.Limit), g.Limit)
		case i == limit:
			put(t.Area(c.left), g.Limit)
		case c.eighths < 8 && c.right == themes.Empty && s.NoTrack:
			put(t.Line(c.left), eighth(c.eighths))
		case c.eighths < 8:
			put(t.Edge(c.left, c.right), eighth(c.eighths))
		case c.left == themes.Empty && s.NoTrack:
			put(themes.Paint{}, " ")
		case c.left == themes.Empty && !t.Colours:
			put(t.Paint(themes.Faint), signs[i])
		default:
			put(t.Area(c.left), signs[i])
		}
	}
	if open != "" {
		b.WriteString("\x1b[m")
	}
	return b.String()
}

// LimitAt returns the cell of the limit line in a bar w cells wide; -1: none.
func (s *Stack) LimitAt(w int) int {
	if s.Limit <= 0 || s.Scale <= 0 {
		return -1
	}
	return min(int(s.Limit/s.Scale*float64(w)), w-1)
}

// cells computes what covers each cell, in eighths where they can be shown.
func (s *Stack) cells(w int, fine bool) []cell {
	cells := make([]cell, w)
	for i := range cells {
		cells[i] = cell{left: themes.Empty, eighths: 8}
	}
	if s.Scale <= 0 || math.IsNaN(s.Scale) || math.IsInf(s.Scale, 0) {
		return cells
	}
	from, sum := 0, 0.0
	for _, seg := range s.Segments {
		if !(seg.Value > 0) || math.IsInf(seg.Value, 0) {
			continue
		}
		sum += seg.Value
		to := int(math.Round(min(sum/s.Scale, 1) * float64(8*w)))
		if !fine {
			to = (to + 4) / 8 * 8
		}
		for i := from / 8; i < w && 8*i < to; i++ {
			switch {
			case 8*i >= from && 8*(i+1) <= to: // all of the cell
				cells[i] = cell{left: seg.Fill, eighths: 8}
			case 8*i >= from: // the beginning of the cell
				cells[i] = cell{left: seg.Fill, right: themes.Empty, eighths: to - 8*i}
			case cells[i].eighths < 8: // behind the beginning
				cells[i].right = seg.Fill
			}
		}
		from = max(from, to)
	}
	return cells
}

// signs returns the letters, labels and shades of cells that one fill covers.
func (s *Stack) signs(cells []cell, t *themes.Theme, g Glyphs, limit int) []string {
	signs := make([]string, len(cells))
	for i := 0; i < len(cells); {
		j := i
		for j < len(cells) && cells[j].left == cells[i].left && cells[j].eighths == 8 {
			j++
		}
		if j == i {
			i++
			continue
		}
		s.signRun(signs[i:j], cells[i].left, t, g, limit-i)
		i = j
	}
	return signs
}

func (s *Stack) signRun(signs []string, f themes.Fill, t *themes.Theme, g Glyphs, limit int) {
	mark := f.Mark()
	body := " "
	switch {
	case f == themes.Empty && !g.Unicode:
		body = "."
	case f == themes.Empty && !t.Blends(): // none of 16 colours is a quiet ground
		body = "·"
	case f == themes.Empty || t.Colours:
	case !g.Unicode:
		body = string(mark.Letter)
	default:
		body = string(mark.Shade)
	}
	for i := range signs {
		signs[i] = body
	}
	if s.Plain || f == themes.Empty || len(signs) < 2 {
		return
	}
	label := s.labelOf(f)
	n := Width(label)
	free := limit < 1 || limit > n // the limit line does not cross the label
	if t.Colours && label != "" && n+2 <= len(signs) && n == len([]rune(label)) && free {
		for i, r := range []rune(label) {
			signs[1+i] = string(r)
		}
		return
	}
	if limit == 0 {
		signs = signs[1:]
	}
	signs[0] = string(mark.Letter)
}

func (s *Stack) labelOf(f themes.Fill) string {
	for _, seg := range s.Segments {
		if seg.Fill == f {
			return seg.Label
		}
	}
	return ""
}
