package ui

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"meshscope/ui/tty"
)

// TestInterrupts: ctrl+c leaves from everywhere, also when an escape was read
// together with it.
func TestInterrupts(t *testing.T) {
	for _, mod := range []tea.KeyMod{tea.ModCtrl, tea.ModCtrl | tea.ModAlt} {
		for _, open := range []string{"", "?", "3"} {
			m := sample(t, 80, 24)
			if open != "" {
				keys(m, open)
			}
			cmd := m.handleKey(tea.KeyPressMsg{Code: 'c', Mod: mod})
			if cmd == nil {
				t.Fatalf("mod %v over %q does nothing", mod, open)
			}
			if _, ok := cmd().(tea.InterruptMsg); !ok {
				t.Errorf("mod %v over %q gives %T", mod, open, cmd())
			}
		}
	}
}

// TestHugeTerminal: what is drawn is bounded.
func TestHugeTerminal(t *testing.T) {
	m := sample(t, 60_000, 60_000)
	if m.caps.Width > tty.MaxWidth || m.caps.Height > tty.MaxHeight {
		t.Errorf("%d x %d", m.caps.Width, m.caps.Height)
	}
	checkFrame(t, m)
}
