package schedule

import "slices"

// PeakInFlight returns the largest number of chunk activations that a rank holds at
// once, each from its F until its B (or W).
func (o *Order) PeakInFlight(rank int) int {
	if o.plan != nil {
		return o.plan.ranks[rank].inFlight
	}
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

// ChunkBytes is what one micro-batch holds on one chunk of a rank, in any unit.
// A split backward frees an activation in two parts: I ends with what W still
// needs (inputs of the weight products and gradients of their outputs), W with
// nothing.
type ChunkBytes struct {
	Activation   float64 // from the start of F to the end of B or I
	WeightInputs float64 // from the end of I to the end of W
	Forward      float64 // workspace while F runs
	Backward     float64 // workspace while B or I runs
}

// Peak is where a rank holds most.
type Peak struct {
	Bytes        float64
	WeightInputs float64 // the part of Bytes that only W still needs
	// index in Rank(rank) of the operation that first reaches it, the first half of a pair; -1: the rank runs
	// nothing
	At int
}

// PeakBytes returns the most that a rank holds at once; per is indexed by the rank's
// chunk. It depends on the order only, never on the durations, and does not
// allocate.
func (o *Order) PeakBytes(rank int, per []ChunkBytes) Peak {
	peak := Peak{At: -1}
	var h holding
	ops := o.Rank(rank)
	for k := 0; k < len(ops); k++ {
		first := k
		h.start(ops[k], per)
		if ops[k].Paired() && k+1 < len(ops) {
			k++
			h.start(ops[k], per)
		}
		if now := h.live + h.weights + h.temporaries; peak.At < 0 || now > peak.Bytes {
			peak = Peak{Bytes: now, WeightInputs: h.weights, At: first}
		}
		h.temporaries = 0
		for _, op := range ops[first : k+1] {
			h.end(op, per)
		}
	}
	return peak
}

// holding is what a rank holds at a moment.
type holding struct {
	live        float64 // activations until B or I
	weights     float64 // what waits for W
	temporaries float64 // what the running operation needs
}

func (h *holding) start(op Op, per []ChunkBytes) {
	b := &per[op.Chunk()]
	switch op.Kind() {
	case Forward:
		h.live += b.Activation
		h.temporaries += b.Forward
	case Backward, InputGradient:
		h.temporaries += b.Backward
	case WeightGradient:
	}
}

func (h *holding) end(op Op, per []ChunkBytes) {
	b := &per[op.Chunk()]
	switch op.Kind() {
	case Backward:
		h.live -= b.Activation
	case InputGradient:
		h.live -= b.Activation
		h.weights += b.WeightInputs
	case WeightGradient:
		h.weights -= b.WeightInputs
	case Forward:
	}
}

// Sample is what a rank holds from a moment on, until the next sample.
type Sample struct {
	Time         float64
	Activations  float64 // kept for B or I
	WeightInputs float64 // kept for W alone
}

// Memory appends how a rank's activations grow and shrink over the timeline, for
// drawing: one sample per change, ascending in time, the last one empty up to
// rounding. What only the running operation needs is left out.
func (t *Timeline) Memory(into []Sample, rank int, per []ChunkBytes) []Sample {
	o := t.Order
	var h holding
	from := len(into)
	into = slices.Grow(into, o.Start[rank+1]-o.Start[rank])
	add := func(at float64) {
		s := Sample{Time: at, Activations: h.live, WeightInputs: h.weights}
		if n := len(into); n > from && into[n-1].Time >= at {
			into[n-1] = s
			return
		}
		into = append(into, s)
	}
	for k, to := o.Start[rank], o.Start[rank+1]; k < to; k++ {
		first := k
		if o.Ops[k].Paired() && k+1 < to {
			k++
		}
		pair := o.Ops[first : k+1]
		for _, op := range pair {
			if op.Kind() == Forward {
				h.start(op, per)
				add(t.Begin[first])
			}
		}
		for _, op := range pair {
			if op.Kind() != Forward {
				h.end(op, per)
				add(t.End[k])
			}
		}
	}
	return into
}

// Count returns how often a rank runs a kind of operation on one of its chunks: m
// times F on each, except that a bidirectional schedule shares them between its
// two. Of an order made by hand it counts one by one.
func (o *Order) Count(rank, chunk int, kind OpKind) int {
	if o.plan != nil {
		return int(o.plan.counts[(rank*o.Chunks()+chunk)*4+int(kind)])
	}
	n := 0
	for _, op := range o.Rank(rank) {
		if op.Chunk() == chunk && op.Kind() == kind {
			n++
		}
	}
	return n
}

// at returns an element, 0 beyond the end.
func at(s []float64, i int) float64 {
	if i < len(s) {
		return s[i]
	}
	return 0
}
