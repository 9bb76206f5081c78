package textbox

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
)

// TestNamed: every key that the field knows is found again by its name, and text is
// text, however long.
func TestNamed(t *testing.T) {
	keys := keys()
	for _, b := range [][]string{
		keys.CharacterForward.Keys(), keys.CharacterBackward.Keys(), keys.WordForward.Keys(),
		keys.WordBackward.Keys(),
		keys.DeleteWordBackward.Keys(), keys.DeleteWordForward.Keys(), keys.DeleteAfterCursor.Keys(),
		keys.DeleteBeforeCursor.Keys(),
		keys.DeleteCharacterBackward.Keys(), keys.DeleteCharacterForward.Keys(), keys.LineStart.Keys(),
		keys.LineEnd.Keys(),
		{"space", "é", "+", "日本", "ctrl+shift+left"},
	} {
		for _, name := range b {
			if k := named(name); k.String() != name {
				t.Errorf("%q is taken as %q", name, k.String())
			}
		}
	}
	draws.Check(t, func(t *rapid.T) {
		k := anyKey().Draw(t, "key")
		byKey, byName := New(20), New(20)
		byKey.Set("one two")
		byName.Set("one two")
		if strings.Contains(k.Text, "+") || k.Text == "" && k.Mod == 0 &&
			(k.Code > 127 || k.String() == string(k.Code) && k.Code < ' ') {
			return // a code without a name: its String is the character itself, as in a paste
		}
		byKey.Key(k)
		byName.Type(k.String())
		if k.Mod == 0 && byKey.Value() != byName.Value() {
			t.Fatalf("%q: %q by the key, %q by its name", k.String(), byKey.Value(), byName.Value())
		}
	})
}
