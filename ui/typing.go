package ui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"meshscope/ui/overlay"
	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// startTyping opens the focused knob for a typed value.
func (m *Model) startTyping(text string) {
	v := overlay.NewValue(m.state.Focus, text)
	for _, arrow := range []string{"up", "down"} {
		v.Keys = append(v.Keys, overlay.Bound{
			Key:    key.NewBinding(key.WithKeys(arrow)),
			Action: closing(later(func() tea.Cmd { return m.handleScreenKey(arrow) })),
		})
	}
	v.Take = func(text string) (overlay.Action, error) { return state.Typed(&m.state, v.Knob, text) }
	m.carry(closing(overlay.Push{ID: overlay.ValueID, Overlay: v}))
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
	case m.state.Tab == state.ExploreTab:
		m.startTyping("")
		m.overlays.Top().Paste(text)
	}
	return nil
}
