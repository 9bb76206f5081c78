package timeline

import (
	"strings"

	"meshscope/themes"
)

// Tall makes ranks n lines high: that of Draw, and n-1 times Below. Stacks go over all of them.
func (r *Rows) Tall(n int) {
	if r != nil {
		r.tall = n
	}
}

// stacked gives stacks the part of them that is in the line with so many lines below it.
func (r *Rows) stacked(line int) {
	if r.above = line; r.tall < 2 {
		return
	}
	var last, full themes.Paint
	for i, h := range r.heights {
		if h == 0 {
			continue
		}
		c := &r.base.cells[i]
		if part := h*r.tall - blendLevels*line; part < blendLevels {
			c.sign = lowerEighth(max(0, part))
		} else { // full, and so are the lines below: as a ground, since blocks leave seams in some fonts
			if c.paint != last {
				last, full = c.paint, c.paint.Reversed()
			}
			c.paint, c.sign, r.heights[i] = full, " ", 0
		}
	}
}

// Below writes the rank that Draw drew last once more, without its letters: a
// further line of a high bar.
func (r *Rows) Below(b *strings.Builder) {
	cells := r.base.cells
	plain := r.base.theme.Area(themes.Forward) // without a ground of its own where there are no colours
	for i := range cells {
		switch {
		case !lettered(cells[i].sign):
		case r.theme.Colours && (!r.grey || cells[i].paint != plain):
			cells[i].sign = " "
		default:
			cells[i].sign = "-"
		}
	}
	for _, s := range r.frame.spans {
		for i := s.col; s.folded > 0 && i < min(s.col+s.cols, len(cells)); i++ {
			cells[i] = cell{sign: " "}
		}
	}
	r.stacked(max(0, r.above-1))
	for _, c := range r.base.chunks {
		for i := range len(c.text) {
			if at := c.col + i; at < len(cells) && (cells[at].sign == " " || cells[at].sign == "-") {
				cells[at].sign = c.text[i : i+1]
			}
		}
	}
	r.base.chunks = r.base.chunks[:0] // on one line only
	writeCells(b, cells)
}

// lettered reports whether a sign is a letter, a digit or the mark of a pair.
func lettered(s string) bool {
	return len(s) == 1 && (s[0] >= '0' && s[0] <= '9' || s[0] >= 'A' && s[0] <= 'Z' ||
		s[0] >= 'a' && s[0] <= 'z' || s == "&")
}
