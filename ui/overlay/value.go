package overlay

import (
	tea "charm.land/bubbletea/v2"

	"meshscope/engine/knob"
	"meshscope/ui/textbox"
)

// Value is a value that is being typed into a knob. It has no box: the knob's own row
// shows it.
type Value struct {
	boxless
	Knob  knob.ID
	Wrong string  // why the typed value was not taken
	Keys  []Bound // that leave the knob: what is typed is taken first, as by enter

	// Take says what the typed text does, or why it cannot be taken.
	Take  func(text string) (Action, error)
	input textbox.Field
}

// NewValue starts with a text.
func NewValue(knob knob.ID, text string) *Value {
	v := &Value{Knob: knob, input: textbox.New(40)}
	v.input.Set(text)
	return v
}

// Text returns what was typed, with the caret behind so many signs.
func (v *Value) Text() (text string, caret int) { return v.input.Value(), v.input.Position() }

// HoldsText reports whether something is typed.
func (v *Value) HoldsText() bool { return v.input.Value() != "" }

// HandleKey edits the text, takes it or leaves the knob as it was. A value that cannot be
// taken stays, with the reason.
func (v *Value) HandleKey(msg tea.KeyPressMsg) Action {
	if leave, ok := bound(v.Keys, msg); ok {
		if !v.HoldsText() {
			return Sequence{Close{}, leave}
		}
		return v.taken(leave)
	}
	switch msg.String() {
	case "esc":
		return Close{}
	case "enter":
		return v.taken(nil)
	}
	v.input.Key(msg)
	v.Wrong = ""
	return nil
}

// taken takes what is typed, then does something else; it does neither where that is no value.
func (v *Value) taken(then Action) Action {
	a, err := v.Take(v.input.Value())
	if err != nil {
		v.Wrong = err.Error()
		return nil
	}
	return Sequence{Close{}, a, then}
}

// Paste puts text where the caret is, or says why what would then stand there is no value.
func (v *Value) Paste(text string) {
	old, caret := v.Text()
	signs := []rune(old)
	if _, err := v.Take(string(signs[:caret]) + text + string(signs[caret:])); err != nil {
		v.Wrong = "not taken: " + err.Error()
		return
	}
	v.input.Paste(text)
	v.Wrong = ""
}
