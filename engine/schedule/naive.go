package schedule

import "fmt"

// naive is model parallelism without a pipeline: one micro-batch goes through
// all stages and back while the other ranks wait.
func naive() descriptor {
	return descriptor{
		Info: Info{
			Kind: Naive, Name: "Naive",
			Paper:     "Huang et al., GPipe (arXiv 1811.06965), section 2: the baseline",
			Code:      "Megatron-LM schedules.py, forward_backward_pipelining_without_interleaving with one micro-batch",
			Placement: Linear, Chunks: 1, WeightCopies: 1,
			Constraint: "m = 1",
			Idle:       "(p-1)(tF+tB)",
			Memory:     "1",
		},
		generate: generateOneFOneB,
		check:    checkNaive,
		idle:     idleLinear,
	}
}

func checkNaive(s Spec) []Issue {
	issues := oneChunk(s)
	if s.MicroBatches > 1 {
		issues = append(issues, Issue{
			Code: "naive-microbatches", Field: fieldMicroBatches,
			Message: fmt.Sprintf("naive has no pipeline: one micro-batch at a time, not %d; afab or 1f1b run them", s.MicroBatches),
			Nearest: map[string]int{fieldMicroBatches: 1},
		})
	}
	return append(issues, unusedOptions(s)...)
}
