package layout

import (
	"math/rand/v2"
	"slices"
	"strings"
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
			Pattern:   []string{"*-", "*--", "-*--*", "DRR", "DDRDR"}[r.IntN(5)],
			QLoraRank: 64, KVLoraRank: 64, QKNopeDim: 16, QKRopeDim: 16, VHeadDim: 16, IndexHeads: 16,
			IndexDim: 64, IndexTopK: 64,
		}
		if m.Flat() {
			m.QLoraRank, m.KVLoraRank = 0, 0
		}
		starts := stageStarts(&m)
		l := Layout{PP: 1 + r.IntN(len(starts)), VPP: 1, CP: 1, EP: 1, Seq: 64 << r.IntN(8)}
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
		if stage, _ := reusing(&m, counts); stage >= 0 || sum != m.Layers || slices.Min(counts) < 1 ||
			got > best*(1+1e-8) {
			t.Errorf("%d layers %s on %d stages: %v, whose costliest costs %v, at best %v", m.Layers,
				m.Pattern, l.PP, counts, got, best)
		}
	}
}

// costliest returns what the costliest stage of a split costs.
func (l *Layout) costliest(p *model.Program, counts []int) (most float64) {
	at := 0
	if stage, _ := reusing(p.Model(), counts); stage >= 0 {
		return 1e300
	}
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

// TestNearestSplit: stages of a split that begins stages with layers which reuse a selection begin at the
// nearest that choose one, and each stage has a layer.
func TestNearestSplit(t *testing.T) {
	m := model.Model{Layers: 12, Pattern: "DDRRDRRRDRRR"}
	for _, c := range []struct{ given, want string }{
		{"3,3,3,3", "1,3,4,4"},
		{"4,4,4", "4,4,4"},
		{"6,6", "4,8"},
		{"7,5", "8,4"},
		{"1,1,10", "1,3,8"},
		{"10,1,1", "4,4,4"},
		{"0,12", "1,11"},
		{"no split", "4,4,4"},
		{"2,2,2,2,2,2", "2,2,2,2,2,2"}, // more stages than layers that choose: no split is legal
	} {
		stages := 1 + strings.Count(c.given, ",")
		if c.given == "no split" {
			stages = 3
		}
		if got := NearestSplit(&m, c.given, stages); got != c.want {
			t.Errorf("%s: %s, want %s", c.given, got, c.want)
		}
	}
	plain := model.Model{Layers: 12}
	if got := NearestSplit(&plain, "3,4,5", 3); got != "3,4,5" {
		t.Errorf("layers that are alike: %s", got)
	}
}
