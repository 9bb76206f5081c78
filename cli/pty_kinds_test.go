//go:build unix

package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"meshscope/cli/terminal"
)

// TestTerminalKinds: the program draws on terminals of every name, known or not,
// without terminfo, in any locale.
func TestTerminalKinds(t *testing.T) {
	t.Parallel()
	program := build(t)
	for _, kind := range []struct {
		env   string
		ascii bool
	}{
		{"TERM=xterm", false},
		{"TERM=xterm-kitty", false},
		{"TERM=xterm-ghostty", false},
		{"TERM=screen", false},
		{"TERM=tmux-256color", false},
		{"TERM=putty-256color", false},
		{"TERM=vt100", false},
		{"TERM=nobody-knows-this", false},
		{"TERM=linux", true},
		{"LC_ALL=C", true},
		{"LANG=ja_JP.eucJP", true},
	} {
		t.Run(kind.env, func(t *testing.T) {
			t.Parallel()
			screen := open(t, program, 80, 24, "COLORTERM=", "TERMINFO=/nowhere", kind.env)
			beyond := strings.IndexFunc(screen.Text(), func(r rune) bool { return r > '~' }) >= 0
			if beyond == kind.ascii {
				t.Errorf("signs beyond ASCII: %v\n%s", beyond, screen.Text())
			}
			before := screen.Text()
			press(t, screen, terminal.Down)
			press(t, screen, terminal.Right)
			changes(t, screen, before)
			press(t, screen, "q")
			restored(t, screen, 0)
		})
	}
}

// TestTerminalQuiet: who looks at the screen and does nothing gets no bytes, and
// the program never names the window or changes the terminal's colours.
func TestTerminalQuiet(t *testing.T) {
	t.Parallel()
	screen := open(t, build(t), 120, 36)
	for _, key := range []string{terminal.Right, "\t", "\t", "\t", "?", "\x1b"} {
		press(t, screen, key)
	}
	for begun, sent := time.Now(), 1; sent > 0; { // what the keys have changed may come late
		if time.Since(begun) > terminal.Patience {
			t.Fatalf("%d bytes for nothing", sent)
		}
		before := screen.Written()
		time.Sleep(8 * frameGap)
		sent = screen.Written() - before
	}
	press(t, screen, "q")
	restored(t, screen, 0)
	raw := screen.Raw()
	for what, sequence := range map[string]string{
		"a window title": "\x1b]0;", "an icon title": "\x1b]1;", "a title": "\x1b]2;", "a palette": "\x1b]4;",
	} {
		if bytes.Contains(raw, []byte(sequence)) {
			t.Errorf("%s was set", what)
		}
	}
	for _, colour := range []string{"\x1b]10;", "\x1b]11;", "\x1b]12;"} { // asking is allowed: ends in ?
		for rest := raw; ; {
			_, after, found := bytes.Cut(rest, []byte(colour))
			if !found {
				break
			}
			if after[0] != '?' {
				t.Errorf("a colour of the terminal was set: %q", after[:min(len(after), 12)])
			}
			rest = after
		}
	}
}

// TestTerminalMouse: M gives the mouse back to the terminal at once, --no-mouse
// never takes it, and moving it is never asked for.
func TestTerminalMouse(t *testing.T) {
	t.Parallel()
	program := build(t)
	screen := open(t, program, 80, 24)
	for _, on := range []bool{true, false, true} {
		// it may come after the frame
		for begin := time.Now(); screen.Mode(ansi.ModeMouseButtonEvent) != on; time.Sleep(time.Millisecond) {
			if time.Since(begin) > terminal.Patience {
				t.Fatalf("mouse on: %v, want %v", !on, on)
			}
		}
		if screen.Mode(ansi.ModeMouseAnyEvent) {
			t.Error("motion is asked for")
		}
		press(t, screen, "M")
	}
	press(t, screen, "q")
	restored(t, screen, 0)

	without, err := terminal.Start(t.Context(),
		terminal.Options{Columns: 80, Rows: 24, Env: []string{"HOME=" + t.TempDir()}}, program, "--no-state",
		"--no-mouse")
	if err != nil {
		t.Fatal(err)
	}
	see(t, without, "Llama")
	press(t, without, terminal.Right)
	for _, mode := range []ansi.Mode{
		ansi.ModeMouseNormal, ansi.ModeMouseButtonEvent, ansi.ModeMouseAnyEvent,
		ansi.ModeMouseExtSgr,
	} {
		if without.Mode(mode) {
			t.Errorf("--no-mouse: %v is on", mode)
		}
	}
	press(t, without, "q")
	restored(t, without, 0)
}
