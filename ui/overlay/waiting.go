package overlay

import (
	tea "charm.land/bubbletea/v2"
)

// Waiting stands in the place of a list that is still being read and keeps the keys for
// it, so that nobody who types faster than a slow machine reads loses any.
type Waiting struct {
	boxless
	keys []tea.KeyPressMsg
}

// mostKeys is how many keys are kept.
const mostKeys = 64

// HandleKey closes or keeps the key.
func (w *Waiting) HandleKey(msg tea.KeyPressMsg) Action {
	switch s := msg.String(); {
	case s == "esc": // q may be a letter of what is looked for
		return Close{}
	case len(w.keys) < mostKeys:
		w.keys = append(w.keys, msg)
	}
	return nil
}

// Keys returns those that were kept.
func (w *Waiting) Keys() []tea.KeyPressMsg { return w.keys }
