package ui

import (
	"errors"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine/knob"
	"meshscope/ui/overlay"
	"meshscope/ui/screen"
)

// startTyping opens the focused knob for a typed value.
func (m *Model) startTyping(text string) {
	v := overlay.NewValue(m.state.Focus, text)
	for _, arrow := range []tea.KeyPressMsg{{Code: tea.KeyUp}, {Code: tea.KeyDown}} {
		v.Keys = append(v.Keys, overlay.Bound{
			Key: key.NewBinding(key.WithKeys(arrow.String())), Action: closing(m.keyAction(arrow)),
		})
	}
	v.Take = func(text string) (overlay.Action, error) { return m.takeTyped(v.Knob, text) }
	m.carry(closing(overlay.Push{ID: overlay.ValueID, Overlay: v}))
}

// takeTyped is the action that puts a typed value into a knob, nil where nothing was
// typed, or why the value cannot be taken.
func (m *Model) takeTyped(id knob.ID, text string) (overlay.Action, error) {
	text = strings.TrimSpace(text)
	p, ok := knob.Find(id)
	if !ok || text == "" && p.Kind != knob.List {
		return nil, nil
	}
	if p.Kind == knob.Number || p.Kind == knob.Figure {
		text = ungrouped(text)
	}
	if p.ID == "recompute" && text != "" && strings.Trim(text, "0123456789") == "" {
		text = "full:" + text // layers per rank
	}
	if _, err := knob.Turn(m.state.Setup, id, text, m.state.Locks); err != nil {
		return nil, errors.New(sentence(err))
	}
	return Action{Verb: SetKnob, ID: id, Text: text}, nil
}

// handlePaste puts pasted text where typed text would go.
func (m *Model) handlePaste(msg tea.PasteMsg) tea.Cmd {
	text := strings.TrimSpace(msg.Content)
	switch {
	case !m.overlays.Empty():
		m.overlays.Top().Paste(text)
	case m.writing():
		m.screen().(screen.Writer).Paste(text)
		return m.refreshScreen()
	case m.screen() == nil:
		m.startTyping("")
		m.overlays.Top().Paste(text)
	}
	return nil
}
