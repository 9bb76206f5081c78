package schedule

// plan is what simulating an order needs and what does not depend on times:
// the operations in an order in which every input is ready before it is used,
// each with that input, and the activations alive. Whoever only changes times
// pays one walk over the steps.
type plan struct {
	steps []step
	ranks []rankPlan

	// How often each rank runs each kind on each of its chunks, at
	// (rank*chunks+chunk)*4+kind.
	counts []int32

	// Scratch of the making. A result is what an operation makes for others:
	// F the output of (stage, micro-batch), at stage*m+micro-batch, B and I its
	// input gradient, at (stages+stage)*m+micro-batch.
	made    []int32 // index+1 of the operation that makes a result, once planned
	slots   []slot  // at (rank*chunks+chunk)*4+kind
	cursors []cursor
	waits   []int32 // the result that each rank waits for; -1: none
	ready   []int32 // ranks to take up
}

// step is one operation: op is its index in Order.Ops with the flags below,
// input the index of the operation on another chunk that it needs (-1: none;
// inputs from its own chunk always come earlier on the same rank), cost the
// place of its duration in a table by kind and stage.
type step struct {
	op    uint32
	input int32
	cost  int32
}

// Flags of step.op, above the bits that MaxOps needs.
const (
	stepIndex  = 1<<28 - 1
	stepFirst  = 1 << 31 // first operation of its rank
	stepRemote = 1 << 30 // the input comes from another rank
	stepPair   = 1 << 29 // runs overlapped with the next step
)

// rankPlan are the peaks of one rank.
type rankPlan struct{ inFlight, untilInput, pendingW int }

// slot is what all operations of one kind on one chunk of a rank have in
// common. Results are those of micro-batch 0; -1 is none.
type slot struct {
	input    int32 // result taken from another chunk
	own      int32 // result needed from the rank's own earlier work
	result   int32 // result made
	consumer int32 // rank that takes it, for its input
	cost     int32 // place in the table of durations
}

// cursor is how far a rank has come.
type cursor struct {
	at, end        int
	live, pendingW int // activations until B or W; those whose I has run
}

// build plans a valid order. It fails with a *DeadlockError when ranks wait for
// each other.
//
// Every rank runs its list as far as it can; one that lacks an input notes what
// it waits for and is taken up again by the rank that makes it. An input has at
// most one consumer on another rank, so each operation is visited once and the
// work is proportional to their number.
func (pl *plan) build(o *Order) error {
	pl.prepare(o)
	for len(pl.ready) > 0 {
		r := pl.ready[len(pl.ready)-1]
		pl.ready = pl.ready[:len(pl.ready)-1]
		pl.advance(o, int(r))
	}
	if len(pl.steps) < len(o.Ops) {
		return pl.deadlock(o)
	}
	return nil
}

// forget drops the largest part of the scratch, for an order that is kept and not
// rebuilt.
func (pl *plan) forget() { pl.made = nil }

// prepare sizes and clears the memory.
func (pl *plan) prepare(o *Order) {
	p, chunks := o.Spec.Ranks, o.Chunks()
	pl.steps = resize(pl.steps, len(o.Ops))[:0]
	pl.ranks = cleared(pl.ranks, p)
	pl.counts = cleared(pl.counts, p*chunks*4)
	pl.made = cleared(pl.made, 2*o.Spec.Stages()*o.Spec.MicroBatches)
	pl.slots = resize(pl.slots, p*chunks*4)
	pl.cursors, pl.waits, pl.ready = resize(pl.cursors, p), resize(pl.waits, p), resize(pl.ready, p)
	for r := range p {
		for ch := range chunks {
			fillSlots(pl.slots[(r*chunks+ch)*4:][:4], o, r, ch)
		}
		pl.cursors[r] = cursor{at: o.Start[r], end: o.Start[r+1]}
		pl.waits[r] = -1
		pl.ready[r] = int32(p - 1 - r) // rank 0 is taken up first
	}
}

// fillSlots writes the dependencies of one chunk of a rank, by kind: F takes the
// output of the stage before; B and I need F and take the gradient of the stage
// after; W needs I.
func fillSlots(slots []slot, o *Order, rank, chunk int) {
	p, stages, m := o.Spec.Ranks, o.Spec.Stages(), o.Spec.MicroBatches
	stage := o.StageOf(rank, chunk)
	output, gradient := int32(stage*m), int32((stages+stage)*m)
	prev, next := int32(-1), int32(-1)
	f := slot{input: -1, own: -1, result: output}
	b := slot{input: -1, own: output, result: gradient}
	if stage > 0 {
		f.input = output - int32(m)
		prev = int32(o.Placement.rank(p, stage-1, chunk))
	}
	if stage < stages-1 {
		b.input = gradient + int32(m)
		next = int32(o.Placement.rank(p, stage+1, chunk))
	}
	f.consumer, b.consumer = next, prev
	slots[Forward], slots[Backward], slots[InputGradient] = f, b, b
	slots[WeightGradient] = slot{input: -1, own: gradient, result: -1, consumer: -1}
	for kind := range slots {
		slots[kind].cost = int32(kind*stages + stage)
	}
}

// advance plans the operations of rank r until its list ends or an input is missing.
func (pl *plan) advance(o *Order, r int) {
	cur, peaks := &pl.cursors[r], &pl.ranks[r]
	slots := pl.slots[r*o.Chunks()*4 : (r+1)*o.Chunks()*4]
	counts := pl.counts[r*o.Chunks()*4:][:len(slots)]
	ops, first := o.Ops[:cur.end], o.Start[r]
	for at := cur.at; at < len(ops); at++ {
		op := ops[at]
		place := op.place()
		sl, mb := &slots[place], int32(op.MicroBatch())
		missing := pl.missing(sl, mb)
		if op.Paired() && missing < 0 { // both halves need their inputs before either starts
			second := ops[at+1]
			missing = pl.missing(&slots[second.place()], int32(second.MicroBatch()))
		}
		if missing >= 0 {
			pl.waits[r] = missing
			cur.at = at
			return
		}

		st := step{op: uint32(at), input: -1, cost: sl.cost}
		if sl.input >= 0 {
			st.input = pl.made[sl.input+mb] - 1
			if int(st.input) < first || int(st.input) >= len(ops) {
				st.op |= stepRemote
			}
		}
		if at == first {
			st.op |= stepFirst
		}
		if op.Paired() {
			st.op |= stepPair
		}
		pl.steps = append(pl.steps, st)
		counts[place]++
		cur.count(op.Kind(), peaks)
		if sl.result >= 0 {
			pl.made[sl.result+mb] = int32(at) + 1
			if sl.consumer >= 0 && pl.waits[sl.consumer] == sl.result+mb {
				pl.waits[sl.consumer] = -1
				pl.ready = append(pl.ready, sl.consumer)
			}
		}
	}
	cur.at = cur.end
}

// missing is a result that an operation needs and that is not planned yet, -1
// when there is none. The rank's own earlier work takes no waiting, but a list
// may have it in the wrong order.
func (pl *plan) missing(sl *slot, mb int32) int32 {
	if sl.own >= 0 && pl.made[sl.own+mb] == 0 {
		return sl.own + mb
	}
	if sl.input >= 0 && pl.made[sl.input+mb] == 0 {
		return sl.input + mb
	}
	return -1
}

// count is what an operation makes live and what it frees.
func (cur *cursor) count(kind OpKind, peaks *rankPlan) {
	switch kind {
	case Forward:
		cur.live++
		peaks.inFlight = max(peaks.inFlight, cur.live)
		peaks.untilInput = max(peaks.untilInput, cur.live-cur.pendingW)
	case Backward:
		cur.live--
	case InputGradient:
		cur.pendingW++
		peaks.pendingW = max(peaks.pendingW, cur.pendingW)
	case WeightGradient:
		cur.live--
		cur.pendingW--
	}
}

// deadlock gathers the ranks that did not finish.
func (pl *plan) deadlock(o *Order) error {
	e := new(DeadlockError)
	for r := range pl.cursors {
		if cur := &pl.cursors[r]; cur.at < cur.end {
			e.Blocked = append(e.Blocked, BlockedOp{Rank: r, Op: o.Text(r, o.Ops[cur.at])})
		}
	}
	return e
}

// resize is a slice of n elements in the memory of s when it has room. The
// contents are not cleared.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// cleared is resize with zeroed contents.
func cleared[T any](s []T, n int) []T {
	s = resize(s, n)
	clear(s)
	return s
}
