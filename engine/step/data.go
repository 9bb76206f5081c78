package step

import (
	"fmt"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
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
	out := DataParallel{
		layers: float64(max(p.Layers, 1)),
		copies: copies,
		rec:    in.Record.At("data", "rank", rank),
	}
	if out.rec.On() {
		out.rec.Let("dense_parameters", parametersOf(in.Record, rank, "dense"))
		out.rec.Let("expert_parameters", parametersOf(in.Record, rank, "expert"))
	}
	out.addDomain(
		in,
		out.rec.Scope("dense", "dense"),
		&out.Dense,
		p.Dense,
		g.DenseDP,
		g.DenseShard,
		g.DenseReplica,
	)
	out.addDomain(
		in,
		out.rec.Scope("expert", "expert"),
		&out.Expert,
		p.Expert,
		g.ExpertDP,
		g.ExpertShard,
		g.ExpertReplica,
	)
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
	params := shardOf(
		d.rec.Named("dense_parameters", p.Dense),
		d.rec.Named("dp", float64(in.Layout.DP)).Times(d.rec.Named("c", float64(in.Layout.CP))),
		in,
	)
	if p.Expert > 0 {
		params = params.Plus(
			shardOf(
				d.rec.Named("expert_parameters", p.Expert),
				d.rec.Named("expert_DP", float64(in.Layout.ExpertDP())),
				in,
			),
		)
	}
	wire := in.GradDtype.ReduceBytes(in.Precision)
	volume := params.Times(d.rec.Named("bytes_on_the_wire", wire))
	if d.rec.On() {
		volume = d.rec.Figure(record.Entry{
			ID: "mirror", Name: "gradients that " + d.rec.What() + " exchanges with its mirror",
			Symbol: "v_mirror", Unit: record.Traffic,
			Formula: volume.Text(), Value: volume.V, Source: "each rank its shard from ZeRO-1 on",
		}, record.In("expert_DP", in.Layout.ExpertDP()), record.In("bytes_on_the_wire", wire))
	}
	t := in.Machine.Sent(volume, in.Groups.PP.Crosses())
	d.Mirror = Traffic{Bytes: units.Bytes(volume.V), Seconds: units.Seconds(t.V)}
	d.add(&d.ScatterSeconds, "scatter", t)
	if d.rec.On() {
		d.rec.Term("mirror", t.Text())
	}
}

// shardOf returns what one of so many ranks holds of the gradients after they are summed.
func shardOf(n, ranks record.Num, in *Input) record.Num {
	if in.Layout.ZeRO == 0 {
		return n
	}
	return n.Over(ranks)
}

// add adds a time to one of the sums of the rank.
func (d *DataParallel) add(to *units.Seconds, sum string, t record.Num) {
	*to += units.Seconds(t.V)
	if d.rec.On() {
		d.rec.Term(sum, t.Text())
	}
}

// domain is one set of parameters: what it sends of gradients and weights, and what that adds up to.
type domain struct {
	in     *Input
	rec    *record.Recorder
	total  Traffic
	shards record.Num
}

// add adds bytes and the time that they take.
func (o *domain) add(bytes, seconds record.Num) {
	o.total.Bytes += units.Bytes(bytes.V)
	o.total.Seconds += units.Seconds(seconds.V)
	if o.rec.On() {
		o.rec.Term("bytes", bytes.Text())
		o.rec.Term("seconds", seconds.Text())
	}
}

// addDomain adds one set of parameters, the group that holds the same ones, and
// how that is cut into shards and replicas.
func (d *DataParallel) addDomain(
	in *Input,
	rec *record.Recorder,
	t *Traffic,
	params float64,
	whole, shard, replica layout.Group,
) {
	if whole.Size <= 1 || params == 0 {
		return
	}
	o := domain{in: in, rec: rec, shards: rec.Named("shards", float64(shard.Size))}
	gathered, trained := sentShares(in)
	weights := d.volume(&o, "weights", "v_weights", params, in.gatherBytes(), gathered)
	grads := d.volume(&o, "gradients", "v_gradients", params, reduceBytes(in), trained)
	if in.Layout.ZeRO == 0 {
		d.allReduce(&o, grads, whole)
	} else {
		d.addSharded(&o, weights, grads, shard, replica)
	}
	if *t = o.total; rec.On() {
		d.recordSent(&o, t)
	}
}

// gatherBytes returns the width in which weights are gathered; qwZ of ZeRO++ has a scale of 4 bytes for 8,000
// elements at most (deepspeed/runtime/zero/partition_parameters.py, CUDAQuantizer).
func (in *Input) gatherBytes() float64 {
	if in.QWZ && in.Layout.ZeRO == 3 {
		return 1 + 4./8000
	}
	return in.Precision.GatherBytes()
}

// sentShares returns which shares of weights and gradients travel: all, or with adapters what a stack knows.
func sentShares(in *Input) (weights, gradients float64) {
	if in.Known == nil || in.Known.Trained >= 1 {
		return 1, 1
	}
	return in.Known.Gathered, in.Known.Trained
}

// volume returns what one set of parameters sends once, of a share of so many bytes each.
func (d *DataParallel) volume(o *domain, id, symbol string, params, bytes, share float64) record.Num {
	if o.rec.On() {
		formula := o.rec.What() + "_parameters * bytes_on_the_wire"
		if share != 1 {
			name := "share_of_" + id + "_that_travels"
			formula += " * " + name
			o.rec.Given(record.InUnit(record.Share, name, share))
		}
		o.rec.Figure(record.Entry{
			ID: id, Name: id + " of " + o.rec.What() + " parameters, " + d.rec.What(), Symbol: symbol,
			Unit: record.Traffic, Formula: formula, Value: params * bytes * share,
			Source: "parameters on the GPU times bytes on the wire",
		}, record.In("bytes_on_the_wire", bytes))
	}
	return o.rec.Named(symbol, params*bytes*share)
}

// addSharded adds what ZeRO moves of the shards, and between replicas.
func (d *DataParallel) addSharded(o *domain, weights, grads record.Num, shard, replica layout.Group) {
	in, two := o.in, record.Lit(2)
	if o.rec.On() {
		o.rec.Given(record.In("shards", shard.Size))
	}
	// The sums of each replica's shards are summed over the replicas.
	d.allReduce(o, grads.Over(o.shards), replica)
	m := d.rec.Named("m", float64(in.Layout.MicroBatches)).
		Over(record.Lit(float64(d.copies)))
		// through the whole of the rank
	gather := d.collective(o, "gather", "weight all-gather", weights, shard, in.Machine.AllGather)
	var sum flow
	if in.Layout.Int4Gradients(in.QGZ, in.Machine.Cluster.Node()) {
		sum = d.fourBits(o, grads, shard)
	} else {
		sum = d.scattered(o, grads, shard)
	}
	scatter, gradients, gathered := sum.seconds, sum.bytes, around(weights, o.shards)
	stage := in.Layout.ZeRO
	if stage == 3 && in.Layout.PP > 1 && in.Machine.Software.Keeps {
		stage = 1 // once per step
	}
	switch stage {
	case 1:
		d.add(&d.ScatterSeconds, "scatter", scatter)
		d.add(&d.GatherSeconds, "gather", gather)
		o.add(gradients.Plus(gathered), scatter.Plus(gather))
	case 2:
		d.add(&d.PerWeight, "weight", scatter)
		d.PerBackward += units.Seconds(scatter.V)
		d.add(&d.GatherSeconds, "gather", gather)
		o.add(gradients.Times(m).Plus(gathered), scatter.Times(m).Plus(gather))
	default:
		if in.HPZ > 1 {
			near := d.second(o, weights, gather, shard)
			gather, gathered = near.seconds, near.bytes
		}
		d.add(&d.PerForward, "forward", gather)
		d.PerBackward += units.Seconds(gather.V + scatter.V)
		if d.rec.On() {
			d.rec.Term("input", gather.Text())
		}
		d.add(&d.PerWeight, "weight", scatter)
		o.add(two.Times(gathered).Plus(gradients).Times(m), two.Times(gather).Plus(scatter).Times(m))
	}
}

// second adds the first gather of a step under ZeRO++, whose weights the update has changed, and returns the
// others: they read the second copy of a few ranks next to each other. Frozen weights are always read there
// (deepspeed/runtime/zero/stage3.py, invalidate_secondary_tensor: of parameters that are trained).
func (d *DataParallel) second(o *domain, weights, gather record.Num, shard layout.Group) flow {
	in := o.in
	block := in.Layout.Part(in.Machine.Cluster, min(in.HPZ, shard.Size), 1)
	ranks := o.rec.Named("hpz", float64(block.Size))
	near := flow{
		bytes: around(weights, ranks),
		seconds: d.collective(o, "second", "weight all-gather from second copies", weights, block,
			in.Machine.AllGather),
	}
	share := record.Lit(1)
	if k := in.Known; k != nil && k.Trained < 1 && k.Gathered > 0 {
		share = o.rec.Named("share_that_the_update_changes", k.Trained/k.Gathered)
	}
	if o.rec.On() {
		o.rec.Given(record.In("hpz", block.Size))
		if share.Named() {
			o.rec.Given(record.InUnit(record.Share, "share_that_the_update_changes", share.V))
		}
	}
	more := gather.Minus(near.seconds).Times(share)
	if first := o.rec.Part("first", "first weight all-gather of a step"); first.On() {
		more = first.Figure(record.Entry{
			Name:   "time of the " + first.What() + " over one from second copies, " + d.rec.What(),
			Symbol: "t(" + first.What() + ")", Unit: record.Seconds, Formula: more.Text(), Value: more.V,
			Source: "ZeRO++ (arXiv 2306.10209) section 3.2: the update drops the second copies",
		})
	}
	d.add(&d.GatherSeconds, "gather", more)
	o.add(around(weights, o.shards).Minus(near.bytes).Times(share), more)
	return near
}

// scattered returns a reduce-scatter of gradients over shards.
func (d *DataParallel) scattered(o *domain, grads record.Num, shard layout.Group) flow {
	return flow{
		bytes: around(grads, o.shards),
		seconds: d.collective(o, "scatter", "gradient reduce-scatter", grads, shard,
			o.in.Machine.AllGather),
	}
}

// fourBits returns what reduces gradients in int4: an all-to-all inside each node, and one of what its GPUs
// then have between nodes; vectors and matrices that it cannot cut are scattered as ever
// (deepspeed/runtime/comm/coalesced_collectives.py, all_to_all_quant_reduce).
func (d *DataParallel) fourBits(o *domain, grads record.Num, shard layout.Group) flow {
	in, wide := o.in, 0.0
	if k := in.Known; k != nil {
		wide = k.Wide
	}
	c, width := in.Machine.Cluster, reduceBytes(in)
	node := c.Node()
	nodes := shard.Size / node
	if o.rec.On() {
		o.rec.Given(record.InUnit(record.Share, "share_in_int4", 1-wide), record.In("node", node),
			record.In("nodes", nodes), record.In("bytes_before_int4", width))
	}
	share, ranks := o.rec.Named("share_in_int4", 1-wide), o.rec.Named("node", float64(node))
	small := grads.Times(share).Times(record.Lit(.5)).Over(o.rec.Named("bytes_before_int4", width))
	out := d.scattered(o, grads.Times(record.Lit(1).Minus(share)), shard)
	exchange := func(rec *record.Recorder, volume units.Bytes, g hardware.Members) units.Seconds {
		t, _ := in.Machine.AllToAll(rec, volume, g, hardware.Routing{})
		return t
	}
	far := small.Over(ranks)
	out.bytes = out.bytes.Plus(around(small, ranks)).Plus(around(far, o.rec.Named("nodes", float64(nodes))))
	out.seconds = out.seconds.Plus(d.collective(o, "near", "int4 all-to-all of gradients inside nodes", small,
		in.Layout.Part(c, node, 1), exchange)).Plus(d.collective(o, "far",
		"int4 all-to-all of gradients between nodes", far, in.Layout.Part(c, nodes, node), exchange))
	return out
}

// recordSent records what one set of parameters sends over the step, and the time.
func (d *DataParallel) recordSent(o *domain, t *Traffic) {
	rec := o.rec
	source := "ZeRO (arXiv 1910.02054) section 7"
	if in := o.in; in.HPZ > 1 || in.QGZ {
		source += "; ZeRO++ (arXiv 2306.10209) section 3"
	}
	rec.Figure(record.Entry{
		ID:     "sent",
		Name:   "bytes that " + d.rec.What() + " sends for its " + rec.What() + " parameters in a step",
		Symbol: "sent of " + d.rec.What(),
		Unit:   record.Traffic, Formula: rec.Sum("bytes"), Value: float64(t.Bytes),
		Source: source,
	})
	rec.Figure(record.Entry{
		ID: "seconds", Name: "time of that traffic", Symbol: "time of " + d.rec.What(),
		Unit: record.Seconds, Formula: rec.Sum("seconds"), Value: float64(t.Seconds),
		Source: "the sum of its collectives",
	})
}

// collective returns the time of moving a volume in the calls that the stack makes of
// it: one per layer with ZeRO-3, else one per bucket.
func (d *DataParallel) collective(o *domain, id, what string, volume record.Num, g layout.Group,
	time func(*record.Recorder, units.Bytes, hardware.Members) units.Seconds,
) record.Num {
	soft, rec := &o.in.Machine.Software, o.rec.Part(id, what)
	calls, slow := record.Lit(1), 1.0
	if o.in.Layout.ZeRO == 3 {
		calls, slow = rec.Named("layers_of_the_rank", d.layers), max(soft.ShardSlow, 1)
	} else if soft.Bucket > 0 {
		calls = volume.Over(rec.Named("bucket", float64(soft.Bucket))).AtLeast(record.Lit(1))
	}
	var call *record.Recorder
	if rec.On() {
		call = rec.Scope("call", "one call of the "+rec.What())
		call.Let("volume", volume.Over(calls).Text())
		rec.Given(
			record.In("layers_of_the_rank", d.layers),
			record.InUnit(record.Traffic, "bucket", soft.Bucket),
		)
	}
	once := record.Lit(float64(time(call, units.Bytes(volume.V/calls.V), members(g))))
	if !rec.On() {
		return record.Lit(calls.V * slow * soft.Factor * once.V)
	}
	once = rec.Named(call.Ref(""), once.V)
	t := calls.Times(rec.Named("slowing_of_many_small_tensors", slow)).
		Times(rec.Named("factor_of_the_stack", soft.Factor)).
		Times(once)
	return rec.Figure(record.Entry{
		Name: "time of the " + rec.What() + ", " + d.rec.What(), Symbol: "t(" + rec.What() + ")",
		Unit: record.Seconds, Value: t.V, Formula: t.Text(),
		Source: "calls (one per layer with ZeRO-3, else one per bucket) times one call; " + record.From(
			soft.From,
		),
		LeavesOut: "other traffic on the same links",
	}, record.In("slowing_of_many_small_tensors", slow))
}

// reduceBytes returns the width in which gradients are summed.
func reduceBytes(in *Input) float64 {
	return in.Machine.Software.ReduceBytes(in.GradDtype, in.Precision)
}

// allReduce sums gradients over a group once per step.
func (d *DataParallel) allReduce(o *domain, grads record.Num, g layout.Group) {
	if g.Size <= 1 {
		return
	}
	if o.rec.On() {
		o.rec.Given(record.In("ranks_that_sum", g.Size))
	}
	all := d.collective(o, "all-reduce", "gradient all-reduce", grads, g, o.in.Machine.AllReduce)
	d.add(&d.ScatterSeconds, "scatter", all)
	o.add(record.Lit(2).Times(around(grads, o.rec.Named("ranks_that_sum", float64(g.Size)))), all)
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

// LastBackwardBudget returns the compute of the last backward of a stage whose rank has so many chunks
// that is left to hide what travels once per step, and z is what PerMicroBatch gave.
func (d *DataParallel) LastBackwardBudget(
	k *Cost,
	chunks int,
	z *MicroBatchTraffic,
	split bool,
) units.Seconds {
	exposed := z.Backward
	if split {
		exposed = z.Input + z.Weight
	}
	return max(0, k.BackwardOverlapBudget(split)-(d.PerBackward/units.Seconds(chunks)-exposed))
}
