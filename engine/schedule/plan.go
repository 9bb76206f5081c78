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
	made    []int32 // index+planned of the operation that makes a result, once planned
	slots   []slot  // at (rank*chunks+chunk)*4+kind
	cursors []cursor
	// the result that each rank waits for, -1: none; and one more, for results that nobody takes
	waits []int32
	ready []int32 // ranks to take up

	// Of an order that warmLoop has written: the warmup of each rank, and how many
	// micro-batches are in a group.
	warm  []int32
	group int
}

// step is one operation: op is its index in Order.Ops with the flags below,
// input the index of the operation on another rank that it needs (-1: none; one on
// its own rank has ended when the operation before it has), cost the place of its
// duration in a table by kind and stage.
type step struct {
	op    uint32
	input int32
	cost  int32
}

// Flags of step.op, above the bits that MaxOps needs.
const (
	stepIndex = 1<<28 - 1
	stepFirst = 1 << 31 // first operation of its rank
	stepPair  = 1 << 29 // runs overlapped with the next step
)

// What stands in plan.made: nothing yet, or that there is no operation and that
// none is needed, or the index of one with this added.
const (
	unneeded = 1
	planned  = 2
)

// rankPlan are the peaks of one rank.
type rankPlan struct{ inFlight, untilInput, pendingW int }

// slot is what all operations of one kind on one chunk of a rank have in
// common. A result is what an operation makes for others: F the output of (stage,
// micro-batch), at stage*m+micro-batch, B and I its input gradient, at
// (stages+stage)*m+micro-batch. Those here are of micro-batch 0. For operations
// that need nothing and for those that make nothing there is a row each behind
// these, so that neither is a case of its own.
type slot struct {
	input    int32 // result needed
	result   int32 // result made
	consumer int32 // rank that takes it; as many as there are ranks: none
	cost     int32 // place in the table of durations
	local    int32 // -1 where the result needed is of the same rank, else 0
}

// rows returns the sizes of plan.made: of all, and where the two rows of no operation
// begin.
func (o *Order) rows() (all, nothing, nobody int) {
	m := o.Spec.MicroBatches
	nothing = 2 * o.Spec.Stages() * m
	return nothing + 2*m, nothing, nothing + m
}

// cursor is how far a rank has come.
type cursor struct{ at, end int }

// build plans a valid order. It fails with a *DeadlockError when ranks wait for
// each other.
//
// Every rank runs its list as far as it can; one that lacks an input notes what
// it waits for and is taken up again by the rank that makes it. An input has at
// most one consumer on another rank, so each operation is visited once and the
// work is proportional to their number.
func (pl *plan) build(o *Order) error {
	pl.prepare(o)
	pl.takeTurns(o)
	if len(pl.steps) < len(o.Ops) {
		return pl.deadlock(o)
	}
	pl.count(o)
	return nil
}

// forget drops the largest part of the scratch, for an order that is kept and not
// rebuilt.
func (pl *plan) forget() { pl.made = nil }

// prepare sizes and clears the memory.
func (pl *plan) prepare(o *Order) {
	p, chunks := o.Spec.Ranks, o.Chunks()
	all, nothing, nobody := o.rows()
	pl.size(o)
	pl.made = cleared(pl.made, all)
	for i := nothing; i < nobody; i++ {
		pl.made[i] = unneeded
	}
	pl.slots = resize(pl.slots, p*chunks*4)
	pl.waits = resize(pl.waits, p+1)
	pl.waits[p] = -1
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
// output of the stage before; B and I the gradient of the stage after, on the last
// stage the output of its own F; W needs I. That B needs the F of its own stage on
// any other is said by what it takes, which was made of that F's output.
func fillSlots(slots []slot, o *Order, rank, chunk int) {
	p, stages, m := o.Spec.Ranks, o.Spec.Stages(), o.Spec.MicroBatches
	stage := o.StageOf(rank, chunk)
	output, gradient := int32(stage*m), int32((stages+stage)*m)
	_, nothing, nobody := o.rows()
	f := slot{input: int32(nothing), result: output, consumer: int32(p)}
	b := slot{input: output, result: gradient, consumer: int32(p), local: local(true)}
	if stage > 0 {
		before := o.Placement.rank(p, stage-1, chunk)
		f.input, f.local = output-int32(m), local(before == rank)
		b.consumer = int32(before)
	}
	if stage < stages-1 {
		after := o.Placement.rank(p, stage+1, chunk)
		b.input, b.local = gradient+int32(m), local(after == rank)
		f.consumer = int32(after)
	}
	slots[Forward], slots[Backward], slots[InputGradient] = f, b, b
	slots[WeightGradient] = slot{
		input: gradient, result: int32(nobody), consumer: int32(p),
		local: local(true),
	}
	for kind := range slots {
		slots[kind].cost = int32(kind*stages + stage)
	}
}

// local returns the mask of an input that is of the same rank, or not.
func local(yes bool) int32 {
	if yes {
		return -1
	}
	return 0
}

// takeTurns plans the operations of each rank that is ready until its list ends or
// an input is missing. A turn is short, a few operations in a steady state, so that
// what it costs by itself counts as much as they do.
func (pl *plan) takeTurns(o *Order) {
	width := o.Chunks() * 4
	made, waits := pl.made, pl.waits
	steps := pl.steps[:len(o.Ops)]
	done := 0
	for len(pl.ready) > 0 {
		r := pl.ready[len(pl.ready)-1]
		pl.ready = pl.ready[:len(pl.ready)-1]
		cur := &pl.cursors[r]
		slots := pl.slots[int(r)*width:][:width]
		at := cur.at
		for ; at < cur.end; at++ {
			op := o.Ops[at]
			place := op.place()
			sl, mb := &slots[place], int32(op.MicroBatch())
			input := made[sl.input+mb]
			if input == 0 {
				waits[r] = sl.input + mb
				break
			}
			if op.Paired() { // both halves need their inputs before either starts
				second := o.Ops[at+1]
				if missing := slots[second.place()].input + int32(second.MicroBatch()); made[missing] == 0 {
					waits[r] = missing
					break
				}
			}
			steps[done] = step{
				op: uint32(at) | uint32(op&pairFlag)>>1, input: (input - planned) | sl.local,
				cost: sl.cost,
			}
			done++
			result := sl.result + mb
			made[result] = int32(at) + planned
			if waits[sl.consumer] == result {
				waits[sl.consumer] = -1
				pl.ready = append(pl.ready, sl.consumer)
			}
		}
		if at > cur.at && cur.at == o.Start[r] {
			steps[done-(at-cur.at)].op |= stepFirst
		}
		cur.at = at
	}
	pl.steps = steps[:done]
}

// count counts the operations of each rank by kind and chunk, and the peaks of
// what is alive.
func (pl *plan) count(o *Order) {
	width := o.Chunks() * 4
	for r := range pl.ranks {
		counts := pl.counts[r*width:][:width]
		live, pendingW := 0, 0 // activations until B or W; those whose I has run
		var peaks rankPlan
		for _, op := range o.Rank(r) {
			counts[op.place()]++
			switch op.Kind() {
			case Forward:
				live++
				peaks.inFlight = max(peaks.inFlight, live)
				peaks.untilInput = max(peaks.untilInput, live-pendingW)
			case Backward:
				live--
			case InputGradient:
				pendingW++
				peaks.pendingW = max(peaks.pendingW, pendingW)
			case WeightGradient:
				live--
				pendingW--
			}
		}
		pl.ranks[r] = peaks
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

// resize returns a slice of n elements in the memory of s when it has room. The
// contents are not cleared.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// cleared is resize with zeroed contents.
func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
