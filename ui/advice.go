package ui

import (
	"context"
	"runtime/debug"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/ui/export"
	"meshscope/ui/overlay"
	"meshscope/ui/widget"
)

// advising is the card with advice, and the work that finds it.
type advising struct {
	open *overlay.Advice
	jobs widget.Jobs
	stop context.CancelFunc

	written []export.Table // of the card, while the list of formats is open over it
}

// advisedMsg brings advice; nil where there is none.
type advisedMsg struct {
	job   int
	found *advise.Advice
}

// openAdvice opens the card and has the advice on the setup in force worked out, which
// takes up to seconds: the card says so, and esc ends it.
func (m *Model) openAdvice() tea.Cmd {
	if !m.now.report.Legal {
		why := "there is no advice on a setup that cannot run: enter takes the nearest legal values"
		if m.slow.pending {
			why = "the setup is still being worked out; then there is advice on it"
		}
		return tea.Batch(m.do(Action{Verb: Close}), m.do(Action{Verb: Say, Text: why}))
	}
	m.advising.open = overlay.NewAdvice(&m.now.setup, &m.now.report, m.caps.width, m.caps.height)
	ctx, stop := context.WithCancel(context.Background())
	m.advising.stop = stop
	job, setup := m.advising.jobs.Begin(), m.now.setup
	return m.guard(func() tea.Msg {
		defer stop()
		found, ok := advise.For(setup, advise.Options{Stop: func() bool { return ctx.Err() != nil }})
		debug.FreeOSMemory() // a search fills tens of megabytes, which nothing else needs
		if ctx.Err() != nil {
			return nil
		}
		if !ok {
			return advisedMsg{job: job}
		}
		return advisedMsg{job, &found}
	})
}

// closeAdvice ends the work of a card that is closed.
func (m *Model) closeAdvice() {
	m.advising.open = nil
	m.advising.jobs.Drop()
	if m.advising.stop != nil {
		m.advising.stop()
		m.advising.stop = nil
	}
}

// takeAdvice shows what was found, if the card that asked is still open.
func (m *Model) takeAdvice(msg advisedMsg) {
	if m.advising.jobs.End(msg.job) && m.advising.open != nil {
		m.advising.open.Take(msg.found)
	}
}

func (m *Model) adviceKey(msg tea.KeyPressMsg) tea.Cmd {
	if key.Matches(msg, m.keys.Advice) {
		return m.do(Action{Verb: Close})
	}
	if found := m.advising.open.Found(); found != nil && key.Matches(msg, m.keys.Export) {
		m.advising.written = adviceTables(found)
		return m.do(Action{Verb: Open, Screen: ExportOverlay})
	}
	switch m.advising.open.HandleKey(msg) {
	case overlay.Closed:
		return m.do(Action{Verb: Close})
	case overlay.Chosen:
		return m.makeMove()
	case overlay.Open:
	}
	return nil
}

// makeMove applies the chosen move, as one step that can be undone, and closes the card.
func (m *Model) makeMove() tea.Cmd {
	move := m.advising.open.Move()
	if move == nil {
		return nil
	}
	setup := new(engine.Setup)
	*setup = move.Setup
	what := "advice"
	if move.Fits && !m.now.report.Memory.Fits {
		what = "it fits"
	}
	return tea.Batch(m.do(Action{Verb: Close}), m.do(Action{Verb: UseSetup, Setup: setup, Text: what}))
}

// adviceMouse scrolls, makes the move that is clicked, and closes on a click outside.
func (m *Model) adviceMouse(msg tea.MouseMsg) tea.Cmd {
	a := m.advising.open
	at := msg.Mouse()
	switch mouseButton(msg) {
	case "left":
		d := a.Render(m.look.theme, m.look.glyphs, m.caps.width, m.caps.height)
		if at.Y < d.Y || at.Y >= d.Y+len(d.Lines) {
			return m.do(Action{Verb: Close})
		}
		if a.ClickRow(at.Y - d.ListY) {
			return m.makeMove()
		}
	case "wheelup":
		a.Step(-1)
	case "wheeldown":
		a.Step(1)
	}
	return nil
}
