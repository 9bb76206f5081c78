package textbox

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// Type edits the text with a key by its name, as tea.KeyPressMsg gives it: screens
// know keys by their names only.
func (f *Field) Type(name string) { f.Key(named(name)) }

// named returns the key that has the name. What is no name of a key is text.
func named(name string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	rest := name
	for _, mod := range []struct {
		prefix string
		mod    tea.KeyMod
	}{
		{"ctrl+", tea.ModCtrl},
		{"alt+", tea.ModAlt},
		{"shift+", tea.ModShift},
		{"meta+", tea.ModMeta},
		{"hyper+", tea.ModHyper},
		{"super+", tea.ModSuper},
	} {
		if after, ok := strings.CutPrefix(rest, mod.prefix); ok && after != "" {
			rest = after
			k.Mod |= mod.mod
		}
	}
	if code, ok := map[string]rune{
		"left": tea.KeyLeft, "right": tea.KeyRight, "up": tea.KeyUp, "down": tea.KeyDown, "home": tea.KeyHome,
		"end":       tea.KeyEnd,
		"backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "insert": tea.KeyInsert, "tab": tea.KeyTab,
		"enter": tea.KeyEnter,
		"esc":   tea.KeyEscape, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "space": tea.KeySpace,
	}[rest]; ok {
		k.Code = code
		if code == tea.KeySpace && k.Mod == 0 {
			k.Text = " "
		}
		return k
	}
	if code, n := utf8.DecodeRuneInString(rest); n == len(rest) && k.Mod != 0 {
		k.Code = code
		return k
	}
	return tea.KeyPressMsg{Code: tea.KeyExtended, Text: name}
}
