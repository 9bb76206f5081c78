// Package room is a class as plain state: what the presenter shows, the lesson with its votes, and
// who is there. It knows no network and no terminal; every method may be called from any goroutine.
//
// State is sent, never bytes: a member asks for the newest Moment when it has room for one, and
// what came in between is skipped. So nobody waits for a slow member. A member learns of the others
// by counts alone.
package room

import (
	"crypto/rand"
	"maps"
	"sync"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/lessons"
	"meshscope/ui/class"
)

// Room is one class.
type Room struct {
	mu      sync.Mutex
	begun   string       // id of the lesson that the class began with
	moment  class.Moment // without what belongs to a seat
	public  class.Moment // what students know: a place goes out with what a presenter has computed of it
	seats   map[*Seat]bool
	votes   [2]map[string]int      // of the act that is on, by the id of the member
	closed  map[int][2]map[int]int // distributions of the acts that were left
	ended   *lessons.Lesson        // the lesson that was over last, until another begins
	totals  map[int][2]map[int]int // its distributions
	changed chan struct{}          // for Keep
	turns   turns

	// Between, where there is one, is called when a presenter's key was answered, while followers wait for
	// it: the moment for what would slow down everybody. It is set before anybody joins.
	Between func()
}

// New returns an empty class that begins at a place, of which the setup is enough, with a lesson or
// without (nil).
func New(at class.Place, l *lessons.Lesson) *Room {
	r := &Room{seats: map[*Seat]bool{}, closed: map[int][2]map[int]int{}, changed: make(chan struct{}, 1)}
	if at.Focus == "" {
		at.Locks, at.Focus = lessons.Locks(), knob.TP
	}
	r.moment.Place, r.moment.Of = at, 1
	r.clear()
	if l != nil {
		r.begun = l.ID
		r.teach(l)
	}
	r.public = r.moment
	return r
}

// Start returns the setup that is on.
func (r *Room) Start() engine.Setup {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.moment.Place.Setup
}

// Seat is the place of a member.
type Seat struct {
	room      *Room
	id        string // random: answers hang on it, never on a name
	role      class.Role
	news      chan struct{}
	exploring bool
	left      bool
	turn      turn
}

var _ class.Seat = (*Seat)(nil)

// Join gives a member a seat. While a presenter is there a second one gets the notes.
func (r *Room) Join(role class.Role) *Seat {
	r.mu.Lock()
	defer r.mu.Unlock()
	if role == class.Presenter {
		if r.presented() {
			role = class.Notes
		}
	}
	s := &Seat{room: r, id: rand.Text(), role: role, news: make(chan struct{}, 1)}
	r.seats[s] = true
	s.news <- struct{}{} // who comes late gets what there is
	r.tell(false)
	return s
}

// Leave gives the seat back. A vote that is still open loses its ballot, so that who comes back
// votes once.
func (s *Seat) Leave() {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.left {
		return
	}
	s.left = true
	delete(r.seats, s)
	if open := r.moment.Step.Round(); open >= 0 {
		delete(r.votes[open], s.id)
	}
	close(s.news)
	if s.role == class.Presenter {
		r.publish() // what was held back until the presenter has computed it
		return
	}
	r.tell(false)
}

// Role returns who sits here.
func (s *Seat) Role() class.Role { return s.role }

// News has a value when there is something new.
func (s *Seat) News() <-chan struct{} { return s.news }

// Now returns how the class stands, with what this seat may know of it.
func (s *Seat) Now() class.Moment {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.moment
	if s.role == class.Student {
		m = r.public
		m.Voted, m.Closed = r.voted(s), !r.takes(s)
	} else {
		m.Votes = r.shows(s.role == class.Notes)
		m.Ended, m.Totals = r.ended, r.totals
	}
	m.Counts = r.counts()
	return m
}

// shows returns the votes of the act that is on, where they are shown or to be seen early; else nothing.
func (r *Room) shows(early bool) (votes [2]map[int]int) {
	if r.moment.Lesson != nil && (early || r.moment.Step >= class.Shown) {
		votes = r.distributions()
	}
	return votes
}

// takes reports whether a vote is open for a member: the round is not one that was closed when its act was
// left, and the member sees the question.
func (r *Room) takes(s *Seat) bool {
	m, seen := &r.moment, &r.public
	open := m.Step.Round()
	if s.role != class.Student || s.left || m.Lesson == nil || open < 0 || m.At != seen.At ||
		m.Step != seen.Step {
		return false
	}
	return len(r.closed[m.At][open]) == 0
}

// voted reports whether a member has voted in the round that is open.
func (r *Room) voted(s *Seat) bool {
	open := r.moment.Step.Round()
	if open < 0 {
		return false
	}
	_, voted := r.votes[open][s.id]
	return voted
}

// counts counts who is there and who has answered.
func (r *Room) counts() class.Counts {
	var c class.Counts
	for s := range r.seats {
		if s.role != class.Student {
			continue
		}
		c.Students++
		if s.exploring {
			c.Exploring++
		}
	}
	rounds := r.distributions()
	round := r.moment.Step.Round()
	if round < 0 && len(rounds[1]) > 0 {
		round = 1
	}
	for _, n := range rounds[max(round, 0)] {
		c.Answered += n
	}
	return c
}

// distributions counts the ballots of the act.
func (r *Room) distributions() (out [2]map[int]int) {
	for i, votes := range r.votes {
		out[i] = maps.Clone(r.closed[r.moment.At][i])
		if len(votes) == 0 {
			continue
		}
		out[i] = map[int]int{}
		for _, b := range votes {
			out[i][b]++
		}
	}
	return out
}

// tell lets members know that there is something new: who teaches, and everybody where it is more
// than a count. It never waits: who has not taken the last news yet gets the newest with it.
func (r *Room) tell(everybody bool) {
	for s := range r.seats {
		if !everybody && s.role == class.Student {
			continue
		}
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// presented reports whether a presenter is there.
func (r *Room) presented() bool {
	for s := range r.seats {
		if s.role == class.Presenter {
			return true
		}
	}
	return false
}

// publish lets everybody know how the class stands. A place of which a presenter who is there has
// not computed anything yet waits for that.
func (r *Room) publish() {
	wait := r.moment.View == nil && r.presented()
	if !wait {
		r.public = r.moment
		r.public.Votes = r.shows(false)
	}
	r.tell(!wait)
}

// Show puts what a presenter's screen shows before the class, unless there is a newer place than
// the one that it is of. It returns the number of the new place.
func (s *Seat) Show(of uint64, p class.Place, view any) (uint64, bool) {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.role != class.Presenter || s.left || of != r.moment.Of {
		return of, false
	}
	r.moment.Place, r.moment.View = p, view
	r.moment.Of++
	r.publish()
	return r.moment.Of, true
}

// Follow says whether the member follows.
func (s *Seat) Follow(on bool) {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	s.exploring = !on
	s.room.tell(false)
}

// MaxBallots is how many different ballots a vote knows.
const MaxBallots = 64

// Answer votes. While the round is open a later answer replaces the one before.
func (s *Seat) Answer(ballot int) bool {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if ballot < 0 || ballot >= MaxBallots || !r.takes(s) {
		return false
	}
	r.votes[r.moment.Step.Round()][s.id] = ballot
	r.tell(false)
	return true
}
