package schedule

// zbH1 is 1F1B with the backward split: weight gradients wait and fill the
// drain, in the memory of 1F1B.
func zbH1() descriptor {
	return descriptor{
		Info: Info{
			Kind: ZBH1, Name: "ZB-H1",
			Paper: "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 2.2 and " +
				"figure 3",
			Code: "sail-sg/zero-bubble-pipeline-parallelism; PyTorch ScheduleInterleavedZeroBubble " +
				"with one stage per rank",
			Placement: Linear, SplitsBackward: true, Chunks: 1, WeightCopies: 1,
			Constraint:  "none",
			Idle:        "(p-1) max(tF, tI+max(0,tF-tW)) for m >= p",
			Memory:      "until I min(m, p-r), until W min(m, p)",
			Barrierless: true,
			warmup: func(s *Spec, rank int) Warmup {
				return exactly(s.Ranks-rank, s.MicroBatches).alive(s.Ranks, s.MicroBatches)
			},
			deferred:  func(s *Spec, rank int) int { return min(rank+1, s.MicroBatches) },
			disproved: disprovedZBH1,
		},
		generate: func(o *Order) { o.zeroBubble(1) },
		check:    func(s Spec) []Issue { return append(oneChunk(s), unusedOptions(s)...) },
		idle:     idleZBH1,
	}
}

// zeroBubble writes ZB-H1 (k = 1) or ZB-H2 (k = 2): rank r runs k(p-1-r)
// forwards ahead and its weight gradients k r micro-batches behind.
func (o *Order) zeroBubble(k int) {
	for r := range o.Spec.Ranks {
		o.splitLoop(k*(o.Spec.Ranks-1-r), k*r, o.Spec.MicroBatches)
	}
}

// splitLoop appends the list of one rank: warmup forwards, then forward, input
// gradient and, once delay steps have passed, the oldest waiting weight
// gradient; the rest of those at the end. All walk the same table of the given
// group size, the gradients with the chunks mirrored.
func (o *Order) splitLoop(warmup, delay, group int) {
	v, m := o.Spec.VirtualStages, o.Spec.MicroBatches
	n := v * m
	warmup = min(warmup, n)
	fwd, in, weights := newTurn(v, m, group), newTurn(v, m, group), newTurn(v, m, group)
	forward := func() {
		c, i := fwd.next()
		o.add(Forward, c, i)
	}
	weight := func() {
		c, i := weights.next()
		o.add(WeightGradient, v-1-c, i)
	}
	for range warmup {
		forward()
	}
	for j := range n {
		if warmup+j < n {
			forward()
		}
		c, i := in.next()
		o.add(InputGradient, v-1-c, i)
		if j >= delay {
			weight()
		}
	}
	for range min(delay, n) {
		weight()
	}
	o.endRank()
}

// idleZBH1 is (p-1) max(tF, tI+max(0,tF-tW)) with at least p micro-batches. The
// paper's (p-1)(tF+tI-tW) is its case of tW <= tF and tW <= tI. With fewer
// micro-batches a form is known for equal durations only.
func idleZBH1(s Spec, t ChunkTimes) (float64, bool) {
	p, m := s.Ranks, s.MicroBatches
	switch {
	case m >= p:
		return float64(p-1) * max(t.F, t.I+max(0, t.F-t.W)), true
	case t.F == t.I && t.I == t.W:
		return float64(max(p-1, 2*p-1-m)) * t.F, true
	}
	return 0, false
}
