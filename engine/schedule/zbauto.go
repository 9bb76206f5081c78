package schedule

import "fmt"

// zb1P, zb2P and zbAuto run what the authors' scheduler finds for the stages'
// own durations under a limit of activations: p, 2p, or a number of one's own.
func zb1P() descriptor {
	d := zbSearched(ZB1P, "ZB-1P", "p activations")
	d.check = func(s Spec) []Issue { return append(oneChunk(s), unusedOptions(s)...) }
	return d
}

func zb2P() descriptor {
	d := zbSearched(ZB2P, "ZB-2P", "2p activations")
	d.check = func(s Spec) []Issue { return append(oneChunk(s), unusedOptions(s)...) }
	return d
}

func zbAuto() descriptor {
	d := zbSearched(ZBAuto, "ZB auto", "as many activations as --max-in-flight (1.5p if unset)")
	d.Constraint = "the limit is at least 1 activation"
	d.check = func(s Spec) []Issue { return append(oneChunk(s), unusedGroup(s)...) }
	return d
}

func zbSearched(k Kind, name, memory string) descriptor {
	return descriptor{
		Info: Info{
			Kind: k, Name: name,
			Paper: "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 4",
			Code: "sail-sg/zero-bubble-pipeline-parallelism scheduler/zb.py: the heuristic, its " +
				"integer program is switched off",
			Placement: Linear, SplitsBackward: true, Automatic: true, Chunks: 1, WeightCopies: 1,
			Constraint: "none",
			Memory: "at most the bytes of " + memory +
				" (without a model one that waits for W alone counts half)",
			Barrierless: true,
		},
		search: searchZB,
		idle:   unknownIdle,
		maxOps: MaxAutoOps,
	}
}

// unknownIdle returns the closed form of a schedule that has none.
func unknownIdle(Spec, ChunkTimes) (float64, bool) { return 0, false }

// inFlightLimit returns how many activations a rank of an automatic zero-bubble
// schedule may hold.
func (s Spec) inFlightLimit() int {
	switch {
	case s.Kind == ZB1P:
		return s.Ranks
	case s.Kind == ZB2P:
		return 2 * s.Ranks
	case s.MaxInFlight > 0:
		return s.MaxInFlight
	}
	return (3*s.Ranks + 1) / 2
}

// unusedLimit warns of a limit that the schedule does not read.
func unusedLimit(s Spec) []Issue {
	if s.MaxInFlight == 0 {
		return nil
	}
	return []Issue{{
		Code: "max-in-flight-unused", Field: fieldMaxInFlight, Warning: true,
		Message: fmt.Sprintf("%s sets its own number of activations in flight: the limit is not used",
			s.Kind),
		Nearest: map[string]int{fieldMaxInFlight: 0},
	}}
}

// unusedOptions warns of both options that only some schedules have.
func unusedOptions(s Spec) []Issue { return append(unusedGroup(s), unusedLimit(s)...) }
