package room

import (
	"runtime"
	"time"
)

// Followers draw one after the other. What a frame costs of one core is about drawing; of the cores
// followers get share, and the presenter the rest.
const (
	drawing = 3400 * time.Microsecond
	share   = 0.75
)

// firstTime is how long followers wait while a key of the presenter is answered, from which it can take up to
// one frame of 60 a second until that is on its way. Followers get as long before they wait again: a key that
// is held down does not stop them.
const firstTime = 30 * time.Millisecond

// holdStep is how often followers that wait for Between are told to wait on.
const holdStep = 5 * time.Millisecond

// turns says when followers draw. The time of followers stands still while they wait for the presenter.
type turns struct {
	next    time.Time     // when the next follower may draw
	until   time.Time     // they wait until then
	waited  time.Duration // how long they have waited for the presenter in all
	between bool          // the function between runs
}

// turn is what a seat knows of its own.
type turn struct {
	due    time.Time     // zero: none was taken
	waited time.Duration // of all, when it was taken
}

// Turn returns how long to wait before asking again whether news may be drawn; 0: now.
func (s *Seat) Turn() time.Duration {
	if s.role.Teaches() {
		return 0
	}
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	wait := s.turn.wait(&r.turns, now)
	if wait == 0 {
		s.turn = turn{}
	}
	return wait
}

func (t *turn) wait(of *turns, now time.Time) time.Duration {
	if t.due.IsZero() {
		t.due, t.waited = of.take(now), of.waited
	}
	at := t.due.Add(of.waited - t.waited)
	if at.Before(of.until) {
		at = of.until
	}
	return max(at.Sub(now), 0)
}

// take gives the next follower its time.
func (t *turns) take(now time.Time) time.Time {
	due := t.next
	if due.Before(now) {
		due = now
	}
	if due.Before(t.until) {
		due = t.until
	}
	t.next = due.Add(time.Duration(float64(drawing) / share / float64(runtime.GOMAXPROCS(0))))
	return due
}

// hold lets followers that have not begun to draw wait until a time.
func (t *turns) hold(now, until time.Time) {
	from := now
	if t.until.After(from) {
		from = t.until
	}
	more := until.Sub(from)
	if more <= 0 {
		return
	}
	t.until, t.waited = until, t.waited+more
	if t.next.After(from) {
		t.next = t.next.Add(more)
	}
}

// First lets followers wait while a key of who teaches is answered.
func (s *Seat) First() {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if !s.role.Teaches() || s.left || r.turns.between || now.Before(r.turns.until.Add(firstTime)) {
		return
	}
	r.turns.hold(now, now.Add(firstTime))
	if r.Between != nil {
		r.turns.between = true
		time.AfterFunc(firstTime-holdStep, r.meanwhile)
	}
}

// meanwhile runs Between while followers wait.
func (r *Room) meanwhile() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Between()
	}()
	look := time.NewTicker(holdStep / 2)
	defer look.Stop()
	for {
		select {
		case <-done:
			r.mu.Lock()
			r.turns.between = false
			r.mu.Unlock()
			return
		case now := <-look.C:
			r.mu.Lock()
			r.turns.hold(now, now.Add(holdStep))
			r.mu.Unlock()
		}
	}
}
