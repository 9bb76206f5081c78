//go:build linux

package cli_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"meshscope/cli/terminal"
	"meshscope/engine_test/draws"
)

// TestTerminalRandomKeys presses keys, clicks, pastes and changes the size at random in
// the real program: it neither ends nor breaks a frame nor grows.
// MESHSCOPE_RANDOM_KEYS says how many keys, MESHSCOPE_RANDOM_SEED which, and
// MESHSCOPE_RANDOM_CURVE into which file a soak writes what it has watched (docs/soak).
func TestTerminalRandomKeys(t *testing.T) {
	t.Parallel()
	count, seeds := 500, draws.Seeds()
	if draws.Deep() {
		count = 2000
	}
	if seed := numberFrom(t, "MESHSCOPE_RANDOM_SEED", 0); seed > 0 {
		seeds = []uint64{uint64(seed)}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			pressRandomKeys(t, numberFrom(t, "MESHSCOPE_RANDOM_KEYS", count), seed)
		})
	}
}

// mostMB is what the program may hold after any keys.
const mostMB = 100.0

func pressRandomKeys(t *testing.T, count int, seed uint64) {
	t.Helper()
	watch := newWatch(t)
	screen := open(t, watch.program, 120, 36, watch.env...)
	random := rand.New(rand.NewPCG(20, seed)) //nolint:gosec // the same keys in every run with a seed
	columns, rows := 120, 36
	keys := []string{
		"\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[1;2C", "\x1b[1;2D", "\x1b[5~", "\x1b[6~", "\x1b[H",
		"\x1b[F",
		"\t", "\x1b[Z", terminal.Enter, "\x1b[27u", " ", "\x7f", "?", "/", ":",
	}
	for c := '!'; c <= '~'; c++ {
		if c != 'q' { // q and ctrl+c end it, ctrl+z stops it
			keys = append(keys, string(c))
		}
	}
	burst, baseline := 50, 0.0
	if watch.curve != nil {
		burst = 100
	}
	for pressed := 0; pressed < count; pressed += burst {
		for range burst {
			key := keys[random.IntN(len(keys))]
			if random.IntN(10) == 0 { // or most of them would be typed into lists
				key = "\x1b[27u"
			}
			if random.IntN(10) == 0 {
				x, y := 1+random.IntN(columns), 1+random.IntN(rows)
				key = fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x, y, x, y)
			}
			if random.IntN(25) == 0 {
				key = fmt.Sprintf("\x1b[<%d;%d;%dM", 64+random.IntN(2), 1+random.IntN(columns),
					1+random.IntN(rows))
			}
			if random.IntN(50) == 0 {
				key = "\x1b[200~" + randomPaste(random) + "\x1b[201~"
			}
			if screen.Type(key) != nil {
				break // it has ended; how, is looked at below
			}
		}
		if random.IntN(4) == 0 {
			columns, rows = 1+random.IntN(220), 1+random.IntN(64)
			_ = screen.Resize(columns, rows) // fails where it has ended
		}
		screen.AwaitQuiet(frameGap / 3)
		lines := strings.Split(screen.Text(), "\n")
		if len(lines) > rows {
			t.Fatalf("after %d keys: %d lines in %dx%d", pressed, len(lines), columns, rows)
		}
		for _, line := range lines {
			if ansi.StringWidth(line) > columns || strings.ContainsRune(line, '\ufffd') {
				t.Fatalf("after %d keys in %dx%d a broken line %q", pressed, columns, rows, line)
			}
		}
		resident, err := atRestMB(screen, mostMB)
		if err != nil { // quit may have been chosen from the help; anything else is a fault
			// What was typed after that is echoed where the shell would be.
			if end, err := screen.Wait(); err != nil || end.Code != 0 || end.Stderr != "" || !end.Cooked {
				stack, _ := os.ReadFile(crashFile(end.Stderr)) // none where it did not crash
				t.Fatalf("after %d keys the program has ended: %+v, %v\n%s", pressed, end, err, stack)
			}
			t.Logf("after %d keys: quit, and started again", pressed)
			columns, rows = 120, 36
			screen = open(t, watch.program, columns, rows, watch.env...)
			watch.restarts++
			continue
		}
		watch.sample(t, screen, pressed+burst, resident)
		if resident > baseline+15 {
			t.Logf("after %d keys %.1f MB resident:\n%s", pressed, resident, screen.Text())
		}
		baseline = max(baseline, resident)
	}
	t.Logf("%d keys, at most %.1f MB resident", count, baseline)
	if baseline > mostMB {
		t.Errorf("%.1f MB resident after %d keys", baseline, count)
	}
	// else quit was chosen with the last keys, or it does not end
	if screen.Mode(ansi.ModeAltScreenSaveCursor) {
		press(t, screen, terminal.CtrlC)
	}
	if end := restored(t, screen, 0); end.Stderr != "" {
		t.Errorf("standard error: %s", end.Stderr)
	}
}

// randomPaste returns a text that somebody could paste: values, commands, files and what no
// terminal should be sent.
func randomPaste(random *rand.Rand) string {
	texts := []string{
		"8", "tp=8 pp=4", "128k", "deepseek-v3", "meshscope eval --tp 8\n", "ms1:AAAA",
		"{\"model\":\"llama3.1-8b\"}",
		"model = \"x\"\n[layout]\ntp = 3\n", "\u202eabc\u200f", "\u0645\u0631\u062d\u0628\u0627",
		"\u4f60\u597d \U0001f468\u200d\U0001f469\u200d\U0001f467", "e\u0301\u0302\u0303",
		"\x1b[31mred", "\x1b]0;title\x07", "\x00\x01\x7f", "\xff\xfe", strings.Repeat("0123456789", 100),
		strings.Repeat("\n", 50), "",
	}
	return texts[random.IntN(len(texts))]
}

// numberFrom is a number from the environment.
func numberFrom(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
