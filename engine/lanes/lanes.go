// Package lanes lays one optimizer step of one rank out on a time axis: what it computes, and
// below it the traffic of each dimension, its overlapped and its exposed parts. The
// times are those that the report adds up; within an operation and between layers, which the
// model knows as sums, they are drawn one after the other.
package lanes

import (
	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// Kind is what a segment is.
type Kind uint8

// Kinds. Those up to Folded are of the first lane, the others of traffic.
const (
	Forward Kind = iota
	Backward
	InputGradient
	WeightGradient
	Pair // a forward and a backward, overlapped
	Recompute
	Update
	Bubble // idle: no operation can run
	Folded // operations in the middle of the step, added up
	Hidden
	Exposed // the rank computes nothing meanwhile
)

// Segment is one stretch of a lane.
type Segment struct {
	Kind          Kind
	Start, Length units.Seconds
	Bytes         units.Bytes // sent, of traffic
	// Exposed and Hidden are the traffic in it: of a Folded one all of its lane's.
	Exposed, Hidden units.Seconds
	Of              schedule.OpKind // the operation that it belongs to
	Micro           int             // micro-batch, from 0; -1: none, as of what comes once a step
	Stage           int             // model stage; -1: none
	First, Layers   int             // layers of the stage that the piece stands for, from First on
	Micros          int             // of Folded: operations
	Before          bool            // of what comes once a step: before the first forward
}

// End returns when a segment ends.
func (s *Segment) End() units.Seconds { return s.Start + s.Length }

// Lane is the traffic of one dimension, or with an empty Dimension what the rank computes.
type Lane struct {
	Dimension string // as in engine.Communication
	Segments  []Segment
	// Exposed and Hidden are the sums over its segments. Elsewhere is exposed time of the
	// report's row that this rank does not wait: latency between stages that other ranks feel.
	Exposed, Hidden, Elsewhere units.Seconds
}

// Step is one step of one pipeline rank.
type Step struct {
	Rank     int // with the most work
	DataRank int // whose gradients and weights are sent last: the step waits for it
	Length   units.Seconds
	Time     engine.Time
	Traffic  []engine.Communication // by lane, from the second lane on
	Lanes    []Lane                 // the first is what the rank computes
	Stages   []layout.Stage
	Ops      int // operations of the rank, pairs counted once
	Folded   int // of them in the folded segment
	Never    Never
}

// Never are the shares of data-parallel traffic that the stack never hides, however much there
// is to compute: of gradients and of weights that travel once a step, and of ZeRO-3's.
type Never struct{ Gradients, Weights, Shards float64 }

// Detail says how much of a step is drawn.
type Detail struct {
	Ends   int // operations at each end of the step that are not folded
	Pieces int // into which an operation is cut, at most its layers: each with its own traffic
}

// Of returns the lanes of a legal setup's step; false: it has none, or stop said so.
func Of(s *engine.Setup, d Detail, stop func() bool) (*Step, bool) {
	var e engine.Evaluator
	r, done := e.EvaluateUntil(*s, stop)
	if !done || !r.Legal || r.Time == nil || r.Timeline == nil {
		return nil, false
	}
	p := e.StepParts(&r)
	stages, err := s.StagesOfStack(nil, nil)
	if err != nil {
		return nil, false
	}
	soft := p.Software
	w := walker{p: &p, d: d, step: &Step{
		Rank: p.Rank, DataRank: p.Boundary.Rank, Time: *r.Time, Traffic: r.Communication, Stages: stages,
		Never: Never{Gradients: soft.DP, Weights: soft.Gather, Shards: soft.Shard},
	}}
	w.start()
	w.walk()
	w.finish()
	return w.step, true
}

// Lane returns that of a dimension, nil: none.
func (s *Step) Lane(dimension string) *Lane {
	for i := range s.Lanes {
		if s.Lanes[i].Dimension == dimension {
			return &s.Lanes[i]
		}
	}
	return nil
}
