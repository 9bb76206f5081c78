//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"meshscope/cli/terminal"
)

// home is a folder for the state of some runs.
type home string

// start opens the explorer in it.
func (h home) start(t *testing.T, program string, env []string, args ...string) *terminal.Terminal {
	t.Helper()
	screen, err := terminal.Start(t.Context(), terminal.Options{
		Columns: 100, Rows: 30, Folder: string(h),
		Env: append([]string{
			"HOME=" + string(h), "XDG_STATE_HOME=" + string(h),
			"XDG_CONFIG_HOME=" + string(h),
		}, env...),
	}, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	see(t, screen, "Llama")
	screen.AwaitQuiet(frameGap)
	return screen
}

// leave quits, without a word on standard error.
func leave(t *testing.T, screen *terminal.Terminal) {
	t.Helper()
	press(t, screen, "q")
	if end := restored(t, screen, 0); end.Stderr != "" {
		t.Errorf("standard error: %s", end.Stderr)
	}
}

func (h home) file() string { return filepath.Join(string(h), "meshscope", "session.json") }

// kept is what the file of the session says.
func (h home) kept(t *testing.T) (kept struct {
	Setup json.RawMessage   `json:"setup"`
	Theme string            `json:"theme"`
	Mouse *bool             `json:"mouse"`
	Pins  []json.RawMessage `json:"pins"`

	Recent []string `json:"recent"`
},
) {
	t.Helper()
	text, err := os.ReadFile(h.file())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	return kept
}

// TestTerminalKeepsPins: what is pinned and chosen stays through starts with flags,
// through another program that ends later, and through a crash.
func TestTerminalKeepsPins(t *testing.T) {
	t.Parallel()
	program := build(t)

	t.Run("flags", func(t *testing.T) {
		t.Parallel()
		h := home(t.TempDir())
		screen := h.start(t, program, nil)
		for _, key := range []string{"p", terminal.Right, "p", "t"} {
			press(t, screen, key)
		}
		leave(t, screen)
		before := h.kept(t)
		if len(before.Pins) != 2 || before.Theme == "" || len(before.Setup) == 0 {
			t.Fatalf("kept: %d pins, theme %q, setup %.40s", len(before.Pins), before.Theme, before.Setup)
		}
		for _, args := range [][]string{
			{"--tp", "4"},
			{"--theme", "light"},
			{"--no-mouse"},
			{"--tp", "4", "--theme", "auto", "--no-mouse"},
		} {
			again := h.start(t, program, nil, args...)
			press(t, again, "\t")
			leave(t, again)
			after := h.kept(t)
			if len(after.Pins) != 2 || after.Theme != before.Theme || after.Mouse != nil ||
				string(after.Setup) != string(before.Setup) {
				t.Errorf("after %v: %d pins, theme %q, mouse %v, setup %.40s", args, len(after.Pins),
					after.Theme, after.Mouse, after.Setup)
			}
		}
		turned := h.start(t, program, nil, "--tp", "4", "--theme", "light")
		press(t, turned, terminal.Right)
		press(t, turned, "t")
		leave(t, turned)
		if after := h.kept(t); string(after.Setup) == string(before.Setup) || after.Theme == before.Theme ||
			len(after.Pins) != 2 {
			t.Errorf("what was changed by key: %d pins, theme %q", len(after.Pins), after.Theme)
		}
	})

	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		h := home(t.TempDir())
		screen := h.start(t, program, nil)
		press(t, screen, "p")
		see(t, screen, "pinned as 1")
		screen.AwaitQuiet(frameGap)
		if kept := h.kept(t); len(kept.Pins) != 1 || len(kept.Setup) != 0 {
			t.Errorf("before the end: %d pins, setup %.40s", len(kept.Pins), kept.Setup)
		}
		press(t, screen, "c")
		press(t, screen, "d")
		leave(t, screen)
		if kept := h.kept(t); len(kept.Pins) != 0 {
			t.Errorf("%d pins after it was dropped", len(kept.Pins))
		}
	})

	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		h := home(t.TempDir())
		screen := h.start(t, program, nil)
		press(t, screen, terminal.Right)
		kept := func() bool { return len(h.kept(t).Setup) > 0 }
		if err := screen.WaitFor("the setup in the file",
			func(string) bool { _, err := os.Stat(h.file()); return err == nil && kept() }); err != nil {
			t.Fatal(err)
		}
		if err := screen.Signal(os.Kill); err != nil {
			t.Fatal(err)
		}
		if _, err := screen.Wait(); err != nil {
			t.Fatal(err)
		}
		setup := h.kept(t).Setup
		again := h.start(t, program, nil)
		leave(t, again)
		if after := h.kept(t).Setup; string(after) != string(setup) {
			t.Errorf("after kill -9 and another run: %.60s, was %.60s", after, setup)
		}
	})

	t.Run("two programs, setups", func(t *testing.T) {
		t.Parallel()
		h := home(t.TempDir())
		a, b := h.start(t, program, nil), h.start(t, program, nil)
		waits := func(screen *terminal.Terminal, but json.RawMessage) json.RawMessage {
			t.Helper()
			var setup json.RawMessage
			if err := screen.WaitFor("another setup in the file", func(string) bool {
				if _, err := os.Stat(h.file()); err != nil {
					return false
				}
				setup = h.kept(t).Setup
				return len(setup) > 0 && string(setup) != string(but)
			}); err != nil {
				t.Fatal(err)
			}
			return setup
		}
		press(t, a, terminal.Right)
		first := waits(a, nil)
		press(t, b, terminal.Down)
		press(t, b, terminal.Down)
		press(t, b, terminal.Right)
		second := waits(b, first)
		leave(t, a) // which has not changed anything since
		kept := h.kept(t)
		if string(kept.Setup) != string(second) || len(kept.Recent) == 0 {
			t.Errorf("the last one to end has written over the last one to change: %.60s; left: %v",
				kept.Setup, kept.Recent)
		}
		leave(t, b)
	})

	t.Run("nowhere", func(t *testing.T) {
		t.Parallel()
		h := home(t.TempDir())
		file := filepath.Join(string(h), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		screen := h.start(t, program, []string{"XDG_STATE_HOME=" + filepath.Join(file, "state")})
		press(t, screen, "p")
		see(t, screen, "pinned for this run only")
		press(t, screen, "q")
		if end := restored(t, screen, 0); strings.Count(end.Stderr, "\n") != 1 ||
			!strings.Contains(end.Stderr, "meshscope: the session is not kept: ") ||
			!strings.Contains(end.Stderr, "not a directory") {
			t.Errorf("said at the end: %q", end.Stderr)
		}
	})

	t.Run("two programs", func(t *testing.T) {
		t.Parallel()
		h := home(t.TempDir())
		a, b := h.start(t, program, nil), h.start(t, program, nil)
		press(t, a, "p")
		press(t, a, terminal.Right)
		press(t, a, "p")
		leave(t, a)
		press(t, b, terminal.Down)
		press(t, b, terminal.Right)
		press(t, b, "p")
		leave(t, b)
		if n := len(h.kept(t).Pins); n != 3 {
			t.Errorf("%d pins, want 3", n)
		}
	})

	t.Run("a crash", func(t *testing.T) {
		t.Parallel()
		h := home(t.TempDir())
		screen := h.start(t, buildToPanic(t),
			[]string{"MESHSCOPE_TEST_PANIC=update", "MESHSCOPE_TEST_PANIC_AFTER=3"})
		for _, key := range []string{"p", terminal.Right, "p"} {
			press(t, screen, key)
		}
		if err := screen.Type("\t"); err != nil {
			t.Fatal(err)
		}
		restored(t, screen, 1)
		if kept := h.kept(t); len(kept.Pins) != 2 || len(kept.Setup) == 0 {
			t.Errorf("%d pins, setup %.40s", len(kept.Pins), kept.Setup)
		}
	})

	t.Run("a setup that is illegal", func(t *testing.T) {
		t.Parallel()
		h := home(t.TempDir())
		screen := h.start(t, program, nil)
		press(t, screen, "p")
		press(t, screen, terminal.Right)
		leave(t, screen)
		text, err := os.ReadFile(h.file())
		if err != nil {
			t.Fatal(err)
		}
		setup := h.kept(t).Setup
		bad := strings.Replace(string(text), string(setup), `{"tp": 3, "gpus": 64}`, 1)
		if err := os.WriteFile(h.file(), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		again := h.start(t, program, nil)
		see(t, again, "set aside")
		press(t, again, terminal.Down)
		press(t, again, "T")
		see(t, again, "at start")
		press(t, again, "\x1b")
		leave(t, again)
		if n := len(h.kept(t).Pins); n != 1 {
			t.Errorf("%d pins", n)
		}
		if aside, err := os.ReadFile(h.file() + ".broken"); err != nil || string(aside) != bad {
			t.Errorf("not set aside as it was: %v", err)
		}
	})
}

// TestTerminalDeletesWords: the keys that delete a word forward, before the last
// sign, in every text field.
func TestTerminalDeletesWords(t *testing.T) {
	t.Parallel()
	program := build(t)
	screen := home(t.TempDir()).start(t, program, nil, "--no-state")
	for _, field := range []string{"?", "m", "g", "w", "x", "e", "3", "r"} {
		press(t, screen, field)
		keys := "a"
		for _, forward := range []string{"\x1bd", "\x1b[3;3~", "\x1b[3;5~"} {
			keys += "1" + terminal.Left + forward
		}
		press(t, screen, keys)
		// escape twice; as \x1b\x1b it would be alt+esc where both arrive at once
		press(t, screen, "\x1b[27u\x1b[27u")
		see(t, screen, "Llama")
	}
	leave(t, screen)
}
