// Package textbox is the one line of text that a person types into: the value of a
// knob, the filter of a list. Every text of the program is typed into one of these,
// so that every key means the same in all of them and no text can do harm.
package textbox

import (
	"strings"
	"unicode"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"meshscope/engine/escape"
)

// Field is a line of text with a caret. The zero value takes no text: make one
// with New.
type Field struct{ input textinput.Model }

// New makes an empty field for so many signs.
func New(limit int) Field {
	input := textinput.New()
	input.SetVirtualCursor(false)
	input.Prompt = ""
	input.CharLimit = limit
	input.KeyMap = keys()
	input.Focus()
	return Field{input}
}

// keys returns the library's, without those that do harm here: deleting a word
// forward reads beyond the end of the text in the library and is done below;
// pasting would start a program that reads the clipboard of the machine that
// meshscope runs on, which over SSH is not the one where something was copied; and
// there are no suggestions.
func keys() textinput.KeyMap {
	k := textinput.DefaultKeyMap()
	for _, off := range []*key.Binding{
		&k.DeleteWordForward, &k.Paste, &k.AcceptSuggestion, &k.NextSuggestion,
		&k.PrevSuggestion,
	} {
		off.SetEnabled(false)
	}
	return k
}

// Value returns the text.
func (f *Field) Value() string { return f.input.Value() }

// Position returns how many signs are before the caret.
func (f *Field) Position() int { return f.input.Position() }

// Set replaces the text and puts the caret behind it.
func (f *Field) Set(text string) {
	f.input.SetValue(text)
	f.input.CursorEnd()
}

// Reset empties the field.
func (f *Field) Reset() { f.input.Reset() }

// End puts the caret behind the text.
func (f *Field) End() { f.input.CursorEnd() }

// Edits reports whether a key with alt edits a text.
func Edits(name string) bool {
	switch name {
	case "alt+b", "alt+f", "alt+d", "alt+backspace", "alt+delete", "alt+left", "alt+right":
		return true
	}
	return false
}

// Key edits the text; a key that means nothing in a line of text does nothing.
func (f *Field) Key(msg tea.KeyPressMsg) {
	switch msg.String() {
	case "alt+d", "alt+delete", "ctrl+delete":
		f.deleteWord()
		return
	}
	if !escape.Printable(msg.Text) {
		return
	}
	f.input, _ = f.input.Update(msg) // commands would only blink a cursor
}

// Paste puts text where the caret is, as one line without hidden characters.
func (f *Field) Paste(text string) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !escape.Printable(string(r)) {
			return -1
		}
		return r
	}, strings.TrimSpace(strings.ToValidUTF8(text, "")))
	f.input, _ = f.input.Update(tea.PasteMsg{Content: text})
}

// deleteWord deletes from the caret to the end of the next word.
func (f *Field) deleteWord() {
	text, at := []rune(f.input.Value()), f.input.Position()
	end := at
	for end < len(text) && unicode.IsSpace(text[end]) {
		end++
	}
	for end < len(text) && !unicode.IsSpace(text[end]) {
		end++
	}
	f.input.SetValue(string(text[:at]) + string(text[end:]))
	f.input.SetCursor(at)
}
