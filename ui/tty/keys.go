package tty

import (
	"cmp"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// Interrupts reports whether a key is ctrl+c, also with alt: an escape came just before.
func Interrupts(k tea.KeyPressMsg) bool { return k.Code == 'c' && k.Mod.Contains(tea.ModCtrl) }

// Apart returns a key with alt as the escape and the key that it was: a terminal sends both alike, and an
// escape and a key that follows soon may arrive as one.
func Apart(k tea.KeyPressMsg) []tea.KeyPressMsg {
	k.Mod &^= tea.ModAlt
	if k.Mod&^tea.ModShift == 0 && k.Code >= ' ' && k.Code < tea.KeyExtended && k.Code != tea.KeyBackspace {
		code := k.Code
		if k.Mod.Contains(tea.ModShift) {
			code = cmp.Or(k.ShiftedCode, unicode.ToUpper(code))
		}
		k.Text = string(code)
	}
	return []tea.KeyPressMsg{{Code: tea.KeyEscape}, k}
}
