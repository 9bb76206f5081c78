package ui

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/ui/overlay"
	"meshscope/ui/widget"
)

// bookReadMsg brings the figures of a setup with their explanations.
type bookReadMsg struct {
	setup engine.Setup
	book  *explain.Book
	items []overlay.Item
	ids   []string
}

// explaining is the list of figures and the explanation that is open.
type explaining struct {
	book *explain.Book
	ids  []string // of the lines of the list
	open *overlay.Explain
}

// readBookCmd explains every figure of the setup, for the list to choose from.
func (m *Model) readBookCmd() tea.Cmd {
	setup := m.legal.setup
	return m.guard(func() tea.Msg {
		msg := bookReadMsg{setup: setup}
		book, ok := explain.Of(setup)
		if !ok {
			return msg
		}
		msg.book = book
		for _, f := range book.Figures() {
			e, ok := book.Explain(f.ID)
			if !ok {
				continue
			}
			msg.ids = append(msg.ids, f.ID)
			msg.items = append(msg.items, overlay.Item{Title: e.Name, Name: f.ID, Fields: []string{e.Text()}})
		}
		return msg
	})
}

// takeBook opens the list of figures, if it is still wanted.
func (m *Model) takeBook(msg bookReadMsg) {
	if m.state.Overlay != FiguresOverlay || msg.book == nil || msg.setup != m.legal.setup {
		return
	}
	m.explaining = explaining{book: msg.book, ids: msg.ids}
	at := 0
	if s := m.screen(); s != nil && m.legal.report.Legal {
		at = max(slices.Index(msg.ids, s.figure(m.screenInput())), 0)
	}
	m.picker = overlay.New("FIGURES", "type to search · enter explains it · esc closes", msg.items, at)
	m.picker.Valued = true
	m.picker.Resize(m.caps.height)
}

// openExplanation opens the chosen figure.
func (m *Model) openExplanation(i int) tea.Cmd {
	e, ok := m.explaining.book.Explain(m.explaining.ids[i])
	if !ok {
		return m.do(Action{Verb: Close})
	}
	cmd := m.do(Action{Verb: Open, Screen: ExplainOverlay})
	m.explaining.open = overlay.NewExplain(e)
	m.explaining.open.Resize(m.caps.width, m.caps.height)
	return cmd
}

func (m *Model) explainKey(msg tea.KeyPressMsg) tea.Cmd {
	if key.Matches(msg, m.keys.Explain) || m.explaining.open.HandleKey(msg) == overlay.Closed {
		return m.do(Action{Verb: Close})
	}
	return nil
}

// explainMouse follows a click on a part, closes on one outside, and scrolls.
func (m *Model) explainMouse(msg tea.MouseMsg) tea.Cmd {
	x := m.explaining.open
	d := x.Render(m.look.theme, m.look.glyphs, m.caps.width, m.caps.height)
	at := msg.Mouse()
	switch mouseButton(msg) {
	case "left":
		if at.Y < d.Y || at.Y >= d.Y+len(d.Lines) {
			return m.do(Action{Verb: Close})
		}
		x.ClickRow(at.Y - d.ListY)
	case "wheelup":
		x.Move(-1)
	case "wheeldown":
		x.Move(1)
	}
	return nil
}

// over lays a drawn box over the lines.
func over(lines []string, d overlay.Drawn) []string {
	if len(d.Lines) == 0 {
		return lines
	}
	return overlay.Over(lines, d.Lines, d.X, d.Y, widget.Width(ansi.Strip(d.Lines[0])))
}
