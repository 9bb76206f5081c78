package ui

import (
	"strings"

	"meshscope/ui/widget"
)

// frame puts drawn panels beside and below each other. Panels are put from
// left to right; what no panel covers is blank.
type frame struct {
	w, h int
	rows []strings.Builder
	used []int
}

func newFrame(w, h int) *frame {
	return &frame{w: w, h: h, rows: make([]strings.Builder, h), used: make([]int, h)}
}

// put writes lines that are exactly r.W cells wide.
func (f *frame) put(r Rect, lines []string) {
	for i, line := range lines {
		y := r.Y + i
		if i >= r.H || y < 0 || y >= f.h || r.X < f.used[y] {
			continue
		}
		row := &f.rows[y]
		row.WriteString(widget.Blank(r.X - f.used[y]))
		row.WriteString(line)
		f.used[y] = r.X + r.W
	}
}

func (f *frame) lines() []string {
	lines := make([]string, f.h)
	for y := range lines {
		lines[y] = f.rows[y].String()
	}
	return lines
}
