package tty

import (
	"cmp"
	"sync"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// Bounds of what waits. Nobody turns more than this without seeing what it does.
const (
	manyKeys  = 32   // of which more of the same are dropped
	manyMouse = 16   // clicks, beyond which the oldest are dropped
	mostInput = 4096 // of anything
	fewKeys   = 8    // that ctrl+c does not overtake
)

// wheelPause is the least time between two turns of the wheel: a touchpad
// sends hundreds a second, each of which would cost a frame.
const wheelPause = 16 * time.Millisecond

// InputMsg says that input waits in the queue. One frame follows what is taken for one.
type InputMsg struct{}

// Queue holds the input that has come and was not taken yet: while a frame is drawn, or the terminal takes
// no bytes, more may come than a program can answer one by one.
type Queue struct {
	now   func() time.Time
	ready chan struct{} // has one where something waits

	mu      sync.Mutex
	waiting []tea.Msg
	mouse   int       // of those
	wheeled time.Time // when the wheel was turned last
}

// NewQueue returns an empty queue.
func NewQueue(now func() time.Time) *Queue {
	return &Queue{now: now, ready: make(chan struct{}, 1)}
}

// Ready has an element when something waits.
func (q *Queue) Ready() <-chan struct{} { return q.ready }

// Put adds input. ctrl+c overtakes what waits; what a held key, a wheel or a mouse
// repeats without end is left out.
func (q *Queue) Put(msg tea.Msg) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.admit(msg) {
		return
	}
	q.waiting = append(q.waiting, msg)
	if _, ok := msg.(tea.MouseMsg); ok {
		q.mouse++
	}
	if q.mouse > manyMouse {
		q.dropMouse()
	}
	q.signal()
}

// admit reports whether input is to be added. It takes away what the input replaces.
func (q *Queue) admit(msg tea.Msg) bool {
	n := len(q.waiting)
	var last tea.Msg
	if n > 0 {
		last = q.waiting[n-1]
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if Interrupts(msg) {
			if n > fewKeys {
				q.waiting, q.mouse = nil, 0
			}
			return true
		}
		before, same := last.(tea.KeyPressMsg)
		if same && n > manyKeys && msg.Text == "" && before.String() == msg.String() {
			return false
		}
	case tea.MouseMotionMsg:
		if before, ok := last.(tea.MouseMotionMsg); ok && before.Button == msg.Button {
			q.waiting, q.mouse = q.waiting[:n-1], q.mouse-1
		}
	case tea.MouseWheelMsg:
		at := q.now()
		if at.Sub(q.wheeled) < wheelPause {
			return false
		}
		q.wheeled = at
	}
	return len(q.waiting) < mostInput
}

// dropMouse drops the oldest news of the mouse.
func (q *Queue) dropMouse() {
	for i, msg := range q.waiting {
		if _, ok := msg.(tea.MouseMsg); ok {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			q.mouse--
			return
		}
	}
}

// Next takes the input that has waited longest.
func (q *Queue) Next() (msg tea.Msg, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil, false
	}
	msg, q.waiting = q.waiting[0], q.waiting[1:]
	if _, ok := msg.(tea.MouseMsg); ok {
		q.mouse--
	}
	if len(q.waiting) > 0 {
		q.signal()
	}
	return msg, true
}

// signal says that something waits.
func (q *Queue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Interrupts reports whether a key is ctrl+c, also with alt: an escape came just before.
func Interrupts(k tea.KeyPressMsg) bool { return k.Code == 'c' && k.Mod.Contains(tea.ModCtrl) }

// Apart returns a key with alt as the escape and the key that it was: a terminal sends both alike, and an
// escape and a key that follows soon may arrive as one.
func Apart(k tea.KeyPressMsg) []tea.KeyPressMsg {
	k.Mod &^= tea.ModAlt
	if k.Mod&^tea.ModShift == 0 && k.Code >= ' ' && k.Code < tea.KeyExtended && k.Code != tea.KeyBackspace {
		code := k.Code
		if k.Mod.Contains(tea.ModShift) {
			code = cmp.Or(k.ShiftedCode, unicode.ToUpper(code))
		}
		k.Text = string(code)
	}
	return []tea.KeyPressMsg{{Code: tea.KeyEscape}, k}
}
