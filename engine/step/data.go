package step

import (
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// DataParallel is the traffic of gradients and weights of one pipeline rank.
type DataParallel struct {
	Traffic
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
func Data(in *Input, p memory.Parameters, layers int) DataParallel {
	var out DataParallel
	out.addDomain(in, p.Dense, float64(layers), in.Groups.DenseDP)
	out.addDomain(in, p.Expert, float64(layers), in.Groups.ExpertDP)
	return out
}

// addDomain adds one set of parameters and the group that holds the same ones.
func (d *DataParallel) addDomain(in *Input, params, layers float64, g layout.Group) {
	if g.Size <= 1 || params == 0 {
		return
	}
	weights := units.Bytes(params * in.Precision.Bytes())
	grads := units.Bytes(params * reduceBytes(in))
	m := float64(in.Layout.MicroBatches)
	mc, factor := &in.Machine, units.Seconds(in.Machine.Software.Factor)
	calls := 1.0
	if in.Layout.ZeRO == 3 {
		calls = max(layers, 1)
	} else if b := mc.Software.Bucket; b > 0 {
		calls = max(float64(grads/b), 1)
	}
	gather := factor * units.Seconds(calls) * mc.AllGather(weights/units.Bytes(calls), members(g))
	scatter := factor * units.Seconds(calls) * mc.AllGather(grads/units.Bytes(calls), members(g))
	switch in.Layout.ZeRO {
	case 0:
		all := factor * units.Seconds(calls) * mc.AllReduce(grads/units.Bytes(calls), members(g))
		d.ScatterSeconds += all
		d.Bytes += 2 * sent(grads, g)
		d.Seconds += all
	case 1:
		d.ScatterSeconds += scatter
		d.GatherSeconds += gather
		d.Bytes += sent(grads, g) + sent(weights, g)
		d.Seconds += scatter + gather
	case 2:
		d.PerBackward += scatter
		d.GatherSeconds += gather
		d.Bytes += sent(grads, g)*units.Bytes(m) + sent(weights, g)
		d.Seconds += scatter*units.Seconds(m) + gather
	default:
		d.PerForward += gather
		d.PerBackward += gather + scatter
		d.Bytes += (2*sent(weights, g) + sent(grads, g)) * units.Bytes(m)
		d.Seconds += (2*gather + scatter) * units.Seconds(m)
	}
}

// reduceBytes is the width in which gradients are summed: that of the buffer
// that accumulates them.
func reduceBytes(in *Input) float64 {
	if own := in.Machine.Software.Reduce; own > 0 {
		return own
	}
	if in.GradDtype == recipe.GradBF16 && in.Precision != recipe.FP32 {
		return 2
	}
	return 4
}

// OptimizerTime is the update of one rank's shard, memory traffic and no
// arithmetic worth counting (gradient, two moments, master copy read and
// written, weight written: 30 bytes per parameter with fused Adam, more where
// kernels are not fused), and what the host does once per step.
func OptimizerTime(in *Input, p memory.Parameters) units.Seconds {
	dense, expert := p.Dense, p.Expert
	if in.Layout.ZeRO >= 1 {
		dense /= float64(in.Layout.DP * in.Layout.CP)
		expert /= float64(in.Layout.ExpertDP())
	}
	soft := &in.Machine.Software
	t := in.Machine.Stream(units.Bytes(soft.Optimizer * (dense + expert)))
	return (t + soft.HostStep) * units.Seconds(soft.Factor)
}
