//go:build rehearse

package ui

import (
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"meshscope/ui/tty"
)

// rehearsal lets the program panic on purpose at a key press, so that the tests of
// the real program see what a user would see after a crash. The environment
// variable MESHSCOPE_TEST_PANIC names the place: update, view or command;
// MESHSCOPE_TEST_PANIC_AFTER is how many keys come before, none where it is not set.
// Only a build with the tag rehearse has it.
type rehearsal struct {
	place string
	after int
	due   bool // the next view panics
}

func newRehearsal(env []string) rehearsal {
	for _, place := range []string{"update", "view", "command"} {
		if slices.Contains(env, "MESHSCOPE_TEST_PANIC="+place) {
			after, _ := strconv.Atoi(tty.Getenv(env, "MESHSCOPE_TEST_PANIC_AFTER"))
			return rehearsal{place: place, after: after}
		}
	}
	return rehearsal{}
}

// update panics, or gives a command that does.
func (r *rehearsal) update(msg tea.Msg) tea.Cmd {
	if _, pressed := msg.(tea.KeyPressMsg); !pressed || r.place == "" {
		return nil
	}
	if r.after > 0 {
		r.after--
		return nil
	}
	switch r.place {
	case "update":
		panic("rehearsed panic in update")
	case "view":
		r.due = true
	case "command":
		return func() tea.Msg { panic("rehearsed panic in a command") }
	}
	return nil
}

// view panics when it is due.
func (r *rehearsal) view() {
	if r.due {
		panic("rehearsed panic in view")
	}
}
