package engine_test

import (
	"context"
	"slices"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/layout"
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

// A search over splits tries those that advice does, and all of recomputation is what it tries unasked.
func TestSearchOverSplitsAndRecomputation(t *testing.T) {
	q := search.NewQuery()
	q.Setup = presets.DefaultSetup()
	q.Setup.Model, _ = presets.Default().Model("qwen3-30b-a3b")
	q.Setup.GPUs, q.Setup.GBS = 16, 64
	given := map[knob.ID]string{knob.GPUs: "16", knob.PP: "4", knob.VPP: "1", knob.Split: "all"}
	for id, text := range given {
		if err := q.Set(id, text); err != nil {
			t.Fatal(err)
		}
	}
	p, err := q.Problem()
	if err != nil {
		t.Fatal(err)
	}
	p.Top, p.AnyMemory = 1000, true
	found := map[string]bool{}
	for _, f := range search.Run(context.Background(), p, nil).Best {
		found[f.Setup.Split] = true
	}
	for _, split := range append(layout.LighterEnds(q.Setup.Model.Layers, 4), "") {
		if !found[split] {
			t.Errorf("no layout has the split %q", split)
		}
		delete(found, split)
	}
	if len(found) > 0 {
		t.Errorf("and these: %v", found)
	}
	unasked := search.Tried(p).Recompute
	if err := q.Set(knob.Recompute, "all"); err != nil {
		t.Fatal(err)
	}
	if p, err = q.Problem(); err != nil || !slices.Equal(search.Tried(p).Recompute, unasked) {
		t.Errorf("all of recompute is %v, unasked %v (%v)", search.Tried(p).Recompute, unasked, err)
	}
}
