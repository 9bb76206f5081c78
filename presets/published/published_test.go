package published_test

import (
	"os"
	"slices"
	"sync"
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/presets"
	"meshscope/presets/published"
)

// loaded are the built-in groups, read and evaluated once for all tests.
var loaded = sync.OnceValues(func() ([]published.Group, error) {
	list, err := published.Groups(presets.Default())
	published.RunErrors(list)
	return list, err
})

// groups returns the built-in groups; their lists are the caller's own.
func groups(t *testing.T) []published.Group {
	t.Helper()
	list, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Runs = slices.Clone(list[i].Runs)
	}
	return list
}

func distances(t *testing.T) *hardware.Published {
	t.Helper()
	p, err := presets.Distances()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryGroupIsSound(t *testing.T) {
	rows, fitted := 0, 0
	var e engine.Evaluator
	gpus := map[string]bool{}
	for _, g := range groups(t) {
		results, compared := published.Compare(&e, &g)
		figures := 0
		for i := range g.Runs {
			if r := &g.Runs[i]; r.Step+r.Memory > 0 {
				figures++
			}
		}
		if (figures > 0) != (len(results) > 0) || g.FittedTo == "" {
			t.Errorf("%s: %d runs with figures, %d results, fitted: %q", g.ID, figures, len(results),
				g.FittedTo)
		}
		if len(g.Runs)+len(g.LeftOut) == 0 {
			t.Errorf("%s: no run, and none left out", g.ID)
		}
		rows += len(compared)
		if g.Fitted {
			fitted++
		}
		for i := range g.Runs {
			gpus[g.Runs[i].Setup.Cluster.GPU.ID] = true
		}
		for _, r := range compared {
			if r.Predicted <= 0 || r.Source == "" {
				t.Errorf("%s %s: %+v", g.ID, r.ID, r)
			}
		}
	}
	if rows < 150 {
		t.Errorf("%d rows, 150 are wanted", rows)
	}
	for _, id := range []string{"a100-sxm-80g", "h100-sxm", "b200-sxm"} {
		if !gpus[id] {
			t.Errorf("no run on %s", id)
		}
	}
}

// TestBandsAreWhatTheRunsSay holds presets/bands.csv against the runs. With
// MESHSCOPE_UPDATE=1 it writes the file again.
func TestBandsAreWhatTheRunsSay(t *testing.T) {
	want := bandFile(distances(t), groups(t))
	if os.Getenv("MESHSCOPE_UPDATE") == "1" {
		if err := os.WriteFile("../bands.csv", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile("../bands.csv")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("bands.csv is not what the runs say; MESHSCOPE_UPDATE=1 go test ./presets/published writes " +
			"it")
	}
}

func TestConstant(t *testing.T) {
	fitted, left := published.Constant([]float64{1, 2, 4}, []float64{1, 2, 2})
	if len(fitted) != 3 || published.Mean(fitted) != 1.0/3 || left[2] != 1 {
		t.Errorf("fitted %v, left out %v", fitted, left)
	}
}
