// Package schedule knows pipeline schedules: for each the order in which every
// rank runs its operations, and one event simulator that turns an order and the
// stages' times into a timeline.
//
// Build makes an Order from a Spec, a Simulator makes a Timeline from an Order
// and Costs. A new schedule is one new file with its descriptor and one line in
// the table of kinds.go.
package schedule

import "meshscope/engine/units"

// Kind is the name of a schedule.
type Kind string

// Schedules, in the words of the command line.
const (
	Naive       Kind = "naive"
	AFAB        Kind = "afab"
	OneFOneB    Kind = "1f1b"
	Interleaved Kind = "interleaved"
)

// Spec says which order is wanted. It is comparable: orders are cached by it.
type Spec struct {
	Kind          Kind
	Ranks         int // p
	VirtualStages int // v, stages per rank
	MicroBatches  int // m
	GroupSize     int // micro-batches per group of an interleaved schedule; 0 means Ranks, or MicroBatches when there are fewer
}

// Stages is the number of model stages, p*v.
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

	plan *plan // made by Build; nil for an order made by hand
}

// Rank is the list of one rank.
func (o *Order) Rank(rank int) []Op { return o.Ops[o.Start[rank]:o.Start[rank+1]] }

// Costs are the durations of one micro-batch on each model stage, in seconds
// (or in any unit: the timeline has the same). B is the duration of a fused
// backward including recomputation; I and W are read by schedules that split it.
type Costs struct {
	F, B, I, W []float64 // one per model stage
	P2P        float64   // latency of a hand-over to another rank; does not occupy either
	Overlap    float64   // share of the shorter half of an overlapped pair that the longer one hides, 0..1
}

// RankStats are the figures of one rank of a timeline.
type RankStats struct {
	Busy, Idle     float64 // Idle = makespan - Busy
	First, Last    float64 // start of its first and end of its last operation
	PeakInFlight   int     // chunk activations alive, freed at B (or W)
	PeakUntilInput int     // the same, freed at B (or I): what the input gradient needs
	PeakPendingW   int     // chunks between I and W
}

// Timeline is a simulated order. Begin and End run parallel to Order.Ops.
type Timeline struct {
	Order      *Order
	Begin, End []float64
	Makespan   float64
	Ranks      []RankStats
}

// Duration is the makespan as a time, for timelines in seconds.
func (t *Timeline) Duration() units.Seconds { return units.Seconds(t.Makespan) }
