//go:build unix

package cli_test

import (
	"testing"

	"meshscope/cli/terminal"
)

// TestCompareInTerminal pins the setup in the real program, turns a knob, and
// sees in Compare what that did; the pin is there again after a restart.
func TestCompareInTerminal(t *testing.T) {
	t.Parallel()
	program, home := build(t), t.TempDir()
	env := []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home}
	screen := open(t, program, 120, 36, env...)
	press(t, screen, "p")
	see(t, screen, "pinned as 1")
	press(t, screen, terminal.Right)
	press(t, screen, "c")
	see(t, screen, "CHANGE BY CHANGE")
	see(t, screen, "TERM BY TERM")
	see(t, screen, "tp 8")
	press(t, screen, "v")
	see(t, screen, "TP + SP")
	press(t, screen, "q")
	restored(t, screen, 0)

	screen = open(t, program, 120, 36, env...)
	see(t, screen, "1 tp")
	press(t, screen, "q")
	restored(t, screen, 0)
}
