package engine

import (
	"slices"

	"meshscope/engine/units"
)

// Move is one stretch of the way from A to B.
type Move struct {
	Changes []Change // turned together: alone they would be illegal
	Setup   Setup
	Step    units.Seconds
	Peak    units.Bytes
	Fits    bool
}

// Way goes from A to B one change at a time, in the order of the changes as far
// as each is legal there, so that a reader sees which of them moved what; the
// last Setup is B. What a change is worth depends on what has been changed
// before. Nil where a side is illegal, nothing changed, or stop says true.
func Way(a, b Setup, stop func() bool) []Move {
	if a == b || !legal(&a) || !legal(&b) {
		return nil
	}
	e := Evaluator{Brief: true}
	var moves []Move
	open := leading(Changes(&a, &b))
	for at := a; len(open) > 0; {
		turned, rest := nextMove(&at, &b, open)
		next := at
		turnTo(&next, &b, turned)
		if len(rest) == 0 {
			next = b
		}
		r, ok := e.EvaluateUntil(next, stop)
		if !ok || !r.Legal {
			return nil
		}
		moves = append(moves, Move{Changes: turned, Setup: next, Step: r.Time.Step, Peak: r.Memory.Peak, Fits: r.Memory.Fits})
		at, open = next, rest
	}
	return moves
}

// nextMove is the first change that is legal by itself, else as many from the
// front as are legal together.
func nextMove(at, b *Setup, open [][]Change) (turned []Change, rest [][]Change) {
	lawful := func(changes []Change) bool {
		t := *at
		turnTo(&t, b, changes)
		return legal(&t)
	}
	for i := range open {
		if lawful(open[i]) {
			return open[i], append(slices.Clone(open[:i]), open[i+1:]...)
		}
	}
	for n := 2; n < len(open); n++ {
		if together := slices.Concat(open[:n]...); lawful(together) {
			return together, open[n:]
		}
	}
	return slices.Concat(open...), nil
}
