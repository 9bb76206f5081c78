package tty

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// errGivenUp is the error of a write to a terminal that was given up.
var errGivenUp = errors.New("the terminal takes no bytes")

// output is the terminal that is drawn on. It hides that it is one, so that nobody asks it for its size,
// and a write to it ends also while the terminal is not read, when it is given up.
type output struct {
	to   io.Writer
	rest *rest

	once  sync.Once
	work  chan []byte
	done  chan error
	gone  chan struct{} // closed: given up
	stuck chan struct{} // closed: the write that was given up has ended
	last  []byte

	waited atomic.Int64 // when a write last took slowWrite, in Unix nanoseconds
}

const (
	// slowWrite is how long a write takes on a slow line: 3 KB, a frame, at 20 KB a second.
	slowWrite = 150 * time.Millisecond
	// slowFor is how long a line is slow after such a write.
	slowFor = time.Minute
)

// slow reports whether the terminal has lately taken long to take what is drawn.
func (o *output) slow() bool { return time.Since(time.Unix(0, o.waited.Load())) < slowFor }

func newOutput(to io.Writer, r *rest) *output {
	return &output{
		to: to, rest: r,
		work: make(chan []byte), done: make(chan error, 1), gone: make(chan struct{}), stuck: make(chan struct{}),
	}
}

// Write writes to the terminal; a mark of rest lasts until something happens.
func (o *output) Write(p []byte) (int, error) {
	before, after, rests := bytes.Cut(p, []byte(restMark))
	if err := o.write(before); err != nil {
		return 0, err
	}
	if rests {
		if err := o.write(after); err != nil {
			return 0, err
		}
		o.rest.wait()
	}
	return len(p), nil
}

// write hands bytes to the goroutine that writes, and waits for it unless the terminal is given up.
func (o *output) write(p []byte) error {
	switch {
	case closed(o.gone):
		return errGivenUp
	case len(p) == 0:
		return nil
	}
	o.once.Do(func() { go o.serve() })
	o.last = append(o.last[:0], p...) // the caller may change p once it is given up
	select {
	case <-o.gone:
		return errGivenUp
	case o.work <- o.last:
	}
	select {
	case <-o.gone:
		return errGivenUp
	case err := <-o.done:
		return err
	}
}

// serve writes what it is given.
func (o *output) serve() {
	defer close(o.stuck)
	for {
		select {
		case <-o.gone:
			return
		case p := <-o.work:
			start := time.Now()
			_, err := o.to.Write(p)
			if end := time.Now(); end.Sub(start) >= slowWrite {
				o.waited.Store(end.UnixNano())
			}
			o.done <- err
		}
	}
}

// giveUp ends the write that waits for the terminal, and all later ones. To be called once.
func (o *output) giveUp() {
	close(o.gone)
	o.once.Do(func() { close(o.stuck) })
}

// closed reports whether a channel is closed that nothing is sent on.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
