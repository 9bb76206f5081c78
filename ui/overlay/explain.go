package overlay

import (
	tea "charm.land/bubbletea/v2"

	"meshscope/engine/explain"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Explain shows where a figure comes from and walks down into what it is made of.
type Explain struct {
	Keys []Bound // before its own

	sheet
	path []visit // from the figure that was asked for, down
}

// visit is a figure on the way down, with where one was in it.
type visit struct {
	figure        *explain.Explanation
	cursor, first int // chosen part, first line shown
}

// NewExplain opens on a figure.
func NewExplain(e *explain.Explanation) *Explain {
	return &Explain{path: []visit{{figure: e}}}
}

func (x *Explain) here() *visit { return &x.path[len(x.path)-1] }

// HandleKey moves, opens a part, goes back or closes.
func (x *Explain) HandleKey(msg tea.KeyPressMsg) Action {
	if a, ok := bound(x.Keys, msg); ok {
		return a
	}
	v := x.here()
	switch name := msg.String(); name {
	case "enter", "right", "l":
		x.enter(v.cursor)
	case "esc", "left", "backspace", "h":
		switch {
		case len(x.path) > 1:
			x.path = x.path[:len(x.path)-1]
			x.first = x.here().first
		case name == "esc":
			return Close{}
		}
	case "q", "e":
		return Close{}
	case "up", "k", "shift+tab":
		x.Wheel(-1)
	case "down", "j", "tab":
		x.Wheel(1)
	case "home":
		v.cursor, x.first = 0, 0
	case "end":
		v.cursor = max(len(v.figure.Parts)-1, 0)
		x.scrolled(x.page(), name)
	default:
		x.scrolled(x.page(), name)
	}
	return nil
}

// enter goes into a part.
func (x *Explain) enter(i int) {
	if v := x.here(); i < len(v.figure.Parts) {
		v.cursor, v.first = i, x.first
		x.path = append(x.path, visit{figure: v.figure.Parts[i]})
		x.first = 0
	}
}

// Wheel goes to the next part, or scrolls where it is out of sight.
func (x *Explain) Wheel(n int) {
	v, p := x.here(), x.page()
	line, to := x.parts(p)+v.cursor, v.cursor+n
	below, above := line >= x.first+x.rows(p), line < x.first
	if to < 0 || to >= len(v.figure.Parts) || n > 0 && below || n < 0 && above {
		x.scroll(p, n)
		return
	}
	v.cursor = to
	x.reveal(p, line+n)
}

// Click opens the part drawn at a row of the box.
func (x *Explain) Click(row int) Action {
	if i := x.first + row - x.parts(x.page()); i >= 0 {
		x.enter(i)
	}
	return nil
}

// parts returns the line of the first part.
func (x *Explain) parts(p *page) int { return len(p.body) - len(x.here().figure.Parts) }

// Render draws the explanation in the middle of the screen.
func (x *Explain) Render(t *themes.Theme, g widget.Glyphs) Drawn { return x.render(x.page(), t, g) }

func (x *Explain) page() *page {
	const widest = 104
	e := x.here().figure
	// its identifier ends the line of the way down
	p := &page{title: "EXPLAIN", width: stretched(widest, x.w)}
	p.head = []row{titled(e.Name, e.Text()), x.crumbs}
	p.foot = []row{x.hint}
	add := func(label string, role themes.Role, text string) {
		p.body = append(p.body, paragraph(label, role, widget.Wrap(text, textRoom(p.width)))...)
	}
	add("formula", themes.Strong, e.Symbol+" = "+e.Formula)
	if e.Numbers != e.Text() { // a given figure has nothing to compute
		add("numbers", themes.Text, "= "+e.Numbers)
	}
	add("result", themes.Strong, "= "+e.Text())
	if e.Simulated {
		add("how", themes.Text, "simulated operation by operation; there is no closed form")
	}
	add("source", themes.Text, e.Source)
	add("leaves out", themes.Text, e.LeavesOut)
	add("error band", themes.Text, e.Band)
	if len(e.Parts) > 0 {
		p.body = append(p.body, nil, labelled("made of", themes.Text, ""))
	}
	for i := range e.Parts {
		p.body = append(p.body, x.part(i))
	}
	return p
}

// hint draws the last line: what can be done here.
func (x *Explain) hint(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
	keys := []string{"esc back"}
	if len(x.path) == 1 {
		keys = []string{"esc closes"}
	}
	if len(x.here().figure.Parts) > 0 {
		keys = append([]string{"enter goes in"}, keys...)
	}
	textRow(themes.Muted, Hint(g, append(keys, "up/down", "e closes")...))(l, t, g)
}

// crumbs draws the way down, its end where there is no room for all.
func (x *Explain) crumbs(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
	room, arrow := l.Left()-2, " "+g.More+" "
	text := x.here().figure.Figure
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
	textRow(themes.Muted, text)(l, t, g)
}

// part draws a figure that this one is made of.
func (x *Explain) part(i int) row {
	return func(l *widget.Line, t *themes.Theme, g widget.Glyphs) {
		p := x.here().figure.Parts[i]
		name, value := t.Paint(themes.Text), t.Paint(themes.Strong)
		if i == x.here().cursor {
			chosen := t.Paint(themes.Chosen)
			name, value = chosen, chosen
			l.OnBlank(chosen).Put(chosen, " "+g.Pointer)
		}
		more := ""
		if len(p.Parts) > 0 {
			more = " " + g.More
		}
		end, text := l.Left()+l.Used()-3, p.Text()
		l.To(3).Put(name, shorten(p.Name, l.Left()-widget.Width(text)-5, g))
		l.RightAligned(value, text, end).Put(name, more)
	}
}
