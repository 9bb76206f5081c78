package ui

import (
	tea "charm.land/bubbletea/v2"

	"meshscope/ui/frame"
	"meshscope/ui/state"
)

// handleMouse turns clicks and the wheel into actions. What lies where is
// computed from the same drawing that is on the screen.
func (m *Model) handleMouse(msg tea.MouseMsg) tea.Cmd {
	at := msg.Mouse()
	button := mouseButton(msg)
	if d := m.overlays.Render(m.look.theme, m.look.glyphs); len(d.Lines) > 0 {
		return m.carry(m.overlays.Mouse(d, button, at.Y))
	}
	if _, moved := msg.(tea.MouseMotionMsg); moved && at.Button == tea.MouseLeft && m.state.Tab == state.ExploreTab {
		return m.drag(at.X, at.Y)
	}
	return m.screenMouse(at.X, at.Y, button)
}

// mouseButton returns a click or a turn of the wheel in a word, empty for the rest.
func mouseButton(msg tea.MouseMsg) string {
	switch button := msg.Mouse().Button; msg.(type) {
	case tea.MouseClickMsg:
		if button == tea.MouseLeft {
			return "left"
		}
	case tea.MouseWheelMsg:
		if button == tea.MouseWheelUp {
			return "wheelup"
		}
		if button == tea.MouseWheelDown {
			return "wheeldown"
		}
	}
	return ""
}

// drag takes the values of the focused ladder that the pointer is drawn over.
func (m *Model) drag(x, y int) tea.Cmd {
	if a := m.knobAt(x, y); a.Verb == state.SetKnob && a.ID == m.state.Focus {
		return m.do(a)
	}
	return nil
}

// knobAt returns the action of a click on the knobs column: a value of a ladder
// sets it, the rest of the row takes the focus.
func (m *Model) knobAt(x, y int) state.Action {
	r := frame.Layout(m.caps.Width, m.caps.Height, m.content())
	if r.Tiny || !r.Knobs.Contains(x, y) {
		return state.Action{}
	}
	action := state.Action{}
	for _, hit := range m.column(r.Knobs).Hits {
		if y != r.Knobs.Y+hit.Y || x < r.Knobs.X+hit.X || x >= r.Knobs.X+hit.X+hit.W {
			continue
		}
		action = state.Action{Verb: state.FocusKnob, ID: hit.ID}
		if hit.Value != "" {
			return state.Action{Verb: state.SetKnob, ID: hit.ID, Text: hit.Value}
		}
	}
	return action
}

// wheel turns the knob under the pointer, scrolls ranks or a list.
func (m *Model) wheel(x, y, n int) tea.Cmd {
	r := frame.Layout(m.caps.Width, m.caps.Height, m.content())
	switch {
	case r.Memory.Contains(x, y) || r.Pipeline.Contains(x, y):
		return m.do(state.Action{Verb: state.PageRanks, N: n})
	case r.Knobs.Contains(x, y):
		if at := m.knobAt(x, y); at.ID != "" {
			return tea.Batch(m.do(state.Action{Verb: state.FocusKnob, ID: at.ID}), m.do(state.Action{Verb: state.TurnKnob, N: -n}))
		}
	}
	return nil
}
