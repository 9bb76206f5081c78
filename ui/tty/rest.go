package tty

import (
	"sync"
	"time"
)

// Pauses of the renderer.
const (
	idleAfter   = 500 * time.Millisecond
	longestRest = time.Minute // after which it looks whether it is to end
)

// restMark is what the renderer is given to write when it may rest; it is never sent.
const restMark = "\x1b_rest\x1b\\"

// rest lets the renderer of Bubble Tea wait while nothing happens. It looks 60 times a second for
// something to write, which costs a shared machine five times as many wake-ups. A write that lasts until
// the next message stops it: a ticker that nobody waits for does not tick.
type rest struct {
	mu      sync.Mutex
	changed sync.Cond
	may     bool // nothing has happened since the mark was asked for
	ended   bool
	idle    *time.Timer
}

// newRest returns a rest that asks for the mark when nothing has happened for some time.
func newRest(ask func()) *rest {
	r := &rest{idle: time.AfterFunc(time.Hour, ask)}
	r.changed.L = &r.mu
	r.idle.Stop()
	return r
}

// wake ends a rest: something happened.
func (r *rest) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.may = false
	r.changed.Broadcast()
	if !r.ended {
		r.idle.Reset(idleAfter)
	}
}

// allow lets the next mark be rested at.
func (r *rest) allow() {
	r.mu.Lock()
	r.may = !r.ended
	r.mu.Unlock()
}

// end ends all rests.
func (r *rest) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.may, r.ended = false, true
	r.idle.Stop()
	r.changed.Broadcast()
}

// wait rests until something happens.
func (r *rest) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.may {
		return
	}
	limit := time.AfterFunc(longestRest, r.wake)
	defer limit.Stop()
	for r.may {
		r.changed.Wait()
	}
}
