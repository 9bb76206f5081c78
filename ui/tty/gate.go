package tty

import (
	"io"
	"sync"
	"time"
)

// How long the rest of a sequence is waited for.
const (
	// escapePause is how long after an escape the rest of a key may come, as in other programs.
	escapePause = 50 * time.Millisecond
	// keyPause is how long a key that begins with "ESC [" may take.
	keyPause = 500 * time.Millisecond
	// answerPause is how long a reply of the terminal may take.
	answerPause = 2 * time.Second
	// answersDue is how long after the start the terminal may answer: an escape may begin a reply.
	answersDue = 3 * time.Second
	// longestSequence is the most that is held back, in bytes.
	longestSequence = 8 << 10
	// longestPart is what the decoder reads at a time, in bytes.
	longestPart = 4096
)

// gate hands on input in whole sequences. A link may cut one anywhere and be slow with the rest: the
// parts of a reply of the terminal would be keys.
type gate struct {
	to io.Writer

	mu    sync.Mutex
	begun time.Time // of the input; zero once the terminal has answered all
	held  []byte
	turn  int // counts what was taken
	timer *time.Timer
}

// newGate returns a gate whose terminal has just been asked.
func newGate(to io.Writer) *gate { return &gate{to: to, begun: time.Now()} }

// take hands on what is complete and holds back the rest for some time.
func (g *gate) take(input []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer != nil {
		g.timer.Stop()
	}
	g.turn++
	g.held = append(g.held, input...)
	n := whole(g.held)
	if len(g.held)-n > longestSequence {
		n = len(g.held)
	}
	g.pass(n)
	if len(g.held) > 0 {
		turn := g.turn
		g.timer = time.AfterFunc(g.pause(), func() { g.expire(turn) })
	}
}

// pause returns how long the rest of what is held is waited for.
func (g *gate) pause() time.Duration {
	switch {
	case answers(g.held):
		return answerPause
	case len(g.held) > 1 || time.Since(g.begun) < answersDue:
		return keyPause
	}
	return escapePause
}

// expire ends the wait for a rest: what is held are keys, or a part of a reply, which is dropped.
func (g *gate) expire(turn int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if turn != g.turn {
		return
	}
	if answers(g.held) {
		g.held = g.held[:0]
		return
	}
	g.pass(len(g.held))
}

// pass hands on the first bytes of what is held, in parts that are read as one.
func (g *gate) pass(n int) {
	for rest := g.held[:n]; len(rest) > 0; {
		part := whole(rest[:min(len(rest), longestPart)])
		if part == 0 {
			part = min(len(rest), longestPart)
		}
		_, _ = g.to.Write(rest[:part]) // it fails only after the end
		rest = rest[part:]
	}
	g.held = append(g.held[:0], g.held[n:]...)
}

// answered says that the terminal has replied to what it was asked last.
func (g *gate) answered() {
	g.mu.Lock()
	g.begun = time.Time{}
	g.mu.Unlock()
}
