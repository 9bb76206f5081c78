//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"meshscope/cli/terminal"
)

// TestTerminalUnended: the end of a paste, or of an answer of the terminal, was lost, as on a link that
// drops. ctrl+c leaves all the same, and after a pause keys are keys again.
func TestTerminalUnended(t *testing.T) {
	t.Parallel()
	program := build(t)
	for name, key := range map[string]string{"ctrl+c": terminal.CtrlC, "ctrl+c of kitty": "\x1b[99;5u"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen := open(t, program, 80, 24)
			press(t, screen, "\x1b[200~12")
			press(t, screen, key)
			restored(t, screen, 0)
		})
	}
	for name, keys := range map[string][]string{
		"an answer":                 {"\x1b]11;rgb:1e1e", terminal.CtrlC},
		"an answer at once":         {"\x1b]11;rgb:1e1e" + terminal.CtrlC},
		"a device's answer":         {"\x1bP1+r52", "\x1b[99;5u"},
		"a device's answer at once": {"\x1bP1+r52\x1b[99;5u"},
		"a cut ctrl+c":              {"\x1bP1+r52\x1b", "[99;5u"},
		"a later cut":               {"\x1bP1+r52\x1b[99", ";5u"},
		"an answer in a paste":      {"\x1b[200~12\x1b]11;rgb:1e1e", terminal.CtrlC},
		"a paste at once":           {"\x1b[200~12" + terminal.CtrlC},
		"an answer that has waited": {"\x1b]11;rgb:1e1e", "", terminal.CtrlC},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen := open(t, program, 80, 24)
			for _, key := range keys {
				if key == "" {
					screen.AwaitQuiet(5 * time.Second / 2) // longer than the rest is waited for
					continue
				}
				press(t, screen, key)
			}
			restored(t, screen, 0)
		})
	}
	t.Run("a pause", func(t *testing.T) {
		t.Parallel()
		screen := open(t, program, 80, 24)
		press(t, screen, "\x1b[200~12")
		for begun := time.Now(); !strings.Contains(screen.Text(), "123"); {
			if time.Since(begun) > terminal.Patience {
				t.Fatalf("no key ends the paste:\n%s", screen.Text())
			}
			// longer than the pause after which a key is one, but for a program that read late
			screen.AwaitQuiet(3 * time.Second / 2)
			press(t, screen, "3")
			screen.AwaitQuiet(frameGap)
		}
		press(t, screen, "\x1b")
		press(t, screen, "q")
		restored(t, screen, 0)
	})
}

// TestTerminalCut: a click that comes in two parts, as on a slow link, is a click and not text.
func TestTerminalCut(t *testing.T) {
	t.Parallel()
	screen := open(t, build(t), 120, 36)
	tabs := strings.Split(screen.Text(), "\n")[1]
	click := func(name string) string {
		return fmt.Sprintf("\x1b[<0;%d;2M", 2+ansi.StringWidth(tabs[:strings.Index(tabs, name)]))
	}
	memory := click("Memory")
	press(t, screen, terminal.Esc) // which a cut behind the escape is too, at a pause
	hidden := func(s string) bool { return !strings.Contains(s, "New here?") }
	if err := screen.WaitFor("no first hint", hidden); err != nil {
		t.Fatal(err)
	}
	before := screen.Text()
	for at := 1; at < len(memory); at++ {
		if err := screen.Type(memory[:at]); err != nil {
			t.Fatal(err)
		}
		pause := []time.Duration{60, 120, 300}[at%3]
		if at < 3 { // what may be a key is not waited for so long
			pause = 120
		}
		time.Sleep(pause * time.Millisecond)
		if err := screen.Type(memory[at:]); err != nil {
			t.Fatal(err)
		}
		see(t, screen, "[Memory]")
		press(t, screen, click("Explore"))
		see(t, screen, "[Explore]")
	}
	if err := screen.WaitFor("what was there before",
		func(s string) bool { return s == before }); err != nil {
		t.Error(err)
	}
	press(t, screen, terminal.CtrlC)
	restored(t, screen, 0)
}

// TestTerminalClaims: a terminal that claims to be larger than any, at the start and
// later. The program draws a part of it, uses no more memory than for that, and ends
// when it should.
func TestTerminalClaims(t *testing.T) {
	t.Parallel()
	program := build(t)
	const most = 200.0 // MB; every cell of the claim would be hundreds of gigabytes

	t.Run("later", func(t *testing.T) {
		t.Parallel()
		screen := open(t, program, 80, 24)
		for _, size := range [][2]int{{65_535, 65_535}, {65_535, 1}, {1, 65_535}, {80, 24}} {
			if err := screen.Claim(size[0], size[1]); err != nil {
				t.Fatal(err)
			}
			press(t, screen, terminal.Right)
		}
		see(t, screen, "Llama")
		small(t, screen, most)
		press(t, screen, "q")
		restored(t, screen, 0)
	})

	t.Run("at the start", func(t *testing.T) {
		t.Parallel()
		screen, err := terminal.Start(t.Context(),
			terminal.Options{Columns: 80, Rows: 24, Env: []string{"HOME=" + t.TempDir()}},
			"/bin/sh", "-c", `stty rows 65535 cols 65535 && exec "$0" --no-state`, program)
		if err != nil {
			t.Fatal(err)
		}
		err = screen.WaitFor("something drawn",
			func(text string) bool { return strings.TrimSpace(text) != "" })
		if err != nil {
			t.Fatal(err)
		}
		screen.AwaitQuiet(frameGap)
		small(t, screen, most)
		press(t, screen, terminal.CtrlC)
		end, err := screen.Wait()
		if err != nil || end.Code != 0 || !end.Cooked {
			t.Errorf("exit code %d, restored %v, %v", end.Code, end.Cooked, err)
		}
	})

	t.Run("somewhat too large", func(t *testing.T) {
		t.Parallel()
		screen := open(t, program, 560, 230)
		exact := open(t, program, 500, 200)
		for _, key := range []string{terminal.Down, terminal.Right, "\t", "?", "\x1b"} {
			press(t, screen, key)
			press(t, exact, key)
			var got, want string
			same := screen.WaitFor("the part that is drawn of a larger terminal", func(text string) bool {
				got, want = strings.TrimRight(text, "\n"), strings.TrimRight(exact.Text(), "\n")
				return got == want
			})
			if same != nil {
				other := strings.Split(want, "\n")
				for y, line := range strings.Split(got, "\n") {
					if y >= len(other) || line != other[y] {
						t.Fatalf("after %q line %d differs from that of a terminal of its size:\n%s\n%s", key,
							y+1, strings.TrimRight(line, " "),
							strings.TrimRight(strings.Join(other[y:min(y+1, len(other))], ""), " "))
					}
				}
			}
		}
		for _, s := range []*terminal.Terminal{screen, exact} {
			press(t, s, "q")
			restored(t, s, 0)
		}
	})
}

// small holds the program's memory against a bound in MB.
func small(t *testing.T, screen *terminal.Terminal, most float64) {
	t.Helper()
	resident, err := residentMB(screen.PID())
	if err != nil {
		t.Fatal(err)
	}
	if resident > most {
		t.Errorf("%.0f MB resident, more than %.0f", resident, most)
	}
}

// TestTerminalHostilePresets: hundreds of presets that take long to refuse do not keep the first frame away,
// and the limit is told.
func TestTerminalHostilePresets(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	folder := filepath.Join(config, "meshscope", "presets", "models")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for n := range 300 {
		text := strings.Repeat("a", 65_000) + " = 1"
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("m%d.toml", n)), []byte(text),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	screen := start(t, build(t), 120, 36, []string{"--no-state"}, "XDG_CONFIG_HOME="+config)
	see(t, screen, "Llama")
	see(t, screen, "24 files are refused")
	press(t, screen, terminal.CtrlC)
	restored(t, screen, 0)
}
