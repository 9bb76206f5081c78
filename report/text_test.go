package report

import (
	"strings"
	"testing"

	"meshscope/engine/record"
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

// TestTableTakesTheWidthOfATerminal: no line is wider than the terminal, no word is lost but those of
// columns that are named as left out; without a width every row is a line.
func TestTableTakesTheWidthOfATerminal(t *testing.T) {
	table := &Table{
		Head:  []string{"change", "why", "step", "MFU", "GiB"},
		Spare: []string{"MFU", "GiB"},
	}
	table.add(Word("split 4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,1"),
		Word("the last stage has the head, and leaves 7.6 % free"),
		Figure(record.Seconds, 22.9), Figure(record.Share, 0.18), Word("60.3"))
	table.add(Word("tp 2"), Word("-"), Figure(record.Seconds, 23.1), Figure(record.Share, 0.17), Word("61.0"))
	write := func(width int) string {
		var out strings.Builder
		if err := writeText(&out, Blocks("", table).Document(), width); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := strings.Count(write(0), "\n"); got != 3 {
		t.Errorf("a pipe gets %d lines:\n%s", got, write(0))
	}
	for width := 46; width < 140; width++ {
		text := write(width)
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Errorf("%d columns: %d: %q", width, n, line)
			}
		}
		for _, row := range table.Rows {
			for j, cell := range row {
				for word := range strings.FieldsSeq(strings.ReplaceAll(cell.Text, ",", " ")) {
					if !strings.Contains(text, word) && !strings.Contains(text, "no room for MFU") {
						t.Errorf("%d columns: %q of %s is lost:\n%s", width, word, table.Head[j], text)
					}
				}
			}
		}
	}
}
