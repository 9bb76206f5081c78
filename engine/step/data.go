package step

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// DataParallel is the traffic of gradients and weights of one pipeline rank.
type DataParallel struct {
	Dense, Expert Traffic
	Mirror        Traffic // between the two copies of a bidirectional pipeline
	// ScatterSeconds must follow the last backward, GatherSeconds must precede
	// the first forward of the next step. With ZeRO-3 both happen in every
	// micro-batch and are in PerForward and PerBackward instead.
	ScatterSeconds, GatherSeconds units.Seconds
	PerForward, PerBackward       units.Seconds
	// PerWeight is the part of PerBackward that a weight gradient makes: its
	// reduce-scatter. The rest are weights that an input gradient needs.
	PerWeight units.Seconds

	layers float64 // of the rank
}

// Data works out the data-parallel traffic of a rank with the given parameters
// (ZeRO paper, arXiv 1910.02054, section 7): an all-reduce of the gradients for
// stage 0; a reduce-scatter of them and an all-gather of the weights for 1 and
// 2; for 3 an all-gather in the forward and in the backward and a
// reduce-scatter, every micro-batch. ZeRO-2 scatters every micro-batch.
func Data(in *Input, p memory.Parameters, layers int) DataParallel {
	g := &in.Groups
	out := DataParallel{layers: float64(max(layers, 1))}
	out.addDomain(in, &out.Dense, p.Dense, g.DenseDP, g.DenseShard, g.DenseReplica)
	out.addDomain(in, &out.Expert, p.Expert, g.ExpertDP, g.ExpertShard, g.ExpertReplica)
	return out
}

// Expose says how much of the traffic nothing hides; the parts share it by the
// time they take. What is exposed in every micro-batch is the busiest rank's and
// what comes after the last one the slowest rank's: together they can be more
// than one rank's traffic, which then counts as long as that.
func (d *DataParallel) Expose(t units.Seconds) {
	if whole := d.Dense.Seconds + d.Expert.Seconds + d.Mirror.Seconds; whole > 0 {
		if longer := t / whole; longer > 1 {
			d.Dense.Seconds *= longer
			d.Expert.Seconds *= longer
			d.Mirror.Seconds *= longer
			whole = t
		}
		d.Dense.Exposed = t * d.Dense.Seconds / whole
		d.Mirror.Exposed = t * d.Mirror.Seconds / whole
		d.Expert.Exposed = t - d.Dense.Exposed - d.Mirror.Exposed
	}
}

// AddMirror adds the exchange of a bidirectional pipeline: the mirror rank holds a
// copy of the same stages, and both sum their gradients once per step, after
// the data-parallel ranks have (each its shard from ZeRO-1 on).
func (d *DataParallel) AddMirror(in *Input, p memory.Parameters) {
	dense, expert := p.Dense, p.Expert
	if in.Layout.ZeRO >= 1 {
		dense /= float64(in.Layout.DP * in.Layout.CP)
		expert /= float64(in.Layout.ExpertDP())
	}
	bytes := units.Bytes((dense + expert) * in.GradDtype.ReduceBytes(in.Precision))
	seconds := in.Machine.Send(bytes, in.Groups.PP.Crosses())
	d.Mirror = Traffic{Bytes: bytes, Seconds: seconds}
	d.ScatterSeconds += seconds
}

// addDomain adds one set of parameters, the group that holds the same ones, and
// how that is cut into shards and replicas.
func (d *DataParallel) addDomain(in *Input, t *Traffic, params float64, whole, shard, replica layout.Group) {
	if whole.Size <= 1 || params == 0 {
		return
	}
	weights := units.Bytes(params * in.Precision.GatherBytes())
	grads := units.Bytes(params * reduceBytes(in))
	if in.Layout.ZeRO == 0 {
		d.allReduce(in, t, grads, whole)
		return
	}
	// The sums of each replica's shards are summed over the replicas.
	d.allReduce(in, t, grads/units.Bytes(shard.Size), replica)
	m := float64(in.Layout.MicroBatches)
	gather := d.collective(in, weights, shard, in.Machine.AllGather)
	scatter := d.collective(in, grads, shard, in.Machine.AllGather)
	stage := in.Layout.ZeRO
	if stage == 3 && in.Layout.PP > 1 && in.Machine.Software.Keeps {
		stage = 1 // once per step
	}
	switch stage {
	case 1:
		d.ScatterSeconds += scatter
		d.GatherSeconds += gather
		t.Bytes += sent(grads, shard) + sent(weights, shard)
		t.Seconds += scatter + gather
	case 2:
		d.PerBackward += scatter
		d.PerWeight += scatter
		d.GatherSeconds += gather
		t.Bytes += sent(grads, shard)*units.Bytes(m) + sent(weights, shard)
		t.Seconds += scatter*units.Seconds(m) + gather
	default:
		d.PerForward += gather
		d.PerBackward += gather + scatter
		d.PerWeight += scatter
		t.Bytes += (2*sent(weights, shard) + sent(grads, shard)) * units.Bytes(m)
		t.Seconds += (2*gather + scatter) * units.Seconds(m)
	}
}

// collective is the time of moving a volume in the calls that the stack makes of
// it: one per layer with ZeRO-3, else one per bucket.
func (d *DataParallel) collective(in *Input, volume units.Bytes, g layout.Group, time func(units.Bytes, hardware.Members) units.Seconds) units.Seconds {
	soft := &in.Machine.Software
	calls, slow := 1.0, 1.0
	if in.Layout.ZeRO == 3 {
		calls, slow = d.layers, max(soft.ShardSlow, 1)
	} else if soft.Bucket > 0 {
		calls = max(float64(volume/soft.Bucket), 1)
	}
	n := units.Seconds(calls * slow * soft.Factor)
	return n * time(volume/units.Bytes(calls), members(g))
}

// reduceBytes is the width in which gradients are summed: the stack's own, else
// that of the buffer that accumulates them.
func reduceBytes(in *Input) float64 {
	if own := in.Machine.Software.Reduce; own > 0 {
		return own
	}
	return in.GradDtype.ReduceBytes(in.Precision)
}

// allReduce sums gradients over a group once per step.
func (d *DataParallel) allReduce(in *Input, t *Traffic, grads units.Bytes, g layout.Group) {
	if g.Size <= 1 {
		return
	}
	all := d.collective(in, grads, g, in.Machine.AllReduce)
	d.ScatterSeconds += all
	t.Bytes += 2 * sent(grads, g)
	t.Seconds += all
}

// OptimizerTime is the update of one rank's shard, memory traffic and no
// arithmetic worth counting (gradient, two moments, master copy read and
// written, weight written: 30 bytes per parameter with fused Adam, more where
// kernels are not fused), and what the host does once per step. Offloaded, its
// gradients cross PCIe to the host and the updated weights come back; what the
// host takes for the update itself is not counted.
func OptimizerTime(in *Input, p memory.Parameters) units.Seconds {
	dense, expert := p.Dense, p.Expert
	if in.Layout.ZeRO >= 1 {
		dense /= float64(in.Layout.DenseShards())
		expert /= float64(in.Layout.ExpertShards())
	}
	if in.Offload == recipe.OffloadOptimizer {
		perParam := in.GradDtype.ReduceBytes(in.Precision) + in.Precision.GatherBytes()
		return units.Bytes(perParam * (dense + expert)).Over(in.Machine.Cluster.GPU.HostBandwidth)
	}
	soft := &in.Machine.Software
	t := in.Machine.Stream(units.Bytes(soft.Optimizer * (dense + expert)))
	return (t + soft.HostStep) * units.Seconds(soft.Factor)
}
