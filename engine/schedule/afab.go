package schedule

// afab returns all forwards, then all backwards (GPipe). The backwards run in
// ascending order as PyTorch, nanotron and picotron do; the makespan is that of
// the descending order of the paper's figure.
func afab() descriptor {
	return descriptor{
		Info: Info{
			Kind: AFAB, Name: "AFAB (GPipe)",
			Paper:     "Huang et al., GPipe, arXiv 1811.06965",
			Code:      "PyTorch torch/distributed/pipelining/schedules.py, ScheduleGPipe",
			Placement: Linear, Chunks: 1, WeightCopies: 1,
			Constraint: "none",
			Idle:       "(p-1)(tF+tB)",
			IdlePasses: "(p - 1)",
			Memory:     "m",
			Length:     LengthBreadthFirst,
			warmup:     warmupAll,
		},
		generate: func(o *Order) {
			for range o.Spec.Ranks {
				o.warmLoop(o.Spec.MicroBatches, o.Spec.MicroBatches)
			}
		},
		check: func(s Spec) []Issue { return append(oneChunk(s), unusedOptions(s)...) },
		idle:  idleLinear,
	}
}
