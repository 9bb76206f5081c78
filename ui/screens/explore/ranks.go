package explore

import "slices"

// RanksShown chooses the ranks that n rows show: all when they fit; else the
// fullest, the first and the last always, and of the others as many as have
// room, from the given offset on. Where those that stay take all rows, they
// give up one of them as soon as the others are scrolled.
func RanksShown(ranks, fullest, offset, n int) []int {
	if ranks <= n || n <= 0 {
		all := make([]int, max(min(ranks, n), 0))
		for i := range all {
			all[i] = i
		}
		return all
	}
	stay, others := pinned(ranks, fullest, n)
	offset = min(max(offset, 0), scrolls(len(stay), len(others), n))
	if len(stay) == n && offset > 0 {
		stay = stay[:n-1]
		offset--
	}
	picked := append(slices.Clone(stay), others[offset:min(offset+n-len(stay), len(others))]...)
	slices.Sort(picked)
	return picked
}

// pinned returns the ranks, n at most, that stay when the others scroll, the most
// needed first, and the others.
func pinned(ranks, fullest, n int) (stay, others []int) {
	for _, r := range []int{fullest, ranks - 1, 0} {
		if r >= 0 && r < ranks && len(stay) < n && !slices.Contains(stay, r) {
			stay = append(stay, r)
		}
	}
	for r := range ranks {
		if !slices.Contains(stay, r) {
			others = append(others, r)
		}
	}
	return stay, others
}

// scrolls returns the largest offset at which there is still something to show.
func scrolls(stay, others, n int) int {
	if stay >= n {
		return others
	}
	return max(others-(n-stay), 0)
}

// Pages returns how many positions the ranks can be scrolled to in n rows.
func Pages(ranks, fullest, n int) int {
	if ranks <= n || n <= 0 {
		return 1
	}
	stay, others := pinned(ranks, fullest, n)
	return 1 + scrolls(len(stay), len(others), n)
}
