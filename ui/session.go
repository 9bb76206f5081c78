package ui

import (
	"meshscope/engine"
	"meshscope/ui/session"
	"meshscope/ui/state"
)

// restore goes back to where a session was left. Of a start that asks for a setup it
// is the locks, the choices and the pins, not the place; what a flag says holds for
// this run.
func (m *Model) restore(last *session.Session) {
	s, o := &m.state, &m.options
	s.Locks, s.Unmarked = last.Locks, last.Unmarked
	if o.Theme == "" && last.Theme != "" {
		s.Theme = last.Theme
	}
	if o.Mouse == nil {
		s.Mouse = last.Mouse
	}
	m.screens.compare.Restore(pinned(last))
	if o.Asked {
		return
	}
	if last.Setup != (engine.Setup{}) {
		s.Setup = last.Setup
	}
	if last.Focus != "" {
		s.Focus = last.Focus
	}
	for i, one := range m.screens.all {
		if one.Name() == last.Screen {
			s.Tab = state.Tab(i)
		}
	}
	if *last != session.None() {
		s.Note = state.Note{Text: "back where you left; --no-state starts afresh"}
	}
}

// session is what the next run starts with: the last legal setup and how it was
// looked at.
func (m *Model) session() session.Session {
	s := &m.state
	out := session.Session{
		Setup: m.legal.setup, Locks: s.Locks, Focus: s.Focus, Screen: m.screen().Name(), Theme: s.Theme, Mouse: s.Mouse,
		Hinted: !s.Hint, Unmarked: s.Unmarked,
	}
	if !m.legal.report.Legal {
		out.Setup = m.start.Setup
	}
	copy(out.Pins[:], m.screens.compare.Pins())
	return out
}

// pinned are the pins of a session.
func pinned(last *session.Session) []engine.Setup {
	var out []engine.Setup
	for _, pin := range last.Pins {
		if pin != (engine.Setup{}) {
			out = append(out, pin)
		}
	}
	return out
}
