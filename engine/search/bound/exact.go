package bound

// oneByOne returns how long a pipeline runs in which one micro-batch goes to the last stage
// and back before the next one starts: exactly that long.
func (f *Bounder) oneByOne(m float64) float64 {
	back := &f.path.back[0]
	through := f.path.forward[len(f.times)]
	round := through + back.reach[0] + f.times[0].b
	for r, n := range f.partition.classOfRank {
		f.ends = append(f.ends, rankEnds{
			class: &f.partition.rankClasses[n], rank: r, first: f.path.forward[r],
			last: (m-1)*round + through + back.reach[r] + f.times[r].b,
		})
	}
	return m * round
}

// breadthFirst returns how long a pipeline runs in which every rank does all its forwards
// first, chunk by chunk, and then all backwards the other way round: exactly that long.
//
// All micro-batches are alike, so that the moments at which they leave a stage bend
// upwards from the first to the last of them, and these two say when the next stage is
// done: it waits either for the first, or for the last.
func (f *Bounder) breadthFirst(m float64) float64 {
	hop, ranks := f.path.hop, f.hosts.Spec.Ranks
	f.free = resize(f.free, ranks) // since when each rank is
	clear(f.free)
	var first, last float64 // when the first and the last micro-batch leave a stage
	pass := func(stage int, each float64) {
		free := &f.free[stage%ranks]
		start := max(first, *free)
		first, last = start+each, max(start+m*each, last+each)
		*free = last
	}
	for stage := range f.times {
		if f.partition.crosses[stage] {
			first, last = first+hop, last+hop
		}
		pass(stage, f.times[stage].f)
	}
	first, last = 0, 0 // the last rank begins when all its forwards are done
	for stage := len(f.times) - 1; stage >= 0; stage-- {
		pass(stage, f.times[stage].b)
		if f.partition.crosses[stage] {
			first, last = first+hop, last+hop
		}
	}
	for r, n := range f.partition.classOfRank {
		f.ends = append(f.ends, rankEnds{
			class: &f.partition.rankClasses[n], rank: r,
			first: f.path.forward[r], last: f.free[r],
		})
	}
	return last
}
