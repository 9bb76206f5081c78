package schedule

import "fmt"

// oneFOneB returns one forward, one backward (PipeDream-flush): rank r runs p-1-r
// forwards ahead and then frees one activation for each that it makes.
func oneFOneB() descriptor {
	return descriptor{
		Info: Info{
			Kind: OneFOneB, Name: "1F1B",
			Paper:     "Narayanan et al., arXiv 2104.04473, section 2.2.1 (PipeDream-flush)",
			Code:      "Megatron-LM schedules.py, forward_backward_pipelining_without_interleaving",
			Placement: Linear, Chunks: 1, WeightCopies: 1,
			Constraint: `none; PyTorch requires m >= p ("Number of microbatches must be greater` +
				` than or equal to the number of stages"), nanotron m >= p-1`,
			Idle:       "(p-1)(tF+tB)",
			IdlePasses: "(p - 1)",
			Memory:     "min(m, p-r)",
			warmup:     func(s *Spec, rank int) Warmup { return exactly(s.Ranks-rank, s.MicroBatches) },
		},
		generate: generateOneFOneB,
		check:    checkOneFOneB,
		idle:     idleLinear,
	}
}

func generateOneFOneB(o *Order) {
	for r := range o.Spec.Ranks {
		o.warmLoop(o.Spec.Ranks-1-r, o.Spec.MicroBatches)
	}
}

// idleLinear is (p-1)(tF+tB) for any number of micro-batches: the fill and the
// drain of a pipeline with one chunk per rank (GPipe section 2.3).
func idleLinear(s Spec, t ChunkTimes) (float64, bool) {
	return float64(s.Ranks-1) * (t.F + t.B), true
}

func checkOneFOneB(s Spec) []Issue {
	issues := oneChunk(s)
	if s.MicroBatches < s.Ranks {
		rejects := "PyTorch rejects"
		if s.MicroBatches < s.Ranks-1 {
			rejects = "PyTorch and nanotron reject"
		}
		issues = append(issues, Issue{
			Code: "fewer-microbatches-than-ranks", Field: fieldMicroBatches, Warning: true,
			Message: fmt.Sprintf("%s 1f1b with fewer micro-batches (%d) than pipeline ranks (%d); "+
				"Megatron-LM runs it",
				rejects, s.MicroBatches, s.Ranks),
			Nearest: map[string]int{fieldMicroBatches: s.Ranks},
		})
	}
	return append(issues, unusedOptions(s)...)
}
