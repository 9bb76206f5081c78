package tty

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// errGivenUp is the error of a write to a terminal that was given up.
var errGivenUp = errors.New("the terminal takes no bytes")

// output is the terminal that is drawn on. It hides that it is one, so that nobody asks it for its size.
// It returns while the terminal still takes a frame, so that the program goes on over a slow line; the next
// frame waits for that, unless the terminal is given up.
type output struct {
	to    io.Writer
	free  chan struct{} // has an element while nothing is written
	gone  chan struct{} // closed: given up
	frame []byte
	err   error // of the last write

	waited atomic.Int64 // when a write last took slowWrite, in Unix nanoseconds
}

const (
	// slowWrite is how long a write takes on a slow line: 3 KB, a frame, at 20 KB a second.
	slowWrite = 150 * time.Millisecond
	// slowFor is how long a line is slow after such a write.
	slowFor = time.Minute
)

func newOutput(to io.Writer) *output {
	o := &output{to: to, free: make(chan struct{}, 1), gone: make(chan struct{})}
	o.free <- struct{}{}
	return o
}

// slow reports whether the terminal has lately taken long to take what is drawn.
func (o *output) slow() bool { return time.Since(time.Unix(0, o.waited.Load())) < slowFor }

// busy reports whether the terminal still takes what was drawn.
func (o *output) busy() bool { return len(o.free) == 0 }

// Write hands bytes to a goroutine that writes them. What leaves the screen or shows the cursor again, as the
// last bytes do where a crash has left the screen before, is written when it returns: the process may be
// stopped, or end, next.
func (o *output) Write(p []byte) (int, error) {
	if err := o.wait(); err != nil {
		return 0, err
	}
	o.frame = append(o.frame[:0], p...)
	go o.write()
	if bytes.Contains(p, []byte(ansi.ResetModeAltScreenSaveCursor)) ||
		bytes.Contains(p, []byte(ansi.SetModeTextCursorEnable)) {
		if err := o.wait(); err != nil {
			return 0, err
		}
		o.free <- struct{}{}
	}
	return len(p), nil
}

// wait waits until nothing is written.
func (o *output) wait() error {
	if closed(o.gone) {
		return errGivenUp
	}
	select {
	case <-o.gone:
		return errGivenUp
	case <-o.free:
		return o.err
	}
}

// write writes the frame.
func (o *output) write() {
	start := time.Now()
	_, o.err = o.to.Write(o.frame)
	if end := time.Now(); end.Sub(start) >= slowWrite {
		o.waited.Store(end.UnixNano())
	}
	o.free <- struct{}{}
}

// giveUp ends the wait for the terminal, and fails all later writes. To be called once.
func (o *output) giveUp() { close(o.gone) }

// closed reports whether a channel is closed that nothing is sent on.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
