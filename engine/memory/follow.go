package memory

import (
	"meshscope/engine/ledger"
	"meshscope/engine/units"
)

// Samples of a step at most, and of one of its operations.
const (
	maxSamples   = 200_000
	maxOfOneSpan = 512
)

// Follow lays what the ledger has alive on the operations of a timeline: changes are spread evenly over each.
func (k pyTorch) Follow(in *Input, of *Trace) (steps [2][]Sample) {
	w, err := k.way(in)
	if err != nil {
		return steps // refused
	}
	spans, err := ledger.Timeline(in.Program, w, &in.Rates)
	if err != nil {
		return steps
	}
	for i := range steps {
		steps[i] = laid(spans[i], of)
	}
	return steps
}

// laid returns the samples of a step: forward and backward of each micro-batch, and the update.
func laid(spans []ledger.Span, of *Trace) (list []Sample) {
	simulated, micros := len(spans)/2, len(of.Ops)/2
	most := min(max(maxSamples/max(len(of.Ops), 1), 2), maxOfOneSpan)
	for micro := range micros {
		at := min(micro, 1)
		if micro == micros-1 {
			at = simulated - 1
		}
		for half := range 2 {
			from, to := of.Begin[2*micro+half], of.End[2*micro+half]
			list = spread(list, &spans[2*at+half], units.Seconds(from), units.Seconds(to), most)
		}
	}
	return spread(list, &spans[len(spans)-1], of.Makespan, of.Makespan+of.Update, most)
}

// spread appends the samples of a span between two moments; of many that are near each other the largest.
func spread(list []Sample, s *ledger.Span, from, to units.Seconds, most int) []Sample {
	n := len(s.Alive)
	groups := min(n, most)
	when := func(i int) units.Seconds { return from + (to-from)*units.Seconds(i)/units.Seconds(n) }
	for g := range groups {
		first, next := g*n/groups, (g+1)*n/groups
		largest := first
		for i := first; i < next; i++ {
			if s.Alive[i].Sum() > s.Alive[largest].Sum() {
				largest = i
			}
		}
		if g == groups-1 && next-first > 1 { // and how it ends
			list = append(list, sample(&s.Alive[largest], when(largest)))
			largest = n - 1
		}
		list = append(list, sample(&s.Alive[largest], when(largest+1)))
	}
	return list
}

// sample writes what is alive as the terms of a rank.
func sample(a *ledger.Alive, at units.Seconds) Sample {
	return Sample{
		At: at, Weights: units.Bytes(a[ledger.Weights]), Gradients: units.Bytes(a[ledger.Gradients]),
		Optimizer: units.Bytes(a[ledger.States]), Activations: units.Bytes(a[ledger.Activations]),
		Logits: units.Bytes(a[ledger.Logits]), Buffers: units.Bytes(a[ledger.Temporaries]),
	}
}
