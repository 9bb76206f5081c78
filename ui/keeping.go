package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/ui/session"
)

// keepPause is how long after the last change the setup is kept, for an end that nobody is told of.
const keepPause = time.Second

// keepMsg asks for the setup to be kept, unless another change came later.
type keepMsg struct{ serial int }

// setupKeptMsg says that a setup is kept, or why not, which the end tells.
type setupKeptMsg struct {
	setup engine.Setup
	err   error
}

// keepSoon keeps the setup a moment after it changed.
func (m *Model) keepSoon() tea.Cmd {
	if m.options.KeepNow == nil {
		return nil
	}
	m.keeps++
	serial := m.keeps
	return tea.Tick(keepPause, func(time.Time) tea.Msg { return keepMsg{serial} })
}

// takeKeep keeps the setup, if it is still that of the last change and the user's own.
func (m *Model) takeKeep(msg keepMsg) tea.Cmd {
	if msg.serial != m.keeps || m.onStage() != nil {
		return nil
	}
	start := m.began()
	end := start
	if end.Setup = m.session().Setup; end == start {
		return nil
	}
	return m.guard(func() tea.Msg { return setupKeptMsg{end.Setup, m.options.KeepNow(start, end)} })
}

// began returns what the run began with, and the setup that it has kept since: what another run keeps later
// is not written over at the end.
func (m *Model) began() session.Session {
	s := m.start
	if m.kept != (engine.Setup{}) {
		s.Setup = m.kept
	}
	return s
}
