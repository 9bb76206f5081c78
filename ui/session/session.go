// Package session keeps what the user left behind between two runs of the
// program: one file in the XDG state folder. It is a convenience, never a
// reason to fail: a home that cannot be written is fine, and what cannot be
// understood is set aside with a notice.
//
// The rule. The file holds the place (setup, locks, knob, screen), choices (theme,
// mouse, underlines, the hint of the first start), pins and the setups that were left. A run writes what it
// changed, key by key, when it ends, also after a signal or a crash, and the setup a moment after a change:
// what it did not change stays as the file has it by then, so flags of a start are never kept, two
// programs do not undo each other's work (a setup of another one that is written over is one that was left),
// and keys of a newer version survive. Pins are a set: what was pinned is added, what was dropped is taken
// out. The setups that were left are a list: those of a run come before those of the file.
package session

import (
	"path/filepath"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// Session is the restored state.
type Session struct {
	Setup  engine.Setup // the zero Setup: none is kept
	Locks  knob.Locks
	Focus  knob.ID
	Screen string // name of the screen; the caller knows which there are
	Theme  string // auto or a palette; empty: not chosen
	Mouse  bool
	Hinted bool // the hint of the first run was dismissed

	Unmarked bool // words of the glossary are not underlined

	Learned string // lessons that were gone through, by their ids with blanks between
	Act     string // the lesson that is under way and its act, see Act; empty: none

	Pins [MaxPins]engine.Setup // pinned to compare; the zero Setup: none

	Recent [MaxRecent]string // share strings of setups that were left, newest first
}

// MaxRecent is how many setups that were left are kept.
const MaxRecent = 10

// MaxPins is how many pinned setups are shown. The file may hold more, where
// several programs pinned: see mostPins.
const MaxPins = 9

// version of the file. A file of another version is set aside.
const version = 1

// Bounds of the data that is read and kept.
const (
	maxScreen = 32
	mostPins  = 99
)

// Keys of the file.
const (
	versionKey = "schema_version"
	setupKey   = "setup"
	learnedKey = "lessons"
	pinsKey    = "pins"
	recentKey  = "recent"
)

// fields returns what a session has of one value each, by the keys of the file.
func (s *Session) fields() map[string]any {
	return map[string]any{
		"gpus_kept": &s.Locks.GPUs, "batch_kept": &s.Locks.Batch, "tokens_kept": &s.Locks.Tokens,
		"focus": &s.Focus, "screen": &s.Screen, "theme": &s.Theme, "mouse": &s.Mouse,
		"hinted": &s.Hinted, "unmarked": &s.Unmarked, "act": &s.Act,
	}
}

// None returns the session of a first start: every lock on, the mouse too.
func None() Session {
	return Session{Locks: knob.Locks{GPUs: true, Batch: true, Tokens: true}, Mouse: true}
}

// Path returns where the session is kept: in $XDG_STATE_HOME, which counts only when
// it is absolute, else in .local/state of the home folder. Empty: nowhere.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "meshscope", "session.json")
}
