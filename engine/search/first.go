package search

import "slices"

// lastSorted is how many candidates a stopped search puts in order: those that it
// still evaluates are among them, and to sort millions takes longer than somebody
// wants to wait.
const lastSorted = 1024

// first puts the n smallest candidates in front, in their order, and leaves the
// others in any. It goes through the list once, with a heap of n.
func first(all []candidate, n int) {
	n = min(n, len(all))
	less := func(a, b *candidate) bool { return a.compare(b) < 0 }
	heap := all[:n] // the largest of the smallest on top
	sink := func(i int) {
		for {
			child := 2*i + 1
			if child >= n {
				return
			}
			if child+1 < n && less(&heap[child], &heap[child+1]) {
				child++
			}
			if !less(&heap[i], &heap[child]) {
				return
			}
			heap[i], heap[child] = heap[child], heap[i]
			i = child
		}
	}
	for i := n/2 - 1; i >= 0; i-- {
		sink(i)
	}
	for i := n; i < len(all) && n > 0; i++ {
		if less(&all[i], &heap[0]) {
			all[i], heap[0] = heap[0], all[i]
			sink(0)
		}
	}
	slices.SortFunc(heap, func(a, b candidate) int { return a.compare(&b) })
}
