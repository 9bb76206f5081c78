package schedule

import "fmt"

// interleavedZB is ZB-H1 over v chunks per rank, as PyTorch has it.
func interleavedZB() descriptor {
	return descriptor{
		Info: Info{
			Kind: InterleavedZB, Name: "Interleaved zero bubble",
			Paper:     "PyTorch; after Qi et al., arXiv 2401.10241, and Narayanan et al., arXiv 2104.04473",
			Code:      "PyTorch torch/distributed/pipelining/schedules.py, ScheduleInterleavedZeroBubble",
			Placement: Loop, SplitsBackward: true, WeightCopies: 1,
			Constraint: `m a multiple of max(1, m div p) rounds; PyTorch otherwise: ` +
				`"Zero bubble requires the number of microbatches to be a multiple of the number of rounds"`,
			Idle: "(p-1) max(tF, tI+max(0,tF-tW)) for m >= p",
			Memory: "until I (v-1)g+(p-1-r)+1, until W (v-1)g+p, with g = m/max(1, floor(m/p)) " +
				"micro-batches per round, never more than v m",
			warmup: func(s *Spec, rank int) Warmup {
				others, all := (s.VirtualStages-1)*s.roundSize(), s.VirtualStages*s.MicroBatches
				return exactly(others+s.Ranks-rank, all).alive(others+s.Ranks, all)
			},
			deferred: func(s *Spec, rank int) int { return min(rank+1, s.VirtualStages*s.MicroBatches) },
			group:    (*Spec).roundSize,
		},
		generate: func(o *Order) {
			p, g := o.Spec.Ranks, o.Spec.roundSize()
			for r := range p {
				o.splitLoop(p-1-r+(o.Spec.VirtualStages-1)*g, r, g)
			}
		},
		check: checkInterleavedZB,
		idle: func(s Spec, t ChunkTimes) (float64, bool) {
			if s.MicroBatches < s.Ranks || s.MicroBatches%s.rounds() != 0 {
				return 0, false
			}
			return idleZBH1(s, t)
		},
	}
}

// rounds returns how often PyTorch's interleaved schedules go round the ranks, and
// roundSize how many micro-batches each round takes.
func (s *Spec) rounds() int    { return max(1, s.MicroBatches/s.Ranks) }
func (s *Spec) roundSize() int { return s.MicroBatches / s.rounds() }

func checkInterleavedZB(s Spec) []Issue {
	issues := unusedOptions(s)
	if rounds := s.rounds(); s.MicroBatches%rounds != 0 {
		nearest, fits := s, func(m int) bool { t := s; t.MicroBatches = m; return m%t.rounds() == 0 }
		for away := 1; ; away++ { // ends at a multiple of the ranks
			if nearest.MicroBatches = s.MicroBatches - away; nearest.MicroBatches > 0 &&
				fits(nearest.MicroBatches) {
				break
			}
			if nearest.MicroBatches = s.MicroBatches + away; fits(nearest.MicroBatches) {
				break
			}
		}
		issues = append(issues, Issue{
			Code: "zb-rounds", Field: fieldMicroBatches,
			Message: fmt.Sprintf("%d micro-batches do not divide over %d rounds: PyTorch, the only "+
				"implementation of this schedule, requires a multiple of the rounds",
				s.MicroBatches, rounds),
			Nearest: map[string]int{fieldMicroBatches: nearest.MicroBatches},
		})
	}
	return issues
}
