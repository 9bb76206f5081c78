package schedule

// buildWarm is build for an order that warmLoop has written, of which all is known by
// number: every rank runs the same forwards one after the other, and the same backwards, so
// that the n-th forward needs the n-th of the rank before, the n-th backward that of the
// rank after, and where each stands in the list of its rank follows from the warmup.
// No table of results is needed.
func (pl *plan) buildWarm(o *Order) error {
	p, v, m := o.Spec.Ranks, o.Chunks(), o.Spec.MicroBatches
	pl.size(o)
	for r, warmup := range pl.warm {
		alive := min(int(warmup)+1, v*m)
		pl.ranks[r] = rankPlan{inFlight: alive, untilInput: alive}
		for ch := range v {
			copy(pl.counts[(r*v+ch)*4:], []int32{Forward: int32(m), Backward: int32(m)})
		}
		pl.ready[r] = int32(p - 1 - r)
	}
	pl.takeWarmTurns(o)
	if len(pl.steps) < len(o.Ops) {
		return pl.deadlock(o)
	}
	return nil
}

// size makes place for the plan of an order.
func (pl *plan) size(o *Order) {
	p := o.Spec.Ranks
	pl.steps = resize(pl.steps, len(o.Ops))[:0]
	pl.ranks, pl.cursors, pl.ready = resize(pl.ranks, p), resize(pl.cursors, p), resize(pl.ready, p)
	pl.counts = cleared(pl.counts, p*o.Chunks()*4)
}

// warmTurns plans the turns of an order that warmLoop has written.
type warmTurns struct {
	pl     *plan
	o      *Order
	n      int // forwards of each rank, and backwards
	stages int
	ranks  []warmRank
}

// warmRank is one rank and how far it has come.
type warmRank struct {
	start               int // where its list begins in Order.Ops
	warmup              int
	forwards, backwards int // that have run
	wait                int // index of the operation that it waits for; -1: none
}

// forward returns where its i-th forward stands in Order.Ops, backward its i-th backward.
func (w *warmRank) forward(i int) int { return w.start + max(i, 2*i-w.warmup) }

func (w *warmRank) backward(i, n int) int { return w.start + min(w.warmup+2*i+1, n+i) }

// at returns the index of the operation that it runs next.
func (w *warmRank) at() int { return w.start + w.forwards + w.backwards }

// takeWarmTurns is takeTurns for such an order. At the end of its turn a rank looks whether
// it has run what a neighbour waits for.
func (pl *plan) takeWarmTurns(o *Order) {
	p := o.Spec.Ranks
	t := warmTurns{
		pl: pl, o: o, n: o.Chunks() * o.Spec.MicroBatches, stages: o.Spec.Stages(),
		ranks: make([]warmRank, p),
	}
	for r := range t.ranks {
		t.ranks[r] = warmRank{start: o.Start[r], warmup: int(pl.warm[r]), wait: -1}
	}
	ready := pl.ready
	for len(ready) > 0 {
		r := int(ready[len(ready)-1])
		ready = ready[:len(ready)-1]
		before, after := r-1, r+1
		if r == 0 {
			before = p - 1
		}
		if after == p {
			after = 0
		}
		from := t.ranks[r].at()
		to := t.until(r, before, after)
		if to == from {
			continue
		}
		t.run(r, before, after, from, to)
		for _, c := range [2]int{before, after} {
			if w := &t.ranks[c]; w.wait >= from && w.wait < to {
				w.wait = -1
				ready = append(ready, int32(c))
			}
		}
	}
	for r := range t.ranks {
		pl.cursors[r] = cursor{at: t.ranks[r].at(), end: o.Start[r+1]}
	}
}

// until returns the index of the first operation that a rank cannot run yet, or the end of
// its list, and notes what it waits for.
func (t *warmTurns) until(r, before, after int) int {
	w, b, a := &t.ranks[r], &t.ranks[before], &t.ranks[after]
	forwards, backwards := b.forwards, a.backwards
	if r == 0 {
		forwards = t.wrapped(w.forwards, forwards)
	}
	if after == 0 {
		backwards = t.wrapped(w.backwards, backwards)
	}
	to := w.start + 2*t.n
	w.wait = -1
	if forwards < t.n {
		if at := w.forward(forwards); at < to {
			to, w.wait = at, b.forward(b.forwards)
		}
	}
	if backwards < t.n {
		if at := w.backward(backwards, t.n); at < to {
			to, w.wait = at, a.backward(a.backwards, t.n)
		}
	}
	return to
}

// wrapped returns the first forward of the first rank, or backward of the last, from the
// i-th on, that needs more than the given number on the other end of the pipeline: those of
// the first chunk of a round need none, the others that of the chunk before in their round.
func (t *warmTurns) wrapped(i, given int) int {
	v, group := t.o.Chunks(), t.pl.group
	if len(t.ranks) == 1 || v == 1 {
		return t.n
	}
	for round := i / (group * v); round*group*v < t.n; round++ {
		start := round * group * v
		size := min(group, t.o.Spec.MicroBatches-round*group)
		if first := max(i, start+size, given+size); first < start+v*size {
			return first
		}
	}
	return t.n
}

// run plans the operations of a rank between two indices.
func (t *warmTurns) run(r, before, after, from, to int) {
	p, n, w := len(t.ranks), t.n, &t.ranks[r]
	b, a := t.ranks[before], t.ranks[after]
	done := len(t.pl.steps)
	steps := t.pl.steps[done : done+to-from]
	f, g := w.forwards, w.backwards
	for i, op := range t.o.Ops[from:to] {
		cost, input := op.Chunk()*p+r, -1
		switch {
		case op.Kind() == Forward && r > 0:
			input = b.forward(f)
			f++
		case op.Kind() == Forward:
			if size := t.earlier(f, op.Chunk()); size > 0 {
				input = b.forward(f - size)
			}
			f++
		case r < p-1:
			input, cost = a.backward(g, n), cost+t.stages
			g++
		default:
			if size := t.earlier(g, t.o.Chunks()-1-op.Chunk()); size > 0 {
				input = a.backward(g-size, n)
			}
			cost += t.stages
			g++
		}
		steps[i] = step{op: uint32(from + i), input: int32(input), cost: int32(cost)}
	}
	if from == w.start {
		steps[0].op |= stepFirst
	}
	w.forwards, w.backwards = f, g
	t.pl.steps = t.pl.steps[:done+len(steps)]
}

// earlier returns how many forwards of the first rank (or backwards of the last) before the
// i-th the one stands whose result it needs, if that comes from the other end of the
// pipeline: not for the chunk that is the first to run.
func (t *warmTurns) earlier(i, chunk int) int {
	if chunk == 0 || len(t.ranks) == 1 {
		return 0
	}
	group := t.pl.group
	return min(group, t.o.Spec.MicroBatches-i/(group*t.o.Chunks())*group)
}
