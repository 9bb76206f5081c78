package search

import (
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// limitProblem is a dense model of 8 layers and 64 heads on 16 GPUs of nodes of 4.
func limitProblem() Problem {
	s := engine.Setup{Model: model.Model{Layers: 8, Heads: 64, MaxSeq: 1 << 20}}
	s.Stack = recipe.DefaultStack
	s.Cluster = hardware.Cluster{NodeGPUs: 4, ScaleUpGPUs: 4, GPU: hardware.GPU{MemoryUsable: 100}}
	s.GPUs, s.GBS, s.Seq, s.VPP, s.PP = 16, 48, 4096, 1, 1
	return Problem{Setup: s}
}

// TestCutsAtTheirLimits: TP goes to twice the domain and to the heads, PP to the layers, CP to slices of 512
// tokens that balance, each with its limit among the values.
func TestCutsAtTheirLimits(t *testing.T) {
	p := limitProblem()
	all := divisors(16)
	check := func(what string, got []int, want ...int) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("divisors of 16", all, 1, 2, 4, 8, 16)
	check("divisors of 12", divisors(12), 1, 2, 3, 4, 6, 12)
	check("divisors of any", divisorsOf([]int{4, 6, 9}), 1, 2, 3, 4, 6, 9)
	check("TP of domains of 4", p.tensor(all), 1, 2, 4, 8)
	p.Setup.Model.Heads = 4
	check("TP of 4 heads", p.tensor(all), 1, 2, 4)
	check("PP of 8 layers", p.pipeline(all), 1, 2, 4, 8)
	check("CP of 4,096 tokens", p.context(all, 4096), 1, 2, 4, 8)
	check("CP of 4,095", p.context(all, 4095), 1)
	check("CP of 4,100", p.context(divisors(64), 4100), 1, 2) // 2 x 4 does not divide it
	check("CP of 6 GPUs", p.context([]int{1, 2, 3, 6}, 6144), 1, 2)
	p.Space.TP = []int{16, 3, 16, 0, -1}
	check("TP as given", p.tensor(all), 16, 3)

	p = limitProblem()
	p.Space.TP, p.Space.CP = []int{2}, []int{1}
	for _, dp := range []int{0, 4} {
		p.Space.DP, p.Space.PP = nil, nil
		want := []int{1, 2, 4, 8}
		if dp > 0 {
			p.Space.DP, want = []int{dp}, []int{2}
		}
		var got []int
		for _, cut := range p.planes(0) {
			got = append(got, cut.pp)
		}
		check("PP next to TP of 2", got, want...)
	}
	// all GPUs; 3 and 32 do not divide them
	p.Space.DP, p.Space.TP, p.Space.PP = nil, []int{16, 3}, []int{1, 2}
	if cuts := p.planes(0); len(cuts) != 1 || cuts[0].tp != 16 || cuts[0].pp != 1 || cuts[0].ep != 1 ||
		cuts[0].etp != 1 {
		t.Errorf("planes %+v", cuts)
	}
	if n := p.Cuts(100); n != 1 {
		t.Errorf("%d cuts", n)
	}
}

// TestExpertCutsFillAStage: EP x ETP divides the ranks of a stage, all of them included; a dense model has
// one.
func TestExpertCutsFillAStage(t *testing.T) {
	p := limitProblem()
	p.Space.EP = []int{2}
	if got := p.experts(nil, plane{gpus: 16, tp: 1, pp: 1}); len(got) != 0 {
		t.Errorf("EP of 2 of a dense model: %+v", got)
	}
	p.Space.EP = nil
	p.Setup.Model.Experts = 12
	type cut struct{ ep, etp int }
	var got []cut
	for _, c := range p.experts(nil, plane{gpus: 16, tp: 2, pp: 2}) { // 8 ranks
		got = append(got, cut{c.ep, c.etp})
	}
	if want := []cut{{1, 1}, {2, 1}, {4, 1}, {1, 2}, {2, 2}, {4, 2}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestStagesPerRankTried: those over which the layers divide when up to two are added, three with a module
// for more tokens, from two stages on.
func TestStagesPerRankTried(t *testing.T) {
	p := limitProblem()
	several, _ := schedule.Interleaved.Info()
	one, _ := schedule.OneFOneB.Info()
	for _, c := range []struct {
		layers, mtp, pp int
		want            []int
	}{
		{8, 0, 4, []int{2}},  // 8 on 8
		{10, 0, 4, []int{3}}, // 10 and two more on 12
		{9, 0, 4, nil},       // three more
		{9, 1, 4, []int{3}},  // with a module
		{16, 0, 4, []int{2, 4}},
		{8, 0, 1, []int{1}},
		{64, 0, 2, []int{2, 3, 4, 8, 11, 16}},
	} {
		p.Setup.Model.Layers, p.Setup.Model.MTPLayers = c.layers, c.mtp
		if got := p.chunks(&several, c.pp); !slices.Equal(got, c.want) {
			t.Errorf("%d layers on %d ranks: %v, want %v", c.layers, c.pp, got, c.want)
		}
	}
	if got := p.chunks(&one, 4); !slices.Equal(got, []int{1}) {
		t.Errorf("1f1b: %v", got)
	}
	if p.Space.VPP = []int{2}; p.chunks(&one, 4) != nil || !slices.Equal(p.chunks(&several, 1), []int{2}) {
		t.Error("a given number of stages is not kept")
	}
}

// TestPartsOfARank: quarters of the layers of a rank in whole layers of each of its chunks, each number once.
func TestPartsOfARank(t *testing.T) {
	for _, c := range []struct {
		layers, pp, vpp int
		want            []int
	}{
		{8, 1, 1, []int{2, 4, 6}},
		{3, 1, 1, []int{1, 2}},
		{15, 2, 1, []int{2, 4, 6}},
		{6, 1, 2, []int{2, 4}},
		{1, 1, 1, nil},
		{2, 1, 1, []int{1}},
		{8, 1, 4, []int{4}},
	} {
		s := limitProblem().Setup
		s.Model.Layers, s.PP, s.VPP = c.layers, c.pp, c.vpp
		var got []int
		for quarters := 1; quarters < 4; quarters++ {
			if r, ok := part(recipe.Recompute{Mode: recipe.RecomputeFull, Layers: -quarters}, &s); ok {
				got = append(got, r.Layers)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d layers on %d ranks of %d: %v, want %v", c.layers, c.pp, c.vpp, got, c.want)
		}
	}
	s := limitProblem().Setup
	if r, ok := part(recipe.Recompute{Mode: recipe.RecomputeFull}, &s); !ok || r.Layers != 0 {
		t.Errorf("all layers: %v %v", r, ok)
	}
}

// TestMicroBatchSizesTried: up to 16 any that divides a batch, then powers of two to 64, or to the batch.
func TestMicroBatchSizesTried(t *testing.T) {
	p := limitProblem()
	for gbs, want := range map[int][]int{
		48:  {1, 2, 3, 4, 6, 8, 12, 16},
		192: {1, 2, 3, 4, 6, 8, 12, 16, 32, 64}, 17: {1}, 1: {1}, 256: {1, 2, 4, 8, 16, 32, 64},
	} {
		p.Setup.GBS = gbs
		if got := p.microBatches(); !slices.Equal(got, want) {
			t.Errorf("of %d sequences: %v, want %v", gbs, got, want)
		}
	}
	p.Objective, p.Setup.GBS = LargestMBS, 256
	if got := p.microBatches(); got[len(got)-1] != 256 || got[len(got)-2] != 128 {
		t.Errorf("the largest of 256: %v", got)
	}
}

// TestNumbersOfGPUsTried: powers of two below a node and of whole nodes up to the machine, ranges by whole
// nodes and below one by powers of two.
func TestNumbersOfGPUsTried(t *testing.T) {
	for _, c := range []struct {
		most        int
		gpus, nodes string
		want        []int
	}{
		{32, "", "", []int{1, 2, 4, 8, 16, 32}},
		{31, "", "", []int{1, 2, 4, 8, 16}},
		{4, "", "", []int{1, 2, 4, 8}},
		{64, "1..24", "", []int{1, 2, 4, 8, 16, 24}},
		{16, "1..24", "", []int{1, 2, 4, 8, 16}},
		{64, "8..8", "", []int{8}},
		{64, "9..23", "", []int{16}},
		{64, "", "2..4", []int{16, 24, 32}},
		{64, "8,12,16", "2", []int{12, 16}},
	} {
		q := NewQuery()
		q.Objective = FewestGPUs
		q.Setup.GPUs, q.Setup.Cluster.NodeGPUs, q.Setup.Cluster.MaxGPUs = 8, 8, c.most
		for id, text := range map[knob.ID]string{knob.GPUs: c.gpus, knob.Nodes: c.nodes} {
			if text != "" {
				if err := q.Set(id, text); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, err := q.gpus(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v %v", c, got, err)
		}
	}
	q := NewQuery()
	if err := q.Set(knob.Seq, "4096..16384"); err != nil {
		t.Fatal(err)
	}
	if got := q.doubling(knob.Seq, 1, nil); !slices.Equal(got, []int{4096, 8192, 16384}) {
		t.Errorf("sequences %v", got)
	}
	if got := sequences(LongestSeq); len(got) != 9 || got[0] != 4096 || got[8] != 1<<20 ||
		sequences(Cost) != nil {
		t.Errorf("the longest sequence is looked for among %v", got)
	}
}
