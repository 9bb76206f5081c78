package engine_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/presets"
)

// The steps in which the fewest GPUs are looked for lose nothing: what is found is
// what one search over all the numbers that were tried finds.
func TestFewestIsTheFewestTried(t *testing.T) {
	days := func(n float64) units.Seconds { return units.Seconds(n * 86400) }
	for name, p := range map[string]search.Problem{
		"memory":   {Space: search.Space{GPUs: []int{8, 16, 32, 64, 128}}},
		"deadline": {Space: search.Space{GPUs: []int{64, 128, 256, 512}, GBS: []int{512}, FollowGBS: true}, Tokens: 1e12, Deadline: days(30)},
		"batch":    {Space: search.Space{GPUs: []int{64, 128, 256, 512}, GBS: []int{480}}, Tokens: 1e12, Deadline: days(30)},
	} {
		t.Run(name, func(t *testing.T) {
			p.Setup, p.Objective, p.Top, p.Front, p.Workers = presets.DefaultSetup(), search.FewestGPUs, 5, true, 2
			listed := p.Space.GPUs
			got := search.Fewest(t.Context(), p, 8, nil)
			if len(got.GPUs) <= len(listed) || !slices.IsSorted(got.GPUs) {
				t.Fatalf("tried %v", got.GPUs)
			}
			p.Space.GPUs = got.GPUs
			want := search.Run(t.Context(), p, nil)
			if len(got.Best) != len(want.Best) || got.Partial {
				t.Fatalf("%d layouts, want %d", len(got.Best), len(want.Best))
			}
			for i := range got.Best {
				if got.Best[i].Setup != want.Best[i].Setup {
					t.Errorf("place %d: %+v, want %+v", i+1, got.Best[i].Setup.Layout, want.Best[i].Setup.Layout)
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

// A batch that follows the GPUs stays near what was asked for, and divides over all
// copies that are a part of the GPUs' odd part and a power of two.
func TestFollowing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gbs, gpus := rapid.IntRange(1, 1<<16).Draw(t, "gbs"), rapid.IntRange(1, 1<<17).Draw(t, "gpus")
		got := search.Following(gbs, gpus)
		if got*got > 2*gbs*gbs || 2*got*got < gbs*gbs {
			t.Fatalf("%d of %d on %d is too far", got, gbs, gpus)
		}
		odd := gpus
		for odd%2 == 0 {
			odd /= 2
		}
		if got != gbs && got%odd != 0 {
			t.Fatalf("%d has not the odd part %d", got, odd)
		}
	})
}
