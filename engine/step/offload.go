package step

import (
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// toHost adds the way of a stage's offloaded activations to host memory, next to its forward,
// and back, next to its backward. Copies run next to the compute on a link of their own
// (NVIDIA/TransformerEngine, cpu_offload.py): a pass takes as long as the longer of both, or
// as both where no overlap is taken to work.
func (k *kernels) toHost(c *Cost, rec *record.Recorder, stage int) {
	if k.in.OffloadedBytes == nil {
		return
	}
	bytes, soft := rec.Named("offloaded_activations", float64(k.in.OffloadedBytes(stage))), &k.m.Software
	once := bytes.Over(rec.Named("host_link", float64(k.m.Cluster.GPU.Host())))
	least, forward, backward := rec.Named("never_hidden", soft.HostCopies).
		Times(once),
		record.Lit(
			float64(c.Forward),
		), record.Lit(
			float64(c.InputGrad+c.WeightGrad+c.Recompute),
		)
	if rec.On() {
		forward = rec.Named(rec.Ref("forward"), forward.V)
		backward = rec.Written(
			record.Sum(rec.Ref("input-gradient"), rec.Ref("weight-gradient"), rec.Ref("recompute")),
			backward.V,
		)
	}
	out, back := least.AtLeast(once.Minus(forward)), least.AtLeast(once.Minus(backward))
	c.ForwardLinks.Host.add(Traffic{units.Bytes(bytes.V), units.Seconds(once.V), units.Seconds(out.V)}, 1)
	c.BackwardLinks.Host.add(Traffic{units.Bytes(bytes.V), units.Seconds(once.V), units.Seconds(back.V)}, 1)
	if !rec.On() {
		return
	}
	two := record.Lit(2)
	for _, f := range [...]struct {
		id   string
		unit record.Unit
		of   record.Num
	}{
		{"bytes", record.Traffic, two.Times(bytes)},
		{"seconds", record.Seconds, two.Times(once)},
		{"exposed", record.Seconds, out.Plus(back)},
	} {
		rec.Figure(record.Entry{
			ID:     "host." + f.id,
			Name:   "activations of one micro-batch on " + rec.What() + " to the host and back: " + f.id,
			Symbol: "host " + f.id + " of " + rec.What(),
			Unit:   f.unit, Formula: f.of.Text(), Value: f.of.V,
			Source: "out next to the forward, back next to the backward, each as long as the longer of " +
				"both (NVIDIA/TransformerEngine, cpu_offload.py)",
			LeavesOut: "memory bandwidth that the copies take from the compute",
		}, record.InUnit(record.Traffic, "offloaded_activations", bytes.V),
			record.In("host_link", k.m.Cluster.GPU.Host()), record.In("never_hidden", soft.HostCopies))
	}
}
