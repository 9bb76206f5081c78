package engine_test

import (
	"testing"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// hgx is a machine of 8-GPU nodes, nvl72 of 4-GPU nodes in domains of 72.
func hgx() hardware.Cluster {
	return hardware.Cluster{
		NodeGPUs: 8, ScaleUpGPUs: 8,
		Intra: hardware.Link{Bandwidth: 400 * units.GBps}, Inter: hardware.Link{Bandwidth: 50 * units.GBps},
	}
}

func nvl72() hardware.Cluster {
	c := hgx()
	c.NodeGPUs, c.ScaleUpGPUs = 4, 72
	return c
}

// TestGroupsOnNodes: rank order tp, cp, dp, pp with tp fastest, etp, ep,
// expert-dp, pp for experts; what a group crosses follows from it.
func TestGroupsOnNodes(t *testing.T) {
	type want struct {
		size, perDomain int
		span            layout.Span
	}
	for _, c := range []struct {
		name                     string
		cluster                  hardware.Cluster
		l                        layout.Layout
		tp, cp, dp, pp, ep, edpG want
	}{
		{
			"16 GPUs as in Llama 3's figure", hgx(),
			layout.Layout{GPUs: 16, TP: 2, CP: 2, DP: 2, PP: 2, EP: 1, ETP: 1},
			want{2, 2, "node"},
			want{2, 2, "node"},
			want{2, 2, "node"},
			want{2, 1, "cluster"},
			want{1, 1, "node"},
			want{8, 8, "node"},
		},
		{
			"TP fills the node", hgx(),
			layout.Layout{GPUs: 64, TP: 8, CP: 1, DP: 4, PP: 2, EP: 8, ETP: 1},
			want{8, 8, "node"},
			want{1, 1, "node"},
			want{4, 1, "cluster"},
			want{2, 1, "cluster"},
			want{8, 8, "node"},
			want{4, 1, "cluster"},
		},
		{
			"CP of 4 behind TP of 4 crosses nodes in pairs", hgx(),
			layout.Layout{GPUs: 16, TP: 4, CP: 4, DP: 1, PP: 1, EP: 1, ETP: 1},
			want{4, 4, "node"},
			want{4, 2, "cluster"},
			want{1, 1, "node"},
			want{1, 1, "node"},
			want{1, 1, "node"},
			want{16, 8, "cluster"},
		},
		{
			"blocks of 6 do not tile a node of 8", hgx(),
			layout.Layout{GPUs: 24, TP: 6, CP: 1, DP: 4, PP: 1, EP: 1, ETP: 1},
			want{6, 2, "cluster"},
			want{1, 1, "node"},
			want{4, 1, "cluster"},
			want{1, 1, "node"},
			want{1, 1, "node"},
			want{24, 8, "cluster"},
		},
		{
			"a rack joins 72 GPUs", nvl72(),
			layout.Layout{GPUs: 144, TP: 4, CP: 1, DP: 36, PP: 1, EP: 72, ETP: 1},
			want{4, 4, "node"},
			want{1, 1, "node"},
			want{36, 18, "cluster"},
			want{1, 1, "node"},
			want{72, 72, "domain"},
			want{2, 1, "cluster"},
		},
	} {
		g := c.l.Groups(&c.cluster)
		for name, pair := range map[string]struct {
			got  layout.Group
			want want
		}{
			"tp": {g.TP, c.tp}, "cp": {g.CP, c.cp}, "dp": {g.DP, c.dp}, "pp": {g.PP, c.pp},
			"ep":        {g.EP, c.ep},
			"expert-dp": {g.ExpertDP, c.edpG},
		} {
			if pair.got.Size != pair.want.size || pair.got.PerDomain != pair.want.perDomain ||
				pair.got.Span != pair.want.span {
				t.Errorf("%s, %s: %+v, want %+v", c.name, name, pair.got, pair.want)
			}
		}
	}
}

// TestCollectiveTimes: formulas K1 and K3 of the playbook's appendix on links
// without latency, over whole domains and across them.
func TestCollectiveTimes(t *testing.T) {
	cluster := hgx()
	c := hardware.NewMachine(&cluster, recipe.BF16, recipe.DefaultStack, &recipe.Software{})
	const volume = 1e9
	allToAll := func(g hardware.Members) units.Seconds {
		t, _ := c.AllToAll(nil, volume, g, hardware.Routing{})
		return t
	}
	intra, inter := 400e9, 50e9
	in8 := hardware.Members{Size: 8, PerDomain: 8}
	near(t, "all-reduce in a node", float64(c.AllReduce(nil, volume, in8)), 2*7.0/8*volume/(intra*0.742),
		1e-9)
	near(t, "all-gather in a node", float64(c.AllGather(nil, volume, in8)), 7.0/8*volume/(intra*0.674), 1e-9)
	near(t, "all-to-all in a node", float64(allToAll(in8)), 7.0/8*volume/(intra*0.597), 1e-9)
	spread := hardware.Members{Size: 4, PerDomain: 1}
	near(t, "all-reduce, a rank in each node", float64(c.AllReduce(nil, volume, spread)),
		2*3.0/4*volume/(inter*0.9), 1e-9)
	both := hardware.Members{Size: 32, PerDomain: 8}
	near(t, "all-gather over 4 nodes of 8", float64(c.AllGather(nil, volume, both)),
		7.0/8*volume/(intra*0.674)+3.0/4*(volume/8)/(inter*0.9), 1e-9)
	near(t, "all-to-all over 4 nodes of 8", float64(allToAll(both)), 24.0/32*volume/(inter*0.8), 1e-9)
	near(t, "send to another node", float64(c.Send(volume, true)), volume/(inter*0.9), 1e-9)
	if one := (hardware.Members{Size: 1, PerDomain: 1}); c.AllReduce(nil, volume, one)+c.AllGather(nil,
		volume, one)+allToAll(one) != 0 {
		t.Error("a group of one takes time")
	}
	cluster.Intra.Latency = units.Millisecond
	near(t, "latency of 7 hops, twice", float64(c.AllReduce(nil, 0, in8)), 14e-3, 1e-9)
}

// A token of DeepSeek-V3 has 8 of 256 experts, of 4 of 8 groups. Over 8 nodes, each with
// a group, it visits 4 (1 - C(96,8)/C(128,8)) of them on average, over 4 nodes with two
// groups each at most all 4, over 64 ranks no more than 8; without the limit more.
func TestTokensGoToALimitedNumberOfGroups(t *testing.T) {
	cluster := hgx()
	c := hardware.NewMachine(&cluster, recipe.BF16, recipe.DefaultStack, &recipe.Software{})
	c.Software.Once = true
	const volume = 8e9 // of 8 copies
	sent := func(size, perDomain, limit int) float64 {
		_, b := c.AllToAll(nil, volume, hardware.Members{Size: size, PerDomain: perDomain},
			hardware.Routing{Copies: 8, Experts: 256, Groups: 8, Limit: limit})
		return float64(b) / 1e9
	}
	missed := 1.0 // C(96,8)/C(128,8)
	for i := range 8 {
		missed *= float64(96-i) / float64(128-i)
	}
	near(t, "copies to 7 of 8 nodes", sent(8, 1, 4), 4*(1-missed)*7/8, 1e-9)
	if free, limited := sent(8, 1, 8), sent(8, 1, 4); limited >= free {
		t.Errorf("limited routing sends %g, free routing %g", limited, free)
	}
	if four := sent(4, 1, 4); four >= 3 || four <= 2 {
		t.Errorf("%g copies to 3 of 4 nodes", four)
	}
	near(t, "no limit", sent(64, 8, 8), sent(64, 8, 0), 1e-9)
}

// TestCausalImbalance holds the closed form against the count.
func TestCausalImbalance(t *testing.T) {
	for _, cp := range []int{2, 4, 8} {
		seq := 15 * cp // divides by cp, not by 2*cp
		l := layout.Layout{Seq: seq, CP: cp}
		work := layout.CausalWork(seq, cp, false)
		sum := 0
		for _, w := range work {
			sum += w
		}
		near(t, "imbalance", l.CausalImbalance(), float64(work[cp-1]*cp)/float64(sum), 1e-12)
		if l.Seq = 16 * cp; l.CausalImbalance() != 1 {
			t.Errorf("zig-zag over %d ranks is not balanced", cp)
		}
	}
}
