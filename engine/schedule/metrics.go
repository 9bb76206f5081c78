package schedule

import "meshscope/engine/units"

// busy returns the work of the busiest rank and that of all ranks together.
func (t *Timeline) busy() (most, sum float64) {
	for i := range t.Ranks {
		most = max(most, t.Ranks[i].Busy)
		sum += t.Ranks[i].Busy
	}
	return most, sum
}

// BubbleOverIdeal is (makespan - busy)/busy of the busiest rank: (p-1)/m for
// 1F1B with equal stages (arXiv 2104.04473, section 2.2). It can exceed 1.
func (t *Timeline) BubbleOverIdeal() float64 {
	most, _ := t.busy()
	if most == 0 {
		return 0
	}
	return max(0, units.Difference(t.Makespan, most)/most)
}

// BubbleOverTotal is 1 - sum of busy/(ranks x makespan), between 0 and 1:
// (p-1)/(m+p-1) for 1F1B with equal stages (GPipe, arXiv 1811.06965, section 2.3).
func (t *Timeline) BubbleOverTotal() float64 {
	if t.Makespan == 0 {
		return 0
	}
	_, sum := t.busy()
	return max(0, units.Difference(1, sum/(float64(len(t.Ranks))*t.Makespan)))
}

// LongestSpan returns the longest time from the first start to the last end of a
// rank: what the zero-bubble papers measure (arXiv 2401.10241).
func (t *Timeline) LongestSpan() float64 {
	longest := 0.0
	for i := range t.Ranks {
		longest = max(longest, t.Ranks[i].Last-t.Ranks[i].First)
	}
	return longest
}

// ClosedFormIdle returns the idle time of the worst rank for equal chunks and no
// send/recv latency; false where no exact form is known or the spec is illegal.
func (s Spec) ClosedFormIdle(t ChunkTimes) (float64, bool) {
	d, ok := find(s.Kind)
	if !ok {
		return 0, false
	}
	return s.closedForm(d, d.idle, t)
}

// closedForm returns what a form of a schedule gives; false where it is no exact one, or
// the spec is none that can run.
func (s Spec) closedForm(d *descriptor, form func(Spec, ChunkTimes) (float64, bool), t ChunkTimes) (float64,
	bool,
) {
	if form == nil || s.limit(d) != nil || hasError(s.check(d)) {
		return 0, false
	}
	return form(s, t)
}

// ClosedFormSpan returns that time inside a rank's own first start and last end,
// what the zero-bubble papers measure; false where no exact form is known.
func (s Spec) ClosedFormSpan(t ChunkTimes) (float64, bool) {
	d, ok := find(s.Kind)
	if !ok {
		return 0, false
	}
	return s.closedForm(d, d.span, t)
}

// ClosedFormBubble returns the idle time over the busy time of a rank, to stand
// next to BubbleOverIdeal: (p-1)/m for 1F1B. A schedule with overlapped pairs
// has one only where they save nothing.
func (s Spec) ClosedFormBubble(t ChunkTimes) (float64, bool) {
	d, found := find(s.Kind)
	if !found {
		return 0, false
	}
	idle, ok := s.closedForm(d, d.idle, t)
	perMicroBatch := t.F + t.B
	if d.SplitsBackward {
		perMicroBatch = t.F + t.I + t.W
	}
	busy := perMicroBatch * float64(s.VirtualStages) * float64(s.MicroBatches)
	if !ok || busy <= 0 || t.Saved > 0 {
		return 0, false
	}
	return idle / busy, true
}

// SpanOverIdeal returns the wait inside the longest rank's span over its busy time:
// what is left of the bubble where optimizer steps are not synchronised.
func (t *Timeline) SpanOverIdeal() float64 {
	most, _ := t.busy()
	if most == 0 {
		return 0
	}
	return max(0, units.Difference(t.LongestSpan(), most)/most)
}

// UniformCosts returns the costs of a spec whose chunks are all equal.
func UniformCosts(s Spec, t ChunkTimes, p2p float64) Costs {
	same := func(d float64) []float64 {
		all := make([]float64, max(0, s.Stages()))
		for i := range all {
			all[i] = d
		}
		return all
	}
	c := Costs{F: same(t.F), B: same(t.B), I: same(t.I), W: same(t.W), P2P: p2p}
	if shorter := min(t.F, t.B); t.Saved > 0 && shorter > 0 {
		c.Overlap = min(1, t.Saved/shorter)
	}
	return c
}

// Length returns what the pipeline adds to a step. The zero-bubble papers check the
// optimizer's step afterwards (arXiv 2401.10241, section 4), so that no rank
// waits for the others at its end: the step lasts as long as the longest rank is
// at work, not from the first start to the last end. The same is assumed of every
// schedule that runs weight gradients apart.
func (t *Timeline) Length(info *Info) float64 {
	if !info.SplitsBackward {
		return t.Makespan
	}
	return t.LongestSpan()
}

// Busiest returns the rank with the longest busy time, the first of equal ones: its time is
// the step's.
func (t *Timeline) Busiest() int {
	best := 0
	for r := range t.Ranks {
		if t.Ranks[r].Busy > t.Ranks[best].Busy {
			best = r
		}
	}
	return best
}
