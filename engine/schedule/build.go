package schedule

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of an order. They keep a mistyped number from filling the memory; an
// Op has room for no more either.
const (
	MaxOps           = 4 << 20               // operations of all ranks together
	MaxMicroBatches  = 1<<microBatchBits - 1 // micro-batches per step
	MaxVirtualStages = 1<<chunkBits - 1      // stages per rank

	// MaxAutoOps is the bound of schedules that are searched for or moved
	// together rather than written down: their work is more than one pass.
	// MaxAutoRanks is the bound of ranks of those that move operations together,
	// whose work grows faster than the number of operations.
	MaxAutoOps   = 1 << 18
	MaxAutoRanks = 128
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
	Limit string // name of the bound: "MaxOps", "MaxAutoOps", ...
	Max   int
	Given float64 // may be far beyond an int
}

// Error names the bound.
func (e *LimitError) Error() string {
	return fmt.Sprintf("schedule too large: %.4[3]g, allowed by %[1]s are %[2]d", e.Limit, e.Max, e.Given)
}

// StoppedError is a search that its caller stopped.
type StoppedError struct{ Spec Spec }

// Error says what was stopped.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("schedule %q: the search was stopped", e.Spec.Kind)
}

// SearchError is an automatic schedule whose rules find no order for the
// durations and the limit.
type SearchError struct{ Spec Spec }

// Error says what was not found.
func (e *SearchError) Error() string {
	return fmt.Sprintf("schedule %q: its rules find no order for these durations within its limit of "+
		"activations", e.Spec.Kind)
}

// Build makes the order of a spec: *SpecError when it cannot be executed,
// *LimitError when it is larger than the bounds. Automatic schedules are made
// for operations of equal length and sends without latency.
func Build(s Spec) (*Order, error) {
	o := new(Order)
	if err := o.Rebuild(s); err != nil {
		return nil, err
	}
	o.plan.forget()
	return o, nil
}

// BuildFor is Build for given durations, which automatic schedules read: the
// order then depends on the spec and on F, I, W and P2P of the costs. Other
// schedules do not look at them. A search calls stop (nil: never) often and
// gives up with a *StoppedError soon after it says so.
func BuildFor(s Spec, c Costs, stop func() bool) (*Order, error) {
	o := new(Order)
	if err := o.RebuildFor(s, c, stop); err != nil {
		return nil, err
	}
	o.plan.forget()
	return o, nil
}

// RebuildFor is BuildFor into an existing order, whose memory is reused. After an
// error nothing holds of the order.
func (o *Order) RebuildFor(s Spec, c Costs, stop func() bool) error {
	var times *stageTimes
	if info, ok := s.Kind.Info(); ok && info.Automatic && !hasError(s.Check()) {
		var err error
		if times, err = timesOf(s.Stages(), &c); err != nil {
			return err
		}
	}
	if err := o.rebuild(s, times, stop); err != nil {
		return err
	}
	o.durations = nil
	if times != nil {
		o.durations = &Costs{
			F: slices.Clone(c.F), I: slices.Clone(c.I), W: slices.Clone(c.W), P2P: c.P2P,
			Held: slices.Clone(c.Held), HeldForW: slices.Clone(c.HeldForW),
		}
	}
	return nil
}

// Suits reports whether BuildFor, which made this order, gives it for a spec and costs.
func (o *Order) Suits(s Spec, c *Costs) bool {
	d := o.durations
	return o.Spec == s && (d == nil || d.P2P == c.P2P && slices.Equal(d.F, c.F) && slices.Equal(d.I, c.I) &&
		slices.Equal(d.W, c.W) &&
		slices.Equal(d.Held, c.Held) && slices.Equal(d.HeldForW, c.HeldForW))
}

// Hosts returns an order without operations: it says which rank has which stages.
func (s Spec) Hosts() *Order {
	info, _ := s.Kind.Info()
	return &Order{Spec: s, Placement: info.Placement, Start: make([]int, max(s.Ranks, 0)+1)}
}

// Rebuild is Build into an existing order, whose memory is reused. On an error
// the order is left as it was.
func (o *Order) Rebuild(s Spec) error {
	err := o.rebuild(s, nil, nil)
	if err == nil {
		o.durations = nil
	}
	return err
}

func (o *Order) rebuild(s Spec, times *stageTimes, stop func() bool) error {
	d, ok := find(s.Kind)
	if err := s.limit(d); err != nil {
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
	o.Ops, o.Start, o.Handmade = o.Ops[:0], append(o.Start[:0], 0), false
	pl := o.plan
	if pl == nil {
		pl = new(plan)
	}
	pl.warm = pl.warm[:0]
	if d.search == nil {
		o.plan = pl // warmLoop notes in it what it writes
		d.generate(o)
	} else {
		if times == nil {
			times = equalTimes(s.Stages())
		}
		if err := d.search(o, times, stop); err != nil {
			return err
		}
	}
	o.plan = pl
	if len(pl.warm) == s.Ranks {
		return pl.buildWarm(o)
	}
	return pl.build(o)
}

// limit returns a *LimitError when the order would exceed a bound. It counts in
// floating point, where no product overflows.
func (s Spec) limit(d *descriptor) error {
	bound, most := d.bound()
	switch ops := s.ops(d.Info); {
	case s.MicroBatches > MaxMicroBatches:
		return &LimitError{"MaxMicroBatches", MaxMicroBatches, float64(s.MicroBatches)}
	case s.VirtualStages > MaxVirtualStages:
		return &LimitError{"MaxVirtualStages", MaxVirtualStages, float64(s.VirtualStages)}
	case ops > float64(most):
		return &LimitError{bound, most, ops}
	case d.maxRanks > 0 && s.Ranks > d.maxRanks:
		return &LimitError{"MaxAutoRanks", d.maxRanks, float64(s.Ranks)}
	}
	return nil
}

// bound returns the most operations of a schedule and the bound's name.
func (d *descriptor) bound() (name string, most int) {
	if d.maxOps > 0 {
		return "MaxAutoOps", d.maxOps
	}
	return "MaxOps", MaxOps
}

// ops returns the number of operations of the order, at most; 0 for a spec with a
// count below 1.
func (s Spec) ops(i Info) float64 {
	return float64(max(s.Ranks, 0)) * float64(max(s.VirtualStages, 0)) *
		float64(max(s.MicroBatches, 0)) * float64(i.opsPerChunk())
}

// Work returns what making and simulating the order costs, in operations of a schedule
// that is written down (some 25 ns each); searching or moving operations together
// costs several times as much.
func (s Spec) Work() float64 {
	d, ok := find(s.Kind)
	if !ok {
		return 0
	}
	work := s.ops(d.Info)
	switch {
	case d.work > 0:
		work *= d.work
	case d.maxOps > 0:
		work *= 5
	}
	return work
}

// add appends an operation to the list that is being written, endRank ends it.
func (o *Order) add(kind OpKind, chunk, microBatch int) {
	o.Ops = append(o.Ops, NewOp(kind, chunk, microBatch))
}

func (o *Order) endRank() { o.Start = append(o.Start, len(o.Ops)) }

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

// next returns the current pair; the walk moves on.
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

// write puts the next n pairs into a list as operations of a kind, one into every
// stride-th place; mirrored ones with the chunks the other way round.
func (t *turn) write(list []Op, stride, n int, kind OpKind, mirrored bool) {
	for at := 0; n > 0; {
		chunk := t.chunk
		if mirrored {
			chunk = t.chunks - 1 - chunk
		}
		op := NewOp(kind, chunk, t.microBatch)
		length := min(n, t.hi-t.microBatch)
		for range length {
			list[at] = op
			op++
			at += stride
		}
		n -= length
		t.microBatch += length - 1
		t.next()
	}
}

// warmLoop appends the list of one rank: warmup forwards, then forward and
// backward alternately, then the remaining backwards. Both walk the same table of
// the given group size, the backwards with the chunks mirrored.
func (o *Order) warmLoop(warmup, group int) {
	v, m := o.Spec.VirtualStages, o.Spec.MicroBatches
	n := v * m
	warmup = min(warmup, n)
	o.plan.warm, o.plan.group = append(o.plan.warm, int32(warmup)), group
	at := len(o.Ops)
	o.Ops = append(o.Ops, make([]Op, 2*n)...)
	list := o.Ops[at:]
	fwd, bwd := newTurn(v, m, group), newTurn(v, m, group)
	fwd.write(list, 1, warmup, Forward, false)
	fwd.write(list[warmup:], 2, n-warmup, Forward, false)
	bwd.write(list[warmup+1:], 2, n-warmup, Backward, true)
	bwd.write(list[2*n-warmup:], 1, warmup, Backward, true)
	o.endRank()
}
