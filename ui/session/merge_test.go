package session

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
)

// setups are some legal ones.
func setups() []engine.Setup {
	var all []engine.Setup
	s := presets.DefaultSetup()
	for _, mbs := range []int{1, 2, 4, 8} {
		for _, zero := range []int{0, 1, 2, 3} {
			c := s
			c.MicroBatches = c.GBS / c.DP / mbs
			c.MBS, c.ZeRO = mbs, zero
			if engine.Legal(c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// run is one program: what it began with, what it is at, and what its user did.
type run struct {
	store      *Store
	start, now Session
	pinned     map[engine.Setup]bool // false: dropped
}

// begin starts a program as the explorer does: what a flag says holds, and is what
// the run begins with.
func begin(t *rapid.T, path string, all []engine.Setup) *run {
	store, s, notices := Open(path, presets.Default())
	if len(notices) > 0 && len(listed(&s)) < MaxPins {
		t.Fatalf("notices %q", notices)
	}
	if rapid.Bool().Draw(t, "setup asked for") {
		s.Setup = rapid.SampledFrom(all).Draw(t, "asked")
	}
	if rapid.Bool().Draw(t, "theme asked for") {
		s.Theme = rapid.SampledFrom([]string{"auto", "dark", "light"}).Draw(t, "theme")
	}
	if rapid.Bool().Draw(t, "no mouse") {
		s.Mouse = false
	}
	return &run{store: store, start: s, now: s, pinned: map[engine.Setup]bool{}}
}

// act is what a user does.
func (r *run) act(t *rapid.T, all []engine.Setup) {
	switch rapid.IntRange(0, 4).Draw(t, "act") {
	case 0:
		r.now.Setup = rapid.SampledFrom(all).Draw(t, "setup")
	case 1:
		r.now.Theme = rapid.SampledFrom([]string{"auto", "dark", "light", "mono"}).Draw(t, "new theme")
	case 2:
		r.now.Mouse = !r.now.Mouse
	case 3: // pin
		pin, list := rapid.SampledFrom(all).Draw(t, "pin"), listed(&r.now)
		if len(list) < MaxPins && !slices.Contains(list, pin) {
			r.now.Pins[len(list)] = pin
			r.pinned[pin] = true
		}
	case 4: // drop the first one
		if list := listed(&r.now); len(list) > 0 {
			r.pinned[list[0]] = false
			r.now.Pins = [MaxPins]engine.Setup{}
			copy(r.now.Pins[:], list[1:])
		}
	}
}

// TestStarts runs programs one after the other and next to each other, with flags and
// without, and holds the file against the rule: what a run did not change stays as it
// is, what it changed is there, and pins are there until somebody drops them.
func TestStarts(t *testing.T) {
	all := setups()
	if len(all) < 12 {
		t.Fatalf("%d setups", len(all))
	}
	dir := t.TempDir()
	draws.Check(t, func(t *rapid.T) {
		home, err := os.MkdirTemp(dir, "") // a draw that is tried again finds no file either
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(home, "state", "session.json")
		want := None()
		pins := map[engine.Setup]bool{}
		if store, s, _ := Open(path, presets.Default()); store == nil || s != want {
			t.Fatalf("a file in a new folder: %+v", s)
		}
		var running []*run
		for range rapid.IntRange(1, 14).Draw(t, "moves") {
			switch {
			case len(running) == 0 || len(running) < 3 && rapid.IntRange(0, 3).Draw(t, "another") == 0:
				running = append(running, begin(t, path, all))
				continue
			case rapid.IntRange(0, 2).Draw(t, "act or end") > 0:
				rapid.SampledFrom(running).Draw(t, "who").act(t, all)
				continue
			}
			r := running[0]
			running = running[1:]
			if err := r.store.Save(r.start, r.now); err != nil {
				t.Fatal(err)
			}
			if r.now.Setup != r.start.Setup {
				if old := want.Setup; old != (engine.Setup{}) && old != r.start.Setup && old != r.now.Setup {
					want.Recent = left(t, old, want.Recent) // another run's, written over
				}
				want.Setup = r.now.Setup
			}
			if r.now.Theme != r.start.Theme {
				want.Theme = r.now.Theme
			}
			if r.now.Mouse != r.start.Mouse {
				want.Mouse = r.now.Mouse
			}
			for pin, on := range r.pinned {
				switch was := slices.Contains(listed(&r.start), pin); {
				case on && !was:
					pins[pin] = true
				case !on && was:
					delete(pins, pin)
				}
			}
			check(t, path, want, pins)
		}
	})
}

// left puts a setup before those that were left, each once.
func left(t *rapid.T, setup engine.Setup, list [MaxRecent]string) (out [MaxRecent]string) {
	text, ok := setupdoc.Share(setup, presets.Default(), presets.Default())
	if !ok {
		t.Fatal("no share string")
	}
	older := slices.DeleteFunc(list[:], func(other string) bool { return other == text })
	copy(out[:], append([]string{text}, older...))
	return out
}

// check holds the file against what should be in it.
func check(t *rapid.T, path string, want Session, pins map[engine.Setup]bool) {
	text, err := input.ReadRegular(path, input.MaxDocument)
	d := document{}
	if err == nil {
		if d, err = decode(text); err != nil {
			t.Fatal(err)
		}
	}
	r := d.read(presets.Default())
	if r.pins != len(pins) || len(r.refused) > 0 || r.strange > 0 {
		t.Fatalf("%d pins, want %d; %v", r.pins, len(pins), r.refused)
	}
	for _, pin := range listed(&r.Session) {
		if !pins[pin] {
			t.Fatalf("a pin that nobody pinned: %+v", pin)
		}
	}
	got := r.Session
	got.Pins = want.Pins
	if got != want {
		t.Fatalf("%+v\nwant %+v", got, want)
	}
}
