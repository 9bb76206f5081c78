package tty

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// TestOutputGivenUp: a frame is handed over while the terminal takes nothing, and what waits for it ends when
// the terminal is given up, as all later writes do.
func TestOutputGivenUp(t *testing.T) {
	for _, next := range []string{"frame", "the end" + ansi.ResetModeAltScreenSaveCursor} {
		synctest.Test(t, func(t *testing.T) {
			read, write := io.Pipe() // takes nothing until it is read
			o := newOutput(write)
			if _, err := o.Write([]byte("frame")); err != nil || !o.busy() {
				t.Fatalf("busy %v, %v", o.busy(), err)
			}
			failed := make(chan error, 1)
			go func() {
				_, err := o.Write([]byte(next))
				failed <- err
			}()
			synctest.Wait()
			if len(failed) > 0 {
				t.Fatal("ended before it was given up")
			}
			o.giveUp()
			if err := <-failed; !errors.Is(err, errGivenUp) {
				t.Errorf("%v", err)
			}
			if _, err := o.Write([]byte("more")); !errors.Is(err, errGivenUp) {
				t.Errorf("later: %v", err)
			}
			if !o.busy() {
				t.Error("the write has ended before the terminal took it")
			}
			if _, err := io.ReadFull(read, make([]byte, len("frame"))); err != nil {
				t.Fatal(err)
			}
			<-o.free
		})
	}
}

// TestOutputLeaves: what leaves the screen, and the last bytes after a crash that left it before, are written
// when the write returns.
func TestOutputLeaves(t *testing.T) {
	for _, last := range []string{
		ansi.ResetModeAltScreenSaveCursor,
		ansi.SetModeTextCursorEnable + ansi.ResetModeBracketedPaste,
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []byte
			o := newOutput(writer(func(p []byte) (int, error) {
				time.Sleep(time.Second)
				got = append(got, p...)
				return len(p), nil
			}))
			for _, text := range []string{"frame", "frame", last} {
				if _, err := o.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if o.busy() || string(got) != "frameframe"+last {
				t.Errorf("written %q", got)
			}
		})
	}
}

// TestOutputSlow: a write that takes long makes the line slow for a while.
func TestOutputSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := time.Duration(0)
		o := newOutput(writer(func(p []byte) (int, error) { time.Sleep(takes); return len(p), nil }))
		for _, c := range []struct {
			takes, after time.Duration
			slow         bool
		}{
			{0, 0, false},
			{slowWrite / 2, 0, false},
			{slowWrite, 0, true},
			{0, slowFor / 2, true},
			{0, slowFor, false},
		} {
			takes = c.takes
			time.Sleep(c.after)
			if _, err := o.Write([]byte("frame")); err != nil {
				t.Fatal(err)
			}
			o.free <- <-o.free
			if o.slow() != c.slow {
				t.Errorf("after %+v slow is %v", c, o.slow())
			}
		}
	})
}

// writer is a function that writes.
type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
