//go:build unix

package cli_test

import (
	"strings"
	"testing"

	"meshscope/cli/terminal"
)

// TestSearchInterrupted: ctrl+c in the middle of a search that would take many
// minutes prints what was found by then, marked, and takes the progress away.
func TestSearchInterrupted(t *testing.T) {
	t.Parallel()
	screen, err := terminal.Start(t.Context(), terminal.Options{Columns: 120, Rows: 70, OneStream: true},
		build(t),
		"search", "--model", "llama3.1-405b", "--cluster", "meta-roce-24k", "--gpus", "1024..16384:128",
		"--schedule", "all", "--refused", "--time", "0")
	if err != nil {
		t.Fatal(err)
	}
	see(t, screen, "ctrl+c stops")
	if err := screen.Type("\x03"); err != nil {
		t.Fatal(err)
	}
	end, err := screen.Wait()
	if err != nil {
		t.Fatal(err)
	}
	text := screen.Text()
	if end.Code != 130 || !end.Cooked {
		t.Errorf("exit code %d, want 130; terminal restored %v", end.Code, end.Cooked)
	}
	if !strings.Contains(text, " stopped with ") || strings.Contains(text, "ctrl+c stops") {
		t.Errorf("the screen is\n%s", text)
	}
}
