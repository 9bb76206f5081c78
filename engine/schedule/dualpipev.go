package schedule

import "fmt"

// dualPipeV is DualPipe cut in half: one copy of the weights, two stages per
// rank there and back; the opposite direction is the way back.
func dualPipeV() descriptor {
	return descriptor{
		Info: Info{
			Kind: DualPipeV, Name: "DualPipeV",
			Paper:     `Qi et al., "DualPipe could be better without the Dual" (2025)`,
			Code:      "deepseek-ai/DualPipe dualpipe/dualpipev.py; PyTorch ScheduleDualPipeV",
			Placement: VShape, SplitsBackward: true, Pairs: true, Chunks: 2, WeightCopies: 1,
			Constraint: `v = 2 and m >= 2p; ` +
				`the code asserts "num_chunks > 0 and num_chunks >= num_ranks*2", ` +
				`PyTorch: "DualPipeV requires at least as many microbatches as stages"`,
			Idle: "(p-1)(tFB+tB-3tW), tFB an overlapped pair, for tF = tI = tW and 2tF <= tFB <= " +
				"3tF, or tF = tI >= tW and no overlap",
			Memory: "2p+1 on every rank",
			warmup: func(s *Spec, _ int) Warmup {
				return Warmup{2 * s.Ranks, 2*s.Ranks + 1, 2*s.Ranks + 1}
			},
			deferred: func(_ *Spec, rank int) int { return rank + 1 },
		},
		generate: func(o *Order) {
			for r := range o.Spec.Ranks {
				d := dualRank{
					o: o, half: o.Spec.Ranks, turns: o.Spec.MicroBatches, edge: r,
					chunk: [2]int{0, 1},
				}
				d.run()
			}
		},
		check: checkDualPipeV,
		idle: func(s Spec, t ChunkTimes) (float64, bool) {
			return idleDual(float64(s.Ranks-1), t)
		},
	}
}

func checkDualPipeV(s Spec) []Issue {
	issues := checkVShape(s)
	if least := 2 * s.Ranks; s.MicroBatches < least {
		issues = append(issues, Issue{
			Code: "dualpipe-microbatches", Field: fieldMicroBatches,
			Message: fmt.Sprintf("dualpipe-v needs at least 2p = %d micro-batches, not %d: DeepSeek's code "+
				"and PyTorch reject fewer", least, s.MicroBatches),
			Nearest: map[string]int{fieldMicroBatches: least},
		})
	}
	return issues
}
