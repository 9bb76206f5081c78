package ui

import (
	"meshscope/engine"
	"meshscope/ui/session"
)

// restore goes back to where a session was left.
func (s *State) restore(last session.Session, theme string, mouse bool) {
	s.Setup, s.Locks, s.Focus = last.Setup, last.Locks, last.Focus
	if theme == "" || theme == themeAuto {
		s.Theme = last.Theme
	}
	s.Mouse = last.Mouse && mouse
	s.Unmarked = last.Unmarked
	for tab := range tabs {
		if tab.String() == last.Screen {
			s.Tab = tab
		}
	}
	s.Note = Note{Text: "back where you left; --no-state starts afresh"}
}

// session is what the next run starts with: the last legal setup and how it was
// looked at.
func (m *Model) session() session.Session {
	s := &m.state
	out := session.Session{
		Setup: m.legal.setup, Locks: s.Locks, Focus: s.Focus, Screen: s.Tab.String(), Theme: s.Theme, Mouse: s.Mouse,
		Hinted: !s.Hint, Unmarked: s.Unmarked,
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
