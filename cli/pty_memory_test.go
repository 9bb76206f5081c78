//go:build linux

package cli_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

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
		"the built-in setup": {nil, 64},
		"a million operations": {[]string{
			"--pp", "64", "--tp", "1", "--nodes", "8", "--microbatches",
			"8192",
		}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			screen, err := terminal.Start(t.Context(), terminal.Options{
				Columns: 160, Rows: 50, Env: []string{
					"HOME=" + home, "XDG_STATE_HOME=" + home,
					"XDG_CONFIG_HOME=" + home,
				},
			}, program, append([]string{"--no-state"}, c.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			see(t, screen, "Llama")
			seen := map[string]bool{}
			for where := tab(screen); !seen[where]; where = tab(screen) {
				seen[where] = true
				// What the screen works out is to be there.
				if err := screen.WaitFor("the runs compared",
					func(text string) bool {
						return !strings.Contains(text, "comparing the published runs")
					}); err != nil {
					t.Fatal(err)
				}
				screen.AwaitQuiet(2 * frameGap)
				most := c.most
				if where == "Search" || where == "Compare" { // which opens on rank 1 of a search
					most += most / 2 * float64(runtime.NumCPU()) // its workers lay out a pipeline each
				}
				resident, err := atRestMB(screen, most)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %.1f MB resident", where, resident)
				if resident > most {
					t.Errorf("%s: %.1f MB resident, more than %.0f", where, resident, most)
				}
				press(t, screen, "\t")
				if err := screen.WaitFor("another screen",
					func(string) bool { return tab(screen) != where }); err != nil {
					t.Fatal(err)
				}
			}
			if !seen["Memory"] || !seen["Pipeline"] || len(seen) < 5 {
				t.Errorf("seen only %v", seen)
			}
			press(t, screen, terminal.CtrlC)
			restored(t, screen, 0)
		})
	}
}

// tab is the name of the screen that is shown.
func tab(screen *terminal.Terminal) string {
	lines := strings.Split(screen.Text(), "\n")
	_, after, _ := strings.Cut(lines[min(1, len(lines)-1)], "[")
	name, _, _ := strings.Cut(after, "]")
	return name
}

// atRestMB is the resident memory of a program, awaited where it is more than a bound: a busy machine may
// still be at it, and what that took is returned with a collection, of which an idle program has one in two
// minutes.
func atRestMB(screen *terminal.Terminal, most float64) (float64, error) {
	resident, err := residentMB(screen.PID())
	for begun := time.Now(); err == nil && resident > most && time.Since(begun) < terminal.Patience; {
		time.Sleep(frameGap)
		resident, err = residentMB(screen.PID())
	}
	return resident, err
}
