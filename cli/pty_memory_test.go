//go:build linux

package cli_test

import (
	"testing"

	"meshscope/cli/terminal"
)

// TestTerminalMemory: the screens of the built-in setup, and those of a step of a
// million operations, stay within what a shared login node can spare.
func TestTerminalMemory(t *testing.T) {
	t.Parallel()
	program := build(t)
	for name, c := range map[string]struct {
		args []string
		most float64 // MB
	}{
		"the built-in setup":   {nil, 40},
		"a million operations": {[]string{"--pp", "64", "--tp", "1", "--nodes", "8", "--microbatches", "8192"}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			screen, err := terminal.Start(t.Context(), terminal.Options{
				Columns: 160, Rows: 50, Env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home},
			}, program, append([]string{"--no-state"}, c.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			see(t, screen, "Llama")
			press(t, screen, "\t")
			see(t, screen, "step 2 and later") // the answers are there
			for _, where := range []string{"Memory", "Pipeline", "Network", "Evidence", "Explore", "Explore, turned"} {
				resident, err := residentMB(screen.PID())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %.1f MB resident", where, resident)
				if resident > c.most {
					t.Errorf("%s: %.1f MB resident, more than %.0f", where, resident, c.most)
				}
				key := "\t"
				if where == "Explore" {
					key = terminal.Right
				}
				press(t, screen, key)
				screen.Settle(frameGap)
			}
			press(t, screen, terminal.CtrlC)
			restored(t, screen, 0)
		})
	}
}
