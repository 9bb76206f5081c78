package memory

import (
	"math"
	"testing"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/units"
)

// TestOverheadFollowsGroups: a GPU alone has the driver's context only (about 1 GiB: OpenRLHF/OpenRLHF#698),
// with one communicator 1.6 GB more (NVIDIA/nccl#864), and what was measured of large jobs with three or
// more (6.3 GiB with PP, DP and EP: NVIDIA/Megatron-LM#6311). On a single node a group holds 688 MiB
// (NVIDIA/nccl#964), unless experts exchange tokens.
func TestOverheadFollowsGroups(t *testing.T) {
	one := layout.Layout{DP: 1, TP: 1, PP: 1, CP: 1, EP: 1}
	with := func(change func(*layout.Layout)) layout.Layout {
		l := one
		change(&l)
		return l
	}
	for _, c := range []struct {
		name   string
		layout layout.Layout
		want   float64 // GiB
	}{
		{"one GPU", one, 1.3},
		{"replicas", with(func(l *layout.Layout) { l.DP = 16 }), 2.87},
		{"replicas on one node", with(func(l *layout.Layout) { l.DP = 8 }), 1.97},
		{"experts", with(func(l *layout.Layout) { l.DP, l.EP = 8, 8 }), 6},
		{"TP on one node", with(func(l *layout.Layout) { l.TP = 8 }), 1.3 + 3*0.67},
		{"TP over two nodes", with(func(l *layout.Layout) { l.TP = 16 }), 6},
		{"PP, DP and EP", with(func(l *layout.Layout) { l.PP, l.DP, l.EP = 4, 16, 16 }), 6},
	} {
		in := Input{Layout: &c.layout, Node: 8, Fitted: hardware.StackMemory{
			Context:       1.3 * units.GiB,
			Communicators: 4.7 * units.GiB, NodeCommunicator: 0.67 * units.GiB,
		}}
		if got := in.Overhead(0).Sum().GiB(); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s: %.2f GiB, want %.2f", c.name, got, c.want)
		}
	}
}
