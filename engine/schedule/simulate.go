package schedule

import (
	"math"
	"sync"
)

// Simulator turns orders into timelines. It keeps its scratch memory from run
// to run; one Simulator must not be used by two goroutines at a time.
type Simulator struct {
	// KeepAll keeps scratch memory for any number of operations, for whoever simulates many long
	// pipelines in a row.
	KeepAll bool

	costs []float64 // duration by kind and stage, at kind*stages+stage
	sends []float64 // the part of it that is sending
	saved []float64 // by rank: what the overlap of pairs saves
	ends  []opEnd   // of the operations of a summary
	plan  plan      // of orders that were made by hand
}

// keptOps is how many operations the scratch memory that is kept usually has room for;
// making it again for more is a small part of the simulation.
const keptOps = 1 << 17

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
// *CostError when the costs do not fit the order, and for orders made by hand
// with an *OrderError when they are malformed and a *DeadlockError when ranks
// wait for each other; t is then not to be read.
func (s *Simulator) Run(o *Order, c Costs, t *Timeline) error {
	pl, err := s.start(o, &c, t)
	if err != nil {
		return err
	}
	t.costs, t.timed = Costs{}, sync.Once{} // of a summary that was here before
	t.room(len(o.Ops), len(s.costs))
	copy(t.Lasts, s.costs)
	s.walk(o, pl, &c, t)
	for r := range t.Ranks {
		if from, to := o.Start[r], o.Start[r+1]; from < to {
			t.Ranks[r].First, t.Ranks[r].Last = t.Begin[from], t.End[to-1]
		}
	}
	return s.finish(o, pl, t)
}

// SimulateSummary is Run without the times of the operations, which are most of a
// timeline: they are computed where they are requested, by Timeline.OpTimes. It
// gives the makespan if sends between ranks took no time as well. Both are
// found in one walk: two chains of additions next to each other take little longer
// than one.
func (s *Simulator) SimulateSummary(o *Order, c Costs, t *Timeline) (free float64, err error) {
	pl, err := s.start(o, &c, t)
	if err != nil {
		return 0, err
	}
	t.Begin, t.End, t.Lasts = nil, nil, nil
	s.ends = resize(s.ends, len(o.Ops))
	s.summarize(o, pl, &c, t)
	for r := range t.Ranks {
		if from, to := o.Start[r], o.Start[r+1]; from < to {
			end, soonest := s.ends[to-1].times()
			t.Ranks[r].Last, free = end, max(free, soonest)
		}
	}
	if len(s.ends) > keptOps && !s.KeepAll {
		s.ends = nil
	}
	t.keep(&c)
	return free, s.finish(o, pl, t)
}

// start checks what is simulated and prepares the walk.
func (s *Simulator) start(o *Order, c *Costs, t *Timeline) (*plan, error) {
	pl, err := s.planOf(o)
	if err != nil {
		return nil, err
	}
	if err := s.load(o, pl, c); err != nil {
		return nil, err
	}
	t.Order, t.Recompute = o, append(t.Recompute[:0], c.R...)
	t.Ranks = cleared(t.Ranks, o.Spec.Ranks)
	s.saved = cleared(s.saved, o.Spec.Ranks)
	return pl, nil
}

// room makes place for the times of ops operations and for the durations by kind
// and stage: in the timeline's memory when it has room, else in one new block.
func (t *Timeline) room(ops, kinds int) {
	if cap(t.Begin) >= ops && cap(t.End) >= ops && cap(t.Lasts) >= kinds {
		t.Begin, t.End, t.Lasts = t.Begin[:ops], t.End[:ops], t.Lasts[:kinds]
		return
	}
	all := make([]float64, 2*ops+kinds)
	t.Begin, t.End, t.Lasts = all[:ops:ops], all[ops:2*ops:2*ops], all[2*ops:]
}

// planOf returns the plan that Build has made, or one made now for another order.
func (s *Simulator) planOf(o *Order) (*plan, error) {
	if o.plan != nil {
		return o.plan, nil
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &s.plan, s.plan.build(o)
}

// walk gives every operation its times. Its inputs come earlier in the plan, and
// so does the operation before it on its rank.
func (s *Simulator) walk(o *Order, pl *plan, c *Costs, t *Timeline) {
	latency := c.arrival()
	begins, ends := t.Begin[:len(o.Ops)], t.End[:len(o.Ops)]
	steps := pl.steps
	for i := 0; i < len(steps); i++ {
		st := steps[i]
		if st.op&stepPair != 0 {
			s.walkPair(o, steps[i:i+2], c, t)
			i++
			continue
		}
		k := st.op & stepIndex
		begin := 0.0
		if st.op&stepFirst == 0 {
			begin = ends[k-1]
		}
		if st.input >= 0 {
			if arrives := ends[st.input] + latency; arrives > begin {
				begin = arrives
			}
		}
		begins[k], ends[k] = begin, begin+s.costs[st.cost]
	}
}

// rankOf returns the rank of an operation by its index.
func (o *Order) rankOf(op int) int {
	lo, hi := 0, len(o.Start)-1
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; o.Start[mid] <= op {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// arrival returns how long after an operation its result is there for another rank.
func (c *Costs) arrival() float64 {
	if c.P2PBlocks {
		return 0
	}
	return c.P2P
}

// block makes operations last until their result is sent.
func (s *Simulator) block(o *Order, c *Costs) {
	stages, p := o.Spec.Stages(), o.Spec.Ranks
	s.sends = cleared(s.sends, 4*stages)
	if !c.P2PBlocks {
		return
	}
	for stage := 1; stage < stages; stage++ {
		if o.Placement.rank(p, stage, 0) == o.Placement.rank(p, stage-1, 0) {
			continue
		}
		s.sends[int(Forward)*stages+stage-1] = c.P2P
		s.sends[int(Backward)*stages+stage] = c.P2P
		s.sends[int(InputGradient)*stages+stage] = c.P2P
	}
	for k, d := range s.sends {
		s.costs[k] += d
	}
}

// load checks the costs and lays them out by kind and stage.
func (s *Simulator) load(o *Order, pl *plan, c *Costs) error {
	if !(c.P2P >= 0) || math.IsInf(c.P2P, 1) {
		return costError("a send/recv latency of %v", c.P2P)
	}
	if !(c.Overlap >= 0 && c.Overlap <= 1) {
		return costError("an overlap of %v is not between 0 and 1", c.Overlap)
	}
	stages := o.Spec.Stages()
	for _, list := range [...][]float64{c.HiddenF, c.HiddenB, c.R} {
		if list != nil && len(list) != stages {
			return costError("%d durations of a part of the operations for %d stages", len(list), stages)
		}
		for stage, d := range list {
			if !(d >= 0) || math.IsInf(d, 1) {
				return costError("a part of stage %d lasts %v", stage, d)
			}
		}
	}
	s.costs = cleared(s.costs, 4*stages)
	for kind, costs := range [...][]float64{
		Forward: c.F, Backward: c.B, InputGradient: c.I,
		WeightGradient: c.W,
	} {
		if !pl.uses(OpKind(kind)) {
			continue
		}
		if len(costs) != stages {
			return costError("%d durations of %s for %d stages", len(costs), OpKind(kind), stages)
		}
		for stage, d := range costs {
			if !(d >= 0) || math.IsInf(d, 1) {
				return costError("%s of stage %d lasts %v", OpKind(kind), stage, d)
			}
		}
		copy(s.costs[kind*stages:], costs)
	}
	s.block(o, c)
	return nil
}

// uses reports whether any operation is of the kind.
func (pl *plan) uses(kind OpKind) bool {
	for i := int(kind); i < len(pl.counts); i += 4 {
		if pl.counts[i] > 0 {
			return true
		}
	}
	return false
}

// finish fills the figures that need the whole timeline.
func (s *Simulator) finish(o *Order, pl *plan, t *Timeline) error {
	chunks, stages := o.Chunks(), o.Spec.Stages()
	t.Makespan = 0
	for r := range t.Ranks {
		st, peaks := &t.Ranks[r], pl.ranks[r]
		st.PeakInFlight, st.PeakUntilInput, st.PeakPendingW = peaks.inFlight, peaks.untilInput, peaks.pendingW
		for ch := range chunks {
			stage := o.StageOf(r, ch)
			for kind, n := range pl.counts[(r*chunks+ch)*4:][:4] {
				st.Busy += float64(n) * (s.costs[kind*stages+stage] - s.sends[kind*stages+stage])
			}
		}
		st.Saved = s.saved[r]
		st.Busy -= st.Saved
		t.Makespan = max(t.Makespan, st.Last)
	}
	if math.IsInf(t.Makespan, 0) || math.IsNaN(t.Makespan) {
		return costError("the step time overflows")
	}
	for r := range t.Ranks {
		t.Ranks[r].Idle = max(0, t.Makespan-t.Ranks[r].Busy)
	}
	return nil
}
