package engine_test

import (
	"testing"

	"meshscope/engine/search"
	"meshscope/presets"
)

// TestStartSetupIsBest: the built-in start is the best layout with a pipeline of at least
// four ranks, as a search for it finds it.
func TestStartSetupIsBest(t *testing.T) {
	start := presets.StartSetup()
	p := search.Problem{
		Setup: start, Top: 1, Workers: 2, Margin: true,
		Space: search.Space{PP: []int{4, 8, 16, 32, 64}},
	}
	best := search.Run(t.Context(), p, nil).Best[0].Setup
	if best != start {
		t.Errorf("the start is %+v %s, the best %+v %s", start.Layout, start.Schedule, best.Layout,
			best.Schedule)
	}
}
