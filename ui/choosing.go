package ui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/frame"
	"meshscope/ui/screen"
	"meshscope/ui/screens/explore"
	"meshscope/ui/state"
	"meshscope/ui/widget"
)

// choosing is the search for the layout to open with.
type choosing struct {
	stop context.CancelFunc // nil: there is none, or it has ended
}

// chosenMsg brings the layout to open with; an empty setup where there is none.
type chosenMsg struct {
	setup engine.Setup
	words string
}

// chooseCmd searches for the layout to open with; nil where it is known.
func (m *Model) chooseCmd() tea.Cmd {
	if m.options.Choose == nil {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	m.choosing.stop = stop
	return m.guard(func() tea.Msg {
		s, words := m.options.Choose(ctx)
		return chosenMsg{s, words}
	})
}

// takeChosen opens with the layout that was found: there is nothing before it to go back to.
func (m *Model) takeChosen(msg chosenMsg) tea.Cmd {
	m.choosing.stop()
	m.choosing.stop = nil
	if msg.setup != (engine.Setup{}) {
		m.state.Setup = msg.setup
	}
	m.evaluate()
	m.before = explore.Vital{}
	if m.legal.report.Legal {
		m.start.Setup = m.legal.setup
	}
	if len(m.options.Notices) == 0 {
		m.state.Note = state.Note{Text: msg.words}
	}
	m.retargetSweep()
	return tea.Batch(m.slowCmd(), m.sweepCmd(), m.refreshScreen(), m.tick())
}

// choosingFrame says what is searched for and how to go on without waiting for it.
func (m *Model) choosingFrame() []string {
	w, h := m.caps.Width, m.caps.Height
	f := frame.New(w, h)
	t := m.look.theme
	s := &m.state.Setup
	in := &screen.Context{Setup: s, Theme: t, Glyphs: m.look.glyphs}
	f.Put(frame.Rect{W: w, H: 1}, []string{widget.NewLine(w).Put(t.Paint(themes.Title), "meshscope").String()})
	lines := []string{
		"searching for the best layout of " + s.Model.Name + " on " + figure.Comma(s.GPUs) + " " + m.look.glyphs.Times + " " + s.Cluster.GPU.Name,
		"any key opens with the best one so far",
	}
	for i, role := range []themes.Role{themes.Strong, themes.Muted} {
		text := in.Cut(lines[i], w)
		l := widget.NewLine(w).Gap(max(0, (w-widget.Width(text))/2)).Put(t.Paint(role), text)
		f.Put(frame.Rect{Y: h/2 - 1 + i, W: w, H: 1}, []string{l.String()})
	}
	return f.Lines()
}
