package memory

// shownRanks chooses the ranks that n rows show: all when they fit; else those
// of keep, the first of them first where there is no room for all, and a window
// that starts at the rank from.
func shownRanks(ranks, from, n int, keep ...int) []int {
	if ranks <= n {
		all := make([]int, max(ranks, 0))
		for i := range all {
			all[i] = i
		}
		return all
	}
	shown := make([]bool, ranks)
	left := n
	take := func(i int) {
		if i >= 0 && i < ranks && left > 0 && !shown[i] {
			shown[i] = true
			left--
		}
	}
	for _, i := range keep {
		take(i)
	}
	for i := min(max(from, 1), ranks-1); left > 0 && i < ranks; i++ {
		take(i)
	}
	for i := ranks - 1; left > 0 && i >= 0; i-- {
		take(i)
	}
	picked := make([]int, 0, max(n, 0))
	for i, s := range shown {
		if s {
			picked = append(picked, i)
		}
	}
	return picked
}
