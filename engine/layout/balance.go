package layout

import (
	"math"

	"meshscope/engine/model"
)

// PartitionByCost says which layers stand on which stage where a launcher
// balances work instead of counting layers, as nanotron does (build_model in
// src/nanotron/models/base.py at 01de8d9): blocks are distributed in order, and a
// stage is full once the work so far reaches its share. A layer costs its
// matrices with four attention projections of full width, the head its own, the
// embedding nothing. The head always stands on the last stage, and where stages
// before it would stay empty, layers move down to them. A split that was said
// is kept. It appends to into[:0].
func (l *Layout) PartitionByCost(p *model.Program, into []Stage) ([]Stage, error) {
	n, m := l.Stages(), p.Model()
	if l.Split != "" || n < 2 || m.Has(model.LetterShared) || m.ReusedKV > 0 {
		return l.Partition(p, into)
	}
	total := float64(m.Embedding())
	work := layerWork(p)
	for i := range m.Layers {
		total += work[p.At(i)]
	}
	stages := append(into[:0], Stage{}) // layers are counted as the first kind
	done := 0.0
	for i := range m.Layers {
		stages[len(stages)-1].Of[0]++
		done += work[p.At(i)]
		// A share reached but for rounding counts as reached.
		const rounding = 1e-9
		share := total * float64(len(stages)) / float64(n)
		if len(stages) < n && done >= share*(1-rounding) {
			stages = append(stages, Stage{})
		}
	}
	for len(stages) < n {
		stages = spread(stages, n)
	}
	fillGaps(stages[:n-1])
	place(p, stages)
	return stages, nil
}

// fillGaps gives a stage without layers one of the nearest earlier stage that has
// two. Only the last stage, with the head, may have none.
func fillGaps(stages []Stage) {
	for i := range stages {
		for j := i - 1; j >= 0 && stages[i].Of[0] == 0; j-- {
			if stages[j].Of[0] > 1 {
				stages[j].Of[0]--
				stages[i].Of[0]++
			}
		}
	}
}

// spread opens one more of n stages: the last one for the head alone, others
// with a layer of the last stage that has two.
func spread(stages []Stage, n int) []Stage {
	if len(stages) == n-1 {
		return append(stages, Stage{})
	}
	for i := len(stages) - 1; i >= 0; i-- {
		if stages[i].Of[0] > 1 {
			stages[i].Of[0]--
			return append(stages, Stage{Of: Counts{1}})
		}
	}
	return append(stages, Stage{}) // fewer layers than stages, which is illegal
}

// layerWork returns the work of each kind of layer: four times the output projection of attention, and
// three times what comes down from the inner width, of the experts that a token goes to.
func layerWork(p *model.Program) (work [model.MaxKinds]float64) {
	for k := range p.Layers {
		l := &p.Layers[k]
		for i := range l.Ops {
			switch o := &l.Ops[i]; {
			case !o.IsProduct() || o.Part == model.PartExtra || !l.SplitIn(o) || l.SplitOut(o):
			case o.Part == model.PartAttention:
				work[k] += 2 * l.FLOPs(o).V
			default:
				work[k] += 1.5 * l.FLOPs(o).V
			}
		}
	}
	return work
}

// SplitsByCost reports whether layers differ so much that stages balance what they cost and not their number.
func SplitsByCost(m *model.Model) bool {
	return len(model.Period(m.Pattern)) > 1 || m.FFNWidths != "" || m.ReusedKV > 0
}

// What FLOPs at the peak of an H100 a thing costs (B200 and MI300X are alike): a byte of memory, a FLOP of a
// product, a byte sent to other experts' ranks, an expert's part in a product (32 us in Megatron-LM: presets/
// calibrations/stack-megatron-core.toml), a logit's loss that is not fused (recipe.Loss.LogitBytes).
const perByte, perFLOP, perSent, perExpert, perLogit = 300, 1.5, 2500, 3e10, 52 * perByte

// cost returns about how long a token takes in a layer, forward and backward, in FLOPs at the peak: its
// products and scores, the bytes of what moves memory, and the traffic of experts; one sequence on a GPU. It
// is the same on every machine, so that a faster one has the same stages.
func (l *Layout) cost(layer *model.Layer) (sum float64) {
	// bytes of a weight: read twice, and its gradient in fp32
	const passes, element, weights = 3, 2, 2 + 2 + 8
	tokens, ep := float64(max(l.Seq/max(l.CP, 1), 1)), float64(max(l.EP, 1))
	for i := range layer.Ops {
		o := &layer.Ops[i]
		if o.Fused || o.Part == model.PartExtra {
			continue
		}
		bytes, flops := 0.0, perFLOP*passes*layer.FLOPs(o).V
		for _, list := range [...][3]model.Ref{o.In, o.Out} {
			for _, r := range list {
				t, times := layer.Tensor(r), 1.0
				if t.Cut == model.Routed || t.Cut == model.RoutedColumns {
					times = layer.TopK.V
				}
				bytes += passes * element * times * t.Width.V
			}
		}
		switch o.Kind {
		case model.Core: // at two thirds of a product's rate, and half a pass more for the scores again
			flops = 1.5 * perFLOP * (passes + 0.5) * float64(layer.Forward(l.Seq, true).Scores) *
				layer.WindowShare(l.Seq, true)
		case model.Scan:
			flops, bytes = perFLOP*(o.Scan.FLOPs[0].V+o.Scan.FLOPs[1].V),
				element*(o.Scan.Moved[0].V+o.Scan.Moved[1].V)
		case model.Grouped:
			bytes += weights * layer.Weights(o).V * layer.Experts.V / ep / tokens
			sum += passes*perExpert*layer.Experts.V/ep/tokens + perSent*2*element*layer.TopK.V*
				layer.Tensor(model.Input).Width.V*(ep-1)/ep
		default:
		}
		sum += max(flops, perByte*bytes)
	}
	return sum
}

// headCost is cost of the head and the loss.
func headCost(m *model.Model) float64 {
	return 3*perFLOP*float64(m.HeadForward()) + perLogit*float64(m.Vocab)
}

// cheapest returns how many layers each of n stages has so that the costliest one, with the head on the
// last, costs least; of such splits that whose stages end nearest to equal shares of the cost. Stages begin
// at some of the layers of starts.
func (l *Layout) cheapest(p *model.Program, n int, starts []int) []int {
	var of [model.MaxKinds]float64
	for k := range p.Layers {
		of[k] = l.cost(&p.Layers[k])
	}
	layers := len(starts)             // or runs of layers that stay together
	sums := make([]float64, layers+2) // of the layers before each, and with the head behind the last
	starts = append(starts, p.Model().Layers)
	for i := range layers {
		sums[i+1] = sums[i]
		for j := starts[i]; j < starts[i+1]; j++ {
			sums[i+1] += of[p.At(j)]
		}
	}
	sums[layers+1] = sums[layers] + headCost(p.Model())
	// fill fills the stages up to a cost from the last one on, a layer at least in each, and reports whether
	// none exceeds it; ends are the first layers of the stages.
	ends := make([]int, n)
	fill := func(most float64) bool {
		at, upper, fits := layers, layers+1, true
		for i := n - 1; i > 0; i-- {
			at--
			fits = fits && sums[upper]-sums[at] <= most
			for at > i && sums[upper]-sums[at-1] <= most {
				at--
			}
			upper, ends[i] = at, at
		}
		return fits && sums[upper] <= most
	}
	low, high := sums[layers+1]/float64(n), sums[layers+1]
	for high-low > 1e-9*high {
		if middle := (low + high) / 2; fill(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	fill(high)
	counts, at := make([]int, n), 0
	// a head beyond a share leaves the others equal ones
	all := min(sums[layers+1], sums[layers]*float64(n)/float64(max(n-1, 1)))
	for i := range n - 1 {
		next, share := max(ends[i+1], at+1), all*float64(i+1)/float64(n)
		for next < layers-(n-1-i) && sums[next+1]-sums[at] <= high &&
			math.Abs(sums[next+1]-share) < math.Abs(sums[next]-share) {
			next++
		}
		counts[i], at = starts[next]-starts[at], next
	}
	counts[n-1] = starts[layers] - starts[at]
	return counts
}
