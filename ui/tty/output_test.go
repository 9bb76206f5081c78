package tty

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestOutputGivenUp: a write to a terminal that takes nothing ends when the terminal is given up, and all later
// ones fail.
func TestOutputGivenUp(t *testing.T) {
	read, write := io.Pipe() // takes nothing until it is read
	o := newOutput(write, newRest(func(int) {}))
	failed := make(chan error)
	go func() {
		_, err := o.Write([]byte("frame"))
		failed <- err
	}()
	select {
	case err := <-failed:
		t.Fatalf("ended with %v before it was given up", err)
	case <-time.After(20 * time.Millisecond):
	}
	o.giveUp()
	if err := <-failed; !errors.Is(err, errGivenUp) {
		t.Errorf("%v", err)
	}
	if _, err := o.Write([]byte("more")); !errors.Is(err, errGivenUp) {
		t.Errorf("later: %v", err)
	}
	if closed(o.stuck) {
		t.Error("the write has ended before the terminal took it")
	}
	if _, err := io.ReadFull(read, make([]byte, len("frame"))); err != nil {
		t.Fatal(err)
	}
	<-o.stuck
}

// TestRest: nothing happens, so the renderer is asked to rest, writes nothing for it, and goes on with the next
// message; it never rests at a mark that came before.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, turn atomic.Int32
		r := newRest(func(at int) { asked.Add(1); turn.Store(int32(at)) }) //nolint:gosec // a few turns
		var got shared
		o := newOutput(&got, r)
		defer func() { o.giveUp(); r.end() }()
		mark := func() chan struct{} {
			rested := make(chan struct{})
			go func() {
				defer close(rested)
				if _, err := o.Write([]byte("a" + restMark + "b")); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
			return rested
		}
		// quiet waits until a mark is asked for, and lets it be written.
		quiet := func(pause time.Duration) chan struct{} {
			t.Helper()
			before := asked.Load()
			time.Sleep(2 * pause)
			synctest.Wait()
			if n := asked.Load() - before; n != 1 {
				t.Fatalf("asked to rest %d times", n)
			}
			if !r.allow(int(turn.Load())) {
				t.Fatal("may not rest where nothing has happened")
			}
			return mark()
		}
		r.wake()
		if first := quiet(idleAfter); !closed(first) || got.String() != "ab" {
			t.Errorf("rests at the first mark, before a frame that waits is drawn; written %q", got.String())
		}
		rests := quiet(drawn)
		if closed(rests) {
			t.Error("does not rest at the second mark")
		}
		r.wake()
		synctest.Wait()
		if !closed(rests) {
			t.Error("a message does not end the rest")
		}
		if !closed(mark()) {
			t.Error("rests at an old mark")
		}

		time.Sleep(idleAfter) // a mark is asked for, and before that is taken a key comes
		synctest.Wait()
		r.wake()
		if r.allow(int(turn.Load())) || !closed(mark()) || !closed(mark()) {
			t.Error("rests although something has happened")
		}

		quiet(idleAfter)
		r.wake() // between the two marks
		if !closed(quiet(idleAfter)) {
			t.Error("rests at the first mark after a key")
		}
		rests = quiet(drawn)
		time.Sleep(longestRest + time.Second)
		if !closed(rests) {
			t.Error("rests without end")
		}
		r.wake()
		quiet(idleAfter)
		rests = quiet(drawn)
		r.end()
		synctest.Wait()
		if !closed(rests) || r.allow(int(turn.Load())) || !closed(mark()) {
			t.Error("rests at the end")
		}
	})
}

// TestOutputSlow: a write that takes long makes the line slow for a while.
func TestOutputSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := time.Duration(0)
		o := newOutput(writer(func(p []byte) (int, error) { time.Sleep(takes); return len(p), nil }), newRest(func(int) {}))
		defer o.giveUp()
		for _, c := range []struct {
			takes, after time.Duration
			slow         bool
		}{{0, 0, false}, {slowWrite / 2, 0, false}, {slowWrite, 0, true}, {0, slowFor / 2, true}, {0, slowFor, false}} {
			takes = c.takes
			time.Sleep(c.after)
			if _, err := o.Write([]byte("frame")); err != nil {
				t.Fatal(err)
			}
			if o.slow() != c.slow {
				t.Errorf("after %+v slow is %v", c, o.slow())
			}
		}
	})
}

// writer is a function that writes.
type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
