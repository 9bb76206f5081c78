package engine_test

import (
	"testing"

	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// roundCluster is a machine of round numbers: eight GPUs in a node at 100 GB/s and 1 us a hop, nodes
// joined at 10 GB/s per GPU and 5 us; products reach half of 1 PFLOP/s, memory half of 2 TB/s.
func roundCluster() (hardware.Cluster, *hardware.Calibration) {
	cal := &hardware.Calibration{
		Ops: hardware.Ops{
			Gemm: 0.5, GemmF8: 0.4, GemmF4: 0.3, HalfK: 100, Stream: 0.5, Start: 3e-6,
			Attention: hardware.Fused{
				Forward:  hardware.Pass{Share: 0.5, Start: 20e-6},
				Backward: hardware.Pass{Share: 0.25}, Wide: 0.8,
			},
			Grouped: 0.25, GroupedRows: 50, GroupedRead: 0.25,
		},
		Network: hardware.Network{
			AllReduce: 0.5, Gather: 0.8, AllToAll: 0.4, Send: 0.25, Fixed: 10e-6,
			InterRing: 0.5, InterAllToAll: 0.2, InterFixed: 100e-6,
		},
		Software: []hardware.Software{{Factor: 1, Passes: 1, Attention: 1, FP8: 2, Hop: 2e-6}},
	}
	c := hardware.Cluster{
		GPU: hardware.GPU{
			MemoryBandwidth: 2e12, PeakBF16: 1e15, PeakFP16: 1e15, PeakFP8: 2e15,
			PeakFP4: 4e15, PeakTF32: 5e14, PeakFP32: 1e14,
		},
		NodeGPUs: 8, ScaleUpGPUs: 8,
		Intra: hardware.Link{Bandwidth: 100e9, Latency: 1e-6},
		Inter: hardware.Link{Bandwidth: 10e9, Latency: 5e-6}, Calibration: cal,
	}
	return c, cal
}

func roundMachine(c *hardware.Cluster, p recipe.Precision) hardware.Machine {
	return hardware.NewMachine(c, p, recipe.MegatronCore, &recipe.Software{})
}

// TestCollectivesByHand: a ring of n moves (n-1)/n of 8 GB, an all-reduce twice that, and between nodes
// each of eight GPUs an eighth of it. In the comments: bytes over rate, then starts and hops.
func TestCollectivesByHand(t *testing.T) {
	type network = func(c *hardware.Cluster, n *hardware.Network)
	node, nodes4 := hardware.Members{Size: 8, PerDomain: 8, Stride: 1},
		hardware.Members{Size: 32, PerDomain: 8, Stride: 1}
	over := func(nodes int) hardware.Members { return hardware.Members{Size: nodes, PerDomain: 1, Stride: 8} }
	halving := func(_ *hardware.Cluster, n *hardware.Network) { // 128 GB/s over the number of nodes
		n.Ring = hardware.Curve{1, 64e9, 32e9, 16e9, 8e9, 4e9, 2e9}
	}
	bridge := func(_ *hardware.Cluster, n *hardware.Network) {
		n.Bridge, n.HalfRing, n.HalfAllToAll = 0.2, 0.9, 0.8
	}
	for _, c := range []struct {
		name   string
		set    network
		reduce bool
		of     hardware.Members
		want   float64
	}{
		{"one rank", nil, false, hardware.Members{Size: 1, PerDomain: 1, Stride: 1}, 0},
		{"gathered in a node", nil, false, node, 7e9/80e9 + 17e-6},
		{"summed in a node", nil, true, node, 2*7e9/50e9 + 24e-6},
		{"gathered by two", nil, false, hardware.Members{Size: 2, PerDomain: 8, Stride: 1}, 4e9/80e9 + 11e-6},
		{"gathered over four nodes", nil, false, nodes4, 7e9/80e9 + 0.75e9/5e9 + 17e-6 + 115e-6},
		{"summed over four nodes", nil, true, nodes4, 2*7e9/50e9 + 2*0.75e9/5e9 + 24e-6 + 120e-6},
		{
			"summed over five nodes, up and down a tree of three steps", nil, true,
			hardware.Members{Size: 40, PerDomain: 8, Stride: 1},
			2*7e9/50e9 + 2*0.8e9/5e9 + 24e-6 + 130e-6,
		},
		{
			"a node and a half", nil, false,
			hardware.Members{Size: 12, PerDomain: 8, Stride: 1},
			7e9/80e9 + 0.5e9/5e9 + 17e-6 + 105e-6,
		},
		{"one rank of each of four nodes", nil, false, over(4), 6e9/5e9 + 10e-6 + 115e-6},
		{
			"half the bandwidth at 40 MB", func(_ *hardware.Cluster, n *hardware.Network) {
				n.HalfSize = 40e6
			},
			false, node, 7e9/80e9 + 40e6/80e9 + 17e-6,
		},
		{
			"a hop of its own over the network", func(_ *hardware.Cluster, n *hardware.Network) {
				n.InterHop = 20e-6
			},
			false, nodes4, 7e9/80e9 + 0.75e9/5e9 + 17e-6 + 160e-6,
		},
		{"measured 32 GB/s per node of four", halving, false, nodes4, 7e9/80e9 + 0.75e9/4e9 + 17e-6 + 115e-6},
		{
			"measured faster than the link", halving, false,
			hardware.Members{Size: 16, PerDomain: 8, Stride: 1},
			7e9/80e9 + 0.5e9/5e9 + 17e-6 + 105e-6,
		},
		{
			"between measured points", halving, false,
			hardware.Members{Size: 48, PerDomain: 8, Stride: 1},
			7e9/80e9 + 1e9*5/6/(128e9/6/8) + 17e-6 + 125e-6,
		},
		{
			"beyond measured points", halving, false,
			hardware.Members{Size: 1024, PerDomain: 8, Stride: 1},
			7e9/80e9 + 1e9*127/128/0.125e9 + 17e-6 + 100e-6 + 127*5e-6,
		},
		{
			"single rails at half the rate", func(c *hardware.Cluster, n *hardware.Network) {
				halving(c, n)
				n.Rails = 0.5
			},
			false, over(4), 6e9/2e9 + 10e-6 + 115e-6,
		},
		{
			"whole nodes feel no rails", func(c *hardware.Cluster, n *hardware.Network) {
				halving(c, n)
				n.Rails = 0.5
			},
			false, nodes4, 7e9/80e9 + 0.75e9/4e9 + 17e-6 + 115e-6,
		},
		{
			"within a half of a bridged node", bridge, false,
			hardware.Members{Size: 4, PerDomain: 8, Stride: 1},
			6e9/90e9 + 13e-6,
		},
		{"across the bridge", bridge, false, node, 7e9/20e9 + 17e-6},
		{
			"two groups across the bridge", bridge, false,
			hardware.Members{Size: 4, PerDomain: 4, Stride: 2},
			6e9/10e9 + 13e-6,
		},
	} {
		cluster, cal := roundCluster()
		if c.set != nil {
			c.set(&cluster, &cal.Network)
		}
		m := roundMachine(&cluster, recipe.BF16)
		run := m.AllGather
		if c.reduce {
			run = m.AllReduce
		}
		near(t, c.name, float64(run(nil, 8e9, c.of)), c.want, 1e-12)
	}
	cluster, cal := roundCluster()
	m := roundMachine(&cluster, recipe.BF16)
	near(t, "a message in the node", float64(m.Send(8e9, false)), 8e9/25e9+3e-6, 1e-12)
	near(t, "a message to another node", float64(m.Send(8e9, true)), 8e9/5e9+7e-6, 1e-12)
	// Measured on a machine of half the links, twice the curve: 16 GB/s measured are 32 here.
	slow := cluster
	slow.Intra.Bandwidth, slow.Inter.Bandwidth = slow.Intra.Bandwidth/2, slow.Inter.Bandwidth/2
	cal.Of, cal.Network.HalfSize, cal.Network.Ring = &slow, 20e6,
		hardware.Curve{1, 32e9, 16e9, 8e9, 4e9, 2e9, 1e9}
	m = roundMachine(&cluster, recipe.BF16)
	near(t, "measured with slower links", float64(m.AllGather(nil, 8e9, nodes4)),
		7e9/80e9+40e6/80e9+0.75e9/4e9+17e-6+115e-6, 1e-12)
}

// TestAllToAllByHand: every rank sends an equal part of 8 GB to each of n, to its node and out of it
// at once. With two of 16 experts a token goes to 2*(1-(8*7)/(16*15)) of two nodes; limited to two of
// four groups of experts, to one of two nodes with 2 of 6 pairs of groups.
func TestAllToAllByHand(t *testing.T) {
	node, two := hardware.Members{Size: 8, PerDomain: 8, Stride: 1},
		hardware.Members{Size: 16, PerDomain: 8, Stride: 1}
	any16 := hardware.Routing{Copies: 2, Experts: 16}
	limited := hardware.Routing{Copies: 2, Experts: 16, Groups: 4, Limit: 2}
	hit := 1 - 4.0/8*3/7 // of eight experts that are open, one of two copies goes to some four
	for _, c := range []struct {
		name       string
		set        func(n *hardware.Network)
		once       bool
		of         hardware.Members
		routing    hardware.Routing
		time, sent float64
	}{
		{"one rank", nil, false, hardware.Members{Size: 1, PerDomain: 1}, any16, 0, 0},
		{"in a node", nil, false, node, any16, 7e9/40e9 + 10e-6, 7e9},
		{"over two nodes", nil, false, two, any16, 4e9/2e9 + 110e-6, 7.5e9},
		{
			"the node's link is slower", func(n *hardware.Network) { n.AllToAll, n.InterAllToAll = 0.01, 1 },
			false, two, any16, 3.5e9/1e9 + 110e-6, 7.5e9,
		},
		{
			"once to each rank", nil, true, node, any16, 7e9*4*(1-14.0*13/(16*15))/40e9 + 10e-6,
			7e9 * 4 * (1 - 14.0*13/(16*15)),
		},
		{
			"once to each node", nil, true, two, any16, 4e9*(1-8.0*7/(16*15))/2e9 + 110e-6,
			3.5e9 + 4e9*(1-8.0*7/(16*15)),
		},
		{
			"with the kernel's own rate", func(n *hardware.Network) { n.Dispatch = 0.8 }, true, node, any16,
			7e9*4*(1-14.0*13/(16*15))/80e9 + 10e-6, 7e9 * 4 * (1 - 14.0*13/(16*15)),
		},
		{
			"one copy is sent as it is", nil, true, two,
			hardware.Routing{Copies: 1, Experts: 16},
			4e9/2e9 + 110e-6, 7.5e9,
		},
		{
			"two groups of experts on each node", nil, true, two, limited, 4e9*(4*hit+1)/6/2e9 + 110e-6,
			3.5e9 + 4e9*(4*hit+1)/6,
		},
		{
			"a group of experts on each node", nil, true,
			hardware.Members{Size: 16, PerDomain: 4, Stride: 1},
			limited, 6e9*hit/2e9 + 110e-6, 1.5e9 + 6e9*hit,
		},
		{"limited to all groups", nil, true, two, hardware.Routing{
			Copies: 2, Experts: 16, Groups: 4,
			Limit: 4,
		}, 4e9*(1-8.0*7/(16*15))/2e9 + 110e-6, 3.5e9 + 4e9*(1-8.0*7/(16*15))},
		{
			"within a half of a bridged node",
			func(n *hardware.Network) { n.Bridge, n.HalfAllToAll = 0.2, 0.8 },
			false,
			hardware.Members{Size: 4, PerDomain: 8},
			any16, 6e9/80e9 + 10e-6, 6e9,
		},
	} {
		cluster, cal := roundCluster()
		if c.set != nil {
			c.set(&cal.Network)
		}
		m := roundMachine(&cluster, recipe.BF16)
		m.Software.Once = c.once
		took, sent := m.AllToAll(nil, 8e9, c.of, c.routing)
		near(t, c.name, float64(took), c.time, 1e-12)
		near(t, c.name+", bytes", float64(sent), c.sent, 1e-12)
	}
}

// TestKernelsByHand: 2*rows*inner*cols over the rate, more for short products and last waves, or the
// bytes over the memory's, and 3 us to start.
func TestKernelsByHand(t *testing.T) {
	cluster, cal := roundCluster()
	m := roundMachine(&cluster, recipe.BF16)
	product := 2 * 2560 * 1000 * 1280 / 5e14 * 1.1
	waves := cluster
	with := *cal
	with.Ops.Wave, with.Ops.SMs = 0.5, 100
	waves.Calibration = &with
	w := roundMachine(&waves, recipe.BF16)
	forward, backward := attended(&m, 1e12, 128)
	wideForward, wideBackward := attended(&m, 1e12, 129)
	slow := m
	slow.Software.Attention = 2
	slowForward, slowBackward := attended(&slow, 1e12, 64)
	zeroForward, zeroBackward := attended(&m, 0, 128)
	for _, c := range []struct {
		name string
		got  units.Seconds
		want float64
	}{
		{"product", m.MatMul(nil, 2560, 1000, 1280, 0), product + 3e-6},
		{"product that memory bounds", m.MatMul(nil, 2560, 1000, 1280, 1e9), 1e-3 + 3e-6},
		{"product of nothing", m.MatMul(nil, 0, 1000, 1280, 1e9), 0},
		{"100 tiles on 100 multiprocessors", w.MatMul(nil, 2560, 1000, 1280, 0), product + 3e-6},
		{
			"110 tiles, half of the second wave felt", w.MatMul(nil, 2561, 1000, 1280, 0),
			product*2561/2560*(1+0.5*(2*2560*1280/(2561.0*1280)-1)) + 3e-6,
		},
		{"tiles of the other orientation", w.MatMul(nil, 1280, 1000, 2560, 0), product + 3e-6},
		{"grouped", m.GroupedMatMul(nil, 8, 100, 1000, 1000, 0), 8*2e8/2.5e14*1.5 + 3e-6},
		{"grouped that memory bounds", m.GroupedMatMul(nil, 8, 100, 1000, 1000, 1e9), 2e-3 + 3e-6},
		{"no groups", m.GroupedMatMul(nil, 0, 100, 1000, 1000, 1e9), 0},
		{"no rows", m.GroupedMatMul(nil, 8, 0, 1000, 1000, 1e9), 0},
		{"attention", forward, 2e-3 + 20e-6},
		{"its backward", backward, 10e-3 + 20e-6},
		{"wide heads", wideForward, 2.5e-3 + 20e-6},
		{"their backward", wideBackward, 12.5e-3 + 20e-6},
		{"a kernel of half the speed", slowForward, 4e-3 + 20e-6},
		{"its backward", slowBackward, 20e-3 + 20e-6},
		{"no attention", zeroForward + zeroBackward, 0},
		{"memory", m.Stream(1e9), 1e-3 + 3e-6},
		{"no memory", m.Stream(0), 0},
	} {
		near(t, c.name, float64(c.got), c.want, 1e-12)
	}
}

// attended returns the times of fused attention of so many operations.
func attended(m *hardware.Machine, f units.FLOPs, width int) (forward, backward units.Seconds) {
	a, b := m.Attention(&hardware.Core{FLOPs: record.Lit(float64(f)), Width: width})
	return units.Seconds(a.V), units.Seconds(b.V)
}

// TestRatesByHand: the share of the format's peak, no more than anybody measured, over what casts cost.
func TestRatesByHand(t *testing.T) {
	for _, c := range []struct {
		precision recipe.Precision
		set       func(c *hardware.Cluster, cal *hardware.Calibration)
		want      float64
	}{
		{recipe.BF16, nil, 5e14},
		{recipe.BF16, func(c *hardware.Cluster, _ *hardware.Calibration) { c.GPU.MatmulBF16 = 4e14 }, 4e14},
		{recipe.FP32, func(c *hardware.Cluster, _ *hardware.Calibration) { c.GPU.MatmulBF16 = 1e14 }, 2.5e14},
		{recipe.FP32, func(c *hardware.Cluster, _ *hardware.Calibration) { c.GPU.PeakTF32 = 0 }, 0.5e14},
		{recipe.FP8, nil, 4e14},
		{recipe.FP8, func(c *hardware.Cluster, _ *hardware.Calibration) { c.GPU.MatmulFP8 = 6e14 }, 3e14},
		{recipe.NVFP4, nil, 12e14},
		{recipe.NVFP4, func(_ *hardware.Cluster, cal *hardware.Calibration) { cal.Ops.GemmF4 = 0 }, 16e14},
	} {
		cluster, cal := roundCluster()
		if c.set != nil {
			c.set(&cluster, cal)
		}
		m := roundMachine(&cluster, c.precision)
		near(t, string(c.precision), float64(m.ProductRate()), c.want, 1e-12)
	}
}
