package compare

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/units"
)

// Move is one stretch of the way from A to B.
type Move struct {
	Changes []Change      `json:"-"` // turned together: alone they would be illegal
	Setup   engine.Setup  `json:"-"`
	Step    units.Seconds `json:"step_seconds"`
	Peak    units.Bytes   `json:"peak_bytes"`
	Fits    bool          `json:"fits"`

	StepBand float64 `json:"error_band_step"` // relative errors of Step and Peak, see engine.Evidence
	PeakBand float64 `json:"error_band_memory"`
}

// ChangePath goes from A to B one change at a time, in the order of the changes as far
// as each is legal there (and no schedule of several stages per rank with one), so that a reader sees which
// of them moved what; the last Setup is B. What a change is worth depends on what has been changed
// before. Nil where a side is illegal, nothing changed, or stop says true.
func ChangePath(a, b engine.Setup, stop func() bool) []Move {
	if a == b || !knob.Legal(&a) || !knob.Legal(&b) {
		return nil
	}
	e := engine.Evaluator{SkipTimeline: true}
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
		moves = append(moves, Move{
			Changes: turned, Setup: next, Step: r.Time.Step, Peak: r.Memory.Peak, Fits: r.Memory.Fits,
			StepBand: r.Time.ErrorBand, PeakBand: r.Memory.ErrorBand,
		})
		at, open = next, rest
	}
	return moves
}

// nextMove returns the first change that may stand by itself, else the first two that may
// together, else as many from the front as may.
func nextMove(at, b *engine.Setup, open [][]Change) (turned []Change, rest [][]Change) {
	may := func(changes []Change) bool {
		t := *at
		turnTo(&t, b, changes)
		return knob.Legal(&t) && (!nameOnly(&t) || nameOnly(at) || nameOnly(b))
	}
	for i := range open {
		if may(open[i]) {
			return open[i], append(slices.Clone(open[:i]), open[i+1:]...)
		}
	}
	for i := range open {
		for j := i + 1; j < len(open) && len(open) > 2; j++ {
			if together := slices.Concat(open[i], open[j]); may(together) {
				rest = append(slices.Clone(open[:i]), open[i+1:j]...)
				return together, append(rest, open[j+1:]...)
			}
		}
	}
	for n := 3; n < len(open); n++ {
		if together := slices.Concat(open[:n]...); may(together) {
			return together, open[n:]
		}
	}
	return slices.Concat(open...), nil
}

// nameOnly reports whether the schedule is one of several stages per rank with one: it
// can run, but nobody means it, and no launcher gives it that name.
func nameOnly(s *engine.Setup) bool {
	info, ok := s.Schedule.Info()
	return ok && info.Chunks == 0 && s.VPP == 1 && s.PP > 1
}
