//go:build unix

package cli_test

import (
	"strings"
	"testing"

	"meshscope/cli/terminal"
)

// TestSearchInTerminal opens Search in the real program, waits for its answer,
// takes a layout of it and undoes that.
func TestSearchInTerminal(t *testing.T) {
	t.Parallel()
	screen := open(t, build(t), 120, 36)
	press(t, screen, "s")
	see(t, screen, "[Search]")
	see(t, screen, " evaluated, ")
	see(t, screen, "MEMORY AND SPEED")
	press(t, screen, terminal.Down)
	press(t, screen, terminal.Enter)
	see(t, screen, "rank 2 of the search")
	first := screen.Text()
	press(t, screen, "u")
	see(t, screen, "undone: rank 2 of the search")
	// What the layout was loaded from still stands there: no other search ran.
	if !strings.Contains(first, " evaluated, ") || !strings.Contains(screen.Text(), " evaluated, ") {
		t.Error("taking a layout searches again")
	}
	press(t, screen, "/")
	for _, letter := range "tp=8" {
		press(t, screen, string(letter))
	}
	see(t, screen, "filter")
	press(t, screen, terminal.Enter)
	press(t, screen, "q")
	restored(t, screen, 0)
}
