package search

import (
	"slices"
	"testing"
)

// Candidates of a search that is stopped while they are sorted are all there, and no
// more of them is compared than between two looks at who waits.
func TestSortStops(t *testing.T) {
	const many = 1 << 17
	order := func(stopAfter int) ([]candidate, bool) {
		looks := 0
		r := run{ctx: t.Context(), problem: &Problem{Stop: func() bool { looks++; return looks > stopAfter }}}
		all := make([]candidate, many)
		for i := range all {
			n := i * 7919 % many // a prime: each number once
			all[i] = candidate{plane: int32(n), key: score{rate: float64(n)}}
		}
		whole := r.sort(all)
		if !whole && looks != stopAfter+1 {
			t.Errorf("looked %d times, stopped at look %d", looks, stopAfter+1)
		}
		return all, whole
	}
	ranked := func(all []candidate) bool {
		return slices.IsSortedFunc(all, func(a, b candidate) int { return a.compare(&b) })
	}
	if all, whole := order(many); !whole || !ranked(all) {
		t.Errorf("not stopped: whole %t, in order %t", whole, ranked(all))
	}
	all, whole := order(3)
	if whole || ranked(all) {
		t.Errorf("stopped: whole %t, in order %t", whole, ranked(all))
	}
	slices.SortFunc(all, func(a, b candidate) int { return a.compare(&b) })
	for i := range all {
		if int(all[i].plane) != i {
			t.Fatalf("candidate %d is lost", i)
		}
	}
}
