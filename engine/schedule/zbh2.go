package schedule

import "fmt"

// zbH2 runs twice as many forwards ahead as ZB-H1: with enough micro-batches no
// rank waits between its first and its last operation.
func zbH2() descriptor {
	return descriptor{
		Info: Info{
			Kind: ZBH2, Name: "ZB-H2",
			Paper: "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 2.3 and " +
				"figure 3",
			Code:      "sail-sg/zero-bubble-pipeline-parallelism (the paper's figure; the code runs zb-2p)",
			Placement: Linear, SplitsBackward: true, Chunks: 1, WeightCopies: 1,
			Constraint: "none; below 2p-1 micro-batches it is not free of bubbles and can be slower than " +
				"zb-h1",
			Idle: "with x = tI-tF+2max(0,tF-tW): (p-1) max(tF, x), inside a rank's span (p-1) " +
				"max(0, x), for m >= 2p-1",
			Memory:      "until I 2(p-1-r)+1, until W 2p-1, never more than m",
			Barrierless: true,
			warmup: func(s *Spec, rank int) Warmup {
				return exactly(2*(s.Ranks-1-rank)+1, s.MicroBatches).alive(2*s.Ranks-1, s.MicroBatches)
			},
			deferred:  func(s *Spec, rank int) int { return min(2*rank+1, s.MicroBatches) },
			disproved: disprovedZBH2,
		},
		generate: func(o *Order) { o.zeroBubble(2) },
		check:    checkZBH2,
		idle: func(s Spec, t ChunkTimes) (float64, bool) {
			return float64(s.Ranks-1) * max(t.F, gapZBH2(t)), s.MicroBatches >= 2*s.Ranks-1
		},
		span: func(s Spec, t ChunkTimes) (float64, bool) {
			switch p, m := s.Ranks, s.MicroBatches; {
			case m >= 2*p-1:
				return float64(p-1) * max(0, gapZBH2(t)), true
			case t.F == t.I && t.I == t.W:
				return float64(max(0, 2*p-1-m)) * t.F, true
			}
			return 0, false
		},
	}
}

// gapZBH2 returns what one rank adds to the wait inside another's span.
func gapZBH2(t ChunkTimes) float64 { return t.I - t.F + 2*max(0, t.F-t.W) }

func checkZBH2(s Spec) []Issue {
	issues := append(oneChunk(s), unusedOptions(s)...)
	if least := 2*s.Ranks - 1; s.MicroBatches < least {
		issues = append(issues, Issue{
			Code: "zb-h2-few-microbatches", Field: fieldMicroBatches, Warning: true,
			Message: fmt.Sprintf("zb-h2 fills its bubbles from 2p-1 = %d micro-batches on; with %d it can "+
				"be slower than zb-h1", least, s.MicroBatches),
			Nearest: map[string]int{fieldMicroBatches: least},
		})
	}
	return issues
}
