// Package schedule knows pipeline schedules: for each the order in which every
// rank runs its operations, and one event simulator that turns an order and the
// stages' times into a timeline.
//
// Build makes an Order from a Spec, a Simulator makes a Timeline from an Order
// and Costs. A new schedule is one new file with its descriptor and one line in
// the table of kinds.go.
package schedule

import (
	"sync"

	"meshscope/engine/units"
)

// Kind is the name of a schedule.
type Kind string

// Schedules, in the words of the command line.
const (
	Naive       Kind = "naive"
	AFAB        Kind = "afab"
	OneFOneB    Kind = "1f1b"
	Interleaved Kind = "interleaved"
	LoopedBFS   Kind = "looped-bfs"
	ZBH1        Kind = "zb-h1"
	ZBH2        Kind = "zb-h2"
	ZB1P        Kind = "zb-1p"
	ZB2P        Kind = "zb-2p"
	ZBAuto      Kind = "zb-auto"
	// Interleaved zero bubble is PyTorch's: ZB-H1 over several chunks per rank.
	InterleavedZB Kind = "interleaved-zb"
	ZBV           Kind = "zb-v"
	ZBVAuto       Kind = "zb-v-auto"
	VHalf         Kind = "v-half"
	VMin          Kind = "v-min"
	OneFOneBV     Kind = "1f1b-v"
	DualPipe      Kind = "dualpipe"
	DualPipeV     Kind = "dualpipe-v"
)

// Spec says which order is wanted. It is comparable: orders are cached by it.
type Spec struct {
	Kind          Kind
	Ranks         int // p
	VirtualStages int // v, stages per rank
	MicroBatches  int // m
	// micro-batches per group of an interleaved schedule; 0 means Ranks, or MicroBatches when there are fewer
	GroupSize int
	// activations that zb-auto lets a rank hold, freed half at I and half at W; 0 means 1.5 x Ranks
	MaxInFlight int
	// forwards that interleaved runs ahead beyond the usual ones; Megatron-LM takes 1 to overlap the expert
	// all-to-all
	ExtraWarmup int
}

// Stages returns the number of model stages, p*v.
func (s Spec) Stages() int { return s.Ranks * s.VirtualStages }

// Order is what every rank runs, in order: Ops[Start[r]:Start[r+1]] is rank r.
// One from Build carries what the simulator needs to know and is not to be
// changed; it can be read by many goroutines. One made by hand is checked by
// every simulation.
type Order struct {
	Spec      Spec
	Placement Placement
	Ops       []Op
	Start     []int
	// Handmade is set where an automatic schedule's rules found no order for the
	// durations and this is the one written down for equal ones.
	Handmade bool

	plan      *plan  // made by Build; nil for an order made by hand
	durations *Costs // that BuildFor made an automatic schedule's order for; else nil
}

// Rank returns the list of one rank.
func (o *Order) Rank(rank int) []Op { return o.Ops[o.Start[rank]:o.Start[rank+1]] }

// Costs are the durations of one micro-batch on each model stage, in seconds
// (or in any unit: the timeline has the same). B is the duration of a fused
// backward including recomputation; I and W are read by schedules that split it.
type Costs struct {
	F, B, I, W []float64 // one per model stage
	P2P        float64   // latency of a send/recv to another rank; occupies neither, unless
	// the sender does nothing else meanwhile: its operation ends that much later (Megatron-LM's 1F1B)
	P2PBlocks bool

	// R is the part of B and of I that runs the forward again, one per model stage
	// or nil. The frameworks do so once the gradient is there, so it is no
	// operation of its own in the order; drawings show it apart.
	R []float64

	// What an overlapped pair hides, two rules that add up to no more than the
	// shorter half. Overlap is a share of the shorter half, 0..1. HiddenF and
	// HiddenB, one per model stage or nil, are the part of F and of B (or I)
	// that is traffic: it overlaps with the rest of the other half, as the expert
	// all-to-all does in DualPipe.
	Overlap          float64
	HiddenF, HiddenB []float64

	// What one micro-batch holds on a stage, in any unit, one per model stage: until
	// the end of I, and from there to the end of W. Only automatic schedules read
	// them, to keep their limit in bytes; where there are none an activation counts
	// half from I on, as the authors' scheduler has it.
	Held, HeldForW []float64
}

// keep takes a copy of the costs that OpTimes simulates again with, in one piece of
// memory.
func (t *Timeline) keep(c *Costs) {
	t.costs, t.timed = *c, sync.Once{}
	t.costs.Held, t.costs.HeldForW = nil, nil // the order is there
	lists := [...]*[]float64{
		&t.costs.F, &t.costs.B, &t.costs.I, &t.costs.W, &t.costs.R, &t.costs.HiddenF,
		&t.costs.HiddenB,
	}
	n := 0
	for _, list := range lists {
		n += len(*list)
	}
	t.kept = resize(t.kept, n)[:0]
	for _, list := range lists {
		if *list != nil {
			from := len(t.kept)
			t.kept = append(t.kept, *list...)
			*list = t.kept[from:]
		}
	}
}

// RankStats are the figures of one rank of a timeline.
type RankStats struct {
	Busy, Idle     float64 // Idle = makespan - Busy; sending that blocks is not work
	Saved          float64 // what overlapped pairs hide: the sum of the durations is Busy + Saved
	First, Last    float64 // start of its first and end of its last operation
	PeakInFlight   int     // chunk activations alive, freed at B (or W)
	PeakUntilInput int     // the same, freed at B (or I): what the input gradient needs
	PeakPendingW   int     // chunks between I and W
}

// Timeline is a simulated order. Begin and End run parallel to Order.Ops. In the
// report of an evaluation the two, and Lasts, are there once OpTimes was called.
type Timeline struct {
	Order      *Order
	Begin, End []float64
	Makespan   float64
	Ranks      []RankStats
	Recompute  []float64 // by model stage, as in Costs; empty: nothing runs again
	// of each kind of operation on each model stage, by kind*stages+stage; 0 of kinds that do not run
	Lasts []float64

	costs Costs     // of a summary, for OpTimes
	kept  []float64 // their memory
	timed sync.Once
}

// OpTimes returns the timeline with the times of its operations, which it computes
// at the first call; nil of nil. It may be called by several goroutines.
func (t *Timeline) OpTimes() *Timeline {
	if t == nil {
		return nil
	}
	t.timed.Do(func() {
		if t.costs.F == nil {
			return // simulated whole
		}
		var full Timeline
		var s Simulator
		if s.Run(t.Order, t.costs, &full) == nil { // it has run before, for the summary
			t.Begin, t.End, t.Lasts = full.Begin, full.End, full.Lasts
		}
	})
	return t
}

// ForgetOpTimes gives the memory of the times of operations back until OpTimes is called again.
// It is for who made the timeline, before anybody else has it.
func (t *Timeline) ForgetOpTimes() {
	if t.costs.F != nil {
		t.Begin, t.End, t.Lasts, t.timed = nil, nil, nil, sync.Once{}
	}
}

// Last returns how long a kind of operation takes on a model stage, on its own: an
// overlapped pair takes less than its halves.
func (t *Timeline) Last(kind OpKind, stage int) float64 {
	return at(t.Lasts, int(kind)*t.Order.Spec.Stages()+stage)
}

// PerMicroBatch returns how long a rank works on one micro-batch, all its stages,
// forwards and backwards, nothing overlapped. In a bidirectional schedule, where
// a micro-batch meets only one of the rank's two stages, it is the mean of both.
func (t *Timeline) PerMicroBatch(rank int) (forward, backward float64) {
	o := t.Order
	for c := range o.Chunks() {
		stage := o.StageOf(rank, c)
		forward += t.Last(Forward, stage)
		if whole := t.Last(Backward, stage); whole > 0 {
			backward += whole
		} else {
			backward += t.Last(InputGradient, stage) + t.Last(WeightGradient, stage)
		}
	}
	if o.Placement == Bidirectional {
		return forward / 2, backward / 2
	}
	return forward, backward
}

// RecomputeEnd is when a backward (or input gradient), given by its index in
// Order.Ops on a rank, has run its forward again and starts on gradients: its
// begin where nothing runs again, and in overlapped pairs, where it has no time
// of its own.
func (t *Timeline) RecomputeEnd(rank, op int) float64 {
	o := t.Order
	kind := o.Ops[op].Kind()
	paired := o.Ops[op].Paired() || op > o.Start[rank] && o.Ops[op-1].Paired()
	if len(t.Recompute) == 0 || paired || kind != Backward && kind != InputGradient {
		return t.Begin[op]
	}
	return min(t.Begin[op]+t.Recompute[o.Stage(rank, o.Ops[op])], t.End[op])
}

// Duration returns the makespan as a time, for timelines in seconds.
func (t *Timeline) Duration() units.Seconds { return units.Seconds(t.Makespan) }
