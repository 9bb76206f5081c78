package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestPaintedText: headings and verdicts have colours, no sign of the text is lost, wherever a write
// ends; an environment without colours gets none.
func TestPaintedText(t *testing.T) {
	const text = "OVER  rank 0 needs 131.8 GiB\n  rank 0 peaks\nMEMORY  fits: 70.97 GiB\nASSUMED\n" +
		"    meshscope eval --tp 8\n"
	for cut := range len(text) {
		var out bytes.Buffer
		to := &painted{Writer: &out, paints: paints()}
		for _, part := range []string{text[:cut], text[cut:]} {
			if _, err := to.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if got := ansi.Strip(out.String()); got != text {
			t.Fatalf("cut at %d: %q", cut, got)
		}
		for _, want := range []string{
			"\x1b[1;31mOVER\x1b[m", "\x1b[1mMEMORY\x1b[m  \x1b[1;32mfits\x1b[m", "\x1b[1mASSUMED\x1b[m",
			"\x1b[36mmeshscope eval --tp 8\x1b[m",
		} {
			if !strings.Contains(out.String(), want) {
				t.Fatalf("cut at %d: no %q in %q", cut, want, out.String())
			}
		}
	}
}

// TestBreakLines: a message fits the terminal and loses no word; short lines and blank ones stay.
func TestBreakLines(t *testing.T) {
	const text = "meshscope: the search took dp 8, tp 2, pp 1, zero 1, mbs 1, gbs 512, seq 8192\n\nshort\n"
	for width := 20; width < 90; width++ {
		got := breakLines(text, width)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") ||
			!strings.HasSuffix(got, "\n\nshort\n") {
			t.Errorf("%d: %q", width, got)
		}
		for line := range strings.Lines(got) {
			if len(strings.TrimRight(line, "\n")) > width {
				t.Errorf("%d: %q", width, line)
			}
		}
	}
}
