package ui

import (
	"meshscope/engine"
	"meshscope/engine/layout"
)

// Tone is how a note is meant.
type Tone uint8

// Tones of notes.
const (
	Plain   Tone = iota // what happened
	Answer              // why nothing did
	Trouble             // what went wrong
)

// Note is the line that says what the last action did.
type Note struct {
	Text string
	Tone Tone
}

// Screen is what lies over the panels.
type Screen uint8

// Screens over the panels.
const (
	NoOverlay Screen = iota
	HelpOverlay
	ModelOverlay
	ClusterOverlay
	FiguresOverlay
	ExplainOverlay
)

// State is everything that actions change. It is a value: apply returns a new
// one, and the history keeps old setups by reference to earlier moments.
type State struct {
	Setup engine.Setup
	Locks engine.Locks
	Focus engine.ParamID
	Note  Note
	Hint  bool // the line for the first start is shown
	Page  int  // of the pipeline ranks that scroll

	Tab     Tab
	Theme   string // auto, dark, light or mono
	Mouse   bool
	Overlay Screen

	past, future *moment
}

// moment is an earlier (or undone) setup in the history, newest first.
type moment struct {
	setup engine.Setup
	locks engine.Locks
	focus engine.ParamID
	note  string // what the move away from here did
	next  *moment
}

// newState is the state that the program starts with.
func newState(s engine.Setup, theme string, mouse bool) State {
	if theme == "" {
		theme = themeAuto
	}
	return State{
		Setup: s, Locks: engine.Locks{GPUs: true, Batch: true}, Focus: "tp",
		Theme: theme, Mouse: mouse,
	}
}

// move replaces the setup or the locks and remembers what was.
func (s State) move(setup engine.Setup, locks engine.Locks, note string) State {
	s.past = &moment{setup: s.Setup, locks: s.Locks, focus: s.Focus, note: note, next: s.past}
	s.future, s.Hint = nil, false // who has turned a knob needs no hint
	s.Setup, s.Locks = setup, locks
	s.Note = Note{Text: note}
	return s
}

// undo goes back one move, redo forward again; both move the focus to the knob
// that was turned.
func (s State) undo() State {
	if s.past == nil {
		s.Note = Note{Text: "nothing left to undo"}
		return s
	}
	m := s.past
	s.future = &moment{setup: s.Setup, locks: s.Locks, focus: m.focus, note: m.note, next: s.future}
	s.past = m.next
	s.Setup, s.Locks, s.Focus = m.setup, m.locks, m.focus
	s.Note = Note{Text: "undone: " + m.note}
	return s
}

func (s State) redo() State {
	if s.future == nil {
		s.Note = Note{Text: "nothing left to redo"}
		return s
	}
	m := s.future
	s.past = &moment{setup: s.Setup, locks: s.Locks, focus: m.focus, note: m.note, next: s.past}
	s.future = m.next
	s.Setup, s.Locks, s.Focus = m.setup, m.locks, m.focus
	s.Note = Note{Text: "done again: " + m.note}
	return s
}

// errorsOf are the problems that make a setup illegal.
func errorsOf(problems []engine.Problem) []engine.Problem {
	var out []engine.Problem
	for _, p := range problems {
		if p.Severity == layout.Error {
			out = append(out, p)
		}
	}
	return out
}
