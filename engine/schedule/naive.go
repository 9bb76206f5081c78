package schedule

// naive is model parallelism without a pipeline: one micro-batch goes through
// all stages and back while the other ranks wait, then the next.
func naive() descriptor {
	return descriptor{
		Info: Info{
			Kind: Naive, Name: "Naive",
			Paper: "Huang et al., GPipe (arXiv 1811.06965), section 2: the baseline",
			Code: "Megatron-LM schedules.py, forward_backward_pipelining_without_interleaving with " +
				"one micro-batch",
			Placement: Linear, Chunks: 1, WeightCopies: 1,
			Constraint: "none",
			Idle:       "m (p-1)(tF+tB)",
			Memory:     "1",
			Length:     LengthOneByOne,
			warmup:     func(s *Spec, _ int) Warmup { return exactly(1, s.MicroBatches) },
		},
		generate: generateNaive,
		check:    checkNaive,
		idle:     idleNaive,
	}
}

// generateNaive emits F, B of one micro-batch after the other.
func generateNaive(o *Order) {
	for range o.Spec.Ranks {
		o.warmLoop(0, o.Spec.MicroBatches)
	}
}

// idleNaive: each of the m micro-batches leaves every rank idle while the other
// p-1 work.
func idleNaive(s Spec, t ChunkTimes) (float64, bool) {
	return float64(s.MicroBatches) * float64(s.Ranks-1) * (t.F + t.B), true
}

func checkNaive(s Spec) []Issue { return append(oneChunk(s), unusedOptions(s)...) }
