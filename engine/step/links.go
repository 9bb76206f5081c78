package step

import (
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

func members(g layout.Group) hardware.Members {
	return hardware.Members{Size: g.Size, PerDomain: g.PerDomain, Stride: g.Stride}
}

// around returns what each of n ranks sends of a volume in a ring.
func around(volume, n record.Num) record.Num { return volume.Times(n.Minus(record.Lit(1)).Over(n)) }

// flow is a Traffic whose numbers carry their expressions.
type flow struct{ bytes, seconds, exposed record.Num }

// times returns that many of it.
func (f flow) times(n record.Num) flow {
	return flow{n.Times(f.bytes), n.Times(f.seconds), n.Times(f.exposed)}
}

func (f flow) plus(g flow) flow {
	return flow{f.bytes.Plus(g.bytes), f.seconds.Plus(g.seconds), f.exposed.Plus(g.exposed)}
}

// send adds a traffic to what a pass moves over a dimension.
func (k *kernels) send(to *Traffic, pass, dimension string, f flow) {
	to.add(Traffic{units.Bytes(f.bytes.V), units.Seconds(f.seconds.V), units.Seconds(f.exposed.V)}, 1)
	if k.rec.On() {
		sum := pass + "." + dimension
		k.rec.Term(sum+".bytes", f.bytes.Text())
		k.rec.Term(sum+".seconds", f.seconds.Text())
		k.rec.Term(sum+".exposed", f.exposed.Text())
	}
}

// tensorParallel adds the collectives around the attention and the MLP. With
// SP an all-gather and a reduce-scatter each, and in the backward one more
// all-gather for the weight gradient; without SP an all-reduce each
// (Korthikanti et al., arXiv 2205.05198, section 4.2). A layer with routed
// experts has them around attention and shared experts only.
func (k *kernels) tensorParallel(c *Cost, layer *model.Layer) {
	two, regions := record.Lit(2), record.Lit(float64(layer.Regions()))
	if k.in.Layout.TP == 1 || regions.V == 0 {
		return
	}
	gather, soft := k.tpGather(), &k.m.Software
	weight := k.sum("weight-gradient", c.WeightGrad).Over(regions)
	products := k.sum("forward", c.Forward).
		Minus(k.core.forward).
		Over(regions)
		// core attention overlaps with CP
	fwd, bwd := gather.times(two), gather.times(record.Lit(3))
	if k.in.Layout.SP {
		// The gradient of the output must be gathered before both products; the
		// scatter and the second gather have the weight gradient to overlap with.
		bwd.exposed = gather.seconds.Plus(record.Lit(0).AtLeast(fwd.seconds.Minus(weight)))
	} else {
		reduce := k.collective("layer.tp-reduce", "TP all-reduce", k.hiddenStates())
		t := k.m.AllReduce(reduce, units.Bytes(k.hiddenStates().V), members(k.in.Groups.TP))
		fwd.seconds = k.rec.Named("{layer.tp-reduce}", float64(t))
		bwd = fwd
		bwd.exposed = record.Lit(0).AtLeast(fwd.seconds.Minus(weight))
	}
	const source = "Korthikanti et al. (arXiv 2205.05198) section 4.2"
	fwd.exposed = k.exposed(
		"tp-forward",
		"forward TP traffic of a region",
		source,
		k.beyond(fwd.seconds, products, soft.TPForward),
		soft.TPForward,
	)
	if soft.TPBackward > 0 {
		bwd.exposed = k.beyond(bwd.seconds, weight, soft.TPBackward)
	}
	bwd.exposed = k.exposed(
		"tp-backward",
		"backward TP traffic of a region",
		source,
		bwd.exposed,
		soft.TPBackward,
	)
	k.send(&c.ForwardLinks.TP, "forward", "tp", fwd.times(regions))
	k.send(&c.BackwardLinks.TP, "backward", "tp", bwd.times(regions))
	k.add(&c.ForwardOverlap, forwardOverlap, regions.Times(fwd.seconds.Minus(fwd.exposed)))
	k.add(&c.SplitBackwardExposedTP, splitBackwardExposedTP, regions.Times(bwd.seconds.Minus(bwd.exposed)))
}

// beyond returns the part of a traffic that does not fit next to the compute under it, at least a share.
func (k *kernels) beyond(seconds, under record.Num, share float64) record.Num {
	return seconds.Times(k.rec.Named("share_that_is_exposed", share)).AtLeast(seconds.Minus(under))
}

// exposed records the part of a traffic that is exposed.
func (k *kernels) exposed(id, name, source string, t record.Num, share float64) record.Num {
	if !k.rec.On() {
		return t
	}
	return k.rec.Figure(record.Entry{
		ID: id + ".exposed", Name: "part of the " + name + " that nothing hides, in one " + k.rec.What(),
		Symbol: "exposed " + name,
		Unit:   record.Seconds, Formula: t.Text(), Value: t.V,
		Source: source + "; " + record.From(
			k.m.Software.From,
		), LeavesOut: "slowdown of the overlapped products",
	}, record.InUnit(record.Share, "share_that_is_exposed", share))
}

// exposedOf returns the sums of what nothing hides in a pass.
func (k *kernels) exposedOf(pass string) (sum []string) {
	for _, dimension := range [...]string{"tp", "cp", "ep", "etp"} {
		if s := k.rec.Sum(pass + "." + dimension + ".exposed"); s != "0" {
			sum = append(sum, s)
		}
	}
	return sum
}

// collective returns the scope of a collective of a volume.
func (k *kernels) collective(id, name string, volume record.Num) *record.Recorder {
	if !k.rec.On() {
		return nil
	}
	rec := k.in.Record.Scope(id, name)
	rec.Let("volume", volume.Text())
	return rec
}

// hiddenStates are those of a micro-batch, in bytes.
func (k *kernels) hiddenStates() record.Num {
	return k.rec.Named("hidden_states", k.elem*k.tokens.V*k.hidden().V)
}

// tpGather returns an all-gather or a reduce-scatter of the hidden states over TP, all exposed.
func (k *kernels) tpGather() flow {
	rec := k.collective("layer.tp-gather", "TP all-gather or reduce-scatter", k.hiddenStates())
	t := k.rec.Named(
		"{layer.tp-gather}",
		float64(k.m.AllGather(rec, units.Bytes(k.hiddenStates().V), members(k.in.Groups.TP))),
	)
	return flow{around(k.hiddenStates(), k.t), t, t}
}

// edge adds the collective behind the embedding and before the head: hidden
// states are scattered over TP once and gathered once, and the other way round
// in the backward. The loss's own three all-reduces of a number per token are
// left out.
func (k *kernels) edge(c *Cost) {
	if k.in.Layout.TP > 1 {
		gather := k.tpGather()
		k.send(&c.ForwardLinks.TP, "forward", "tp", gather)
		k.send(&c.BackwardLinks.TP, "backward", "tp", gather)
	}
}

// contextParallel adds ring attention: keys and values travel round c-1 times,
// in the backward with their gradients; it overlaps with core attention. Or it adds the
// all-to-alls of Ulysses around attention.
func (k *kernels) contextParallel(c *Cost, layer *model.Layer) {
	l := k.in.Layout
	core, ok := layer.Core()
	switch o := layer.Scanned(); {
	case l.CP == 1:
	case o != nil && o.Scan.Gathers.V > 0:
		k.gatherStates(c, layer, o)
	case o != nil:
		k.exchange(c, layer, o)
	}
	switch {
	case l.CP == 1 || !ok:
		return
	case k.in.Ulysses:
		k.overHeads(c, layer, "cp-attention", k.onHeads(layer, core.In), layer.Tensor(core.Out[0]))
		return
	}
	width := layer.WidthOn([3]model.Ref{core.In[1], core.In[2]}, k.t, k.etp)
	hop := record.Lit(k.elem * k.tokens.V * width.V)
	if k.rec.On() {
		hop = k.in.Record.Figure(record.Entry{
			ID: layer.Scope(
				"cp-hop",
			), Name: "keys and values that one CP rank sends to the next", Symbol: "v_kv",
			Unit:    record.Traffic,
			Formula: "bytes * T * (" + width.Text() + ")", Value: hop.V,
			Source: "ring attention: bytes x tokens x widths of keys and values",
		})
	}
	hops, both, far, share := k.rec.Named("c", float64(l.CP)).
		Minus(record.Lit(1)),
		record.Lit(2).
			Times(hop),
		k.in.Groups.CP.Crosses(), k.m.Software.CP
	const source = "keys and values travel while attention runs"
	fwd := flow{bytes: hop.Times(hops), seconds: hops.Times(k.m.Sent(hop, far))}
	bwd := flow{bytes: both.Times(hops), seconds: hops.Times(k.m.Sent(both, far))}
	fwd.exposed = k.exposed(
		"cp-forward",
		"forward CP traffic",
		source,
		k.beyond(fwd.seconds, k.core.forward, share),
		share,
	)
	bwd.exposed = k.exposed(
		"cp-backward",
		"backward CP traffic",
		source,
		k.beyond(bwd.seconds, k.core.backward, share),
		share,
	)
	k.send(&c.ForwardLinks.CP, "forward", "cp", fwd)
	k.send(&c.BackwardLinks.CP, "backward", "cp", bwd)
	k.add(&c.ForwardOverlap, forwardOverlap, fwd.seconds.Minus(fwd.exposed))
	k.add(&c.InputGradOverlap, inputGradOverlap, bwd.seconds.Minus(bwd.exposed))
}

// expertParallel adds dispatch and combine of the routed tokens, forward and
// backward, and with expert-TP the gather and scatter of the same tokens. A part of them
// may overlap with the compute of both passes that no other traffic overlaps with.
func (k *kernels) expertParallel(c *Cost) {
	width := k.hidden()
	if n := k.in.Model.ExpertLatent; n > 0 {
		width = k.rec.Named("h_latent", float64(n))
	}
	tokens := k.routed.Times(width)
	routed := k.bytes(tokens)
	if k.rec.On() {
		k.in.Record.Figure(record.Entry{
			ID: "layer.experts.volume", Name: "hidden states of the routed tokens of one micro-batch",
			Symbol: "v_routed", Unit: record.Traffic,
			Formula: routed.Text(), Value: routed.V, Source: "bytes x routed tokens x hidden width",
		})
		routed = k.rec.Named("v_routed", routed.V)
	}
	if k.in.Layout.EP > 1 {
		share := k.m.Software.EP
		if EPOverlaps(k.in) {
			share = k.m.Software.EPOverlap
		}
		k.expertTraffic(c, "ep", &c.ForwardLinks.EP, &c.BackwardLinks.EP, k.dispatch(routed, tokens), share)
	}
	if k.in.Layout.ETP > 1 {
		whole := routed.Times(k.etp)
		once := k.m.AllGather(
			k.collective("layer.etp-gather", "expert-TP all-gather", whole),
			units.Bytes(whole.V),
			members(k.in.Groups.ETP),
		)
		gather := flow{bytes: around(whole, k.etp), seconds: k.rec.Named("{layer.etp-gather}", float64(once))}
		k.expertTraffic(
			c,
			"etp",
			&c.ForwardLinks.ETP,
			&c.BackwardLinks.ETP,
			gather.times(record.Lit(2)),
			k.m.Software.EP,
		)
	}
}

// dispatch returns a dispatch and a combine of routed tokens over EP. In the backward the
// gradient is dispatched and that of the dispatch combined, each in its own width.
func (k *kernels) dispatch(routed, tokens record.Num) flow {
	m, g := k.in.Model, k.in.Groups.EP
	routing := hardware.Routing{
		Copies:  int(m.Copies()),
		Experts: m.Experts,
		Groups:  m.ExpertGroups,
		Limit:   m.RoutedGroups,
	}
	combine := k.allToAll(nil, "layer.ep-all-to-all", "expert all-to-all", g, routed, routing)
	narrow := k.in.Precision.DispatchBytes()
	if narrow == k.elem {
		return combine.times(record.Lit(2))
	}
	if k.rec.On() {
		k.in.Record.Given(record.In("bytes_of_a_dispatched_element", narrow))
	}
	narrower := k.rec.Named("bytes_of_a_dispatched_element", narrow).Times(tokens)
	return k.allToAll(nil, "layer.ep-dispatch", "expert dispatch", g, narrower, routing).plus(combine)
}

// allToAll returns an exchange of a volume, all exposed; in layers with a mixer of their own it is a figure
// of that.
func (k *kernels) allToAll(
	layer *model.Layer,
	id, name string,
	g layout.Group,
	volume record.Num,
	routing hardware.Routing,
) flow {
	if k.rec.On() && layer != nil {
		id = layer.Scope(id)
	}
	t, out := k.m.AllToAll(k.collective(id, name, volume), units.Bytes(volume.V), members(g), routing)
	f := flow{bytes: record.Lit(float64(out)), seconds: record.Lit(float64(t))}
	if k.rec.On() {
		f.bytes, f.seconds = k.rec.Named(
			record.Ref(id+".sent"),
			f.bytes.V,
		), k.rec.Named(
			record.Ref(id),
			f.seconds.V,
		)
	}
	return f
}

// expertTraffic adds a dispatch and a combine to each pass, of which at least a share is
// exposed. The traffic of one pass overlaps with the compute of the other: each gives half,
// or all that it has left and the other the rest.
func (k *kernels) expertTraffic(
	c *Cost,
	dimension string,
	forward, backward *Traffic,
	t flow,
	share float64,
) {
	zero, two := record.Lit(0), record.Lit(2)
	inForward := zero.AtLeast(k.sum("forward", c.Forward).Minus(k.sum(forwardOverlap, c.ForwardOverlap)))
	inBackward := zero.AtLeast(
		k.sum("input-gradient", c.InputGrad).Plus(k.sum("weight-gradient", c.WeightGrad)).
			Minus(k.sum(inputGradOverlap, c.InputGradOverlap)).
			Minus(k.sum(splitBackwardExposedTP, c.SplitBackwardExposedTP)),
	)
	t.exposed = k.beyond(t.seconds, inForward.Plus(inBackward).Over(two), share)
	if k.rec.On() {
		t.exposed = k.exposed(
			dimension,
			"dispatch and combine over "+strings.ToUpper(dimension),
			"routed tokens go out and come back",
			t.exposed,
			share,
		)
	}
	hidden := t.seconds.Minus(t.exposed)
	over := hidden.AtLeast(two.Times(hidden).Minus(inBackward)).AtMost(inForward)
	k.send(forward, "forward", dimension, t)
	k.send(backward, "backward", dimension, t)
	if hidden.V > 0 {
		k.add(&c.ForwardOverlap, forwardOverlap, over)
		k.add(&c.InputGradOverlap, inputGradOverlap, two.Times(hidden).Minus(over))
	}
}

// EPOverlaps reports whether the expert traffic of one micro-batch runs next to the work of
// another: what Megatron-Core asks of its layouts and recomputation
// (megatron/core/transformer/transformer_config.py: overlap_moe_expert_parallel_comm).
func EPOverlaps(in *Input) bool {
	l := in.Layout
	return in.Machine.Software.EPOverlap > 0 && l.EP > 1 && (l.PP == 1 || l.VPP > 1) &&
		in.Recompute.Mode != recipe.RecomputeFull
}

// SendRecv returns one message between neighbouring stages: a micro-batch's hidden
// states, over TP with SP or where the stack sends shards and gathers them.
func SendRecv(in *Input) (units.Bytes, units.Seconds) {
	m, l, rec := &in.Machine, in.Layout, in.Record
	message := rec.Named(
		"hidden_states",
		in.Precision.Bytes()*l.MicroBatchTokens()*in.Program.Hidden().Width.V,
	)
	gathered := "{layer.tp-gather}"
	if n := in.Program.Streams(); n > 1 {
		gathered = "all_gather_of_all_streams"
		message = message.Times(rec.Named("streams", n))
		rec.Given(record.In("streams", n))
	}
	var gather record.Num
	if shards := m.Software.Scatter && l.TP > 1; l.SP || shards {
		if !l.SP {
			gather = rec.Named(
				gathered,
				float64(m.AllGather(nil, units.Bytes(message.V), members(in.Groups.TP))),
			)
			if gathered[0] != '{' {
				rec.Given(record.In(gathered, units.Seconds(gather.V)))
			}
		}
		message = message.Over(rec.Named("t", float64(l.TP)))
	}
	bytes := units.Bytes(message.V)
	if rec.On() {
		rec.Figure(record.Entry{
			ID: "pipeline.message", Name: "message between neighbouring stages", Symbol: "v_pp",
			Unit: record.Traffic, Formula: message.Text(), Value: message.V,
			Source: "hidden states of a micro-batch, over TP with SP or where the stack sends shards",
		})
		message = rec.Named("v_pp", message.V)
	}
	t := m.Sent(message, in.Groups.PP.Crosses()).
		Plus(gather).
		Times(rec.Named("factor_of_the_stack", m.Software.Factor))
	if rec.On() {
		rec.Figure(record.Entry{
			ID: "pipeline.hand-over", Name: "time of one send/recv between stages", Symbol: "t_pp",
			Unit:    record.Seconds,
			Formula: t.Text(), Value: t.V, Source: record.From(m.Network.From),
		})
	}
	return bytes, units.Seconds(t.V)
}
