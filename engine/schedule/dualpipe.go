package schedule

import "fmt"

// dualPipe sends half of the micro-batches from each end of the pipeline; every
// rank holds two stages, so that the weights are there twice. Forward and
// backward of opposite directions run as one overlapped pair, which hides the
// expert all-to-all of both.
func dualPipe() descriptor {
	return descriptor{
		Info: Info{
			Kind: DualPipe, Name: "DualPipe",
			Paper:     "DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.2.1",
			Code:      "deepseek-ai/DualPipe dualpipe/dualpipe.py",
			Placement: Bidirectional, SplitsBackward: true, Pairs: true, Chunks: 1, WeightCopies: 2,
			Constraint: `p even, m even (both directions together) and m >= 2p; ` +
				`the code asserts "num_chunks > 0 and num_chunks % 2 == 0 and num_chunks >= num_ranks*2"`,
			Idle: "(p/2-1)(tFB+tB-3tW), tFB an overlapped pair, for tF = tI = tW and 2tF <= tFB <= " +
				"3tF, or tF = tI >= tW and no overlap",
			Memory:   "p+1 on every rank",
			warmup:   func(s *Spec, _ int) Warmup { return Warmup{s.Ranks, s.Ranks + 1, s.Ranks + 1} },
			deferred: func(s *Spec, rank int) int { return min(rank, s.Ranks-1-rank) + 1 },
		},
		generate: func(o *Order) {
			p := o.Spec.Ranks
			for r := range p {
				d := dualRank{o: o, half: p / 2, turns: o.Spec.MicroBatches / 2, edge: min(r, p-1-r)}
				d.chunk, d.first = [2]int{0, 1}, [2]int{0, d.turns}
				if r >= p/2 { // the own direction is the one that starts at the other end
					d.chunk, d.first = [2]int{1, 0}, [2]int{d.turns, 0}
				}
				d.run()
			}
		},
		check: checkDualPipe,
		idle: func(s Spec, t ChunkTimes) (float64, bool) {
			return idleDual(float64(s.Ranks/2-1), t)
		},
	}
}

// idleDual is steps x (tFB+tB-3tW) where that is exact.
func idleDual(steps float64, t ChunkTimes) (float64, bool) {
	pair := t.F + t.B - t.Saved
	whole := nearly(t.B, t.I+t.W)
	equal := t.F == t.I && t.I == t.W && pair >= 2*t.F*(1-1e-12)
	plain := t.F == t.I && t.I >= t.W && t.Saved == 0
	return steps * (pair + t.B - 3*t.W), whole && (equal || plain)
}

// nearly is equality up to rounding.
func nearly(a, b float64) bool {
	d := a - b
	return d <= 1e-12*max(a, b) && -d <= 1e-12*max(a, b)
}

// dualRank writes the eight steps of DualPipe for one rank. Direction 0 is the
// one in which the rank is near the start, 1 the opposite.
type dualRank struct {
	o     *Order
	half  int    // ranks per direction: p/2, for the V-shape p
	turns int    // micro-batches per direction
	edge  int    // distance of the rank from the nearer end
	chunk [2]int // by direction: the rank's chunk
	first [2]int // by direction: its first micro-batch

	f, b    [2]int
	waiting []Op // weight gradients, oldest first
}

func (d *dualRank) forwardOp(dir int) Op {
	d.f[dir]++
	return NewOp(Forward, d.chunk[dir], d.first[dir]+d.f[dir]-1)
}

func (d *dualRank) forward(dir int) { d.o.Ops = append(d.o.Ops, d.forwardOp(dir)) }

func (d *dualRank) backward(dir int) {
	d.b[dir]++
	d.o.add(Backward, d.chunk[dir], d.first[dir]+d.b[dir]-1)
}

// input puts the weight gradient off.
func (d *dualRank) input(dir int) {
	d.b[dir]++
	mb := d.first[dir] + d.b[dir] - 1
	d.o.add(InputGradient, d.chunk[dir], mb)
	d.waiting = append(d.waiting, NewOp(WeightGradient, d.chunk[dir], mb))
}

func (d *dualRank) weight() {
	d.o.Ops = append(d.o.Ops, d.waiting[0])
	d.waiting = d.waiting[1:]
}

// pair runs a forward of one direction overlapped with a backward of the other.
func (d *dualRank) pair(dir int) {
	d.o.Ops = append(d.o.Ops, d.forwardOp(dir).Pair())
	d.backward(1 - dir)
}

func (d *dualRank) run() {
	n := d.half - d.edge - 1
	for range 2 * n { // 1
		d.forward(0)
	}
	for range d.edge + 1 { // 2
		d.forward(0)
		d.forward(1)
	}
	for range n { // 3
		d.input(1)
		d.weight()
		d.forward(1)
	}
	for k := range d.turns - 2*d.half + d.edge + 1 { // 4
		if k == 0 && n == 0 { // on the rank in the middle both work on the same micro-batch
			d.forward(0)
			d.backward(1)
		} else {
			d.pair(0)
		}
		d.pair(1)
	}
	for range n { // 5
		d.backward(1)
		d.pair(1)
	}
	d.drain(n)
	d.o.endRank()
}

// drain is steps 6 to 8: from the middle of step 6 on weight gradients wait, to
// fill the end.
func (d *dualRank) drain(n int) {
	for k := range 2 * (d.edge + 1) { // 6: alternately, the opposite direction first
		if dir := 1 - k%2; k <= d.edge {
			d.backward(dir)
		} else {
			d.input(dir)
		}
	}
	for range n { // 7
		d.weight()
		d.input(0)
	}
	for range d.edge + 1 { // 8
		d.weight()
	}
}

// checkDualPipe returns what the code asserts. A rank without a mirror image or a
// batch that does not fill both directions cannot be executed.
func checkDualPipe(s Spec) []Issue {
	issues := append(oneChunk(s), unusedOptions(s)...)
	p, m := s.Ranks, s.MicroBatches
	if p%2 != 0 {
		nearest := map[string]int{fieldPP: p + 1}
		if m < 2*(p+1) || m%2 != 0 {
			nearest[fieldMicroBatches] = max(2*(p+1), m+m%2)
		}
		issues = append(issues, Issue{
			Code: "dualpipe-odd-ranks", Field: fieldPP,
			Message: fmt.Sprintf("dualpipe mirrors rank r on rank p-1-r: the number of pipeline ranks must "+
				"be even, not %d; dualpipe-v takes any", p),
			Nearest: nearest,
		})
	}
	if m < 2*p || m%2 != 0 {
		nearest := map[string]int{fieldMicroBatches: max(2*(p+p%2), m+m%2)}
		if p%2 != 0 {
			nearest[fieldPP] = p + 1
		}
		issues = append(issues, Issue{
			Code: "dualpipe-microbatches", Field: fieldMicroBatches,
			Message: fmt.Sprintf("dualpipe needs an even number of micro-batches, at least 2p = %d (both "+
				"directions together), not %d: DeepSeek's code asserts it", 2*p, m),
			Nearest: nearest,
		})
	}
	return issues
}
