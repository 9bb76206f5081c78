package engine_test

import (
	"context"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/presets"
)

// A search over several values of a knob that no loop is for finds what searches of
// each value find, and looks at as many layouts as they do together.
func TestSearchOverOtherKnobs(t *testing.T) {
	p := search.Problem{Setup: presets.DefaultSetup(), Top: 5, Objective: search.LeastMemory}
	p.Setup.GPUs, p.Setup.GBS = 16, 64
	p.Space.Others = []search.Other{{ID: knob.Offload, Values: []string{"none", "optimizer"}}}
	together := search.Run(context.Background(), p, nil)
	legal, best := 0, together.Best[0].Report.Memory.Peak
	for _, value := range p.Space.Others[0].Values {
		one := p
		one.Space.Others = []search.Other{{ID: knob.Offload, Values: []string{value}}}
		alone := search.Run(context.Background(), one, nil)
		legal += alone.Legal
		if len(alone.Best) > 0 && alone.Best[0].Report.Memory.Peak < best {
			t.Errorf("%s alone finds %v, both together %v", value, alone.Best[0].Report.Memory.Peak, best)
		}
	}
	if together.Legal != legal || legal == 0 {
		t.Errorf("%d layouts, one value at a time %d", together.Legal, legal)
	}
	if got := together.Best[0].Setup.Offload; got != "optimizer" {
		t.Errorf("the layout with the least memory has offload %q", got)
	}
}
