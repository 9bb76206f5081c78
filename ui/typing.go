package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/ui/textbox"
)

// startTyping opens the focused knob for a typed value.
func (m *Model) startTyping(text string) {
	input := textbox.New(40)
	input.Set(text)
	m.typing = typing{on: true, id: m.state.Focus, input: input}
}

func (m *Model) typingKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		m.typing = typing{}
		return nil
	case "enter":
		return m.takeTyped()
	case "up", "down":
		m.typing = typing{}
		return m.do(m.keyAction(msg))
	}
	m.typing.input.Key(msg)
	m.typing.wrong = ""
	return nil
}

// takeTyped puts the typed value into the knob. A value that cannot be taken
// stays where it was typed, with the reason.
func (m *Model) takeTyped() tea.Cmd {
	text := strings.TrimSpace(m.typing.input.Value())
	p, ok := engine.FindParam(m.typing.id)
	if !ok || text == "" && p.Kind != engine.TextParam {
		m.typing = typing{}
		return nil
	}
	if p.Kind == engine.IntParam || p.Kind == engine.FigureParam {
		text = ungrouped(text)
	}
	if p.ID == "recompute" && text != "" && strings.Trim(text, "0123456789") == "" {
		text = "full:" + text // layers per rank
	}
	if _, err := engine.Turn(m.state.Setup, m.typing.id, text, m.state.Locks); err != nil {
		m.typing.wrong = sentence(err)
		return nil
	}
	id := m.typing.id
	m.typing = typing{}
	return m.do(Action{Verb: SetKnob, ID: id, Text: text})
}

// handlePaste puts pasted text where typed text would go.
func (m *Model) handlePaste(msg tea.PasteMsg) tea.Cmd {
	text := strings.TrimSpace(msg.Content)
	switch {
	case m.state.Overlay != NoOverlay:
		if m.picker != nil {
			m.picker.Paste(text)
		}
	case m.writing():
		m.screen().writer().Paste(text)
		return m.refreshScreen()
	default:
		if !m.typing.on {
			m.startTyping("")
		}
		m.typing.input.Paste(text)
	}
	return nil
}
