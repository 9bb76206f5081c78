package schedule

import "fmt"

// zbV returns the hand-made ZB-V: two chunks per rank there and back, so that a
// micro-batch turns round on the last rank and its activations are soon free.
func zbV() descriptor {
	return descriptor{
		Info: Info{
			Kind: ZBV, Name: "ZB-V",
			Paper: "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 6; Pipeline " +
				"Parallelism with Controllable Memory, arXiv 2405.15362",
			Code: "PyTorch ScheduleZBVZeroBubble; sail-sg/zero-bubble-pipeline-parallelism tag " +
				"zero-bubble-v0.1.0",
			Placement: VShape, SplitsBackward: true, Chunks: 2, WeightCopies: 1,
			Constraint: `v = 2; PyTorch otherwise: "ZBV requires exactly 2 stages per rank"`,
			Idle: "for tF = tI >= tW and m >= 2p-1: (p-1) max(tF, 2(tF-tW)), inside a rank's span " +
				"2(p-1)(tF-tW)",
			Memory:      "2p on the fullest rank, never more than 2m",
			Barrierless: true,
			warmup:      func(s *Spec, rank int) Warmup { return exactly(2*s.Ranks, turned(s, rank)) },
			deferred: func(s *Spec, rank int) int {
				if s.MicroBatches < 2*s.Ranks {
					return 1
				}
				return 2*rank + 1
			},
		},
		generate: generateZBV,
		check:    checkVShape,
		idle:     idleZBV,
		span: func(s Spec, t ChunkTimes) (float64, bool) {
			ok := t.F == t.I && t.I >= t.W && s.MicroBatches >= 2*s.Ranks-1
			return 2 * float64(s.Ranks-1) * (t.F - t.W), ok
		},
	}
}

// vRank counts what one rank of a V-shaped schedule has run, by chunk: F, I and
// W each have their next micro-batch. Micro-batches from limit on are dropped.
type vRank struct {
	o       *Order
	limit   int
	f, i, w [2]int
}

func (v *vRank) put(kind OpKind, chunk int, next *[2]int) {
	if next[chunk] < v.limit {
		v.o.add(kind, chunk, next[chunk])
		next[chunk]++
	}
}

func (v *vRank) forward(chunk int) { v.put(Forward, chunk, &v.f) }
func (v *vRank) input(chunk int)   { v.put(InputGradient, chunk, &v.i) }
func (v *vRank) weight(chunk int)  { v.put(WeightGradient, chunk, &v.w) }

// both runs the input gradient of a chunk and its weight gradient at once.
func (v *vRank) both(chunk int) {
	v.input(chunk)
	v.weight(chunk)
}

// generateZBV writes the schedule for at least 2p-1 micro-batches and leaves
// out those that there are not. Every turn of a loop takes each of its kinds one
// micro-batch on, so that after m turns there is nothing left to write.
func generateZBV(o *Order) {
	p, m := o.Spec.Ranks, o.Spec.MicroBatches
	n := max(2*p-1, m)
	for r := range p {
		v := &vRank{o: o, limit: m}
		for range min(2*(p-r)-1, m) {
			v.forward(0)
		}
		for range min(r, m) {
			v.forward(1)
			v.forward(0)
		}
		for range min(p-r, m) {
			v.forward(1)
			v.both(1)
		}
		for range min(n-p, m) {
			v.forward(0)
			v.both(0)
			v.forward(1)
			v.both(1)
		}
		for range min(r, m) {
			v.input(0)
			v.input(1)
		}
		for range min(p-r, m) {
			v.input(0)
			v.weight(0)
		}
		for v.w[1] < v.i[1] {
			v.weight(1)
		}
		for v.w[0] < v.i[0] {
			v.weight(0)
		}
		o.endRank()
	}
}

// idleZBV covers equal forward and input gradient; for fewer than 2p-1
// micro-batches all three durations equal.
func idleZBV(s Spec, t ChunkTimes) (float64, bool) {
	p, m := s.Ranks, s.MicroBatches
	switch {
	case t.F != t.I || t.W > t.F:
		return 0, false
	case m >= 2*p-1:
		return float64(p-1) * max(t.F, 2*(t.F-t.W)), true
	case t.W == t.F:
		return float64(max(p-1, 4*p-2-2*m)) * t.F, true
	}
	return 0, false
}

// checkVShape wants two stages per rank.
func checkVShape(s Spec) []Issue {
	issues := unusedOptions(s)
	if s.VirtualStages != 2 {
		issues = append(issues, Issue{
			Code: "schedule-two-chunks", Field: fieldVPP,
			Message: fmt.Sprintf("%s places its stages in a V: it needs exactly 2 stages per rank, not %d",
				s.Kind, s.VirtualStages),
			Nearest: map[string]int{fieldVPP: 2},
		})
	}
	return issues
}
