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

// oneStart is a model on so many GPUs of a cluster.
type oneStart struct {
	model   presets.ModelPreset
	cluster presets.ClusterPreset
	gpus    int
}

// allStarts returns 200 of all models on all clusters, all of them in the deep run. Of the large
// machines, whose searches take long, there are fewer.
func allStarts(lib *presets.Library) (out []oneStart) {
	models, clusters := lib.Models(), lib.Clusters()
	all := len(models) * len(clusters)
	for _, of := range []struct{ gpus, few int }{{1, 40}, {8, 110}, {64, 30}, {1024, 20}} {
		few := of.few
		if draws.Deep() {
			few = all
		}
		for i := range few {
			n := i * all / few
			out = append(out, oneStart{models[n%len(models)], clusters[n/len(models)], of.gpus})
		}
	}
	return out
}

// TestStartFits: a start without a degree is legal and fits wherever any layout does.
func TestStartFits(t *testing.T) {
	tried, none := 0, map[string]int{}
	for _, of := range allStarts(presets.Default()) {
		m, c, gpus := of.model, of.cluster, of.gpus
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
