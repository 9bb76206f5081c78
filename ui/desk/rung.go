package desk

import (
	"fmt"
	"math"
)

// rungs is how many steps the ladder of numbers has, three a decade from lowest on.
const (
	rungs  = 60
	lowest = -4 // power of ten
)

// rung returns the step of the ladder 1, 2, 5, 10, 20 ... that a number is on.
func rung(v float64) int {
	if !(v > 0) {
		return 0
	}
	at := 0
	for at+1 < rungs && v >= foot(at+1)*(1-1e-9) {
		at++
	}
	return at
}

// foot returns the least number of a step.
func foot(at int) float64 {
	return [3]float64{1, 2, 5}[at%3] * math.Pow10(lowest+at/3)
}

// rungText says which numbers a step has.
func rungText(at int) string { return fmt.Sprintf("%g to %g", foot(at), foot(at+1)) }

// span returns the steps from the least to the greatest that two distributions have, at most eight
// of them.
func span(votes [2]map[int]int) (from, n int) {
	const most = 8
	from, to := rungs, -1
	for _, round := range votes {
		for at := range round {
			from, to = min(from, at), max(to, at)
		}
	}
	return from, min(max(to-from+1, 0), most)
}
