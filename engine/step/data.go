package step

import (
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
}

// Data works out the data-parallel traffic of a rank with the given parameters
// (ZeRO paper, arXiv 1910.02054, section 7): an all-reduce of the gradients for
// stage 0; a reduce-scatter of them and an all-gather of the weights for 1 and
// 2; for 3 an all-gather in the forward and in the backward and a
// reduce-scatter, every micro-batch. ZeRO-2 scatters every micro-batch.
func Data(in *Input, p memory.Parameters) DataParallel {
	g := &in.Groups
	var out DataParallel
	out.addDomain(in, &out.Dense, p.Dense, g.DenseDP, g.DenseShard, g.DenseReplica)
	out.addDomain(in, &out.Expert, p.Expert, g.ExpertDP, g.ExpertShard, g.ExpertReplica)
	return out
}

// Expose says how much of the traffic nothing hides; the parts share it by the
// time they take.
func (d *DataParallel) Expose(t units.Seconds) {
	if whole := d.Dense.Seconds + d.Expert.Seconds + d.Mirror.Seconds; whole > 0 {
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
	seconds := in.Cluster.Send(bytes, in.Groups.PP.Crosses())
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
	grads := units.Bytes(params * in.GradDtype.ReduceBytes(in.Precision))
	if in.Layout.ZeRO == 0 {
		d.allReduce(in, t, grads, whole)
		return
	}
	// The sums of each replica's shards are summed over the replicas.
	d.allReduce(in, t, grads/units.Bytes(shard.Size), replica)
	m := float64(in.Layout.MicroBatches)
	gather := in.Cluster.AllGather(weights, members(shard))
	scatter := in.Cluster.AllGather(grads, members(shard))
	switch in.Layout.ZeRO {
	case 1:
		d.ScatterSeconds += scatter
		d.GatherSeconds += gather
		t.Bytes += sent(grads, shard) + sent(weights, shard)
		t.Seconds += scatter + gather
	case 2:
		d.PerBackward += scatter
		d.GatherSeconds += gather
		t.Bytes += sent(grads, shard)*units.Bytes(m) + sent(weights, shard)
		t.Seconds += scatter*units.Seconds(m) + gather
	default:
		d.PerForward += gather
		d.PerBackward += gather + scatter
		t.Bytes += (2*sent(weights, shard) + sent(grads, shard)) * units.Bytes(m)
		t.Seconds += (2*gather + scatter) * units.Seconds(m)
	}
}

// allReduce sums gradients over a group once per step.
func (d *DataParallel) allReduce(in *Input, t *Traffic, grads units.Bytes, g layout.Group) {
	if g.Size <= 1 {
		return
	}
	all := in.Cluster.AllReduce(grads, members(g))
	d.ScatterSeconds += all
	t.Bytes += 2 * sent(grads, g)
	t.Seconds += all
}

// OptimizerTime is the update of one rank's shard: about 30 bytes of memory
// traffic per parameter with Adam (gradient, two moments, master copy read and
// written, weight written), and no arithmetic worth counting. Offloaded, its
// gradients cross PCIe to the host and the updated weights come back; what the
// host takes for the update itself is not counted.
func OptimizerTime(in *Input, p memory.Parameters) units.Seconds {
	const traffic = 30
	dense, expert := p.Dense, p.Expert
	if in.Layout.ZeRO >= 1 {
		dense /= float64(in.Layout.DenseShards())
		expert /= float64(in.Layout.ExpertShards())
	}
	if in.Offload == recipe.OffloadOptimizer {
		perParam := in.GradDtype.ReduceBytes(in.Precision) + in.Precision.GatherBytes()
		return units.Bytes(perParam * (dense + expert)).Over(in.Cluster.GPU.HostBandwidth)
	}
	rates := in.Cluster.GPU.Rates(in.Precision)
	return rates.Stream(units.Bytes(traffic * (dense + expert)))
}
