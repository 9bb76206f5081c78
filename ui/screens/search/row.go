package search

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/report"
)

// row is one layout of the screen.
type row = report.Candidate

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
