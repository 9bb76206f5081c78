// Package class is what an explorer knows of the class that it is in: who sits here, what the
// presenter shows, and how a question stands. A server implements Seat; nothing here has a network.
package class

import (
	"time"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/lessons"
)

// Role is who sits at an explorer.
type Role uint8

// The roles of a class.
const (
	Student   Role = iota
	Presenter      // whose screen the others follow
	Notes          // the presenter's second screen
)

// Teaches reports whether the role moves the class.
func (r Role) Teaches() bool { return r != Student }

// Step is how far the question of an act is.
type Step uint8

// The steps of an act, in their order. Votes are hidden from the class before Shown.
const (
	Vote    Step = iota // each answers alone
	Discuss             // the first votes are closed; neighbours talk
	Again               // each answers once more
	Shown               // both distributions are on the screen; the turn is not made
	Turned              // what became of it
)

// Round returns which vote is open: 0 or 1, -1 for none.
func (s Step) Round() int {
	switch s {
	case Vote:
		return 0
	case Again:
		return 1
	default:
		return -1
	}
}

// Place is what the presenter's screen shows, as far as it is kept on disk.
type Place struct {
	Setup  engine.Setup `json:"setup"`
	Locks  knob.Locks   `json:"locks"`
	Screen string       `json:"screen"` // its name, with a pane behind a slash
	Focus  knob.ID      `json:"focus"`
}

// Counts is all that one member learns of the others.
type Counts struct {
	Students, Exploring int
	Answered            int // in the open vote, else in the last one
}

// Moment is how the class stands. It is a value that nobody changes.
type Moment struct {
	Place Place
	// View is what the presenter's explorer has computed of Place, for the explorers of the same
	// process; nil: nothing yet.
	View any
	Of   uint64 // counts the places

	Lesson *lessons.Lesson // nil: none
	At     int             // the act
	Step   Step
	Staged bool // the question is on the screen
	Blank  bool // the presenter's screen is dark

	Counts Counts
	// Voted says that this seat has voted in the round that is open; Closed, that no answer from it counts
	// now.
	Voted, Closed bool
	// Ended is the lesson that was over last, Totals its distributions by act: for who teaches; nil: none
	// was.
	Ended  *lessons.Lesson
	Totals map[int][2]map[int]int
	// Votes are the two distributions of the act, by ballot; nil while they are hidden.
	Votes [2]map[int]int
}

// Act returns the act that is on; nil without a lesson.
func (m *Moment) Act() *lessons.Act {
	if m.Lesson == nil {
		return nil
	}
	return &m.Lesson.Acts[min(m.At, len(m.Lesson.Acts)-1)]
}

// Next returns the act after it; nil at the end.
func (m *Moment) Next() *lessons.Act {
	if m.Lesson == nil || m.At+1 >= len(m.Lesson.Acts) {
		return nil
	}
	return &m.Lesson.Acts[m.At+1]
}

// Play returns the play of the act for who answered so: with the figures masked until the turn.
func (m *Moment) Play(given string) lessons.Play {
	p := lessons.Play{Lesson: m.Lesson, At: m.At}
	over := p.Skip()
	switch act := p.Act(); {
	case given == "":
	case act.Kind == lessons.Goal: // it is handed in where it was reached
		over.Given, over.Verdict = given, lessons.Verdict{Right: true}
		if given != act.OwnWay() {
			over.Verdict.Truth = act.Truth()
		}
	default:
		if answered, err := p.Answer(given); err == nil {
			over.Given, over.Verdict = answered.Given, answered.Verdict
		}
	}
	if m.Step == Turned {
		return over
	}
	p.Given = over.Given
	return p
}

// Move is what a presenter does with the class.
type Move uint8

// The moves of a class.
const (
	Onward  Move = iota // to the next step, or act
	Back                // to the step before
	Reveal              // the votes, without a second round
	Blank               // the screen dark, and light again
	Stage               // the question comes back
	Unstage             // the question goes: the presenter turns knobs freely
)

// Seat is the place of one member. Its methods may be called from any goroutine and never wait
// for another member.
type Seat interface {
	Role() Role
	// Now returns how the class stands; what came before is gone.
	Now() Moment
	// News has a value when Now is not what it was; it is closed when the member has left.
	News() <-chan struct{}
	// Turn returns how long to wait before asking again whether news may be drawn, 0 where they may: those
	// who follow draw one after the other and leave the presenter a part of the processor.
	Turn() time.Duration
	// First lets those who follow wait while a key of who teaches is answered.
	First()
	// Show puts a presenter's screen before the class, of which the place Of a Moment is the last
	// that it knows, and returns its number; false where there is a newer one, or for another role.
	Show(of uint64, p Place, view any) (uint64, bool)
	// Teach begins a lesson, nil ends it; Move goes through it. For presenters only.
	Teach(l *lessons.Lesson)
	Move(m Move)
	// Answer votes, in place of an answer before to the same vote; false where none is open.
	Answer(ballot int) bool
	// Follow says whether the member follows the presenter or explores.
	Follow(on bool)
}
