package overlay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// box is a frame with lines in it.
type box struct {
	theme  *themes.Theme
	glyphs widget.Glyphs
	width  int
	lines  []string
}

// stretched returns the width of a box on a screen of w cells: all of it rather than strips
// of the page at the sides.
func stretched(width, w int) int {
	const strips = 8
	if width > w-strips {
		return max(w, 0)
	}
	return width
}

// signs returns those of the frame: corners from the top left clockwise,
// horizontal, vertical, and the two tees.
func (b *box) signs() [8]string {
	if !b.glyphs.Unicode {
		return [8]string{"+", "+", "+", "+", "-", "|", "+", "+"}
	}
	return [8]string{"╭", "╮", "╯", "╰", "─", "│", "├", "┤"}
}

func (b *box) top(title, remark string) {
	s := b.signs()
	frame := b.theme.Paint(themes.Faint)
	l := widget.NewLine(b.width)
	l.Put(frame, s[0]+s[4]).Gap(1).Put(b.theme.Paint(themes.Heading), title).Gap(1)
	end := b.width - 1
	if remark != "" && l.Left() > widget.Width(remark)+6 {
		end -= widget.Width(remark) + 3
	}
	l.Put(frame, widget.Fill(s[4], end-l.Used()))
	if end < b.width-1 {
		l.Gap(1).Put(b.theme.Paint(themes.Muted), remark).Gap(1).Put(frame, s[4])
	}
	l.Put(frame, s[1])
	b.lines = append(b.lines, l.String())
}

func (b *box) rule(remark string) { b.edge(6, 7, remark) }

func (b *box) bottom() { b.edge(3, 2, "") }

// edge is a horizontal line of the frame with a remark near its right end.
func (b *box) edge(left, right int, remark string) {
	s := b.signs()
	frame := b.theme.Paint(themes.Faint)
	l := widget.NewLine(b.width)
	n := b.width - 2
	if remark != "" && n > widget.Width(remark)+6 {
		n -= widget.Width(remark) + 3
		l.Put(frame, s[left]+widget.Fill(s[4], n)).Gap(1).Put(b.theme.Paint(themes.Muted), remark).Gap(1)
		n = 1
	} else {
		l.Put(frame, s[left])
	}
	l.Put(frame, widget.Fill(s[4], n)+s[right])
	b.lines = append(b.lines, l.String())
}

// line starts a line of the inside.
func (b *box) line() *widget.Line { return widget.NewLine(b.width - 2) }

// add frames a line of the inside.
func (b *box) add(l *widget.Line) {
	side := b.theme.Paint(themes.Faint).Render(b.signs()[5])
	b.lines = append(b.lines, side+l.String()+side)
}

// addAll frames lines that draw themselves.
func (b *box) addAll(rows []row) {
	for _, draw := range rows {
		l := b.line()
		if draw != nil {
			draw(l, b.theme, b.glyphs)
		}
		b.add(l)
	}
}

// hidden says how many lines lie beyond an end of the list.
func hidden(arrow string, n int) string {
	if n <= 0 {
		return ""
	}
	return arrow + " " + strconv.Itoa(n) + " more"
}

// Over lays the box over a frame.
func (d *Drawn) Over(frame []string) []string {
	out := slices.Clone(frame)
	for i, line := range d.Lines {
		if at := d.Y + i; at < len(out) {
			out[at] = splice(out[at], line, d.X, ansi.StringWidth(line))
		}
	}
	return out
}

// splice replaces width cells of a line from column x by others. Both carry
// their looks in sequences, so they are cut by cells, not by bytes.
func splice(line, insert string, x, width int) string {
	const off = "\x1b[m"
	left := ansi.Truncate(line, x, "")
	pad := strings.Repeat(" ", max(x-ansi.StringWidth(left), 0))
	return left + off + pad + insert + off + ansi.TruncateLeft(line, x+width, "")
}
