//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"meshscope/cli/terminal"
)

// frameGap is longer than the time between two frames (60 a second) even on a
// busy machine: what has not changed for so long is drawn.
const frameGap = 150 * time.Millisecond

// open starts the program in a terminal and waits for its first picture.
func open(t testing.TB, program string, columns, rows int, env ...string) *terminal.Terminal {
	t.Helper()
	return openWith(t, program, columns, rows, nil, env...)
}

// openWith is open with arguments of the program.
func openWith(t testing.TB, program string, columns, rows int, args []string,
	env ...string,
) *terminal.Terminal {
	t.Helper()
	screen := start(t, program, columns, rows, args, env...)
	see(t, screen, "Llama")
	screen.AwaitQuiet(frameGap)
	return screen
}

// start is openWith that waits for nothing.
func start(t testing.TB, program string, columns, rows int, args []string, env ...string) *terminal.Terminal {
	t.Helper()
	home := t.TempDir()
	screen, err := terminal.Start(t.Context(), terminal.Options{
		Columns: columns, Rows: rows, Folder: home, // where it exports to
		Env: append([]string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home}, env...),
	}, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return screen
}

// see waits until a text is on the screen, and the explorer has asked for the background: keys that are
// pressed then come after the answer, which a program that ends would leave to the shell.
func see(t testing.TB, screen *terminal.Terminal, text string) {
	t.Helper()
	err := screen.WaitFor("“"+text+"” on the screen", func(s string) bool {
		return strings.Contains(s, text) && (!screen.Mode(ansi.ModeAltScreenSaveCursor) ||
			bytes.Contains(screen.Raw(), []byte("]11;?")))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// changes waits until the screen is another one.
func changes(t testing.TB, screen *terminal.Terminal, before string) {
	t.Helper()
	if err := screen.WaitFor("another screen", func(s string) bool { return s != before }); err != nil {
		t.Fatal(err)
	}
}

// answered goes to the next screen. The terminal's replies have come then: what a program that has
// ended does not read, its shell would.
func answered(t testing.TB, screen *terminal.Terminal) {
	t.Helper()
	press(t, screen, "\t")
	see(t, screen, "[Memory]")
}

// press sends a key, waits for what it changes (some change nothing) and then
// until the screen rests.
func press(t testing.TB, screen *terminal.Terminal, key string) {
	t.Helper()
	before := screen.Written()
	if err := screen.Type(key); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); screen.Written() == before && time.Since(start) < frameGap; {
		time.Sleep(time.Millisecond)
	}
	screen.AwaitQuiet(frameGap / 3)
}

// restored waits for the end and checks that the shell gets its terminal back
// as it was.
func restored(t *testing.T, screen *terminal.Terminal, code int) terminal.End {
	t.Helper()
	end, err := screen.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if end.Code != code {
		t.Errorf("exit code %d, want %d; standard error: %s", end.Code, code, end.Stderr)
	}
	if !end.Cooked {
		t.Error("echo and line editing are not restored")
	}
	if !screen.Mode(ansi.ModeTextCursorEnable) {
		t.Error("the cursor is still hidden")
	}
	for what, mode := range map[string]ansi.Mode{
		"the alternate screen": ansi.ModeAltScreenSaveCursor,
		"mouse clicks":         ansi.ModeMouseNormal,
		"mouse drags":          ansi.ModeMouseButtonEvent,
		"mouse motion":         ansi.ModeMouseAnyEvent,
		"mouse coordinates":    ansi.ModeMouseExtSgr,
		"focus reports":        ansi.ModeFocusEvent,
		"bracketed paste":      ansi.ModeBracketedPaste,
	} {
		if screen.Mode(mode) {
			t.Errorf("%s: still on", what)
		}
	}
	keysRestored(t, screen)
	if left := strings.TrimSpace(screen.Text()); left != "" {
		t.Errorf("left on the shell's screen: %q", left)
	}
	return end
}

// keysRestored checks that keys are sent as before: each protocol for them that was turned on was turned off
// after it.
func keysRestored(t *testing.T, screen *terminal.Terminal) {
	t.Helper()
	const push, pop = "\x1b[>1u", "\x1b[<1u"
	raw := string(screen.Raw())
	if on, off := strings.Count(raw, push), strings.Count(raw, pop); off < on ||
		strings.LastIndex(raw, pop) < strings.LastIndex(raw, push) {
		t.Errorf("the kitty protocol of keys: turned on %d times, off %d times", on, off)
	}
	if strings.LastIndex(raw, ansi.ResetModifyOtherKeys) < strings.LastIndex(raw, ansi.SetModifyOtherKeys2) {
		t.Error("the xterm protocol of keys is still on")
	}
}

// builtToPanic makes the program that panics where it is asked to.
var builtToPanic = sync.OnceValue(func() error { return buildInto(panicking(), "-tags", "rehearse") })

func panicking() string { return sharedProgram() + "-rehearse" }

// buildToPanic returns its path.
func buildToPanic(t testing.TB) string {
	t.Helper()
	if err := builtToPanic(); err != nil {
		t.Fatal(err)
	}
	return panicking()
}

// TestTerminal runs the real program in a pseudo-terminal.
func TestTerminal(t *testing.T) {
	t.Parallel()
	program := build(t)

	t.Run("a session", func(t *testing.T) {
		t.Parallel()
		screen := open(t, program, 80, 24)
		if !screen.Mode(ansi.ModeAltScreenSaveCursor) {
			t.Error("not on the alternate screen")
		}
		for range 5 {
			before := screen.Text()
			press(t, screen, terminal.Down)
			press(t, screen, terminal.Right)
			changes(t, screen, before)
		}
		for _, size := range [][2]int{{120, 36}, {200, 60}, {40, 10}, {80, 24}} {
			columns, rows := size[0], size[1]
			if err := screen.Resize(columns, rows); err != nil {
				t.Fatal(err)
			}
			screen.AwaitQuiet(frameGap)
			err := screen.WaitFor(fmt.Sprintf("a picture in %dx%d", columns, rows), func(s string) bool {
				return strings.TrimSpace(s) != "" && strings.Count(s, "\n") < rows
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		see(t, screen, "Llama")
		press(t, screen, "q")
		if end := restored(t, screen, 0); end.Stderr != "" {
			t.Errorf("standard error: %s", end.Stderr)
		}
	})

	t.Run("ctrl+z without a shell", func(t *testing.T) {
		t.Parallel()
		screen := open(t, program, 80, 24)
		press(t, screen, "\x1a")
		see(t, screen, "cannot suspend")
		press(t, screen, "q")
		restored(t, screen, 0)
	})

	t.Run("ctrl+z in a shell, and back", func(t *testing.T) {
		t.Parallel()
		screen := suspended(t, program)
		press(t, screen, "fg; echo ended=$?\r")
		see(t, screen, "[Memory]")
		press(t, screen, "\t")
		see(t, screen, "[Pipeline]")
		press(t, screen, "q")
		see(t, screen, "ended=0")
		press(t, screen, "exit\r")
		if end, err := screen.Wait(); err != nil || end.Code != 0 {
			t.Errorf("the shell ends with %v, %v", end, err)
		}
	})

	t.Run("ctrl+c", func(t *testing.T) {
		t.Parallel()
		screen := open(t, program, 120, 36)
		answered(t, screen)
		press(t, screen, terminal.CtrlC)
		restored(t, screen, 0)
	})

	// 128 and the number of the signal, as shells say it; SIGINT is ctrl+c.
	for signal, code := range map[syscall.Signal]int{
		syscall.SIGTERM: 143, syscall.SIGHUP: 129, syscall.SIGQUIT: 131, syscall.SIGINT: 0,
	} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			screen := open(t, program, 120, 36)
			answered(t, screen)
			if err := screen.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if end := restored(t, screen, code); end.Stderr != "" {
				t.Errorf("standard error: %s", end.Stderr)
			}
		})
	}

	if text, err := os.ReadFile(program); err != nil || bytes.Contains(text, []byte("MESHSCOPE_TEST_PANIC")) {
		t.Errorf("the released program can be told to panic (%v)", err)
	}
	for _, where := range []string{"update", "view", "command"} {
		t.Run("a panic in "+where, func(t *testing.T) {
			t.Parallel()
			screen := open(t, buildToPanic(t), 120, 36, "MESHSCOPE_TEST_PANIC="+where)
			if err := screen.Type(terminal.Right); err != nil {
				t.Fatal(err)
			}
			end := restored(t, screen, 1)
			report := crashFile(end.Stderr)
			if report == "" {
				t.Fatalf("standard error names no crash file: %s", end.Stderr)
			}
			text, err := os.ReadFile(report)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(report) })
			if !strings.Contains(string(text), "goroutine") {
				t.Errorf("the crash file has no stack: %s", text)
			}
			_, setup, _ := strings.Cut(string(text), "\nsetup: meshscope ")
			if out, err := exec.CommandContext(t.Context(), program, "eval",
				strings.TrimSpace(setup)).CombinedOutput(); err != nil ||
				!bytes.Contains(out, []byte("Llama-3.1 70B on 256 x")) {
				t.Errorf("the crash file's setup is not what was shown: %q: %v\n%s", setup, err, out)
			}
			if lines := strings.Count(end.Stderr, "\n"); lines > 5 {
				t.Errorf("the user gets %d lines on standard error: %s", lines, end.Stderr)
			}
		})
	}
}

// suspended is a shell with the program in its background.
func suspended(t *testing.T, program string) *terminal.Terminal {
	t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash, whose job control this needs")
	}
	home := t.TempDir()
	screen, err := terminal.Start(t.Context(), terminal.Options{
		Columns: 80, Rows: 24, Env: []string{
			"HOME=" + home, "XDG_STATE_HOME=" + home,
			"XDG_CONFIG_HOME=" + home,
		},
	}, shell, "--norc", "--noprofile", "-i")
	if err != nil {
		t.Fatal(err)
	}
	press(t, screen, program+" --no-state\r")
	see(t, screen, "MEMORY")
	answered(t, screen)
	press(t, screen, "\x1a")
	// The shell says so on its standard error, which is not on this screen.
	err = screen.WaitFor("the shell's screen",
		func(text string) bool { return !strings.Contains(text, "[Memory]") })
	if err != nil {
		t.Fatal(err)
	}
	if screen.Mode(ansi.ModeAltScreenSaveCursor) {
		t.Error("suspended on the alternate screen")
	}
	keysRestored(t, screen)
	return screen
}

// TestTerminalStoppedFromOutside: after a stop that cannot be caught the shell has given the terminal its own
// modes, and the program takes it back: a key needs no return.
func TestTerminalStoppedFromOutside(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash, whose job control this needs")
	}
	home := t.TempDir()
	screen, err := terminal.Start(t.Context(), terminal.Options{
		Columns: 80, Rows: 24, Folder: home, Env: []string{
			"HOME=" + home, "XDG_STATE_HOME=" + home,
			"XDG_CONFIG_HOME=" + home,
		},
	}, shell, "--norc", "--noprofile", "-i")
	if err != nil {
		t.Fatal(err)
	}
	press(t, screen, "sh -c 'echo $$ > pid; exec "+build(t)+" --no-state'; echo ended=$?\r")
	see(t, screen, "MEMORY")
	answered(t, screen)
	text, err := os.ReadFile(filepath.Join(home, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// wherever the cursor was
	stopped := func(string) bool { return strings.Contains(string(screen.Raw()), "ended=147") }
	if err := screen.WaitFor("the shell", stopped); err != nil {
		t.Fatal(err)
	}
	press(t, screen, "fg; echo back=$?\r")
	see(t, screen, "[Memory]")
	for _, tab := range []string{"[Pipeline]", "[Network]"} {
		press(t, screen, "\t")
		see(t, screen, tab)
	}
	press(t, screen, "q")
	see(t, screen, "back=0")
	press(t, screen, "exit\r")
	if end, err := screen.Wait(); err != nil || end.Code != 0 || !end.Cooked {
		t.Errorf("the shell ends with %+v, %v", end, err)
	}
	keysRestored(t, screen)
}

// TestTerminalSignalAtResume: a signal that waits when the program comes back from the background ends it,
// and the terminal is restored.
func TestTerminalSignalAtResume(t *testing.T) {
	t.Parallel()
	program := build(t)
	for signal, code := range map[string]int{"TERM": 143, "HUP": 129} {
		for n := range 3 {
			t.Run(fmt.Sprint(signal, n), func(t *testing.T) {
				t.Parallel()
				screen := suspended(t, program)
				// It may turn to the terminal before the shell has: stopped for that, 128 and SIGTTOU, it
				// comes back again.
				press(t, screen,
					"kill -"+signal+" %1; n=150; while [ $n = 150 ]; do fg; n=$?; done; echo ended=$n\r")
				see(t, screen, fmt.Sprint("ended=", code))
				keysRestored(t, screen)
				for _, mode := range []ansi.Mode{
					ansi.ModeAltScreenSaveCursor, ansi.ModeMouseButtonEvent,
					ansi.ModeMouseExtSgr, ansi.ModeBracketedPaste,
				} {
					if screen.Mode(mode) {
						t.Errorf("mode %d is still on", mode)
					}
				}
				press(t, screen, "exit\r")
				if end, err := screen.Wait(); err != nil || end.Code != 0 {
					t.Errorf("the shell ends with %v, %v", end, err)
				}
			})
		}
	}
}

// crashFile finds the path of an existing file in a message.
func crashFile(message string) string {
	for word := range strings.FieldsSeq(message) {
		word = strings.Trim(word, `"'.,:;()`)
		if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
			return word
		}
	}
	return ""
}

// TestTerminalWidth: what commands print in a terminal fits its width, unless
// COLUMNS says another.
func TestTerminalWidth(t *testing.T) {
	t.Parallel()
	program := build(t)
	for _, columns := range []int{60, 80, 132} {
		for _, env := range []string{"COLUMNS=", "COLUMNS=50"} {
			for _, command := range []string{
				"timeline --pp 8 --microbatches 300 --tf 1",
				"timeline --gpus 64 --tp 8 --pp 2 --gbs 64", "presets clusters",
			} {
				screen, err := terminal.Start(t.Context(),
					terminal.Options{Columns: columns, Rows: 60, Env: []string{env}}, program,
					strings.Fields(command)...)
				if err != nil {
					t.Fatal(err)
				}
				if end, err := screen.Wait(); err != nil || end.Code != 0 {
					t.Fatalf("%s: %v, %v", command, end, err)
				}
				most := columns
				if env != "COLUMNS=" {
					most = 50
				}
				longest := 0
				for line := range strings.Lines(string(screen.Raw())) {
					longest = max(longest, ansi.StringWidth(strings.TrimRight(line, "\r\n")))
				}
				if longest > most || longest < most/2 {
					t.Errorf("%s in %d columns, %s: the longest line has %d", command, columns, env, longest)
				}
			}
		}
	}
}

// TestNoTerminal: without a terminal, or with one that can draw nothing, the
// program says what to use instead.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	program := build(t)

	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), program)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run() // the exit code is checked below
		if code := cmd.ProcessState.ExitCode(); code != 2 {
			t.Errorf("exit code %d, want 2", code)
		}
		if stdout.Len() > 0 {
			t.Errorf("standard output: %q", stdout.String())
		}
		if !strings.Contains(stderr.String(), "eval") {
			t.Errorf("standard error does not name eval: %q", stderr.String())
		}
		if strings.Contains(stderr.String(), "\x1b") {
			t.Errorf("escape codes in a pipe: %q", stderr.String())
		}
	})

	t.Run("dumb terminal", func(t *testing.T) {
		t.Parallel()
		screen, err := terminal.Start(t.Context(), terminal.Options{
			Columns: 80, Rows: 24, Env: []string{"TERM=dumb", "COLORTERM="},
		}, program)
		if err != nil {
			t.Fatal(err)
		}
		end := restored(t, screen, 2)
		if !strings.Contains(end.Stderr, "eval") {
			t.Errorf("standard error does not name eval: %q", end.Stderr)
		}
	})
}
