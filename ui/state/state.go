// Package state is everything that actions change, as one value, and what each action
// makes of it. It does no input or output.
package state

import (
	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
)

// Tone is how a note is meant.
type Tone uint8

// Tones of notes.
const (
	Plain   Tone = iota // which knobs turned
	Answer              // what another key did, or why it did nothing: seen before all else
	Trouble             // what went wrong
)

// Note is the line about the effect of the last action.
type Note struct {
	Text string
	Tone Tone
}

// State is everything that actions change. It is a value: Apply returns a new
// one, and the history keeps old setups by reference to earlier moments.
type State struct {
	Setup engine.Setup
	Locks knob.Locks
	Focus knob.ID
	// Fixed are the knobs that the reader has given a value: by flags, or typed or turned. They stay
	// where the layout is chosen again for another model or machine.
	Fixed knob.Set
	// Outgrown are the knobs that the layout depends on and that have had another value since it was chosen.
	Outgrown knob.Set
	Note     Note
	Hint     bool // the line for the first start is shown
	Page     int  // of the pipeline ranks that scroll

	Tab   Tab
	Theme string // auto, dark, light or mono
	Mouse bool
	// Unmarked: the words of the glossary are not underlined.
	Unmarked bool

	past, future *moment
}

// New returns the state that the program starts with.
func New(s engine.Setup, theme string, mouse bool) State {
	if theme == "" {
		theme = ThemeAuto
	}
	focus := knob.TP
	if s.Stack.Traits().DataParallelOnly {
		focus = knob.ZeRO
	}
	return State{
		Setup: s, Locks: knob.Locks{GPUs: true, Batch: true, Tokens: true}, Focus: focus,
		Theme: theme, Mouse: mouse,
	}
}

// Errors returns the problems that make a setup illegal.
func Errors(problems []engine.Problem) []engine.Problem {
	var out []engine.Problem
	for _, p := range problems {
		if p.Severity == layout.Error {
			out = append(out, p)
		}
	}
	return out
}
