package overlay

import (
	tea "charm.land/bubbletea/v2"
)

// Waiting stands in the place of a list that is still being read and keeps what is typed and pasted for
// it, so that nobody who is faster than a slow machine reads loses any.
type Waiting struct {
	boxless
	held []tea.Msg
}

// mostHeld is how many keys and pastes are kept.
const mostHeld = 64

// HandleKey closes or keeps the key.
func (w *Waiting) HandleKey(msg tea.KeyPressMsg) Action {
	if msg.String() == "esc" { // q may be a letter of what is looked for
		return Close{}
	}
	w.hold(msg)
	return nil
}

// Paste keeps the text.
func (w *Waiting) Paste(text string) { w.hold(tea.PasteMsg{Content: text}) }

func (w *Waiting) hold(msg tea.Msg) {
	if len(w.held) < mostHeld {
		w.held = append(w.held, msg)
	}
}

// Held returns what was kept, in its order.
func (w *Waiting) Held() []tea.Msg { return w.held }
