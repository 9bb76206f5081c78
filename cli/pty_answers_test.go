//go:build linux

package cli_test

import (
	"strings"
	"testing"

	"meshscope/cli/terminal"
	"meshscope/engine_test/draws"
)

// TestTerminalAnswersAndKeys: a terminal that answers 300 times, with a key after each answer, while the
// program starts. It goes on taking keys: it ends when it is asked to. MESHSCOPE_STARTS says how often it is
// started; 100 times with MESHSCOPE_DEEP.
func TestTerminalAnswersAndKeys(t *testing.T) {
	t.Parallel()
	program, starts := build(t), 6
	if draws.Deep() {
		starts = 100
	}
	const reply = "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"
	for n := range numberFrom(t, "MESHSCOPE_STARTS", starts) {
		screen := start(t, program, 100, 30, []string{"--no-state"})
		asked := func(string) bool { return strings.Contains(string(screen.Raw()), "]11;?") }
		if err := screen.WaitFor("the question", asked); err != nil {
			t.Fatal(err)
		}
		for range 300 {
			if err := screen.Type(reply + terminal.Down); err != nil {
				t.Fatal(err)
			}
		}
		press(t, screen, terminal.CtrlC)
		if restored(t, screen, 0); t.Failed() {
			t.Fatalf("start %d", n+1)
		}
	}
}
