package search

import (
	"testing"

	"meshscope/engine/units"
)

// TestDeadlineIsTimeOnTheClock: of the time until the deadline only the goodput
// advances the run.
func TestDeadlineIsTimeOnTheClock(t *testing.T) {
	p := Problem{Deadline: 1000, Tokens: 1e6}
	for _, c := range []struct {
		goodput, step float64
		want          bool
	}{{0, 10, true}, {0, 10.1, false}, {100, 10, true}, {50, 5, true}, {50, 5.1, false}} {
		p.Setup.Goodput = c.goodput
		if got := p.inTime(units.Seconds(c.step), 1e4); got != c.want { // a hundred steps
			t.Errorf("steps of %v s at a goodput of %v %%: in time is %t", c.step, c.goodput, got)
		}
	}
}
