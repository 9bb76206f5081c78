package state

import (
	"meshscope/engine"
	"meshscope/engine/knob"
)

// moment is an earlier (or undone) setup in the history, newest first.
type moment struct {
	setup engine.Setup
	locks knob.Locks
	focus knob.ID
	fixed knob.Set
	note  string // what the next change did
	next  *moment
	depth int // moments from here to the oldest
}

// moves is how many can be undone at least. A moment takes somewhat more than a
// kilobyte: the history never has more than a few megabytes.
const moves = 2000

// push puts a moment before the others. Where these have become twice as many as
// are kept the older half is left behind; what other states hold stays as it is.
func (m *moment) push(first moment) *moment {
	if m != nil && m.depth >= 2*moves {
		kept := make([]moment, 0, moves)
		for ; len(kept) < moves; m = m.next {
			kept = append(kept, *m)
		}
		m = nil
		for i := range kept {
			at := &kept[moves-1-i]
			at.next, at.depth, m = m, i+1, at
		}
	}
	first.next, first.depth = m, 1
	if m != nil {
		first.depth += m.depth
	}
	return &first
}

// move replaces the setup or the locks and remembers the previous state.
func (s State) move(setup engine.Setup, locks knob.Locks, note string) State {
	s.past = s.past.push(moment{setup: s.Setup, locks: s.Locks, focus: s.Focus, fixed: s.Fixed, note: note})
	s.future, s.Hint = nil, false // who has turned a knob needs no hint
	s.Setup, s.Locks = setup, locks
	s.Note = Note{Text: note}
	return s
}

// undo goes back one move, redo forward again; both move the focus to the knob
// that was turned.
func (s State) undo() State {
	if s.past == nil {
		s.Note = Note{Text: "nothing left to undo", Tone: Answer}
		return s
	}
	return s.to(&s.past, &s.future, "undone: ")
}

func (s State) redo() State {
	if s.future == nil {
		s.Note = Note{Text: "nothing left to redo", Tone: Answer}
		return s
	}
	return s.to(&s.future, &s.past, "redone: ")
}

// to goes to the newest moment of one side of the history and leaves this one on the other. Both are
// sides of s.
func (s *State) to(there, back **moment, said string) State {
	m := *there
	*back = (*back).push(moment{setup: s.Setup, locks: s.Locks, focus: m.focus, fixed: s.Fixed, note: m.note})
	*there = m.next
	s.Setup, s.Locks, s.Focus, s.Fixed, s.Outgrown = m.setup, m.locks, m.focus, m.fixed, knob.Set{}
	s.Note = Note{Text: said + m.note}
	return *s
}

// Past and Future are how many moves can be undone and done again.
func (s *State) Past() int { return s.past.length() }

// Future returns how many moves can be done again.
func (s *State) Future() int { return s.future.length() }

func (m *moment) length() int {
	if m == nil {
		return 0
	}
	return m.depth
}
