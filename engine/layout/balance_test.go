package layout

import (
	"math/rand/v2"
	"slices"
	"testing"

	"meshscope/engine/model"
)

// TestCheapestSplit: no other way of cutting a stack of layers of two kinds has a costliest stage that costs
// less.
func TestCheapestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		m := model.Model{
			Layers: 2 + r.IntN(9), Hidden: 64 << r.IntN(6), Heads: 4, KVHeads: 2, HeadDim: 16,
			FFN: 64 << r.IntN(6), Vocab: 100 << r.IntN(12), MaxSeq: 9, Norm: model.NormRMS, NormsPer: 1,
			AttnBias: model.BiasNone, QKNorm: model.QKNormNone,
			Pattern: []string{"*-", "*--", "-*--*"}[r.IntN(3)],
		}
		l := Layout{PP: 1 + r.IntN(m.Layers), VPP: 1, CP: 1, EP: 1, Seq: 64 << r.IntN(8)}
		p := model.Lay(&m, nil)
		stages, err := l.Partition(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		var counts []int
		for i := range stages {
			counts = append(counts, stages[i].Layers())
		}
		got, best, sum := l.costliest(p, counts), l.bestOf(p, l.PP, nil), 0
		for _, n := range counts {
			sum += n
		}
		if sum != m.Layers || slices.Min(counts) < 1 || got > best*(1+1e-8) {
			t.Errorf("%d layers %s on %d stages: %v, whose costliest costs %v, at best %v", m.Layers,
				m.Pattern, l.PP, counts, got, best)
		}
	}
}

// costliest returns what the costliest stage of a split costs.
func (l *Layout) costliest(p *model.Program, counts []int) (most float64) {
	at := 0
	for i, n := range counts {
		sum := 0.0
		for range n {
			sum += l.cost(&p.Layers[p.At(at)])
			at++
		}
		if i == len(counts)-1 {
			sum += headCost(p.Model())
		}
		most = max(most, sum)
	}
	return most
}

// bestOf tries every split.
func (l *Layout) bestOf(p *model.Program, stages int, counts []int) float64 {
	left := p.Model().Layers
	for _, n := range counts {
		left -= n
	}
	if stages == 1 && left == 0 {
		return 1e300
	}
	if stages == 1 {
		return l.costliest(p, append(counts, left))
	}
	best := 1e300
	for n := 1; n <= left; n++ {
		best = min(best, l.bestOf(p, stages-1, append(counts[:len(counts):len(counts)], n)))
	}
	return best
}
