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

// mostRungs is how many steps are shown at most.
const mostRungs = 8

// span returns the steps from the least to the greatest that two distributions have; where these are too
// many, the first of those next to each other that have the most votes. What is outside counts with the step
// at that end.
func span(votes [2]map[int]int) (from, n int) {
	from, to := reach(votes)
	if to-from < mostRungs {
		return from, max(to-from+1, 0)
	}
	best, most := from, -1
	for at := from; at+mostRungs <= to+1; at++ {
		inside := 0
		for _, round := range votes {
			for rung, count := range round {
				if rung >= at && rung < at+mostRungs {
					inside += count
				}
			}
		}
		if inside > most {
			best, most = at, inside
		}
	}
	return best, mostRungs
}

// reach returns the least and the greatest step that somebody gave.
func reach(votes [2]map[int]int) (from, to int) {
	from, to = rungs, -1
	for _, round := range votes {
		for at := range round {
			from, to = min(from, at), max(to, at)
		}
	}
	return from, to
}

// ladderText says which numbers each of n steps has.
func ladderText(from, n int, votes [2]map[int]int) (text []string) {
	for at := from; at < from+n; at++ {
		text = append(text, fmt.Sprintf("%g to %g", foot(at), foot(at+1)))
	}
	least, greatest := reach(votes)
	if least < from {
		text[0] = fmt.Sprintf("under %g", foot(from+1))
	}
	if greatest >= from+n {
		text[n-1] = fmt.Sprintf("%g and more", foot(from+n-1))
	}
	return text
}
