package tty

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestApart: a key with alt is an escape and the key, with the text that it has alone.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		key  tea.KeyPressMsg
		want string
	}{
		{tea.KeyPressMsg{Code: 'p', Mod: tea.ModAlt}, "p"},
		{tea.KeyPressMsg{Code: 'g', ShiftedCode: 'G', Mod: tea.ModAlt | tea.ModShift}, "G"},
		{tea.KeyPressMsg{Code: 'o', Mod: tea.ModAlt | tea.ModShift}, "O"},
		{tea.KeyPressMsg{Code: tea.KeySpace, Mod: tea.ModAlt}, "space"},
		{tea.KeyPressMsg{Code: tea.KeyUp, Mod: tea.ModAlt}, "up"},
		{tea.KeyPressMsg{Code: tea.KeyBackspace, Mod: tea.ModAlt}, "backspace"},
		{tea.KeyPressMsg{Code: tea.KeyEscape, Mod: tea.ModAlt}, "esc"},
		{tea.KeyPressMsg{Code: 'r', Mod: tea.ModAlt | tea.ModCtrl}, "ctrl+r"},
	} {
		if got := Apart(c.key); len(got) != 2 || got[0].String() != "esc" || got[1].String() != c.want {
			t.Errorf("%s: %v, want esc and %s", c.key, got, c.want)
		}
	}
}
