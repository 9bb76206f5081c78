package tty

import (
	"sync"
	"time"
)

// Pauses of the renderer.
const (
	idleAfter   = 500 * time.Millisecond
	drawn       = 100 * time.Millisecond // from the first mark to the second
	longestRest = time.Minute            // after which it looks whether it is to end
)

// restMark is what the renderer is given to write when it may rest; it is never sent.
const restMark = "\x1b_rest\x1b\\"

// rest lets the renderer of Bubble Tea wait while nothing happens. It looks 60 times a second for
// something to write, which costs a shared machine five times as many wake-ups. A write that lasts until
// the next message stops it: a ticker that nobody waits for does not tick.
//
// The renderer writes what it is given, the mark among it, before the frame. So a first mark lets it draw
// a frame that waits, and it rests at a second one, where nothing has happened in between.
type rest struct {
	mu      sync.Mutex
	changed sync.Cond
	turn    int  // counts what has happened
	may     bool // nothing has happened since the mark was asked for
	marks   int  // since something happened last
	ended   bool
	idle    *time.Timer
}

// newRest returns a rest that asks for the mark when nothing has happened for some time, and says in
// which turn.
func newRest(ask func(turn int)) *rest {
	r := new(rest)
	r.idle = time.AfterFunc(time.Hour, func() {
		r.mu.Lock()
		turn := r.turn
		r.mu.Unlock()
		ask(turn)
	})
	r.changed.L = &r.mu
	r.idle.Stop()
	return r
}

// wake ends a rest: something happened.
func (r *rest) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	r.may, r.marks = false, 0
	r.changed.Broadcast()
	if !r.ended {
		r.idle.Reset(idleAfter)
	}
}

// allow lets the next mark be rested at; false where something has happened since it was asked for.
func (r *rest) allow(turn int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.may = !r.ended && turn == r.turn
	return r.may
}

// end ends all rests.
func (r *rest) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.may, r.ended = false, true
	r.idle.Stop()
	r.changed.Broadcast()
}

// wait rests until something happens, or asks for a second mark to rest at.
func (r *rest) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.may {
		return
	}
	if r.marks++; r.marks < 2 {
		r.may = false
		r.idle.Reset(drawn)
		return
	}
	limit := time.AfterFunc(longestRest, r.wake)
	defer limit.Stop()
	for r.may {
		r.changed.Wait()
	}
}
