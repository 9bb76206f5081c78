package explore

import (
	"context"
	"sync"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
)

// Sweeping is what a sweep is computed from.
type Sweeping struct {
	Setup    engine.Setup
	Locks    knob.Locks
	Knob     knob.ID
	Now      Point                            // of the setup itself
	Evaluate func(engine.Setup) engine.Report // nil: the engine
	Remedy   bool                             // changes that make the setup fit are wanted too
	// of the setup, where the prices of what was assumed and what changes nothing are wanted; nil: they are
	// known
	Priced  *engine.Report
	Fixed   knob.Set                 // what was not assumed
	Accepts func(*engine.Setup) bool // what the launcher runs; nil: all
	Report  engine.Report            // of the setup itself
}

// Swept holds the figures of a knob at each of its legal values, and what would make the
// setup fit, and what changes nothing.
type Swept struct {
	Points   []Point
	Current  int // -1: not among them
	Remedies []advise.Move
	Prices   []advise.Price
	NoEffect []engine.NoEffect // knobs that are set and change nothing
}

// evaluators keeps the scratch memory of sweeps, for the next one of any session.
//
//nolint:gochecknoglobals // scratch memory changes no answer
var evaluators = sync.Pool{New: func() any { return &engine.Evaluator{SkipTimeline: true} }}

// Points computes the knob at each of its legal values, until ctx ends.
func (s *Sweeping) Points(ctx context.Context) Swept {
	if s.Evaluate != nil {
		return s.points(ctx, s.Evaluate)
	}
	e := evaluators.Get().(*engine.Evaluator)
	out := s.points(ctx, e.Evaluate)
	if s.Priced != nil && !s.Setup.Slow() {
		out.NoEffect = e.NoEffects(&s.Setup, &s.Report, func() bool { return ctx.Err() != nil })
	}
	evaluators.Put(e) // not after a panic, which may leave it half-written
	return out
}

func (s *Sweeping) points(ctx context.Context, evaluate func(engine.Setup) engine.Report) Swept {
	out := Swept{Current: -1}
	for _, step := range knob.Steps(s.Setup, s.Knob, s.Locks) {
		if ctx.Err() != nil {
			return out
		}
		if step.Current {
			out.Current = len(out.Points)
		}
		p := s.Now
		switch {
		case step.Setup == s.Setup:
		case step.Setup.Slow():
			p = Point{Large: true}
		default:
			p = PointOf(evaluate(step.Setup))
		}
		p.Text = step.Text
		out.Points = append(out.Points, p)
	}
	if s.Remedy && ctx.Err() == nil {
		out.Remedies = advise.Fixes(s.Setup, func() bool { return ctx.Err() != nil })
	}
	if s.Priced != nil {
		out.Prices = advise.Prices(&s.Setup, s.Priced, s.Fixed, s.Accepts,
			func() bool { return ctx.Err() != nil })
	}
	return out
}

// PointOf returns what a report says of a value.
func PointOf(r engine.Report) (p Point) {
	if r.Legal && r.Memory != nil && r.Time != nil {
		p.Known, p.Step, p.Peak, p.Fits = true, r.Time.Step, r.Memory.Peak, r.Memory.Fits
		sum, _ := r.Sent()
		p.Traffic = sum.Bytes
	}
	return p
}
