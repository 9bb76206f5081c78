package overlay

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"meshscope/themes"
	"meshscope/ui/widget"
)

// Card is a text to read: labelled paragraphs and, below them, links to go on to.
type Card struct {
	Title, Remark string // in the upper edge
	Name, Value   string // first line
	About         string // second line
	Paragraphs    []Paragraph
	Links         []string // names of other cards; enter follows the chosen one
	Hint          string   // last line

	Keys   []Bound          // before the card's own
	Leave  Action           // of esc, backspace and q; nil: Close
	Follow func(int) Action // goes to a link

	sheet
	cursor int // chosen link
}

// Paragraph is a text with a label next to it; an empty text is left out.
type Paragraph struct {
	Label, Text string
	Tight       bool // stands right below the one before
	Plain       bool // is one line, blanks and all, cut where there is no room
}

// HandleKey scrolls, chooses among the links, follows the chosen one or leaves.
func (c *Card) HandleKey(msg tea.KeyPressMsg) Action {
	if a, ok := bound(c.Keys, msg); ok {
		return a
	}
	switch name := msg.String(); name {
	case "esc", "backspace", "q":
		if c.Leave == nil {
			return Close{}
		}
		return c.Leave
	case "enter", "right", "l":
		if c.cursor < len(c.Links) {
			return c.Follow(c.cursor)
		}
	case "up", "k", "shift+tab":
		c.Wheel(-1)
	case "down", "j", "tab":
		c.Wheel(1)
	default:
		c.scrolled(c.page(), name)
	}
	return nil
}

// Wheel chooses the next link, or scrolls where there is none or it is not in sight.
func (c *Card) Wheel(n int) {
	p := c.page()
	line := len(p.body) - len(c.Links) + c.cursor
	if to := c.cursor + n; len(c.Links) > 0 && to >= 0 && to < len(c.Links) && c.shows(p, line) {
		c.cursor = to
		c.reveal(p, line+n)
		return
	}
	c.scroll(p, n)
}

// Click follows the link drawn at a row of the body.
func (c *Card) Click(row int) Action {
	i := c.first + row - (len(c.page().body) - len(c.Links))
	if i < 0 || i >= len(c.Links) {
		return nil
	}
	c.cursor = i
	return c.Follow(i)
}

// Render draws the card in the middle of the screen.
func (c *Card) Render(t *themes.Theme, g widget.Glyphs) Drawn { return c.render(c.page(), t, g) }

// page returns the paragraphs, with a blank line between them where all have room, then the
// links.
func (c *Card) page() *page {
	const widest = 84
	p := &page{
		title: c.Title, remark: c.Remark, width: stretched(widest, c.w),
		head: []row{titled(c.Name, c.Value)}, foot: []row{hintRow(c.Hint)},
	}
	if c.About != "" {
		p.head = append(p.head, textRow(themes.Muted, c.About))
	}
	starts := []int{}
	for _, q := range c.Paragraphs {
		if q.Text == "" {
			continue
		}
		if !q.Tight {
			starts = append(starts, len(p.body))
		}
		if q.Plain {
			p.body = append(p.body, labelled(q.Label, themes.Text, q.Text))
			continue
		}
		p.body = append(p.body, paragraph(q.Label, themes.Text, wordwrap(q.Text, textRoom(p.width)))...)
	}
	if len(c.Links) > 0 {
		starts = append(starts, len(p.body))
	}
	if len(p.body)+len(starts)-1+len(c.Links) <= c.h-len(p.head)-len(p.foot)-edges {
		for i := len(starts) - 1; i > 0; i-- {
			p.body = slices.Insert(p.body, starts[i], row(nil))
		}
	}
	for i := range c.Links {
		p.body = append(p.body, c.link(i))
	}
	return p
}

// link draws the name of another card.
func (c *Card) link(i int) row {
	return func(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
		label, name, paint := "", "  "+c.Links[i], t.Paint(themes.Text)
		if i == 0 {
			label = "see also"
		}
		if i == c.cursor {
			name, paint = g.Pointer+" "+c.Links[i]+" ", t.Paint(themes.Chosen)
		}
		l.Gap(1).Put(t.Paint(themes.Muted), label).To(labelWidth)
		l.Put(paint, shorten(name, l.Left(), g))
	}
}
