package overlay

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/report"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Page is a document to read, in a box that scrolls.
type Page struct {
	Title, Hint string
	PlusMinus   string  // of the terminal
	Keys        []Bound // before its own
	Stop        func()  // ends the work on it
	Said        string  // what the last key did; it stands in the place of the hint until the next one

	sheet
	document *report.Document
}

// NewPage returns a page of a document.
func NewPage(title string, d *report.Document) *Page { return &Page{Title: title, document: d} }

// Take shows another document in its place.
func (p *Page) Take(d *report.Document) { p.document = d }

// Close ends the work.
func (p *Page) Close() { p.Stop() }

// HandleKey scrolls or leaves.
func (p *Page) HandleKey(msg tea.KeyPressMsg) Action {
	p.Said = ""
	if a, ok := bound(p.Keys, msg); ok {
		return a
	}
	switch name := msg.String(); name {
	case "esc", "backspace", "q":
		return Close{}
	case "up", "k":
		p.Wheel(-1)
	case "down", "j":
		p.Wheel(1)
	default:
		p.scrolled(p.page(), name)
	}
	return nil
}

// Wheel scrolls.
func (p *Page) Wheel(n int) { p.scroll(p.page(), n) }

// Click does nothing.
func (*Page) Click(int) Action { return nil }

// Render draws the page in the middle of the screen.
func (p *Page) Render(t *themes.Theme, g widget.Glyphs) Drawn { return p.render(p.page(), t, g) }

// page breaks the document into lines.
func (p *Page) page() *page {
	const widest = 100
	out := &page{title: p.Title, width: stretched(widest, p.w), foot: []row{hintRow(p.Hint)}}
	room := max(out.width-4, 8)
	if p.Said != "" {
		out.foot = nil
		for _, line := range wordwrap(p.Said, room) {
			out.foot = append(out.foot, textRow(themes.Strong, line))
		}
	}
	text := func(role themes.Role, indent int, s string) {
		for _, line := range wordwrap(p.plain(s), room-indent) {
			out.body = append(out.body, textRow(role, strings.Repeat(" ", indent)+line))
		}
	}
	out.head = []row{textRow(themes.Strong, p.document.Title)}
	for i := range p.document.Sections {
		s := &p.document.Sections[i]
		if s.Filed {
			continue
		}
		if s.Heading != "" {
			if len(out.body) > 0 && p.h >= roomyHeight {
				out.body = append(out.body, nil)
			}
			out.body = append(out.body, headed(strings.ToUpper(s.Heading), p.plain(s.Lead)))
		}
		for _, b := range s.Blocks {
			switch b := b.(type) {
			case report.Sentence:
				text(themes.Text, 0, string(b))
			case report.Detail:
				text(themes.Muted, 2, string(b))
			case report.Line:
				text(themes.Text, 0, string(b))
			case report.Command:
				text(themes.Accent, 0, string(b))
			case report.Item:
				text(themes.Text, 0, b.Text)
				for _, detail := range b.Details {
					text(themes.Muted, 2, detail)
				}
			case report.Facts:
				for _, f := range b {
					out.body = append(out.body,
						paragraph(f.Name, themes.Text, wordwrap(p.plain(f.Value), textRoom(out.width)))...)
				}
			}
		}
	}
	return out
}

// plain returns a text in the signs of the terminal.
func (p *Page) plain(text string) string { return strings.ReplaceAll(text, "±", p.PlusMinus) }

// roomyHeight is the height from which sections have a blank line before them.
const roomyHeight = 34

// headed returns a line with a heading and the result in brief.
func headed(heading, lead string) row {
	return func(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
		l.Gap(1).Put(t.Paint(themes.Accent), heading).Gap(2).Put(t.Paint(themes.Strong),
			shorten(lead, l.Left()-1, g))
	}
}
