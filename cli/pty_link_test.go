//go:build linux

package cli_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"meshscope/cli/terminal"
)

// TestTerminalHangs: while the terminal reads nothing, one signal ends the program after a while and
// a second one at once, and the terminal is restored when it reads again.
func TestTerminalHangs(t *testing.T) {
	t.Parallel()
	program := build(t)
	for name, c := range map[string]struct {
		signals []syscall.Signal
		code    int
	}{
		"SIGTERM":         {[]syscall.Signal{syscall.SIGTERM}, 143},
		"SIGTERM twice":   {[]syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 143},
		"SIGHUP, SIGQUIT": {[]syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT}, 129},
		"SIGINT twice":    {[]syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen := open(t, program, 200, 60)
			screen.Hang(true)
			for range 12 { // more than the kernel keeps
				if err := screen.Type("\t"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(30 * time.Millisecond)
			}
			for i, s := range c.signals {
				if i > 0 {
					time.Sleep(frameGap)
				}
				// the first may do
				if err := screen.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
			}
			select {
			case <-screen.Exited():
			case <-time.After(terminal.Patience):
				t.Fatal("the program does not end")
			}
			screen.Hang(false)
			restored(t, screen, c.code)
		})
	}
}

// TestTerminalSplitReplies: what a terminal answers may come in parts, with pauses. It is no key.
func TestTerminalSplitReplies(t *testing.T) {
	t.Parallel()
	screen := open(t, build(t), 80, 24)
	for _, reply := range []string{
		"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\", "\x1b]11;rgb:1e1e/1e1e/1e1e\a",
		"\x1b[?2026;2$y", "\x1bP1+r524742\x1b\\", "\x1b[?1u",
	} {
		for _, at := range []int{2, len(reply) - 1} {
			if err := screen.Type(reply[:at]); err != nil {
				t.Fatal(err)
			}
			pause := 300 * time.Millisecond
			if at < 3 { // what may be a key is not waited for so long
				pause = 120 * time.Millisecond
			}
			time.Sleep(pause)
			if err := screen.Type(reply[at:]); err != nil {
				t.Fatal(err)
			}
		}
	}
	see(t, screen, "MEMORY")
	screen.AwaitQuiet(frameGap)
	clean := open(t, build(t), 80, 24)
	same := func(s string) bool { return s == screen.Text() } // what is worked out may come later
	if err := clean.WaitFor("what is there without replies", same); err != nil {
		t.Errorf("replies did something:\n%s\nwithout them: %v", screen.Text(), err)
	}
	for _, s := range []*terminal.Terminal{screen, clean} {
		press(t, s, "q")
		restored(t, s, 0)
	}
}

// TestTerminalEscapes: an escape that comes together with another key, or another escape, leaves what is
// open, and the key does what it does.
func TestTerminalEscapes(t *testing.T) {
	t.Parallel()
	program := build(t)
	for name, c := range map[string]struct{ keys, see string }{
		"two lists":    {"?\x1b\x1b\t", "[Memory]"},
		"and a letter": {"?\x1bp", "pinned"},
		"and a key":    {"?\x1b\t", "[Memory]"},
		"held":         {"?" + strings.Repeat("\x1b", 7) + "\t", "[Memory]"},
		"and an arrow": {"?\x1b" + terminal.Right, "→"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen := open(t, program, 120, 36)
			press(t, screen, c.keys[:1])
			press(t, screen, c.keys[1:])
			see(t, screen, c.see)
			press(t, screen, "q")
			restored(t, screen, 0)
		})
	}
}

// TestTerminalFlood: what comes faster than it can be drawn is taken together, and ctrl+c behind it is
// reached.
func TestTerminalFlood(t *testing.T) {
	t.Parallel()
	program := build(t)
	t.Run("tabs and ctrl+c", func(t *testing.T) {
		t.Parallel()
		screen := open(t, program, 120, 36)
		begun := time.Now()
		if err := screen.Type(strings.Repeat("\t", 20_000) + terminal.CtrlC); err != nil {
			t.Fatal(err)
		}
		restored(t, screen, 0)
		t.Logf("20,000 tabs and ctrl+c: %v", time.Since(begun)) // minutes one by one
	})
	t.Run("keys and ctrl+c", func(t *testing.T) {
		t.Parallel()
		// It would crash at the 500th key: ctrl+c is seen behind 2,000 that wait.
		screen := open(t, buildToPanic(t), 120, 36, "MESHSCOPE_TEST_PANIC=update",
			"MESHSCOPE_TEST_PANIC_AFTER=500")
		random := rand.New(rand.NewPCG(1, 1))
		var keys strings.Builder
		for range 2000 {
			keys.WriteString([]string{
				terminal.Left, terminal.Right, terminal.Up,
				terminal.Down,
			}[random.IntN(4)])
		}
		if err := screen.Type(keys.String() + terminal.CtrlC); err != nil {
			t.Fatal(err)
		}
		restored(t, screen, 0)
	})
	t.Run("the mouse", func(t *testing.T) {
		t.Parallel()
		screen := open(t, program, 120, 36)
		var events strings.Builder
		// clicks where nothing is, and over everything else movements and turns of the wheel
		for i := range 2000 {
			x, y := 1+i%120, 1+i%36
			fmt.Fprintf(&events, "\x1b[<0;%d;1M\x1b[<32;%d;1M\x1b[<0;%d;1m\x1b[<65;%d;%dM", x, x, x, x, y)
		}
		begun := time.Now()
		if err := screen.Type(events.String()); err != nil {
			t.Fatal(err)
		}
		if err := screen.Type("\t"); err != nil {
			t.Fatal(err)
		}
		see(t, screen, "[Memory]")
		t.Logf("8,000 news of the mouse, and a key: %v", time.Since(begun)) // 4 to 12 s with a frame for each
		press(t, screen, terminal.CtrlC)
		restored(t, screen, 0)
	})
}

// TestTerminalHeldKeys: while the terminal takes no frame keys are taken all the same, and when it does, it
// is sent where they have led and not each step.
func TestTerminalHeldKeys(t *testing.T) {
	t.Parallel()
	screen := open(t, build(t), 120, 36)
	before := screen.Written()
	screen.Hang(true)
	for range 100 {
		for _, key := range []string{terminal.Down, terminal.Down, terminal.Up} {
			if err := screen.Type(key); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	press(t, screen, "\x1b[H\t")
	screen.Hang(false)
	see(t, screen, "[Memory]")
	screen.AwaitQuiet(frameGap)
	// The kernel keeps 64 KB of frames; each step would be 900 KB.
	if sent := screen.Written() - before; sent > 200<<10 {
		t.Errorf("%d bytes are sent for keys that were held while the terminal took none", sent)
	}
	press(t, screen, "q")
	restored(t, screen, 0)
}

// TestTerminalIdle: a program that nobody types into uses nearly nothing of a processor: what is left is that
// the renderer looks 60 times a second whether there is a frame.
func TestTerminalIdle(t *testing.T) {
	t.Parallel()
	screen := open(t, build(t), 120, 36)
	press(t, screen, terminal.Right)
	screen.AwaitQuiet(2 * time.Second)
	const seconds, tries = 2, 10
	// the budget is 1 %, on a machine without other work; with such, waking costs more for a while
	for share, try := 1.0, 1; share > 0.02; try++ {
		used, err := busy(screen.PID())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(seconds * time.Second)
		after, err := busy(screen.PID())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("idle: %v of a processor in %d s", after-used, seconds)
		if share = (after - used).Seconds() / seconds; share > 0.02 && try == tries {
			t.Fatalf("%.1f %% of a processor", 100*share)
		}
	}
	press(t, screen, terminal.Left) // and is there at once
	press(t, screen, "q")
	restored(t, screen, 0)
}

// busy returns how long the threads of a process ran.
func busy(pid int) (used time.Duration, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return 0, err
	}
	for _, task := range tasks {
		scheduled, err := os.ReadFile(filepath.Join(task, "schedstat"))
		if err != nil {
			return 0, err
		}
		ran, err := strconv.ParseInt(strings.Fields(string(scheduled))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		used += time.Duration(ran)
	}
	return used, nil
}
