package layout

// CausalWork counts the query-key pairs that each of ranks computes under a
// causal mask over seq tokens. Contiguous gives rank i the i-th part of the
// sequence; zigzag cuts it in twice as many chunks and gives rank i chunks i
// and 2*ranks-1-i, which balances the work. seq must divide by the chunks;
// what is left over belongs to no rank.
func CausalWork(seq, ranks int, zigzag bool) []int {
	work := make([]int, ranks)
	chunks := ranks
	if zigzag {
		chunks = 2 * ranks
	}
	size := seq / max(chunks, 1)
	for chunk := range chunks {
		owner := chunk
		if chunk >= ranks {
			owner = chunks - 1 - chunk
		}
		first, last := chunk*size+1, (chunk+1)*size // a token attends to itself and all before it
		work[owner] += (first + last) * size / 2
	}
	return work
}

// CausalImbalance returns the attention work of the busiest CP rank over the mean: 1
// for the zig-zag split, which needs a sequence that divides by 2*CP, and about
// 2 - 1/CP for the contiguous split of others.
func (l *Layout) CausalImbalance() float64 {
	if l.CP == 1 || l.Seq%(2*l.CP) == 0 {
		return 1
	}
	size := float64(l.Seq / l.CP)
	last := size*size*float64(l.CP-1) + size*(size+1)/2
	total := float64(l.Seq) * (float64(l.Seq) + 1) / 2
	return last * float64(l.CP) / total
}
