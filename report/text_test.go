package report

import (
	"strings"
	"testing"
)

// TestWrapKeepsPercent: a figure and its percent sign, and the parts of micro-batch, stay on one line; no
// word is lost.
func TestWrapKeepsPercent(t *testing.T) {
	const text = "Compute 88.6 %, recompute 0.9 %, bubble 10.5 %, of 64 micro-batches; optimizer 0.09 %."
	for width := 14; width < len(text)+2; width++ {
		lines := strings.Split(Wrap(text, width), "\n")
		if got := strings.Join(lines, " "); strings.Join(strings.Fields(got), " ") != text {
			t.Errorf("%d cells: %q", width, lines)
		}
		for _, l := range lines {
			if strings.HasPrefix(l, "%") || strings.HasPrefix(l, "batch") ||
				len(strings.TrimSpace(l)) > width {
				t.Errorf("%d cells: %q", width, l)
			}
		}
	}
}
