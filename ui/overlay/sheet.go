package overlay

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// sheet is a text in a box that scrolls where the screen is too low for it.
type sheet struct {
	plain
	w, h  int // of the screen
	first int // line of the body that is shown first
}

// page is the content of a sheet: the body between two rules, and the lines above and below.
type page struct {
	title, remark    string // in the upper edge
	width            int
	head, body, foot []row
}

// row draws one line of a box; nil leaves it blank.
type row func(l *widget.Line, t *themes.Theme, g widget.Glyphs)

// edges are the lines of a box that are not text: two edges and two rules.
const edges = 4

// narrowest is the least width in which anything can be read; below it nothing is drawn.
const narrowest = 16

// labelWidth is the column of the labels, with the blanks around them.
const labelWidth = 12

// Resize says how large the screen is.
func (s *sheet) Resize(w, h int) { s.w, s.h = w, h }

// rows returns how many lines of the body are shown.
func (s *sheet) rows(p *page) int {
	return min(len(p.body), max(s.h-len(p.head)-len(p.foot)-edges, 1))
}

func (s *sheet) scroll(p *page, n int) {
	s.first = min(max(s.first+n, 0), max(len(p.body)-s.rows(p), 0))
}

// shows reports whether a line of the body is in sight.
func (s *sheet) shows(p *page, line int) bool { return line >= s.first && line < s.first+s.rows(p) }

// reveal scrolls as far as it must for a line to be in sight.
func (s *sheet) reveal(p *page, line int) { s.first = min(max(s.first, line-s.rows(p)+1), line) }

// scrolled follows the keys that scroll.
func (s *sheet) scrolled(p *page, key string) {
	switch key {
	case "pgup":
		s.scroll(p, -s.rows(p))
	case "pgdown", "space":
		s.scroll(p, s.rows(p))
	case "home", "g":
		s.scroll(p, -1<<20)
	case "end", "G":
		s.scroll(p, 1<<20)
	}
}

// render draws a page in the middle of the screen. It has no caret.
func (s *sheet) render(p *page, t *themes.Theme, g widget.Glyphs) Drawn {
	rows := s.rows(p)
	first := min(s.first, max(len(p.body)-rows, 0))
	b := box{theme: t, glyphs: g, width: p.width}
	d := Drawn{X: max((s.w-b.width)/2, 0), CaretX: -1, CaretY: -1, Rows: rows}
	if b.width < narrowest {
		return d
	}
	b.top(p.title, p.remark)
	b.addAll(p.head)
	b.rule(hidden(g.Up, first))
	d.ListY = len(b.lines)
	b.addAll(p.body[first : first+rows])
	b.rule(hidden(g.Down, len(p.body)-first-rows))
	b.addAll(p.foot)
	b.bottom()
	d.Lines = b.lines[:min(len(b.lines), max(s.h, 0))] // a screen too low for the frame
	d.Y = max((s.h-len(d.Lines))/2, 0)
	d.ListY += d.Y
	return d
}

// titled returns a line with a name at the left and a value at the right.
func titled(name, value string) row {
	return func(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
		l.Gap(1)
		l.Put(t.Paint(themes.Strong),
			shorten(name, l.Left()-widget.Width(value)-3, g)).Right(t.Paint(themes.Accent), value, 1)
	}
}

// textRow returns a line of text, cut where there is no room.
func textRow(role themes.Role, text string) row {
	return func(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
		l.Gap(1).Put(t.Paint(role), shorten(text, l.Left()-1, g))
	}
}

// labelled returns a line of text behind a label.
func labelled(label string, role themes.Role, text string) row {
	return func(l *widget.Line, t *themes.Theme, _ widget.Glyphs) {
		l.Gap(1).Put(t.Paint(themes.Muted), label).To(labelWidth).Put(t.Paint(role), text)
	}
}

// paragraph returns lines of text behind one label.
func paragraph(label string, role themes.Role, lines []string) []row {
	rows := make([]row, 0, len(lines))
	for _, line := range lines {
		rows = append(rows, labelled(label, role, line))
		label = ""
	}
	return rows
}

// textRoom returns the width of a paragraph in a box.
func textRoom(width int) int { return max(width-2-labelWidth-2, 8) }

// wordwrap breaks a text at blanks, never at a hyphen: (p-1)/m stays whole.
func wordwrap(text string, w int) []string {
	const unbroken = "\u2011"
	text = ansi.Wrap(strings.ReplaceAll(text, "-", unbroken), w, "")
	return strings.Split(strings.ReplaceAll(text, unbroken, "-"), "\n")
}

// shorten cuts a text to w cells with the terminal's own ellipsis.
func shorten(s string, w int, g widget.Glyphs) string { return widget.CutText(s, w, g.Ellipsis) }

// Hint returns the last line of a list or card: keys and what they do.
func Hint(g widget.Glyphs, keys ...string) string { return strings.Join(keys, " "+g.Dot+" ") }

// fitted returns a hint of at most w cells: the keys before the last one go first.
func fitted(hint string, w int, g widget.Glyphs) string {
	parts := strings.Split(hint, Hint(g, "", ""))
	for len(parts) > 2 && widget.Width(Hint(g, parts...)) > w {
		parts = append(parts[:len(parts)-2], parts[len(parts)-1])
	}
	if text := Hint(g, parts...); widget.Width(text) <= w {
		return text
	}
	return shorten(parts[len(parts)-1], w, g)
}

// hintRow returns the last line of a box.
func hintRow(hint string) row {
	return func(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
		l.Gap(1).Put(t.Paint(themes.Muted), fitted(hint, l.Left()-1, g))
	}
}
