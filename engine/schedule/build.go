package schedule

import (
	"fmt"
	"strings"
)

// Bounds of an order. They keep a mistyped number from filling the memory; an
// Op has room for no more either.
const (
	MaxOps           = 4 << 20               // operations of all ranks together
	MaxMicroBatches  = 1<<microBatchBits - 1 // micro-batches per step
	MaxVirtualStages = 1<<chunkBits - 1      // stages per rank
)

// SpecError is an order that cannot be built, with all reasons.
type SpecError struct {
	Spec   Spec
	Issues []Issue // errors only
}

// Error joins the reasons.
func (e *SpecError) Error() string {
	var reasons []string
	for _, is := range e.Issues {
		reasons = append(reasons, is.Message)
	}
	return fmt.Sprintf("schedule %q: %s", e.Spec.Kind, strings.Join(reasons, "; "))
}

// LimitError is a legal schedule that is larger than this program draws.
type LimitError struct {
	Limit string // name of the bound: "MaxOps", "MaxMicroBatches", "MaxVirtualStages"
	Max   int
	Given float64 // may be far beyond an int
}

// Error names the bound.
func (e *LimitError) Error() string {
	return fmt.Sprintf("schedule too large: %s is %d, asked for %.4g", e.Limit, e.Max, e.Given)
}

// Build makes the order of a spec: *SpecError when it cannot be executed,
// *LimitError when it is larger than the bounds.
func Build(s Spec) (*Order, error) {
	o := new(Order)
	if err := o.Rebuild(s); err != nil {
		return nil, err
	}
	return o, nil
}

// Rebuild is Build into an existing order, whose memory is reused. On an error
// the order is left as it was.
func (o *Order) Rebuild(s Spec) error {
	d, ok := find(s.Kind)
	if err := s.limit(d.Info); err != nil {
		return err
	}
	if issues := s.Check(); !ok || hasError(issues) {
		return &SpecError{Spec: s, Issues: errorsOf(issues)}
	}

	n := s.Stages() * s.MicroBatches * d.opsPerChunk()
	if cap(o.Ops) < n {
		o.Ops = make([]Op, 0, n)
	}
	if cap(o.Start) < s.Ranks+1 {
		o.Start = make([]int, 0, s.Ranks+1)
	}
	o.Spec, o.Placement = s, d.Placement
	o.Ops, o.Start = o.Ops[:0], append(o.Start[:0], 0)
	d.generate(o)
	pl := o.plan
	if pl == nil {
		pl = new(plan)
	}
	o.plan = pl
	return pl.build(o)
}

// limit is a *LimitError when the order would exceed a bound. It counts in
// floating point, where no product overflows.
func (s Spec) limit(i Info) error {
	switch ops := s.ops(i); {
	case s.MicroBatches > MaxMicroBatches:
		return &LimitError{"MaxMicroBatches", MaxMicroBatches, float64(s.MicroBatches)}
	case s.VirtualStages > MaxVirtualStages:
		return &LimitError{"MaxVirtualStages", MaxVirtualStages, float64(s.VirtualStages)}
	case ops > MaxOps:
		return &LimitError{"MaxOps", MaxOps, ops}
	}
	return nil
}

// ops is the number of operations of the order, 0 for a spec with a count below 1.
func (s Spec) ops(i Info) float64 {
	return float64(max(s.Ranks, 0)) * float64(max(s.VirtualStages, 0)) *
		float64(max(s.MicroBatches, 0)) * float64(i.opsPerChunk())
}

// turn walks the (micro-batch, chunk) pairs of a rank in the order that most
// schedules share: groups of consecutive micro-batches, in each group all
// chunks, in each chunk the group's micro-batches. With one chunk it is
// simply 0, 1, 2, ...
type turn struct {
	chunks, microBatches, group int
	lo, hi                      int // the current group
	chunk, microBatch           int
}

// newTurn starts the walk; group is the number of micro-batches per group.
func newTurn(chunks, microBatches, group int) turn {
	return turn{chunks: chunks, microBatches: microBatches, group: group, hi: min(group, microBatches)}
}

// next is the current pair; the walk moves on.
func (t *turn) next() (chunk, microBatch int) {
	chunk, microBatch = t.chunk, t.microBatch
	t.microBatch++
	if t.microBatch == t.hi {
		t.chunk++
		if t.chunk == t.chunks {
			t.chunk = 0
			t.lo, t.hi = t.hi, min(t.hi+t.group, t.microBatches)
		}
		t.microBatch = t.lo
	}
	return chunk, microBatch
}

// warmLoop appends the list of one rank: warmup forwards, then forward and
// backward in turn, then the remaining backwards. Both walk the same table of
// the given group size, the backwards with the chunks mirrored.
func (o *Order) warmLoop(warmup, group int) {
	v, m := o.Spec.VirtualStages, o.Spec.MicroBatches
	n := v * m
	warmup = min(warmup, n)
	fwd, bwd := newTurn(v, m, group), newTurn(v, m, group)
	for range warmup {
		c, i := fwd.next()
		o.Ops = append(o.Ops, NewOp(Forward, c, i))
	}
	for range n - warmup {
		c, i := fwd.next()
		o.Ops = append(o.Ops, NewOp(Forward, c, i))
		c, i = bwd.next()
		o.Ops = append(o.Ops, NewOp(Backward, v-1-c, i))
	}
	for range warmup {
		c, i := bwd.next()
		o.Ops = append(o.Ops, NewOp(Backward, v-1-c, i))
	}
	o.Start = append(o.Start, len(o.Ops))
}
