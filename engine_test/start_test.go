package engine_test

import (
	"context"
	"fmt"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/engine_test/draws"
	"meshscope/presets"
)

// startGPUs are the numbers of GPUs that every model and cluster is started with.
func startGPUs() []int { return []int{1, 8, 64, 1024} }

// TestStartFits: a start without a degree is legal and fits wherever any layout does: 200 of
// all models on all clusters, all of them in the deep run.
func TestStartFits(t *testing.T) {
	lib := presets.Default()
	models, clusters := lib.Models(), lib.Clusters()
	all := len(models) * len(clusters) * len(startGPUs())
	stride := (all + 199) / 200
	if draws.Deep() {
		stride = 1
	}
	tried, none := 0, map[string]int{}
	for n := 0; n < all; n += stride {
		m, c := models[n%len(models)], clusters[n/len(models)%len(clusters)]
		gpus := startGPUs()[n/len(models)/len(clusters)]
		name := fmt.Sprintf("%s on %d x %s", m.ID, gpus, c.ID)
		s, err := knob.DraftOf(m.Model, c.Cluster, knob.Given{knob.GPUs: gpus}).Resolve()
		if err != nil {
			none["not a machine of so many GPUs"]++
			continue
		}
		tried++
		q := search.NewQuery()
		q.Setup = s
		if err := q.Set(knob.GPUs, fmt.Sprint(gpus)); err != nil {
			t.Fatal(err)
		}
		best, chosen := q.Choose(context.Background(), 2)
		if chosen.Found {
			r := engine.Evaluate(best)
			if !r.Legal || !r.Memory.Fits {
				t.Errorf("%s: starts with %+v, legal %t", name, best.Layout, r.Legal)
			}
			continue
		}
		p, err := q.Problem()
		if err != nil {
			t.Fatal(err)
		}
		p.Margin, p.Top = false, 1
		switch {
		case len(search.Run(t.Context(), p, nil).Best) > 0:
			t.Errorf("%s: a layout fits, but none is chosen", name)
		case chosen.Layouts == 0:
			none["no legal layout"]++
		default:
			none["no layout fits"]++
		}
	}
	t.Logf("%d starts; none found: %v", tried, none)
}

// TestStartSetupIsBest: the built-in start is the best layout with a pipeline of at least
// four ranks, as a search for it finds it.
func TestStartSetupIsBest(t *testing.T) {
	start := presets.StartSetup()
	p := search.Problem{Setup: start, Top: 1, Workers: 2, Margin: true, Space: search.Space{PP: []int{4, 8, 16, 32, 64}}}
	best := search.Run(t.Context(), p, nil).Best[0].Setup
	if best != start {
		t.Errorf("the start is %+v %s, the best %+v %s", start.Layout, start.Schedule, best.Layout, best.Schedule)
	}
}
