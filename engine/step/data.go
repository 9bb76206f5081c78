package step

import (
	"fmt"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
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

	layers float64          // of the rank
	copies int              // of each weight over the ranks
	rec    *record.Recorder // of the rank; its sums have the same names
}

// Data computes the data-parallel traffic of a rank with the given parameters
// (ZeRO paper, arXiv 1910.02054, section 7): an all-reduce of the gradients for
// stage 0; a reduce-scatter of them and an all-gather of the weights for 1 and
// 2; for 3 an all-gather in the forward and in the backward and a
// reduce-scatter, every micro-batch. ZeRO-2 scatters every micro-batch. With two copies of
// the weights over the ranks, as in a bidirectional pipeline, a micro-batch goes through half
// of what a rank holds, and the rank exchanges gradients with its mirror.
func Data(in *Input, rank int, p memory.Parameters, copies int) DataParallel {
	g := &in.Groups
	out := DataParallel{layers: float64(max(p.Layers, 1)), copies: copies, rec: in.Record.At("data", "rank", rank)}
	if out.rec.On() {
		out.rec.Let("dense_parameters", parametersOf(in.Record, rank, "dense"))
		out.rec.Let("expert_parameters", parametersOf(in.Record, rank, "expert"))
	}
	out.addDomain(in, out.rec.Scope("dense", "dense"), &out.Dense, p.Dense, g.DenseDP, g.DenseShard, g.DenseReplica)
	out.addDomain(in, out.rec.Scope("expert", "expert"), &out.Expert, p.Expert, g.ExpertDP, g.ExpertShard, g.ExpertReplica)
	if copies > 1 {
		out.addMirror(in, p)
	}
	return out
}

// parametersOf returns the dense or expert parameters on one GPU of a rank.
func parametersOf(rec *record.Recorder, rank int, kind string) string {
	return rec.Ref(fmt.Sprintf("memory.ranks.%d.%s-parameters", rank, kind))
}

// AddExposed sets how much of the traffic is exposed; the parts share it by the
// time they take. What is exposed in every micro-batch is the busiest rank's and
// what comes after the last one the slowest rank's: together they can be more
// than one rank's traffic, which then counts as long as that.
func (d *DataParallel) AddExposed(t units.Seconds) {
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

// addMirror adds the exchange of a bidirectional pipeline: the mirror rank holds a
// copy of the same stages, and both sum their gradients once per step, after
// the data-parallel ranks have (each its shard from ZeRO-1 on).
func (d *DataParallel) addMirror(in *Input, p memory.Parameters) {
	dense, expert := p.Dense, p.Expert
	if in.Layout.ZeRO >= 1 {
		dense /= float64(in.Layout.DP * in.Layout.CP)
		expert /= float64(in.Layout.ExpertDP())
	}
	bytes := units.Bytes((dense + expert) * in.GradDtype.ReduceBytes(in.Precision))
	seconds := in.Machine.Send(bytes, in.Groups.PP.Crosses())
	d.Mirror = Traffic{Bytes: bytes, Seconds: seconds}
	d.ScatterSeconds += seconds
	if d.rec.On() {
		d.recordMirror(in, bytes, p.Expert > 0)
	}
}

func (d *DataParallel) recordMirror(in *Input, bytes units.Bytes, experts bool) {
	params := "dense_parameters"
	if in.Layout.ZeRO >= 1 {
		params = "dense_parameters / (dp * c)"
	}
	switch {
	case experts && in.Layout.ZeRO >= 1:
		params += " + expert_parameters / expert_DP"
	case experts:
		params += " + expert_parameters"
	}
	d.rec.Figure(record.Entry{
		ID: "mirror", Name: "gradients that " + d.rec.What() + " exchanges with its mirror", Symbol: "v_mirror", Unit: record.Traffic,
		Formula: "(" + params + ") * bytes_on_the_wire", Value: float64(bytes), Source: "each rank its shard from ZeRO-1 on",
	}, record.In("expert_DP", in.Layout.ExpertDP()), record.In("bytes_on_the_wire", in.GradDtype.ReduceBytes(in.Precision)))
	t := hardware.SendFormula(d.rec.Ref("mirror"), in.Groups.PP.Crosses())
	d.rec.Term("mirror", t)
	d.rec.Term("scatter", t)
}

// addDomain adds one set of parameters, the group that holds the same ones, and
// how that is cut into shards and replicas.
func (d *DataParallel) addDomain(in *Input, rec *record.Recorder, t *Traffic, params float64, whole, shard, replica layout.Group) {
	if whole.Size <= 1 || params == 0 {
		return
	}
	weights := units.Bytes(params * in.Precision.GatherBytes())
	grads := units.Bytes(params * reduceBytes(in))
	if rec.On() {
		d.recordVolumes(in, rec, grads, weights)
	}
	if in.Layout.ZeRO == 0 {
		d.allReduce(in, rec, t, grads, "v_gradients", whole)
	} else {
		d.addSharded(in, rec, t, weights, grads, shard, replica)
	}
	if rec.On() {
		d.recordSent(rec, t)
	}
}

// addSharded adds what ZeRO moves of the shards, and between replicas.
func (d *DataParallel) addSharded(in *Input, rec *record.Recorder, t *Traffic, weights, grads units.Bytes, shard, replica layout.Group) {
	if rec.On() {
		rec.Given(record.In("shards", shard.Size))
	}
	// The sums of each replica's shards are summed over the replicas.
	d.allReduce(in, rec, t, grads/units.Bytes(shard.Size), "v_gradients / shards", replica)
	m := float64(in.Layout.MicroBatches) / float64(d.copies) // through the whole of the rank
	gather := d.collective(in, rec.Part("gather", "weight all-gather"), "v_weights", weights, shard, in.Machine.AllGather)
	scatter := d.collective(in, rec.Part("scatter", "gradient reduce-scatter"), "v_gradients", grads, shard, in.Machine.AllGather)
	stage := in.Layout.ZeRO
	if stage == 3 && in.Layout.PP > 1 && in.Machine.Software.Keeps {
		stage = 1 // once per step
	}
	if rec.On() {
		d.recordSharded(rec, stage)
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

// recordVolumes records what one set of parameters sends once.
func (d *DataParallel) recordVolumes(in *Input, rec *record.Recorder, grads, weights units.Bytes) {
	for _, v := range [...]struct {
		id, name string
		value    units.Bytes
		bytes    float64
	}{{"gradients", "gradients", grads, reduceBytes(in)}, {"weights", "weights", weights, in.Precision.GatherBytes()}} {
		rec.Figure(record.Entry{
			ID: v.id, Name: v.name + " of " + rec.What() + " parameters, " + d.rec.What(), Symbol: "v_" + v.id, Unit: record.Traffic,
			Formula: rec.What() + "_parameters * bytes_on_the_wire", Value: float64(v.value), Source: "parameters on the GPU times bytes on the wire",
		}, record.In("bytes_on_the_wire", v.bytes))
	}
}

// recordSharded records what addDomain adds for a ZeRO stage.
func (d *DataParallel) recordSharded(rec *record.Recorder, stage int) {
	gather, scatter, m := rec.Ref("gather"), rec.Ref("scatter"), "m"
	if d.copies > 1 {
		m = "(m / 2)"
	}
	const gradients, weights = "v_gradients * (shards - 1) / shards", "v_weights * (shards - 1) / shards"
	switch stage {
	case 1:
		d.rec.Term("scatter", scatter)
		d.rec.Term("gather", gather)
		rec.Term("bytes", gradients+" + "+weights)
		rec.Term("seconds", scatter+" + "+gather)
	case 2:
		d.rec.Term("weight", scatter)
		d.rec.Term("gather", gather)
		rec.Term("bytes", m+" * "+gradients+" + "+weights)
		rec.Term("seconds", m+" * "+scatter+" + "+gather)
	default:
		d.rec.Term("forward", gather)
		d.rec.Term("input", gather)
		d.rec.Term("weight", scatter)
		rec.Term("bytes", m+" * (2 * "+weights+" + "+gradients+")")
		rec.Term("seconds", m+" * (2 * "+gather+" + "+scatter+")")
	}
}

// recordSent records what one set of parameters sends over the step, and the time.
func (d *DataParallel) recordSent(rec *record.Recorder, t *Traffic) {
	rec.Figure(record.Entry{
		ID: "sent", Name: "bytes that " + d.rec.What() + " sends for its " + rec.What() + " parameters in a step", Symbol: "sent of " + d.rec.What(),
		Unit: record.Traffic, Formula: rec.Sum("bytes"), Value: float64(t.Bytes), Source: "ZeRO (arXiv 1910.02054) section 7",
	})
	rec.Figure(record.Entry{
		ID: "seconds", Name: "time of that traffic", Symbol: "time of " + d.rec.What(),
		Unit: record.Seconds, Formula: rec.Sum("seconds"), Value: float64(t.Seconds), Source: "the sum of its collectives",
	})
}

// collective returns the time of moving a volume in the calls that the stack makes of
// it: one per layer with ZeRO-3, else one per bucket.
func (d *DataParallel) collective(in *Input, rec *record.Recorder, formula string, volume units.Bytes, g layout.Group,
	time func(*record.Recorder, units.Bytes, hardware.Members) units.Seconds,
) units.Seconds {
	soft := &in.Machine.Software
	calls, slow, count := 1.0, 1.0, "1"
	if in.Layout.ZeRO == 3 {
		calls, slow, count = d.layers, max(soft.ShardSlow, 1), "layers_of_the_rank"
	} else if soft.Bucket > 0 {
		calls, count = max(float64(volume/soft.Bucket), 1), "max(volume / bucket, 1)"
	}
	var call *record.Recorder
	if rec.On() {
		rec.Let("volume", formula)
		call = rec.Scope("call", "one call of the "+rec.What())
		call.Let("volume", "volume / ("+count+")")
	}
	n := units.Seconds(calls * slow * soft.Factor)
	t := n * time(call, volume/units.Bytes(calls), members(g))
	if rec.On() {
		rec.Given(record.In("layers_of_the_rank", d.layers), record.InUnit(record.Traffic, "bucket", soft.Bucket))
		rec.Figure(record.Entry{
			Name: "time of the " + rec.What() + ", " + d.rec.What(), Symbol: "t(" + rec.What() + ")", Unit: record.Seconds, Value: float64(t),
			Formula:   count + " * slowing_of_many_small_tensors * factor_of_the_stack * " + call.Ref(""),
			Source:    "calls (one per layer with ZeRO-3, else one per bucket) times one call; " + record.From(soft.From),
			LeavesOut: "other traffic on the same links",
		}, record.In("slowing_of_many_small_tensors", slow))
	}
	return t
}

// reduceBytes returns the width in which gradients are summed.
func reduceBytes(in *Input) float64 {
	return in.Machine.Software.ReduceBytes(in.GradDtype, in.Precision)
}

// allReduce sums gradients over a group once per step.
func (d *DataParallel) allReduce(in *Input, rec *record.Recorder, t *Traffic, grads units.Bytes, formula string, g layout.Group) {
	if g.Size <= 1 {
		return
	}
	all := d.collective(in, rec.Part("all-reduce", "gradient all-reduce"), formula, grads, g, in.Machine.AllReduce)
	d.ScatterSeconds += all
	t.Bytes += 2 * sent(grads, g)
	t.Seconds += all
	if rec.On() {
		rec.Given(record.In("ranks_that_sum", g.Size))
		d.rec.Term("scatter", rec.Ref("all-reduce"))
		rec.Term("bytes", "2 * "+formula+" * (ranks_that_sum - 1) / ranks_that_sum")
		rec.Term("seconds", rec.Ref("all-reduce"))
	}
}

// OptimizerTime returns the update of one rank's shard, memory traffic and no
// arithmetic worth counting (gradient, two moments, master copy read and
// written, weight written: 30 bytes per parameter with fused Adam, more where
// kernels are not fused), and what the host does once per step. Offloaded, its
// gradients cross PCIe to the host, whose processors update the shards of all GPUs of
// the node, and the updated weights come back, one after the other. NVFP4 casts all weights
// of the rank but those of embedding and head after it.
func OptimizerTime(in *Input, rank int, p memory.Parameters) units.Seconds {
	t := optimizerTime(in, p)
	if in.Record.On() {
		recordOptimizer(in, rank, p, t)
	}
	return t
}

func optimizerTime(in *Input, p memory.Parameters) units.Seconds {
	dense, expert := p.Dense, p.Expert
	if in.Layout.ZeRO >= 1 {
		dense /= float64(in.Layout.DenseShards())
		expert /= float64(in.Layout.ExpertShards())
	}
	soft := &in.Machine.Software
	var t units.Seconds
	if in.Offload == recipe.OffloadOptimizer {
		t = units.Bytes(hostBytes(in)*(dense+expert)).Over(in.Machine.Cluster.GPU.Host()) +
			soft.HostUpdate*units.Seconds(float64(hostGPUs(in))*(dense+expert))
	} else {
		t = in.Machine.Stream(units.Bytes(soft.Optimizer * (dense + expert)))
	}
	if in.Precision == recipe.NVFP4 { // Transformer Engine keeps the 4-bit weights for all micro-batches
		t += in.Machine.Stream(units.Bytes(recipe.CastBytes * (p.Dense + p.Expert - p.Embedding)))
	}
	return (t + soft.HostStep) * units.Seconds(soft.Factor)
}

// hostBytes returns what crosses PCIe per parameter: its gradient and the updated weight.
func hostBytes(in *Input) float64 {
	return in.GradDtype.ReduceBytes(in.Precision) + in.Precision.GatherBytes()
}

// hostGPUs returns how many GPUs of the job share the processors of a node.
func hostGPUs(in *Input) int { return min(in.Layout.GPUs, in.Machine.Cluster.Node()) }

// recordOptimizer records what optimizerTime gave.
func recordOptimizer(in *Input, rank int, p memory.Parameters, t units.Seconds) {
	dense, expert := parametersOf(in.Record, rank, "dense"), parametersOf(in.Record, rank, "expert")
	if in.Layout.ZeRO >= 1 {
		dense, expert = dense+" / shards", expert+" / expert_shards"
	}
	if p.Expert > 0 {
		dense += " + " + expert
	}
	soft := &in.Machine.Software
	formula := "(" + in.Machine.StreamFormula("bytes_per_parameter * ("+dense+")", t) + " + host_time_per_step) * factor_of_the_stack"
	if in.Offload == recipe.OffloadOptimizer {
		formula = "((" + dense + ") * (bytes_over_PCIe / PCIe + host_time_per_parameter * GPUs_of_a_node) + host_time_per_step) * factor_of_the_stack"
	}
	if in.Precision == recipe.NVFP4 {
		whole := parametersOf(in.Record, rank, "dense")
		if p.Expert > 0 {
			whole += " + " + parametersOf(in.Record, rank, "expert")
		}
		whole += " - " + parametersOf(in.Record, rank, "embedding")
		cast := in.Machine.StreamFormula("bytes_of_a_cast * ("+whole+")", in.Machine.Stream(units.Bytes(p.Dense+p.Expert-p.Embedding)))
		formula = strings.TrimSuffix(formula, " + host_time_per_step) * factor_of_the_stack") + " + " + cast + " + host_time_per_step) * factor_of_the_stack"
	}
	in.Record.At("time.optimizer", "rank", rank).Figure(record.Entry{
		Name: fmt.Sprintf("optimizer step of pipeline rank %d", rank), Symbol: fmt.Sprintf("optimizer of rank %d", rank), Unit: record.Seconds,
		Formula: formula, Value: float64(t),
		Source: "memory traffic of fused Adam over the rank's shard, or its way to the host and back and the update by the host's processors " +
			"(CPU-Adam: deepspeedai/DeepSpeed, pull request 735), and the host's part; " + record.From(soft.From),
		LeavesOut: "arithmetic, gradient clipping's norm over ranks",
	}, record.In("shards", in.Layout.DenseShards()), record.In("expert_shards", in.Layout.ExpertShards()),
		record.In("bytes_of_a_cast", recipe.CastBytes), record.In("bytes_per_parameter", soft.Optimizer), record.In("host_time_per_step", soft.HostStep),
		record.In("bytes_over_PCIe", hostBytes(in)), record.In("PCIe", in.Machine.Cluster.GPU.Host()),
		record.In("host_time_per_parameter", soft.HostUpdate), record.In("GPUs_of_a_node", hostGPUs(in)))
}

// MicroBatchTraffic is the ZeRO traffic of one micro-batch on a stage that no compute
// hides: under a forward and a whole backward, and under the two parts of a split one,
// which run apart, each with its own traffic. A pass hides it with the compute that
// traffic inside layers leaves.
type MicroBatchTraffic struct{ Forward, Backward, Input, Weight units.Seconds }

// PerMicroBatch returns that of a stage whose rank has so many chunks.
func (d *DataParallel) PerMicroBatch(k *Cost, chunks int, soft *hardware.Software) MicroBatchTraffic {
	if d.PerForward == 0 && d.PerBackward == 0 {
		return MicroBatchTraffic{} // as up to ZeRO-1
	}
	share, n := units.Seconds(soft.Shard), units.Seconds(chunks)
	exposed := func(traffic, under units.Seconds) units.Seconds { return max(traffic*share, traffic-under) }
	b, w := d.PerBackward/n, d.PerWeight/n
	return MicroBatchTraffic{
		Forward:  exposed(d.PerForward/n, k.ForwardOverlapBudget()),
		Backward: exposed(b, k.BackwardOverlapBudget(false)),
		Input:    exposed(b-w, k.InputGradOverlapBudget()), Weight: exposed(w, k.WeightGrad),
	}
}

// Left returns the compute of the last backward of a stage whose rank has so many chunks
// that is left to hide what travels once per step, and z is what PerMicroBatch gave.
func (d *DataParallel) LastBackwardBudget(k *Cost, chunks int, z *MicroBatchTraffic, split bool) units.Seconds {
	exposed := z.Backward
	if split {
		exposed = z.Input + z.Weight
	}
	return max(0, k.BackwardOverlapBudget(split)-(d.PerBackward/units.Seconds(chunks)-exposed))
}
