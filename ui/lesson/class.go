package lesson

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/themes"
	"meshscope/ui/overlay"
	"meshscope/ui/widget"
)

// Class is what a class adds to the strip, and has in place of what one alone would see.
type Class struct {
	// Key takes a key before the strip does; false: it is an answer.
	Key     func(key string) (overlay.Action, bool)
	Open    bool   // the vote takes an answer from here
	Leaving string // what esc gives up, where it takes a second one; empty: nothing
	Line    string // how the vote stands
	Votes   [2][]int
	Shown   bool // Votes, by option
	// Ladder has the words for votes on a number, in place of options.
	Ladder []string
	Hints  []widget.Hint
}

// votes draws the two votes for an option at the right end of the last line, behind its words.
func (d *drawer) votes(votes [2][]int, option int) {
	at := d.w / 2
	if d.w < 40 {
		return
	}
	last := len(d.lines) - 1
	l := widget.NewLine(d.w).Raw(ansi.Truncate(d.lines[last], at-1, ""), at-1).Gap(1)
	d.lines[last] = Bars(l, d.theme, d.g, votes, option).String()
}

// Bars draws the two votes for an option as two bars in the rest of a line: the upper half of its
// cells is the first vote, the lower half the second; then the numbers. Where one of the votes has
// no answers the other has the whole cells.
func Bars(l *widget.Line, t *themes.Theme, g widget.Glyphs, votes [2][]int, option int) *widget.Line {
	const numbers = 11 // cells
	var most int
	for _, round := range votes {
		for _, n := range round {
			most = max(most, n)
		}
	}
	room := l.Left() - numbers
	if room < 4 || most == 0 {
		return l
	}
	var n, cells [2]int
	for i, round := range votes {
		if option < len(round) {
			n[i] = round[option]
		}
		if cells[i] = n[i] * room / most; n[i] > 0 {
			cells[i] = max(cells[i], 1)
		}
	}
	both, first, second := "█", "▀", "▄"
	if !g.Unicode {
		both, first, second = "=", "\"", "_"
	}
	text := fmt.Sprintf("%d %s %d", n[0], g.Arrow, n[1])
	switch {
	case len(votes[1]) == 0:
		first, text = both, fmt.Sprint(n[0])
	case len(votes[0]) == 0:
		second, text = both, fmt.Sprint(n[1])
	}
	bar := strings.Repeat(both, min(cells[0], cells[1])) + strings.Repeat(first, max(cells[0]-cells[1], 0)) +
		strings.Repeat(second, max(cells[1]-cells[0], 0))
	return l.Put(t.Paint(themes.Accent), bar).Gap(1).Put(t.Paint(themes.Muted), text)
}
