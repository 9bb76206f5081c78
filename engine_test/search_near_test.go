package engine_test

import (
	"context"
	"testing"

	"meshscope/engine"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/presets"
)

// What is near the best by its error band goes by the band of what the objective
// ranks by: memory has another than the step.
func TestBandOfTheObjective(t *testing.T) {
	lib := presets.Default()
	p := search.Problem{Setup: presets.DefaultSetup()}
	s := &p.Setup
	var err error
	if s.Model, err = lib.Model("playbook-8b"); err != nil {
		t.Fatal(err)
	}
	if s.Cluster, err = lib.Cluster("hf-p5-playbook-early"); err != nil {
		t.Fatal(err)
	}
	s.Stack, s.GPUs, s.GBS, s.Seq = recipe.Nanotron, 64, 256, 4096
	p.Space = search.Space{ // what the sweep has
		TP: []int{2, 4}, PP: []int{2, 4}, VPP: []int{1}, CP: []int{1}, ZeRO: []int{0, 1}, MBS: []int{1, 2},
		Recompute: []recipe.Recompute{{Mode: recipe.RecomputeNone}},
	}
	shares := map[float64]bool{}
	for _, p.Objective = range []search.Objective{search.Throughput, search.LeastMemory} {
		for _, r := range []search.Result{search.Run(context.Background(), p, nil), search.Exhaustive(p)} {
			if len(r.Best) == 0 {
				t.Fatal("nothing found")
			}
			first := &r.Best[0].Report
			want := first.Time.ErrorBand
			if p.Objective == search.LeastMemory {
				want = first.Memory.ErrorBand
			}
			want *= engine.CloseShare
			if r.Band.Share != want || r.Band.Least < 1 {
				t.Fatalf("%s: %+v within the band, which is %v", p.Objective, r.Band, want)
			}
			// What is counted has the mark in a list of all.
			marked := 0
			for i := range r.Best {
				if p.TooClose(&r.Best[0], &r.Best[i]) {
					marked++
				}
			}
			if marked < r.Band.Least && len(r.Best) > r.Band.Most || r.Band.Least == r.Band.Most &&
				len(r.Best) > marked && marked != r.Band.Least {
				t.Errorf("%s: %d of %d have the mark, %+v", p.Objective, marked, len(r.Best), r.Band)
			}
			shares[r.Band.Share] = true
		}
	}
	if len(shares) != 2 {
		t.Errorf("bands %v: they do not tell memory from time", shares)
	}
}
