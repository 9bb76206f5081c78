package frame

import (
	"strings"

	"meshscope/ui/widget"
)

// Frame puts drawn panels next to and below each other. Panels are put from
// left to right; what no panel covers is blank.
type Frame struct {
	w, h int
	rows []strings.Builder
	used []int
}

// New makes a blank frame of w x h cells.
func New(w, h int) *Frame {
	return &Frame{w: w, h: h, rows: make([]strings.Builder, h), used: make([]int, h)}
}

// Put writes lines that are exactly r.W cells wide.
func (f *Frame) Put(r Rect, lines []string) {
	for i, line := range lines {
		y := r.Y + i
		if i >= r.H || r.W <= 0 || y < 0 || y >= f.h || r.X < f.used[y] {
			continue
		}
		row := &f.rows[y]
		row.WriteString(widget.Blank(r.X - f.used[y]))
		row.WriteString(line)
		f.used[y] = r.X + r.W
	}
}

// Lines returns those of the whole frame.
func (f *Frame) Lines() []string {
	lines := make([]string, f.h)
	for y := range lines {
		lines[y] = f.rows[y].String() + widget.Blank(f.w-f.used[y])
	}
	return lines
}
