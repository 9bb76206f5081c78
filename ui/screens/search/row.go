package search

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/units"
	"meshscope/report"
)

// row is one layout with the figures that the screen shows. The rest of its
// report can be computed again, and a hundred of them would be megabytes.
type row struct {
	setup   engine.Setup
	rank    int  // 1 is the best; 0: it is not among those listed
	current bool // the current setup
	front   bool // no other has both more speed and less memory
	last    bool // stands behind all that have a rank
	close   bool // too close to the first to call
	fits    bool

	step         units.Seconds
	slow         units.Seconds // the step where no unproven overlap works: what layouts are ranked by
	perGPU, mfu  float64       // tokens per second per GPU; share of the peak
	peak, free   units.Bytes
	room         room
	bubble, comm float64 // idle time of the slowest rank and exposed communication over the step
	days, cost   float64 // of the whole run; 0: unknown
}

// rowOf returns the row of a report whose step has that slow end.
func rowOf(s *engine.Setup, r *engine.Report, slow units.Seconds, rank int) row {
	out := row{setup: *s, rank: rank}
	if r.Memory == nil || r.Time == nil || r.Throughput == nil || r.Pipeline == nil {
		return out
	}
	m := r.Memory
	out.fits, out.peak, out.free = m.Fits, m.Peak, m.Usable-m.Peak
	out.room = roomOf(m)
	out.step, out.perGPU, out.mfu = r.Time.Step, r.Throughput.TokensPerSecondPerGPU, r.Throughput.MFU
	out.slow = slow
	out.bubble = report.BubbleOfStep(r)
	if r.Run != nil {
		out.spend(r.Run)
	}
	if r.Time.Step > 0 {
		out.comm = float64(r.Time.Exposed / r.Time.Step)
	}
	return out
}

// speed returns what layouts are ranked by: tokens per second per GPU at the slow end.
func (r *row) speed() float64 {
	if r.slow <= 0 {
		return r.perGPU
	}
	return r.perGPU * float64(r.step/r.slow)
}

// spend takes in what the whole run takes.
func (r *row) spend(run *engine.Run) {
	if r.days, r.cost = run.Days, 0; run.Cost != nil {
		r.cost = *run.Cost
	}
}

// same reports whether two setups are the same layout: what does nothing in one of
// them does not count, nor whether the layers of each stage are written out.
func same(a, b *engine.Setup) bool {
	x, y := plain(a), plain(b)
	y.RunPlan = x.RunPlan // how long it runs is no part of it
	written := x.Split != y.Split
	y.Split = x.Split
	return x == y && (!written || slices.Equal(stagesOf(a), stagesOf(b)))
}

// stagesOf returns the layers of each stage; none where a split does not add up.
func stagesOf(s *engine.Setup) []layout.Stage {
	of, _ := s.StagesOfStack(nil, nil)
	return of
}

func plain(s *engine.Setup) engine.Setup {
	out := *s
	if out.TP == 1 {
		out.SP = false
	}
	if info, ok := out.Schedule.Info(); ok && info.Chunks > 0 {
		out.GroupSize = 0
	}
	if out.GroupSize == out.PP {
		out.GroupSize = 0
	}
	out.MaxInFlight = 0
	if out.PP == 1 {
		out.Schedule, out.GroupSize = "", 0
	}
	return out
}
