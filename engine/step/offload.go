package step

import (
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// toHost adds the way of a stage's offloaded activations to host memory, next to its forward,
// and back, next to its backward. Copies run beside the compute on a link of their own
// (NVIDIA/TransformerEngine, cpu_offload.py): a pass takes as long as the longer of both.
func (k *kernels) toHost(c *Cost, rec *record.Recorder, stage int) {
	if k.in.Away == nil {
		return
	}
	bytes := k.in.Away(stage)
	t := bytes.Over(k.m.Cluster.GPU.Host())
	out := Traffic{Bytes: bytes, Seconds: t, Exposed: max(0, t-c.Forward)}
	back := Traffic{Bytes: bytes, Seconds: t, Exposed: max(0, t-(c.InputGrad+c.WeightGrad+c.Recompute))}
	c.ForwardLinks.Host.add(out, 1)
	c.BackwardLinks.Host.add(back, 1)
	if rec.On() {
		recordHost(rec, bytes, k.m.Cluster.GPU.Host(), out.Exposed+back.Exposed)
	}
}

// recordHost records what toHost adds.
func recordHost(rec *record.Recorder, bytes units.Bytes, host units.BytesPerSecond, exposed units.Seconds) {
	const way = "offloaded_activations / host_link"
	operands := []record.Operand{record.InUnit(record.Traffic, "offloaded_activations", bytes), record.In("host_link", host)}
	for _, f := range [...]struct {
		id, formula string
		unit        record.Unit
		value       float64
	}{
		{"bytes", "2 * offloaded_activations", record.Traffic, float64(2 * bytes)},
		{"seconds", "2 * " + way, record.Seconds, float64(2 * bytes.Over(host))},
		{"exposed", "max(0, " + way + " - " + rec.Ref("forward") + ") + max(0, " + way + " - (" + rec.Ref("input-gradient") + " + " + rec.Ref("weight-gradient") + " + " + rec.Ref("recompute") + "))", record.Seconds, float64(exposed)},
	} {
		rec.Figure(record.Entry{
			ID: "host." + f.id, Name: "activations of one micro-batch on " + rec.What() + " to the host and back: " + f.id, Symbol: "host " + f.id + " of " + rec.What(),
			Unit: f.unit, Formula: f.formula, Value: f.value,
			Source:    "out beside the forward, back beside the backward, each as long as the longer of both (NVIDIA/TransformerEngine, cpu_offload.py)",
			LeavesOut: "memory bandwidth that the copies take from the compute",
		}, operands...)
	}
}
