package schedule

import "math"

// notDone marks an operation whose end is not known yet; times are never negative.
const notDone = -1

// Simulator turns orders into timelines. It keeps its scratch memory from run
// to run; one Simulator must not be used by two goroutines at a time.
//
// Every rank runs its list as far as it can; one that lacks an input notes what
// it waits for and is taken up again by the rank that makes it. An input has at
// most one consumer on another rank, so each operation is visited once and the
// work is proportional to their number.
type Simulator struct {
	forward  []float64 // end of F(stage, micro-batch), at stage*m+micro-batch
	backward []float64 // end of the operation that makes the input gradient, likewise
	slots    []slot    // what a rank knows of its chunks, at rank*chunks+chunk
	ranks    []rankState
	ready    []int32 // ranks to take up
}

// slot is one chunk of one rank.
type slot struct {
	base       int   // index of its micro-batch 0 in forward and backward
	prev, next int32 // ranks of the stages before and after, -1 at the ends
	cost       [4]float64
}

// rankState is how far a rank has come.
type rankState struct {
	at, end  int // next operation and end of the list
	waits    int // what it waits for, an index as coded by waitF and waitB, or -1
	now      float64
	live     int // activations until B or W
	liveI    int // activations until B or I
	pendingW int
}

// Simulate is Run with a new Simulator and Timeline.
func Simulate(o *Order, c Costs) (*Timeline, error) {
	var s Simulator
	t := new(Timeline)
	if err := s.Run(o, c, t); err != nil {
		return nil, err
	}
	return t, nil
}

// Run simulates the order into t, whose memory is reused. It fails with a
// *CostError when the costs do not fit the order, with an *OrderError when the
// order is malformed, and with a *DeadlockError when ranks wait for each other;
// t is then not to be read.
func (s *Simulator) Run(o *Order, c Costs, t *Timeline) error {
	if err := o.validate(); err != nil {
		return err
	}
	if err := c.validate(o); err != nil {
		return err
	}
	s.prepare(o, &c, t)
	for len(s.ready) > 0 {
		r := s.ready[len(s.ready)-1]
		s.ready = s.ready[:len(s.ready)-1]
		s.advance(o, &c, t, int(r))
	}
	for r := range s.ranks {
		if s.ranks[r].at < s.ranks[r].end {
			return s.deadlock(o)
		}
	}
	return t.finish(o)
}

// prepare sizes and clears the scratch memory and the timeline.
func (s *Simulator) prepare(o *Order, c *Costs, t *Timeline) {
	p, m, stages, chunks := o.Spec.Ranks, o.Spec.MicroBatches, o.Spec.Stages(), o.Chunks()
	s.forward, s.backward = resize(s.forward, stages*m), resize(s.backward, stages*m)
	for i := range s.forward {
		s.forward[i] = notDone
	}
	for i := range s.backward {
		s.backward[i] = notDone
	}

	s.slots = resize(s.slots, p*chunks)
	s.ranks = resize(s.ranks, p)
	s.ready = resize(s.ready, p)
	t.Order = o
	t.Begin, t.End = resize(t.Begin, len(o.Ops)), resize(t.End, len(o.Ops))
	t.Ranks = resize(t.Ranks, p)
	for r := range p {
		for ch := range chunks {
			s.slots[r*chunks+ch] = newSlot(o, c, r, ch)
		}
		s.ranks[r] = rankState{at: o.Start[r], end: o.Start[r+1], waits: -1}
		s.ready[r] = int32(p - 1 - r) // rank 0 is taken up first
		t.Ranks[r] = RankStats{}
	}
}

// newSlot gathers what operations of one chunk of a rank need.
func newSlot(o *Order, c *Costs, rank, chunk int) slot {
	p, stages, pl := o.Spec.Ranks, o.Spec.Stages(), o.Placement
	stage := pl.stage(p, rank, chunk)
	direction := chunk
	sl := slot{base: stage * o.Spec.MicroBatches, prev: -1, next: -1}
	if stage > 0 {
		sl.prev = int32(pl.rank(p, stage-1, direction))
	}
	if stage < stages-1 {
		sl.next = int32(pl.rank(p, stage+1, direction))
	}
	for kind, costs := range [...][]float64{Forward: c.F, Backward: c.B, InputGradient: c.I, WeightGradient: c.W} {
		if stage < len(costs) {
			sl.cost[kind] = costs[stage]
		}
	}
	return sl
}

// Codes of what a rank can wait for: forward results are even, gradients odd.
func waitF(key int) int { return 2 * key }
func waitB(key int) int { return 2*key + 1 }

// advance runs rank r until its list ends or an input is missing.
func (s *Simulator) advance(o *Order, c *Costs, t *Timeline, r int) {
	rs, stats := &s.ranks[r], &t.Ranks[r]
	chunks, m := o.Chunks(), o.Spec.MicroBatches
	slots := s.slots[r*chunks : (r+1)*chunks]
	for rs.at < rs.end {
		op := o.Ops[rs.at]
		if op.Paired() {
			if !s.runPair(o, c, t, r) {
				return
			}
			continue
		}
		sl := &slots[op.Chunk()]
		key := sl.base + op.MicroBatch()
		ready, missing := s.inputs(sl, op.Kind(), key, m, r, c.P2P)
		if missing >= 0 {
			rs.waits = missing
			return
		}
		begin := max(rs.now, ready)
		duration := sl.cost[op.Kind()]
		t.Begin[rs.at], t.End[rs.at] = begin, begin+duration
		rs.now = begin + duration
		stats.Busy += duration
		rs.start(stats, op.Kind())
		rs.stop(stats, op.Kind())
		s.done(sl, op.Kind(), key, rs.now)
		rs.at++
	}
}

// runPair runs the overlapped pair at the rank's cursor: both halves start when
// both have their inputs and end together. False when an input is missing.
func (s *Simulator) runPair(o *Order, c *Costs, t *Timeline, r int) bool {
	rs, stats := &s.ranks[r], &t.Ranks[r]
	chunks, m := o.Chunks(), o.Spec.MicroBatches
	begin, total, shorter := rs.now, 0.0, math.Inf(1)
	pair := o.Ops[rs.at : rs.at+2]
	for _, op := range pair {
		sl := &s.slots[r*chunks+op.Chunk()]
		ready, missing := s.inputs(sl, op.Kind(), sl.base+op.MicroBatch(), m, r, c.P2P)
		if missing >= 0 {
			rs.waits = missing
			return false
		}
		begin = max(begin, ready)
		duration := sl.cost[op.Kind()]
		total += duration
		shorter = min(shorter, duration)
	}
	duration := total - c.Overlap*shorter
	rs.now = begin + duration
	stats.Busy += duration
	for i, op := range pair {
		t.Begin[rs.at+i], t.End[rs.at+i] = begin, rs.now
		rs.start(stats, op.Kind())
	}
	for _, op := range pair {
		rs.stop(stats, op.Kind())
		sl := &s.slots[r*chunks+op.Chunk()]
		s.done(sl, op.Kind(), sl.base+op.MicroBatch(), rs.now)
	}
	rs.at += 2
	return true
}

// inputs is when everything that an operation of rank r needs has arrived, or
// the code of a missing input (-1: none). A gradient needs the rank's own
// forward and, except on the last stage, the gradient of the stage after.
func (s *Simulator) inputs(sl *slot, kind OpKind, key, m, r int, p2p float64) (ready float64, missing int) {
	switch kind {
	case Forward:
		if sl.prev < 0 {
			return 0, -1
		}
		ready = s.forward[key-m]
		if ready < 0 {
			return 0, waitF(key - m)
		}
		if int(sl.prev) != r {
			ready += p2p
		}
	case Backward, InputGradient:
		own := s.forward[key]
		if own < 0 {
			return 0, waitF(key)
		}
		if sl.next < 0 {
			return own, -1
		}
		ready = s.backward[key+m]
		if ready < 0 {
			return 0, waitB(key + m)
		}
		if int(sl.next) != r {
			ready += p2p
		}
		ready = max(ready, own)
	case WeightGradient:
		ready = s.backward[key]
		if ready < 0 {
			return 0, waitB(key)
		}
	}
	return ready, -1
}

// done records an end and wakes the rank that waits for it.
func (s *Simulator) done(sl *slot, kind OpKind, key int, end float64) {
	var consumer int32
	var code int
	switch kind {
	case Forward:
		s.forward[key] = end
		consumer, code = sl.next, waitF(key)
	case Backward, InputGradient:
		s.backward[key] = end
		consumer, code = sl.prev, waitB(key)
	case WeightGradient:
		return
	}
	if consumer >= 0 && s.ranks[consumer].waits == code {
		s.ranks[consumer].waits = -1
		s.ready = append(s.ready, consumer)
	}
}

// start counts what an operation makes live, stop what it frees.
func (rs *rankState) start(stats *RankStats, kind OpKind) {
	switch kind {
	case Forward:
		rs.live++
		rs.liveI++
		stats.PeakInFlight = max(stats.PeakInFlight, rs.live)
		stats.PeakUntilInput = max(stats.PeakUntilInput, rs.liveI)
	case Backward, InputGradient, WeightGradient:
	}
}

func (rs *rankState) stop(stats *RankStats, kind OpKind) {
	switch kind {
	case Forward:
	case Backward:
		rs.live--
		rs.liveI--
	case InputGradient:
		rs.liveI--
		rs.pendingW++
		stats.PeakPendingW = max(stats.PeakPendingW, rs.pendingW)
	case WeightGradient:
		rs.live--
		rs.pendingW--
	}
}

// resize is a slice of n elements in the memory of s when it has room. The
// contents are not cleared.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
