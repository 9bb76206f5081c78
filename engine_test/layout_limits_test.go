package engine_test

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/model"
)

// limitWorld is a dense model of 80 layers and 64 heads, nodes of 8 and a legal layout of 32 GPUs.
func limitWorld() (model.Model, hardware.Cluster, layout.Layout) {
	return draftModel(), draftCluster(), layout.Layout{
		GPUs: 32, DP: 2, TP: 4, PP: 4, VPP: 1, CP: 1, EP: 1, ETP: 1, SP: true,
		MBS: 1, MicroBatches: 8, GBS: 16, Seq: 4096,
	}
}

// withExperts makes the model one of 16 experts with a shared one.
func withExperts(m *model.Model) {
	m.Experts, m.TopK, m.ExpertFFN, m.SharedExperts, m.SharedFFN, m.MoEFreq = 16, 2, 1024, 1, 1024, 1
}

// TestRulesAtTheirLimits: each rule of a layout is silent for the value exactly at its limit and
// speaks for the first one beyond.
func TestRulesAtTheirLimits(t *testing.T) {
	type change = func(m *model.Model, c *hardware.Cluster, l *layout.Layout)
	tp := func(n int) change {
		return func(_ *model.Model, _ *hardware.Cluster, l *layout.Layout) {
			l.TP, l.DP, l.GPUs = n, 1, n*l.PP
			l.GBS = l.MicroBatches
		}
	}
	pp := func(pp, vpp, layers int) change {
		return func(m *model.Model, _ *hardware.Cluster, l *layout.Layout) {
			l.PP, l.VPP, m.Layers, l.GPUs = pp, vpp, layers, l.DP*l.TP*pp
		}
	}
	cp := func(n, seq int) change {
		return func(_ *model.Model, _ *hardware.Cluster, l *layout.Layout) {
			l.CP, l.GPUs, l.Seq, l.SP = n, 32*n, seq, false
		}
	}
	only := func(f func(l *layout.Layout)) change {
		return func(_ *model.Model, _ *hardware.Cluster, l *layout.Layout) { f(l) }
	}
	moe := func(f func(m *model.Model, l *layout.Layout)) change {
		return func(m *model.Model, _ *hardware.Cluster, l *layout.Layout) { withExperts(m); f(m, l) }
	}
	sharing := func(f func(l *layout.Layout)) change {
		return func(m *model.Model, _ *hardware.Cluster, l *layout.Layout) { m.Pattern = "DRRR"; f(l) }
	}
	machine := func(f func(c *hardware.Cluster, l *layout.Layout)) change {
		return func(_ *model.Model, c *hardware.Cluster, l *layout.Layout) { f(c, l) }
	}
	for _, c := range []struct {
		code       string
		at, beyond change
	}{
		{
			"out-of-range", only(func(l *layout.Layout) { l.HSDP = 0 }),
			only(func(l *layout.Layout) { l.HSDP = -1 }),
		},
		{
			"out-of-range", only(func(l *layout.Layout) { l.ZeRO = 3 }),
			only(func(l *layout.Layout) { l.ZeRO = 4 }),
		},
		{
			"out-of-range", only(func(l *layout.Layout) { l.Seq = layout.MaxSeq }),
			only(func(l *layout.Layout) { l.Seq = layout.MaxSeq + 1 }),
		},
		{"tp-exceeds-heads", tp(64), tp(128)},
		{"tp-heads", tp(32), tp(24)},
		{"tp-kv-heads", tp(16), func(m *model.Model, c *hardware.Cluster, l *layout.Layout) {
			m.KVHeads = 6
			tp(4)(m, c, l)
		}},
		{
			"tp-kv-heads", func(m *model.Model, c *hardware.Cluster, l *layout.Layout) {
				m.KVHeads, m.KVLoraRank = 6, 512
				tp(4)(m, c, l)
			},
			func(m *model.Model, c *hardware.Cluster, l *layout.Layout) { m.KVHeads = 6; tp(4)(m, c, l) },
		},
		{"tp-leaves-domain", tp(8), tp(16)},
		{"tp-kv-replication", tp(8), tp(16)},
		{
			"tp-ffn", only(func(*layout.Layout) {}),
			func(m *model.Model, _ *hardware.Cluster, _ *layout.Layout) { m.FFN = 28674 },
		},
		{
			"tp-shared-ffn", moe(func(*model.Model, *layout.Layout) {}),
			moe(func(m *model.Model, _ *layout.Layout) { m.SharedFFN = 1022 }),
		},
		{
			"sp-seq", only(func(l *layout.Layout) { l.Seq = 4100 }),
			only(func(l *layout.Layout) { l.Seq = 4102 }),
		},
		{
			"sp-seq", only(func(l *layout.Layout) { l.Seq, l.SP = 4102, false }),
			only(func(l *layout.Layout) { l.CP, l.GPUs, l.Seq = 2, 64, 4100 }),
		},
		{
			"moe-tp-without-sp", moe(func(*model.Model, *layout.Layout) {}),
			moe(func(_ *model.Model, l *layout.Layout) { l.SP = false }),
		},
		{"pp-exceeds-layers", pp(80, 1, 80), pp(80, 1, 79)},
		// 82 stages: embedding and head may stand alone
		{"stages-exceed-layers", pp(2, 41, 80), pp(2, 42, 80)},
		{"vpp-uneven", pp(4, 2, 80), pp(4, 2, 81)},
		{
			"split", only(func(l *layout.Layout) { l.Split = "80,0,0,0" }),
			only(func(l *layout.Layout) { l.Split = "81,0,0,-1" }),
		},
		{
			"split-selection", sharing(func(l *layout.Layout) { l.Split = "16,24,20,20" }),
			sharing(func(l *layout.Layout) { l.Split = "20,20,21,19" }),
		},
		{
			"stages-exceed-selections", sharing(func(l *layout.Layout) { l.VPP = 5 }),
			sharing(func(l *layout.Layout) {
				l.VPP = 6
			}),
		},
		{
			"seq-exceeds-model", only(func(l *layout.Layout) { l.Seq = 131072 }),
			only(func(l *layout.Layout) { l.Seq = 131073 }),
		},
		{
			"seq-position-table", func(m *model.Model, _ *hardware.Cluster, l *layout.Layout) {
				m.Position, l.Seq = model.PositionLearned, 131072
			},
			func(m *model.Model, _ *hardware.Cluster, l *layout.Layout) {
				m.Position, l.Seq = model.PositionLearned, 131073
			},
		},
		{"cp-seq", cp(4, 4100), cp(4, 4102)},
		{"cp-zigzag", cp(4, 4104), cp(4, 4100)},
		{"ep-dense", only(func(*layout.Layout) {}), only(func(l *layout.Layout) { l.EP = 2 })},
		{"etp-dense", only(func(*layout.Layout) {}), only(func(l *layout.Layout) { l.ETP = 2 })},
		{
			"ep-experts", moe(func(_ *model.Model, l *layout.Layout) { l.EP = 8 }),
			moe(func(m *model.Model, l *layout.Layout) { m.Experts, l.EP = 12, 8 }),
		},
		{
			"etp-ffn", moe(func(_ *model.Model, l *layout.Layout) { l.ETP = 8 }),
			moe(func(m *model.Model, l *layout.Layout) { m.ExpertFFN, l.ETP = 1028, 8 }),
		},
		{
			"ep-plane", moe(func(_ *model.Model, l *layout.Layout) { l.EP, l.ETP = 4, 2 }),
			moe(func(_ *model.Model, l *layout.Layout) { l.EP, l.ETP = 8, 2 }),
		},
		{"gpus-not-divisible", only(func(*layout.Layout) {}), only(func(l *layout.Layout) { l.GPUs = 31 })},
		{
			"no-scale-out",
			machine(func(c *hardware.Cluster, _ *layout.Layout) { c.Inter.Bandwidth, c.ScaleUpGPUs = 0, 32 }),
			machine(func(c *hardware.Cluster, _ *layout.Layout) { c.Inter.Bandwidth, c.ScaleUpGPUs = 0, 31 }),
		},
		{
			"no-scale-out", only(func(*layout.Layout) {}),
			machine(func(c *hardware.Cluster, _ *layout.Layout) { c.Inter.Bandwidth = 0 }),
		},
		{
			"cluster-size", machine(func(c *hardware.Cluster, _ *layout.Layout) { c.MaxGPUs = 32 }),
			machine(func(c *hardware.Cluster, _ *layout.Layout) { c.MaxGPUs = 31 }),
		},
		{
			"cluster-size", only(func(*layout.Layout) {}),
			machine(func(c *hardware.Cluster, _ *layout.Layout) { c.MaxGPUs = 1 }),
		},
		{
			"partial-node", only(func(l *layout.Layout) { l.GPUs = 8 }),
			only(func(l *layout.Layout) { l.GPUs = 12 }),
		},
		{
			"partial-node", only(func(l *layout.Layout) { l.GPUs = 4 }),
			only(func(l *layout.Layout) { l.GPUs = 9 }),
		},
		{"hsdp-dp", only(func(l *layout.Layout) { l.HSDP = 2 }), only(func(l *layout.Layout) { l.HSDP = 3 })},
		{"batch-not-divisible", only(func(*layout.Layout) {}), only(func(l *layout.Layout) { l.GBS = 17 })},
		{
			"sp-without-tp", only(func(l *layout.Layout) { l.TP, l.SP = 1, false }),
			only(func(l *layout.Layout) { l.TP = 1 }),
		},
		{
			"zero-with-pp", only(func(l *layout.Layout) { l.ZeRO = 1 }),
			only(func(l *layout.Layout) { l.ZeRO = 2 }),
		},
		{
			"zero-with-pp", only(func(l *layout.Layout) { l.ZeRO, l.PP = 3, 1 }),
			only(func(l *layout.Layout) { l.ZeRO, l.PP = 2, 2 }),
		},
	} {
		for beyond, change := range map[bool]change{false: c.at, true: c.beyond} {
			m, cluster, l := limitWorld()
			change(&m, &cluster, &l)
			problems := l.Rules(&m, &cluster, nil)
			if got := layout.HasCode(problems, c.code); got != beyond {
				t.Errorf("%s beyond its limit: %v, want %v: %+v %+v", c.code, got, beyond, l, problems)
			}
			mute := l.RuleCodes(&m, &cluster, nil)
			if !slices.EqualFunc(problems, mute, func(a, b layout.Problem) bool {
				return a.Code == b.Code && a.Severity == b.Severity && a.Field == b.Field && b.Message == ""
			}) {
				t.Errorf("%s: codes alone %+v, with messages %+v", c.code, mute, problems)
			}
		}
	}
}

// TestBatchRuleSaysWhichOfTwo: exactly the whole batch in one micro-batch of each replica is not "more at
// once".
func TestBatchRuleSaysWhichOfTwo(t *testing.T) {
	for gbs, want := range map[int]string{
		2: "not the global batch of 2",
		1: "at once are more than the global batch of 1",
	} {
		m, c, l := limitWorld()
		l.GBS = gbs // 2 replicas of 8 micro-batches of 1 sequence
		problems := l.Rules(&m, &c, nil)
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("a batch of %d: %+v, want %q", gbs, problems, want)
		}
	}
}

// TestCountedEvenly: Megatron-LM counts the loss, then the embedding too, as a layer
// (megatron/training/arguments.py), and every stage keeps a layer.
func TestCountedEvenly(t *testing.T) {
	for _, c := range []struct {
		layers, stages, counted int
		even                    bool
	}{
		{126, 128, 0, false}, // both counted, but a stage each
		{126, 64, 2, true},   // 2 each, of which the ends have one layer
		{126, 127, 0, false},
		{15, 8, 1, true},
		{31, 16, 1, true},
		{94, 96, 0, false},
		{94, 48, 2, true},
		{94, 47, 0, true},
		{93, 47, 1, true},
		{5, 4, 0, false},
		{6, 4, 2, true},
	} {
		if counted, even := layout.CountedEvenly(c.layers, c.stages); counted != c.counted || even != c.even {
			t.Errorf("%d layers on %d stages: %d %v, want %d %v", c.layers, c.stages, counted, even,
				c.counted, c.even)
		}
	}
}

// TestRingsCoverEveryRank: the rings of a dimension are its ranks in every place once, differ in that
// dimension's coordinate alone, and of experts have EP and ETP, of data TP and CP, between their ranks.
func TestRingsCoverEveryRank(t *testing.T) {
	l := layout.Layout{GPUs: 48, TP: 2, CP: 2, DP: 6, PP: 2, EP: 3, ETP: 2}
	differs := map[string]func(a, b layout.Coordinates) bool{
		"tp": func(a, b layout.Coordinates) bool { a.TP = b.TP; return dense(a) == dense(b) },
		"cp": func(a, b layout.Coordinates) bool { a.CP = b.CP; return dense(a) == dense(b) },
		"dp": func(a, b layout.Coordinates) bool {
			a.CP, a.DP = b.CP, b.DP
			return dense(a) == dense(b)
		},
		"pp":  func(a, b layout.Coordinates) bool { a.PP = b.PP; return a == b },
		"etp": func(a, b layout.Coordinates) bool { a.ETP = b.ETP; return expert(a) == expert(b) },
		"ep":  func(a, b layout.Coordinates) bool { a.EP = b.EP; return expert(a) == expert(b) },
		"expert-dp": func(a, b layout.Coordinates) bool {
			a.ExpertDP = b.ExpertDP
			return expert(a) == expert(b)
		},
	}
	sizes := map[string]int{"tp": 2, "cp": 2, "dp": 12, "pp": 2, "etp": 2, "ep": 3, "expert-dp": 4}
	for dimension, alike := range differs {
		for rank := range l.GPUs {
			ring := l.Ring(dimension, rank)
			if place, ok := ring.Place(rank); !ok || ring.At(place) != rank || ring.Size != sizes[dimension] {
				t.Fatalf("%s of rank %d: %+v, place %d %v", dimension, rank, ring, place, ok)
			}
			for other := range l.GPUs {
				place, in := ring.Place(other)
				if want := alike(l.Coordinates(other), l.Coordinates(rank)); in != want ||
					in && ring.At(place) != other {
					t.Fatalf("%s of rank %d, %+v: rank %d is in it: %v, want %v", dimension, rank, ring,
						other, in, want)
				}
			}
		}
	}
	last := l.Coordinates(47)
	if want := (layout.Coordinates{TP: 1, CP: 1, DP: 5, PP: 1, ETP: 1, EP: 2, ExpertDP: 3}); last != want {
		t.Errorf("the last rank is %+v, want %+v", last, want)
	}
}

// dense and expert are the coordinates of a rank's dense weights and of its experts.
func dense(c layout.Coordinates) [4]int  { return [4]int{c.TP, c.CP, c.DP, c.PP} }
func expert(c layout.Coordinates) [4]int { return [4]int{c.ETP, c.EP, c.ExpertDP, c.PP} }

// TestMirrorRanks: stages p and PP-1-p of a bidirectional pipeline, the middle one of an odd number is alone.
func TestMirrorRanks(t *testing.T) {
	l := layout.Layout{GPUs: 10, TP: 2, CP: 1, DP: 1, PP: 5, EP: 1, ETP: 1}
	for rank, want := range map[int]layout.Ring{
		0: {First: 0, Stride: 8, Size: 2}, 9: {First: 1, Stride: 8, Size: 2},
		3: {First: 3, Stride: 4, Size: 2}, 4: {First: 4, Stride: 1, Size: 1},
		7: {First: 3, Stride: 4, Size: 2},
	} {
		if got := l.Ring("mirror", rank); got != want {
			t.Errorf("rank %d: %+v, want %+v", rank, got, want)
		}
	}
}

// TestDomainsThatDivideTheJob: of a domain of 72 in nodes of 4, a job takes the most nodes that divide it,
// at least half of them, and all where none does or one domain holds the job.
func TestDomainsThatDivideTheJob(t *testing.T) {
	c := nvl72()
	for gpus, want := range map[int]int{
		8: 72, 72: 72, 144: 72, 128: 64, 256: 64, 76: 72, 80: 40, 108: 36,
		136: 68,
	} {
		l := layout.Layout{GPUs: gpus}
		if got := l.Domain(&c); got != want {
			t.Errorf("%d GPUs take %d of a domain, want %d", gpus, got, want)
		}
	}
}

// TestRecomputedLayersAddUp: what is recomputed of a rank's chunks adds up to what was asked of the rank, and
// a chunk has at most its own layers.
func TestRecomputedLayersAddUp(t *testing.T) {
	l := layout.Layout{PP: 2, VPP: 3}
	for perRank := range 13 {
		for rank := range l.PP {
			sum := 0
			for chunk := range l.VPP {
				n := l.RecomputedLayers(perRank, chunk*l.PP+rank, &layout.Stage{Of: layout.Counts{2, 2}})
				sum += n
				if n < perRank/l.VPP || n > (perRank+l.VPP-1)/l.VPP && perRank > 0 {
					t.Errorf("%d of a rank: %d of chunk %d", perRank, n, chunk)
				}
			}
			if want := perRank; perRank == 0 && sum != 12 || perRank > 0 && sum != want {
				t.Errorf("%d of a rank: %d in its chunks", perRank, sum)
			}
		}
	}
	if n := l.RecomputedLayers(12, 0, &layout.Stage{Of: layout.Counts{1}}); n != 1 {
		t.Errorf("%d layers of one", n)
	}
}
