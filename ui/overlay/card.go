package overlay

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// Card is a text to read: labelled paragraphs and, below them, names of other
// cards to go on to. The caller knows what those are.
type Card struct {
	Title, Remark string // in the upper edge
	Name, Value   string // first line
	About         string // second line
	Paragraphs    []Paragraph
	Links         []string // names of other cards; enter follows the chosen one
	Hint          string   // last line

	cursor, first int // chosen link, first line shown
	w, h          int // of the screen
}

// Paragraph is a text with a label beside it; an empty text is left out.
type Paragraph struct {
	Label, Text string
	Tight       bool // stands right below the one before
	Plain       bool // is one line, blanks and all, cut where there is no room
}

// NewCard prepares a card for a screen of w x h cells.
func NewCard(c Card, w, h int) *Card {
	c.w, c.h = w, h
	return &c
}

// Resize tells how large the screen is.
func (c *Card) Resize(w, h int) { c.w, c.h = w, h }

// Link is the chosen link; false where there is none.
func (c *Card) Link() (int, bool) { return c.cursor, c.cursor < len(c.Links) }

// HandleKey scrolls, chooses among the links or says how it ended: Chosen means
// the link.
func (c *Card) HandleKey(msg tea.KeyPressMsg) Outcome {
	switch msg.String() {
	case "esc", "backspace", "q":
		return Closed
	case "enter", "right", "l":
		if _, ok := c.Link(); ok {
			return Chosen
		}
	case "up", "k", "shift+tab":
		c.Move(-1)
	case "down", "j", "tab":
		c.Move(1)
	case "pgup":
		c.scroll(-c.rows())
	case "pgdown", "space":
		c.scroll(c.rows())
	case "home", "g":
		c.scroll(-1 << 20)
	case "end", "G":
		c.scroll(1 << 20)
	}
	return Open
}

// Move chooses the next link, or scrolls where there is none or it is not in
// sight.
func (c *Card) Move(n int) {
	lines := c.body()
	line := len(lines) - len(c.Links) + c.cursor
	if to := c.cursor + n; len(c.Links) > 0 && to >= 0 && to < len(c.Links) && line >= c.first && line < c.first+c.rows() {
		c.cursor = to
		line += n
		c.first = min(max(c.first, line-c.rows()+1), line)
		return
	}
	c.scroll(n)
}

func (c *Card) scroll(n int) {
	c.first = min(max(c.first+n, 0), max(len(c.body())-c.rows(), 0))
}

// ClickRow chooses the link drawn at a row of the body; false when there is none.
func (c *Card) ClickRow(row int) bool {
	i := c.first + row - (len(c.body()) - len(c.Links))
	if row < 0 || row >= c.rows() || i < 0 || i >= len(c.Links) {
		return false
	}
	c.cursor = i
	return true
}

// rows is how many lines of the body are shown.
func (c *Card) rows() int { return min(len(c.body()), max(c.h-c.frame(), 1)) }

// frame is the number of lines around the body: two edges, two rules, name, hint
// and what the name is about.
func (c *Card) frame() int {
	if c.About == "" {
		return frameLines - 1
	}
	return frameLines
}

func (c *Card) wide() int {
	const widest = 84
	return stretched(widest, c.w)
}

// body is the paragraphs, with a blank line between them where all have room,
// then the links.
func (c *Card) body() []entry {
	room := max(c.wide()-2-labelWidth-2, 8)
	var lines []entry
	starts := []int{}
	for _, p := range c.Paragraphs {
		if p.Text == "" {
			continue
		}
		if !p.Tight {
			starts = append(starts, len(lines))
		}
		if p.Plain {
			lines = append(lines, entry{label: p.Label, text: p.Text, part: -1})
			continue
		}
		label := p.Label
		for text := range strings.SplitSeq(wordwrap(p.Text, room), "\n") {
			lines = append(lines, entry{label: label, text: text, part: -1})
			label = ""
		}
	}
	if len(c.Links) > 0 {
		starts = append(starts, len(lines))
	}
	if len(lines)+len(starts)-1+len(c.Links) <= c.h-c.frame() {
		for i := len(starts) - 1; i > 0; i-- {
			at := starts[i]
			lines = append(lines[:at], append([]entry{{part: -1}}, lines[at:]...)...)
		}
	}
	for i := range c.Links {
		lines = append(lines, entry{part: i})
	}
	return lines
}

// wordwrap breaks a text at blanks, never at a hyphen: (p-1)/m stays whole.
func wordwrap(text string, w int) string {
	const unbroken = "\u2011"
	return strings.ReplaceAll(ansi.Wordwrap(strings.ReplaceAll(text, "-", unbroken), w, ""), unbroken, "-")
}

// Render draws the card in the middle of a screen of w x h cells. It has no
// caret.
func (c *Card) Render(t *themes.Theme, g widget.Glyphs, w, h int) Drawn {
	sized := *c // drawing changes nothing, not even the size
	sized.w, sized.h = w, h
	return sized.draw(t, g)
}

func (c *Card) draw(t *themes.Theme, g widget.Glyphs) Drawn {
	lines, rows := c.body(), c.rows()
	first := min(c.first, max(len(lines)-rows, 0))
	b := box{theme: t, glyphs: g, width: c.wide()}
	d := Drawn{X: max((c.w-b.width)/2, 0), CaretX: -1, CaretY: -1, Rows: rows}
	if b.width < narrowest {
		return d
	}
	b.top(c.Title, c.Remark)
	l := b.line().Gap(1)
	l.Put(t.Paint(themes.Strong), shorten(c.Name, l.Left()-widget.Width(c.Value)-3, g))
	b.add(l.Right(t.Paint(themes.Accent), c.Value, 1))
	if c.About != "" {
		b.add(b.line().Gap(1).Put(t.Paint(themes.Muted), shorten(c.About, b.width-4, g)))
	}
	b.rule(hidden(g.Up, first))
	d.ListY = len(b.lines)
	for i := first; i < first+rows; i++ {
		b.add(c.line(&b, &lines[i]))
	}
	b.rule(hidden(g.Down, len(lines)-first-rows))
	b.add(b.line().Gap(1).Put(t.Paint(themes.Muted), shorten(c.Hint, b.width-4, g)))
	b.bottom()
	d.Lines = b.lines
	if len(d.Lines) > c.h { // a screen too low for the frame
		d.Lines = d.Lines[:max(c.h, 0)]
	}
	d.Y = max((c.h-len(d.Lines))/2, 0)
	d.ListY += d.Y
	return d
}

// line draws a line of the body.
func (c *Card) line(b *box, e *entry) *widget.Line {
	t, g, l := b.theme, b.glyphs, b.line()
	if e.part < 0 {
		return l.Gap(1).Put(t.Paint(themes.Muted), e.label).To(labelWidth).Put(t.Paint(themes.Text), e.text)
	}
	paint := t.Paint(themes.Text)
	label := ""
	if e.part == 0 {
		label = "see also"
	}
	l.Gap(1).Put(t.Paint(themes.Muted), label).To(labelWidth)
	name := c.Links[e.part]
	if e.part == c.cursor {
		paint = t.Paint(themes.Chosen)
		name = g.Pointer + " " + name + " "
	} else {
		name = "  " + name
	}
	l.To(labelWidth-2).Put(paint, shorten(name, l.Left(), g))
	return l
}
