package overlay

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine/explain"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Explain shows where a figure comes from and walks down into what it is made
// of. It holds what it was given; Follow gives it the figures of another setup.
type Explain struct {
	path []visit // from the figure that was asked for, down
	w, h int     // of the screen
}

// visit is a figure on the way down, with where one was in it.
type visit struct {
	figure        *explain.Explanation
	cursor, first int // chosen part, first line shown
}

// NewExplain opens on a figure.
func NewExplain(e *explain.Explanation) *Explain {
	return &Explain{path: []visit{{figure: e}}, w: 80, h: 24}
}

// Resize tells how large the screen is.
func (x *Explain) Resize(w, h int) { x.w, x.h = w, h }

// Figure is the figure that is shown.
func (x *Explain) Figure() *explain.Explanation { return x.here().figure }

func (x *Explain) here() *visit { return &x.path[len(x.path)-1] }

// Follow goes to the same figure of another setup, as far down as that has it.
// It is false when not even the first is there.
func (x *Explain) Follow(book *explain.Book) bool {
	for i := range x.path {
		e, ok := book.Explain(x.path[i].figure.Figure)
		if !ok {
			x.path = x.path[:i]
			break
		}
		v := &x.path[i]
		v.figure, v.cursor = e, min(v.cursor, max(len(e.Parts)-1, 0))
	}
	return len(x.path) > 0
}

// HandleKey moves, opens a part, goes back or closes.
func (x *Explain) HandleKey(msg tea.KeyPressMsg) Outcome {
	v := x.here()
	switch msg.String() {
	case "enter", "right", "l":
		if v.cursor < len(v.figure.Parts) {
			x.path = append(x.path, visit{figure: v.figure.Parts[v.cursor]})
		}
	case "esc", "left", "backspace", "h":
		if len(x.path) == 1 {
			if msg.String() == "esc" {
				return Closed
			}
			return Open
		}
		x.path = x.path[:len(x.path)-1]
	case "q", "e":
		return Closed
	case "up", "k", "shift+tab":
		x.Move(-1)
	case "down", "j", "tab":
		x.Move(1)
	case "pgup":
		x.scroll(-x.rows())
	case "pgdown", "space":
		x.scroll(x.rows())
	case "home":
		v.first, v.cursor = 0, 0
	case "end":
		v.cursor = max(len(v.figure.Parts)-1, 0)
		x.scroll(1 << 20)
	}
	return Open
}

// Move goes to the next part, or scrolls where it is out of sight.
func (x *Explain) Move(n int) {
	v := x.here()
	b := x.body()
	line, rows := b.parts+v.cursor, x.rows()
	switch {
	case len(v.figure.Parts) == 0,
		n > 0 && line >= v.first+rows, n < 0 && line < v.first,
		n > 0 && v.cursor == len(v.figure.Parts)-1, n < 0 && v.cursor == 0:
		x.scroll(n)
		return
	}
	v.cursor += n
	line = b.parts + v.cursor
	v.first = min(max(v.first, line-rows+1), line)
}

func (x *Explain) scroll(n int) {
	v := x.here()
	v.first = min(max(v.first+n, 0), max(len(x.body().lines)-x.rows(), 0))
}

// ClickRow opens the part drawn at a row of the box; false when there is none.
func (x *Explain) ClickRow(row int) bool {
	v := x.here()
	i := v.first + row - x.body().parts
	if row < 0 || row >= x.rows() || i < 0 || i >= len(v.figure.Parts) {
		return false
	}
	v.cursor = i
	x.path = append(x.path, visit{figure: v.figure.Parts[i]})
	return true
}

// frameLines are those around the body: top, name, path, rule, rule, hint, bottom.
const frameLines = 7

// narrowest is the least width in which anything can be read; below it nothing
// is drawn.
const narrowest = 16

// rows is how many lines of the body are shown.
func (x *Explain) rows() int {
	return min(len(x.body().lines), max(x.h-frameLines, 1))
}

// wide is the width of the box.
func (x *Explain) wide() int {
	const widest = 104
	return stretched(widest, x.w)
}

// entry is one line of the body: a label and text, or a part.
type entry struct {
	label, text string
	strong      bool
	part        int // index, or -1
}

// body is everything between the rules; parts is the line of the first part.
type body struct {
	lines []entry
	parts int
}

// labelWidth is the column of the labels, with the blanks around them.
const labelWidth = 12

func (x *Explain) body() body {
	e := x.here().figure
	var b body
	room := max(x.wide()-2-labelWidth-2, 8)
	add := func(label, text string, strong bool) {
		if text == "" {
			return
		}
		for i, line := range strings.Split(ansi.Wrap(text, room, ""), "\n") {
			if i > 0 {
				label = ""
			}
			b.lines = append(b.lines, entry{label: label, text: line, strong: strong, part: -1})
		}
	}
	add("formula", e.Symbol+" = "+e.Formula, true)
	if e.Numbers != e.Text() { // a given figure has nothing to work out
		add("numbers", "= "+e.Numbers, false)
	}
	add("result", "= "+e.Text(), true)
	if e.Simulated {
		add("how", "simulated in the order of the schedule: no formula gives it", false)
	}
	add("source", e.Source, false)
	add("leaves out", e.LeavesOut, false)
	add("error band", e.Band, false)
	if len(e.Parts) > 0 {
		b.lines = append(b.lines, entry{part: -1}, entry{label: "made of", part: -1})
	}
	b.parts = len(b.lines)
	for i := range e.Parts {
		b.lines = append(b.lines, entry{part: i})
	}
	return b
}

// Render draws the explanation in the middle of a screen of w x h cells. It has
// no caret.
func (x *Explain) Render(t *themes.Theme, g widget.Glyphs, w, h int) Drawn {
	sized := *x // drawing changes nothing, not even the size
	sized.w, sized.h = w, h
	return sized.draw(t, g)
}

func (x *Explain) draw(t *themes.Theme, g widget.Glyphs) Drawn {
	v, content, rows := x.here(), x.body(), x.rows()
	first := min(v.first, max(len(content.lines)-rows, 0))
	b := box{theme: t, glyphs: g, width: x.wide()}
	d := Drawn{X: max((x.w-b.width)/2, 0), CaretX: -1, CaretY: -1, Rows: rows}
	if b.width < narrowest {
		return d
	}
	b.top("EXPLAIN", "") // its identifier ends the line of the way down
	l := b.line().Gap(1)
	value := v.figure.Text()
	l.Put(t.Paint(themes.Strong), shorten(v.figure.Name, l.Left()-widget.Width(value)-3, g))
	b.add(l.Right(t.Paint(themes.Accent), value, 1))
	b.add(b.line().Gap(1).Put(t.Paint(themes.Muted), x.crumbs(b.width-4, g)))
	b.rule(hidden(g.Up, first))
	d.ListY = len(b.lines)
	for i := first; i < first+rows; i++ {
		b.add(x.line(&b, &content.lines[i]))
	}
	b.rule(hidden(g.Down, len(content.lines)-first-rows))
	b.add(b.line().Gap(1).Put(t.Paint(themes.Muted), shorten(x.hint(g), b.width-4, g)))
	b.bottom()
	d.Lines = b.lines
	if over := len(d.Lines) - x.h; over > 0 { // a screen too low for the frame
		d.Lines = d.Lines[:max(x.h, 0)]
	}
	d.Y = max((x.h-len(d.Lines))/2, 0)
	d.ListY += d.Y
	return d
}

// hint is the last line: what can be done here.
func (x *Explain) hint(g widget.Glyphs) string {
	dot := " " + g.Dot + " "
	words := []string{"esc back"}
	if len(x.path) == 1 {
		words = []string{"esc closes"}
	}
	if len(x.here().figure.Parts) > 0 {
		words = append([]string{"enter goes in"}, words...)
	}
	return strings.Join(append(words, "up/down", "e closes"), dot)
}

// crumbs is the way down, its end where there is no room for all.
func (x *Explain) crumbs(room int, g widget.Glyphs) string {
	arrow := " " + g.More + " "
	text := x.path[len(x.path)-1].figure.Figure
	for i := len(x.path) - 2; i >= 0; i-- {
		longer := x.path[i].figure.Figure + arrow + text
		if widget.Width(longer) > room {
			if short := g.Ellipsis + arrow + text; widget.Width(short) <= room {
				text = short
			}
			break
		}
		text = longer
	}
	return shorten(text, room, g)
}

// line draws a line of the body.
func (x *Explain) line(b *box, e *entry) *widget.Line {
	t, g := b.theme, b.glyphs
	l := b.line()
	if e.part < 0 {
		paint := t.Paint(themes.Text)
		if e.strong {
			paint = t.Paint(themes.Strong)
		}
		return l.Gap(1).Put(t.Paint(themes.Muted), e.label).To(labelWidth).Put(paint, e.text)
	}
	p := x.here().figure.Parts[e.part]
	name, value := t.Paint(themes.Text), t.Paint(themes.Strong)
	if e.part == x.here().cursor {
		chosen := t.Paint(themes.Chosen)
		name, value = chosen, chosen
		l.OnBlank(chosen).Put(chosen, " "+g.Pointer)
	}
	more := ""
	if len(p.Parts) > 0 {
		more = " " + g.More
	}
	text := p.Text()
	l.To(3).Put(name, shorten(p.Name, l.Left()-widget.Width(text)-5, g))
	return l.RightAligned(value, text, b.width-2-3).Put(name, more)
}

// shorten cuts a text to w cells with the terminal's own ellipsis.
func shorten(s string, w int, g widget.Glyphs) string { return widget.CutText(s, w, g.Ellipsis) }
