package schedule

// vHalf returns the V-shaped schedule that holds about half the activations of 1F1B
// at a small cost in time.
func vHalf() descriptor {
	return descriptor{
		Info: Info{
			Kind: VHalf, Name: "V-Half",
			Paper:     "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362",
			Code:      "sail-sg/zero-bubble-pipeline-parallelism scheduler/zbv_greedy.py",
			Placement: VShape, SplitsBackward: true, Chunks: 2, WeightCopies: 1,
			Constraint:  "v = 2; outside tW+2tI >= 2tF and tW+2tF >= 2tI it waits in every micro-batch",
			Idle:        "for tF = tI = tW and m >= p+2: (3p-7) tF for even p > 2, (3p-4) tF for odd p > 1",
			Memory:      "p+2 for even p, p+1 for odd p on the fullest rank, never more than 2m",
			Barrierless: true,
			warmup: func(s *Spec, rank int) Warmup {
				return exactly(s.Ranks+2-s.Ranks%2, turned(s, rank))
			},
			uneven: func(t ChunkTimes) bool {
				return (t.W+2*t.I)*evenSlack < 2*t.F || (t.W+2*t.F)*evenSlack < 2*t.I
			},
		},
		generate: func(o *Order) {
			p := o.Spec.Ranks
			gap := 3 * (1 - p%2)
			newVPlan(o, func(j int) [4]int {
				return [4]int{2 * j, 3*p - j - 2, 3*p + gap + 2*j - 1, 6*p + gap - j - 2}
			}).write(o)
		},
		check: checkVShape,
		idle: func(s Spec, t ChunkTimes) (float64, bool) {
			p := s.Ranks
			equal := t.F == t.I && t.I == t.W && s.MicroBatches >= p+2
			if p%2 == 0 {
				return float64(3*p-7) * t.F, equal && p > 2
			}
			return float64(3*p-4) * t.F, equal && p > 1
		},
		maxOps: MaxAutoOps, maxRanks: MaxAutoRanks,
	}
}
