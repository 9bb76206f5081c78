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
	bytes := k.in.OffloadedBytes(stage)
	t := bytes.Over(k.m.Cluster.GPU.Host())
	least := t * units.Seconds(k.m.Software.HostCopies)
	out := Traffic{Bytes: bytes, Seconds: t, Exposed: max(least, t-c.Forward)}
	back := Traffic{Bytes: bytes, Seconds: t, Exposed: max(least, t-(c.InputGrad+c.WeightGrad+c.Recompute))}
	c.ForwardLinks.Host.add(out, 1)
	c.BackwardLinks.Host.add(back, 1)
	if rec.On() {
		recordHost(rec, bytes, k.m.Cluster.GPU.Host(), k.m.Software.HostCopies, out.Exposed+back.Exposed)
	}
}

// recordHost records what toHost adds.
func recordHost(rec *record.Recorder, bytes units.Bytes, host units.BytesPerSecond, share float64, exposed units.Seconds) {
	const way = "offloaded_activations / host_link"
	operands := []record.Operand{record.InUnit(record.Traffic, "offloaded_activations", bytes), record.In("host_link", host), record.In("never_hidden", share)}
	for _, f := range [...]struct {
		id, formula string
		unit        record.Unit
		value       float64
	}{
		{"bytes", "2 * offloaded_activations", record.Traffic, float64(2 * bytes)},
		{"seconds", "2 * " + way, record.Seconds, float64(2 * bytes.Over(host))},
		{"exposed", "max(never_hidden * " + way + ", " + way + " - " + rec.Ref("forward") + ") + max(never_hidden * " + way + ", " + way + " - (" + rec.Ref("input-gradient") + " + " + rec.Ref("weight-gradient") + " + " + rec.Ref("recompute") + "))", record.Seconds, float64(exposed)},
	} {
		rec.Figure(record.Entry{
			ID: "host." + f.id, Name: "activations of one micro-batch on " + rec.What() + " to the host and back: " + f.id, Symbol: "host " + f.id + " of " + rec.What(),
			Unit: f.unit, Formula: f.formula, Value: f.value,
			Source:    "out next to the forward, back next to the backward, each as long as the longer of both (NVIDIA/TransformerEngine, cpu_offload.py)",
			LeavesOut: "memory bandwidth that the copies take from the compute",
		}, operands...)
	}
}
