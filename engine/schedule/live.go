package schedule

// PeakInFlight is the largest number of chunk activations that a rank holds at
// once, each from its F until its B (or W).
func (o *Order) PeakInFlight(rank int) int {
	live, peak := 0, 0
	for _, op := range o.Rank(rank) {
		switch op.Kind() {
		case Forward:
			live++
			peak = max(peak, live)
		case Backward, WeightGradient:
			live--
		case InputGradient:
		}
	}
	return peak
}

// PeakLive is the same with weights: each chunk counts perChunk[chunk]. Like
// all peaks it depends on the order only, never on the durations.
func (o *Order) PeakLive(rank int, perChunk []float64) float64 {
	peak, _ := o.PeakBytes(rank, perChunk, nil, nil)
	return peak
}

// PeakBytes is the same with what an operation needs while it runs: its
// chunk's transientF during F, transientB during B, I and W (nil: nothing).
// An activation lives from the start of its F to the end of its B (or W). All
// slices are indexed by the rank's chunk; the unit is the caller's. It returns
// the peak and the index in Rank(rank) of the operation that first reaches it
// (of the first half of an overlapped pair), -1 when the rank runs nothing. It
// does not allocate.
func (o *Order) PeakBytes(rank int, act, transientF, transientB []float64) (peak float64, atOp int) {
	live, atOp := 0.0, -1
	ops := o.Rank(rank)
	for k := 0; k < len(ops); k++ {
		op := ops[k]
		c := op.Chunk()
		now, frees, first := 0.0, 0.0, k
		switch op.Kind() {
		case Forward:
			live += at(act, c)
			now = live + at(transientF, c)
		case Backward, WeightGradient:
			frees = at(act, c)
			now = live + at(transientB, c)
		case InputGradient:
			now = live + at(transientB, c)
		}
		if op.Paired() && k+1 < len(ops) {
			k++
			live, now, frees = withSecond(ops[k], live, now, frees, act, transientF, transientB)
		}
		if atOp < 0 || now > peak {
			peak, atOp = now, first
		}
		live -= frees
	}
	return peak, atOp
}

// withSecond adds the second half of an overlapped pair to what the first holds
// and frees.
func withSecond(op Op, live, now, frees float64, act, transientF, transientB []float64) (float64, float64, float64) {
	c := op.Chunk()
	if op.Kind() == Forward {
		return live + at(act, c), now + at(act, c) + at(transientF, c), frees
	}
	if op.Kind() != InputGradient {
		frees += at(act, c)
	}
	return live, now + at(transientB, c), frees
}

// at is an element, 0 beyond the end.
func at(s []float64, i int) float64 {
	if i < len(s) {
		return s[i]
	}
	return 0
}
