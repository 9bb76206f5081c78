package schedule

// loopedBFS runs all micro-batches through one chunk before the next chunk, and
// back the same way (breadth first): each chunk's weights are wanted only twice
// per step, paid with the activations of the whole batch.
func loopedBFS() descriptor {
	return descriptor{
		Info: Info{
			Kind: LoopedBFS, Name: "Looped BFS",
			Paper:     "Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv 2211.05953",
			Code:      "PyTorch torch/distributed/pipelining/schedules.py, ScheduleLoopedBFS",
			Placement: Loop, WeightCopies: 1,
			Constraint: "none",
			Idle:       "(p-1)(tF+tB), for m < p [(p-1)+(v-1)(p-m)](tF+tB)",
			Memory:     "v m",
			Length:     LengthBreadthFirst,
			warmup:     warmupAll,
			group:      func(s *Spec) int { return s.MicroBatches },
			disproved:  disprovedLoop,
		},
		generate: generateLoopedBFS,
		check:    unusedOptions,
		idle:     idleLoop,
	}
}

func generateLoopedBFS(o *Order) {
	v, m := o.Spec.VirtualStages, o.Spec.MicroBatches
	for range o.Spec.Ranks {
		for c := range v {
			for i := range m {
				o.add(Forward, c, i)
			}
		}
		for c := v - 1; c >= 0; c-- {
			for i := m - 1; i >= 0; i-- {
				o.add(Backward, c, i)
			}
		}
		o.endRank()
	}
}

// idleLoop is (p-1)(tF+tB) per chunk, and [(p-1)+(v-1)(p-m)](tF+tB) with fewer
// micro-batches than ranks, which wait in every chunk.
func idleLoop(s Spec, t ChunkTimes) (float64, bool) {
	p, m := s.Ranks, s.MicroBatches
	return float64(p-1+(s.VirtualStages-1)*max(0, p-m)) * (t.F + t.B), true
}
