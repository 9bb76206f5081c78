//go:build linux

package cli_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"meshscope/cli/terminal"
)

// watch follows a program over a soak. Without MESHSCOPE_RANDOM_CURVE it watches nothing.
type watch struct {
	program  string
	env      []string
	curve    *csv.Writer // nil: none
	count    string      // file with the number of goroutines
	restarts int
	next     int // keys until the next sample
}

// sampleEvery is how many keys apart the points of a curve are.
const sampleEvery = 5000

// newWatch returns a watch of the program as it is released, or, for a soak, of one that tells
// its goroutines.
func newWatch(t *testing.T) *watch {
	t.Helper()
	name := os.Getenv("MESHSCOPE_RANDOM_CURVE")
	if name == "" {
		return &watch{program: build(t)}
	}
	folder := t.TempDir()
	w := &watch{
		program: filepath.Join(folder, "meshscope"), count: filepath.Join(folder, "goroutines"),
		next: sampleEvery,
	}
	w.env = []string{"MESHSCOPE_SOAK_GOROUTINES=" + w.count}
	if err := buildInto(w.program, "-tags", "soak"); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w.curve = csv.NewWriter(file)
	t.Cleanup(func() {
		w.curve.Flush()
		if err := w.curve.Error(); err != nil {
			t.Error(err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	w.write(t, "keys", "resident_mb", "goroutines", "restarts")
	return w
}

func (w *watch) write(t *testing.T, cells ...string) {
	t.Helper()
	if err := w.curve.Write(cells); err != nil {
		t.Fatal(err)
	}
	w.curve.Flush()
}

// sample notes what the program has after so many keys.
func (w *watch) sample(t *testing.T, screen *terminal.Terminal, pressed int, resident float64) {
	t.Helper()
	if w.curve == nil || pressed < w.next {
		return
	}
	w.next = pressed + sampleEvery
	screen.AwaitQuiet(8 * frameGap) // what was typed has been taken
	goroutines, ok := w.goroutines(t, screen)
	if !ok {
		return // it is quitting, as the caller will see
	}
	if most := 60; goroutines > most {
		t.Errorf("%d goroutines after %d keys, at most %d are expected", goroutines, pressed, most)
	}
	w.write(t, strconv.Itoa(pressed), fmt.Sprintf("%.1f", resident), strconv.Itoa(goroutines),
		strconv.Itoa(w.restarts))
}

// goroutines asks the program how many it has; false where it has ended.
func (w *watch) goroutines(t *testing.T, screen *terminal.Terminal) (int, bool) {
	t.Helper()
	if err := os.Remove(w.count); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := screen.Signal(syscall.SIGUSR1); errors.Is(err, os.ErrProcessDone) {
		return 0, false
	} else if err != nil {
		t.Fatal(err)
	}
	n := 0
	err := screen.WaitFor("the number of goroutines", func(string) bool {
		text, err := os.ReadFile(w.count)
		if err == nil {
			n, err = strconv.Atoi(string(text))
		}
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, true
}
