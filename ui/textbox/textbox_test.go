package textbox

import (
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
)

func alt(code rune) tea.KeyPressMsg  { return tea.KeyPressMsg{Code: code, Mod: tea.ModAlt} }
func ctrl(code rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: code, Mod: tea.ModCtrl} }

func press(f *Field, keys ...tea.KeyPressMsg) {
	for _, k := range keys {
		f.Key(k)
	}
}

// TestEditing: what the keys of a line of text do, at its end above all.
func TestEditing(t *testing.T) {
	left, home := tea.KeyPressMsg{Code: tea.KeyLeft}, tea.KeyPressMsg{Code: tea.KeyHome}
	for name, c := range map[string]struct {
		text string
		keys []tea.KeyPressMsg
		want string
		at   int
	}{
		"the last sign":        {"a", []tea.KeyPressMsg{left, alt('d')}, "", 0},
		"by alt+delete":        {"ab", []tea.KeyPressMsg{left, alt(tea.KeyDelete)}, "a", 1},
		"by ctrl+delete":       {"ab", []tea.KeyPressMsg{left, ctrl(tea.KeyDelete)}, "a", 1},
		"at the end":           {"ab", []tea.KeyPressMsg{alt('d')}, "ab", 2},
		"of nothing":           {"", []tea.KeyPressMsg{alt('d')}, "", 0},
		"a word":               {"one two", []tea.KeyPressMsg{home, alt('d')}, " two", 0},
		"blanks and a word":    {"one  two three", []tea.KeyPressMsg{home, alt('d'), alt('d')}, " three", 0},
		"blanks at the end":    {"one  ", []tea.KeyPressMsg{home, alt('d'), alt('d')}, "", 0},
		"a word backward":      {"one two", []tea.KeyPressMsg{ctrl('w')}, "one ", 4},
		"to the start":         {"one two", []tea.KeyPressMsg{left, ctrl('u')}, "o", 0},
		"to the end":           {"one two", []tea.KeyPressMsg{home, ctrl('k')}, "", 0},
		"the clipboard of ssh": {"one", []tea.KeyPressMsg{ctrl('v')}, "one", 3},
	} {
		f := New(40)
		f.Set(c.text)
		press(&f, c.keys...)
		if f.Value() != c.want || f.Position() != c.at {
			t.Errorf("%s: %q with the caret at %d, want %q at %d", name, f.Value(), f.Position(), c.want,
				c.at)
		}
	}
	f := New(3)
	f.Paste(" 12\n34 ")
	if f.Value() != "12 " {
		t.Errorf("pasted: %q", f.Value())
	}
	g := New(40)
	g.Paste("a\u202eb\x1b[31m\u009bc\xff\ufeff")
	g.Key(tea.KeyPressMsg{Code: tea.KeyExtended, Text: "\u202e"})
	g.Key(tea.KeyPressMsg{Code: tea.KeyExtended, Text: "d"})
	if g.Value() != "ab[31mcd" {
		t.Errorf("pasted: %q", g.Value())
	}
}

// anyKey draws any key with any modifiers: signs, editing keys and code points that
// no keyboard has.
func anyKey() *rapid.Generator[tea.KeyPressMsg] {
	return rapid.Custom(func(t *rapid.T) tea.KeyPressMsg {
		named := []rune{
			tea.KeyLeft, tea.KeyRight, tea.KeyHome, tea.KeyEnd, tea.KeyUp, tea.KeyDown, tea.KeyDelete,
			tea.KeyBackspace,
			tea.KeyTab, tea.KeyEnter, tea.KeyEscape, tea.KeySpace, tea.KeyInsert, 'a', 'b', 'd', 'e', 'f',
			'h', 'k', 'n', 'p', 't', 'u', 'v', 'w', 'y', '7', 'ß', '日', ' ',
		}
		msg := tea.KeyPressMsg{
			Code: rapid.OneOf(rapid.SampledFrom(named), rapid.Rune()).Draw(t, "code"),
			Mod: rapid.SampledFrom([]tea.KeyMod{
				0, 0, 0, tea.ModAlt, tea.ModCtrl, tea.ModShift,
				tea.ModAlt | tea.ModCtrl,
			}).Draw(t, "mod"),
		}
		if msg.Mod == 0 && msg.Code < utf8.MaxRune && msg.Code >= ' ' && msg.Code != tea.KeyBackspace {
			msg.Text = string(msg.Code)
		}
		return msg
	})
}

// TestAnyKeys: no key at any place does harm, and the caret stays in the text,
// which stays within its bound.
func TestAnyKeys(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		const limit = 12
		f := New(limit)
		f.Set(rapid.StringN(0, limit, -1).Draw(t, "text"))
		for _, k := range rapid.SliceOfN(anyKey(), 0, 40).Draw(t, "keys") {
			f.Key(k)
			if n := utf8.RuneCountInString(f.Value()); f.Position() < 0 || f.Position() > n || n > limit {
				t.Fatalf("after %s: %q, caret at %d", k, f.Value(), f.Position())
			}
		}
		f.Paste(rapid.String().Draw(t, "pasted"))
		if n := utf8.RuneCountInString(f.Value()); n > limit || f.Position() > n {
			t.Fatalf("after a paste: %q, caret at %d", f.Value(), f.Position())
		}
	})
}
