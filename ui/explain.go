package ui

import (
	"fmt"
	"slices"
	"strings"

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
	setup engine.Setup // of the figures
	name  string       // what a list calls it; empty: the setup in force
	at    string       // the figure that the list opens at
	book  *explain.Book
	ids   []string // of the lines of the list
	open  *overlay.Explain
}

// readBookCmd explains every figure of the setup under the cursor, else of the one in
// force, for the list to choose from.
func (m *Model) readBookCmd() tea.Cmd {
	want := explaining{setup: m.legal.setup}
	if s := m.screen(); s != nil && m.shows() {
		in := m.screenInput()
		if under, name := s.under(in); under != nil {
			want.setup, want.name = *under, name
		}
		want.at = s.figure(in)
	}
	m.explaining = want
	return m.guard(func() tea.Msg {
		msg := bookReadMsg{setup: want.setup}
		book, ok := explain.Of(want.setup)
		if !ok {
			return msg
		}
		msg.book = book
		add := func(id string) {
			if e, ok := book.Explain(id); ok {
				msg.ids = append(msg.ids, id)
				msg.items = append(msg.items, overlay.Item{Title: e.Name, Name: id, Fields: []string{e.Text()}})
			}
		}
		figures := book.Figures()
		at := figureOf(book.Report(), want.at)
		if !slices.ContainsFunc(figures, func(f explain.Figure) bool { return f.ID == at }) {
			add(at) // what the figures of the report are made of is not in their list
		}
		for _, f := range figures {
			add(f.ID)
		}
		return msg
	})
}

// figureOf is the figure of a report that has an explanation, for one that a screen
// shows: what is free is usable less the peak, and the fullest rank has a number.
func figureOf(r *engine.Report, id string) string {
	if id == "memory.free" {
		return "memory.peak"
	}
	if rest, ok := strings.CutPrefix(id, engine.FullestRank); ok && r != nil && r.Memory != nil {
		return fmt.Sprintf("memory.ranks.%d.%s", r.Memory.Ranks[r.Memory.PeakRank].Rank, rest)
	}
	return id
}

// takeBook opens the list of figures, if it is still wanted.
func (m *Model) takeBook(msg bookReadMsg) {
	if m.state.Overlay != FiguresOverlay || msg.book == nil || msg.setup != m.explaining.setup {
		return
	}
	m.explaining.book, m.explaining.ids = msg.book, msg.ids
	title := "FIGURES"
	if m.explaining.name != "" {
		title += " of " + m.explaining.name
	}
	at := max(slices.Index(msg.ids, figureOf(msg.book.Report(), m.explaining.at)), 0)
	m.picker = overlay.New(title, "type to search · enter explains it · esc closes", msg.items, at)
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
