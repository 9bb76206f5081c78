package desk

import "math"

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
