package engine_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
)

// The steps in which the fewest GPUs are looked for lose nothing: what is found is
// what one search over all the numbers that were tried finds.
func TestFewestIsTheFewestTried(t *testing.T) {
	few, degrees := []int{1}, []int{2, 8}
	if draws.Deep() {
		few, degrees = nil, nil // any
	}
	days := func(n float64) units.Seconds { return units.Seconds(n * 86400) }
	for name, p := range map[string]search.Problem{
		"memory": {Space: search.Space{GPUs: []int{8, 16, 32, 64, 128}, CP: few}},
		"deadline": {Space: search.Space{
			GPUs: []int{64, 128, 256, 512}, CP: few, ZeRO: few, MBS: few,
			FollowGBS: true,
		}, Tokens: 1e12, Deadline: days(30)},
		"batch": {
			Space:  search.Space{GPUs: []int{64, 128, 256, 512}, CP: few, ZeRO: few, GBS: []int{480}},
			Tokens: 1e12, Deadline: days(30),
		},
	} {
		t.Run(name, func(t *testing.T) {
			p.Setup, p.Objective, p.Top, p.Front, p.Workers = presets.DefaultSetup(), search.FewestGPUs, 5,
				true, 2
			p.Space.TP = degrees
			listed := p.Space.GPUs
			got := search.Fewest(t.Context(), p, 8, nil)
			finer := slices.ContainsFunc(got.GPUs, func(n int) bool { return !slices.Contains(listed, n) })
			if !finer || !slices.IsSorted(got.GPUs) {
				t.Fatalf("tried %v", got.GPUs)
			}
			p.Space.GPUs = got.GPUs
			want := search.Run(t.Context(), p, nil)
			if len(got.Best) != len(want.Best) || got.Partial {
				t.Fatalf("%d layouts, want %d", len(got.Best), len(want.Best))
			}
			for i := range got.Best {
				if got.Best[i].Setup != want.Best[i].Setup {
					t.Errorf("place %d: %+v, want %+v", i+1, got.Best[i].Setup.Layout,
						want.Best[i].Setup.Layout)
				}
			}
			// The next smaller number that was tried is within the least step, or fails.
			first := got.Best[0].Setup.GPUs
			at := slices.Index(got.GPUs, first)
			if at > 0 && first-got.GPUs[at-1] > 8 {
				t.Errorf("between %d and %d there are numbers that nobody tried", got.GPUs[at-1], first)
			}
			for i := 1; i < len(got.Front); i++ {
				if got.Front[i].Report.Memory.Peak >= got.Front[i-1].Report.Memory.Peak {
					t.Errorf("place %d of the front takes no less memory than the one before", i+1)
				}
			}
		})
	}
}

// Where nobody gives a batch the fewest GPUs are the least number, of those tried, for
// which a search of it alone finds something; and the batch is the one at which that search does.
func TestFewestIsWhatEachNumberFinds(t *testing.T) {
	lib := presets.Default()
	draws.CheckFew(t, 6, func(t *rapid.T) {
		p := search.Problem{Setup: presets.DefaultSetup(), Objective: search.FewestGPUs, Top: 3, Workers: 2}
		m, err := lib.Model(rapid.SampledFrom([]string{"llama3.1-8b", "llama3.1-70b"}).Draw(t, "model"))
		if err != nil {
			t.Fatal(err)
		}
		p.Setup.Model = m
		p.Setup.Seq = rapid.SampledFrom([]int{8192, 65536}).Draw(t, "seq")
		p.Headroom = rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "headroom")
		p.Space.GPUs = []int{8, 16, 32, 64, 128}
		p.Space.TP, p.Space.CP, p.Space.ZeRO = []int{2, 8}, []int{1}, []int{1}
		p.Space.Recompute = []recipe.Recompute{{Mode: recipe.RecomputeNone}}
		p.Space.FollowGBS = true
		if rapid.IntRange(0, 3).Draw(t, "no deadline") > 0 {
			p.Tokens = 1e10
			p.Deadline = units.Seconds(rapid.Float64Range(1e4, 1e6).Draw(t, "deadline"))
		}
		got := search.Fewest(t.Context(), p, 8, nil)
		for _, gpus := range got.GPUs {
			one := p
			one.Objective, one.Top = search.Throughput, 1
			one.Space.FollowGBS = false
			one.Space.GPUs = []int{gpus}
			one.Space.GBS = []int{search.UnsetGBS(&p.Setup, one.Space.GPUs, p.Setup.Seq)}
			found := search.Run(t.Context(), one, nil).Best
			if len(found) == 0 {
				continue
			}
			if len(got.Best) == 0 || got.Best[0].Setup != found[0].Setup {
				t.Fatalf("%d GPUs have %+v, the fewest are %+v", gpus, found[0].Setup.Layout, got.Best)
			}
			return
		}
		if len(got.Best) > 0 {
			t.Fatalf("found %+v, which no search of one number finds", got.Best[0].Setup.Layout)
		}
	})
}
