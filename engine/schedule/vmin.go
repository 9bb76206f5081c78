package schedule

// vMin returns the V-shaped schedule that holds the fewest activations, about a third
// of 1F1B.
func vMin() descriptor {
	return descriptor{
		Info: Info{
			Kind: VMin, Name: "V-Min",
			Paper:     "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
			Code:      "sail-sg/zero-bubble-pipeline-parallelism scheduler/zbv_greedy.py",
			Placement: VShape, SplitsBackward: true, Chunks: 2, WeightCopies: 1,
			Constraint: "v = 2; unless tF = tI <= tW it waits in every micro-batch",
			Idle: "for tF = tI = tW: (4p-5) tF and m >= p, or where 3 divides p (4p-7) tF and m > " +
				"p; p > 1",
			Memory:      "2 floor((p+4)/3) on the fullest rank, never more than 2m",
			Barrierless: true,
			warmup:      func(s *Spec, rank int) Warmup { return inThirds(s, rank, 2*((s.Ranks+4)/3)) },
			uneven: func(t ChunkTimes) bool {
				return t.F > t.I*evenSlack || t.I > t.F*evenSlack || t.F > t.W*evenSlack
			},
		},
		generate: func(o *Order) {
			p := o.Spec.Ranks
			gap := 0
			if p%3 == 0 {
				gap = 2
			}
			newVPlan(o, func(j int) [4]int {
				return [4]int{j, 2*p - j - 1, 2*p + gap + j, 4*p + gap - j - 1}
			}).write(o)
		},
		check: checkVShape,
		idle: func(s Spec, t ChunkTimes) (float64, bool) {
			p := s.Ranks
			slots, least := 4*p-5, p
			if p%3 == 0 {
				slots, least = 4*p-7, p+1
			}
			return float64(slots) * t.F, t.F == t.I && t.I == t.W && s.MicroBatches >= least && p > 1
		},
		maxOps: MaxAutoOps, maxRanks: MaxAutoRanks,
	}
}
