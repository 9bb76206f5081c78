package room

import (
	"maps"

	"meshscope/lessons"
	"meshscope/ui/class"
)

// Teach begins a lesson at its first act; nil ends the one that is on.
func (s *Seat) Teach(l *lessons.Lesson) {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if !s.role.Teaches() || s.left {
		return
	}
	r.teach(l)
	r.publish()
}

func (r *Room) teach(l *lessons.Lesson) {
	m := &r.moment
	m.Lesson, m.At, m.Step, m.Staged = l, 0, class.Vote, l != nil
	clear(r.closed)
	r.ended, r.totals = nil, nil
	r.clear()
	if l != nil {
		r.play()
	}
}

// Move goes through the lesson.
func (s *Seat) Move(move class.Move) {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if !s.role.Teaches() || s.left {
		return
	}
	m := &r.moment
	switch {
	case move == class.Blank:
		m.Blank = !m.Blank
	case m.Lesson == nil:
		return
	case move == class.Stage && !m.Staged:
		m.Staged = true
		r.play()
	case move == class.Unstage:
		m.Staged = false
	case move == class.Onward:
		r.onward()
	case move == class.Back:
		r.back()
	case move == class.Reveal && m.Step < class.Shown && m.Act().Kind != lessons.Goal:
		m.Step = class.Shown
	}
	r.publish()
}

// onward goes to the next step, act, or the end. A first press brings back what was put aside.
func (r *Room) onward() {
	m := &r.moment
	switch {
	case m.Blank:
		m.Blank = false
		return
	case !m.Staged:
		m.Staged = true
	case m.Step < class.Turned && m.Act().Kind == lessons.Goal: // it is reached, not voted on
		m.Step = class.Turned
	case m.Step < class.Turned:
		m.Step++
	case m.At+1 < len(m.Lesson.Acts):
		r.leaveAct()
		m.At, m.Step = m.At+1, class.Vote
	default:
		r.leaveAct()
		r.ended, r.totals = m.Lesson, maps.Clone(r.closed)
		m.Lesson, m.Staged = nil, false
		return
	}
	r.play()
}

// back goes to the step before: of the same act with its votes, or to the end of the act before. A first
// press brings back what was put aside.
func (r *Room) back() {
	m := &r.moment
	switch {
	case m.Blank:
		m.Blank = false
		return
	case !m.Staged:
		m.Staged = true
	case m.Step > class.Vote && m.Act().Kind == lessons.Goal:
		m.Step = class.Vote
	case m.Step > class.Vote:
		m.Step--
	case m.At > 0:
		r.leaveAct()
		m.At, m.Step = m.At-1, class.Turned
	}
	r.play()
}

// play puts the setup and the screen of the act before the class.
func (r *Room) play() {
	m := &r.moment
	play := m.Play("")
	act := play.Act()
	was := m.Place
	m.Place.Setup, m.Place.Screen = play.Setup(), act.Show
	if len(act.Turned) > 0 {
		m.Place.Focus = act.Turned[0].Knob
	}
	if m.Place != was {
		m.View = nil
		m.Of++
	}
}

// leaveAct keeps the distributions of the act and begins with empty ballots.
func (r *Room) leaveAct() {
	r.closed[r.moment.At] = r.distributions()
	r.clear()
}

func (r *Room) clear() { r.votes = [2]map[string]int{{}, {}} }
