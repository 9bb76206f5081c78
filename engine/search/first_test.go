package search

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
)

// The front of a list is that of the sorted list, and nothing gets lost.
func TestFirst(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		all := make([]candidate, rapid.IntRange(0, 200).Draw(t, "candidates"))
		for i := range all {
			all[i] = candidate{
				plane: int32(rapid.IntRange(0, 5).Draw(t, "plane")), mbs: uint16(i),
				key: score{rate: float64(rapid.IntRange(0, 20).Draw(t, "rate"))},
			}
		}
		order := func(a, b candidate) int { return a.compare(&b) }
		want := slices.Clone(all)
		slices.SortFunc(want, order)
		n := rapid.IntRange(0, 210).Draw(t, "n")
		first(all, n)
		if n = min(n, len(all)); !slices.Equal(all[:n], want[:n]) {
			t.Fatalf("the first %d are not those of the sorted list", n)
		}
		slices.SortFunc(all, order)
		if !slices.Equal(all, want) {
			t.Fatal("some are lost")
		}
	})
}
