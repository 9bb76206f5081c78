package step

import (
	"fmt"
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

// sent returns the bytes that one rank sends in a ring pass over a volume.
func sent(volume units.Bytes, g layout.Group) units.Bytes {
	n := float64(g.Size)
	return volume * units.Bytes((n-1)/n)
}

// tensorParallel adds the collectives around the attention and the MLP. With
// SP an all-gather and a reduce-scatter each, and in the backward one more
// all-gather for the weight gradient; without SP an all-reduce each
// (Korthikanti et al., arXiv 2205.05198, section 4.2). A layer with routed
// experts has them around attention and shared experts only.
func (k *kernels) tensorParallel(c *Cost, layer *model.Layer) {
	l, g := k.in.Layout, k.in.Groups.TP
	regions := float64(layer.Regions())
	if l.TP == 1 || regions == 0 {
		return
	}
	volume := units.Bytes(k.elem * k.tokens.V * k.hidden().V)
	gather := k.m.AllGather(k.tpGather(), volume, members(g))
	weight := c.WeightGrad / units.Seconds(regions)
	var fwd, bwd Traffic
	if l.SP {
		fwd = Traffic{Bytes: 2 * sent(volume, g), Seconds: 2 * gather}
		bwd = Traffic{Bytes: 3 * sent(volume, g), Seconds: 3 * gather}
		// The gradient of the output must be gathered before both products; the
		// scatter and the second gather have the weight gradient to overlap with.
		bwd.Exposed = gather + max(0, 2*gather-weight)
	} else {
		reduce := k.m.AllReduce(k.collective("layer.tp-reduce", "TP all-reduce", "hidden_states"), volume, members(g))
		fwd = Traffic{Bytes: 2 * sent(volume, g), Seconds: reduce}
		bwd = fwd
		bwd.Exposed = max(0, reduce-weight)
	}
	soft := &k.m.Software
	products := (c.Forward - k.core.forward) / units.Seconds(regions) // core attention overlaps with CP
	fwd.Exposed = max(fwd.Seconds*units.Seconds(soft.TPForward), fwd.Seconds-products)
	c.ForwardLinks.TP.add(fwd, regions)
	c.ForwardOverlap += (fwd.Seconds - fwd.Exposed) * units.Seconds(regions)
	if share := units.Seconds(soft.TPBackward); share > 0 {
		bwd.Exposed = max(bwd.Seconds*share, bwd.Seconds-weight)
	}
	c.BackwardLinks.TP.add(bwd, regions)
	c.SplitBackwardExposedTP += (bwd.Seconds - bwd.Exposed) * units.Seconds(regions)
	if k.rec.On() {
		k.recordRegions(regions, fwd.Exposed, bwd.Exposed)
	}
}

// recordRegions records the traffic of a layer's TP regions.
func (k *kernels) recordRegions(regions float64, forward, backward units.Seconds) {
	soft := &k.m.Software
	sent := "hidden_states * (t - 1) / t"
	fwd := traffic{"2 * " + sent, "2 * {layer.tp-gather}", ""}
	bwd := traffic{"3 * " + sent, "3 * {layer.tp-gather}", ""}
	weight := fmt.Sprintf("(%s) / %g", k.rec.Sum("weight-gradient"), regions)
	hidden := "{layer.tp-gather} + max(0, 2 * {layer.tp-gather} - " + weight + ")"
	if !k.in.Layout.SP {
		fwd = traffic{"2 * " + sent, "{layer.tp-reduce}", ""}
		bwd = fwd
		hidden = "max(0, {layer.tp-reduce} - " + weight + ")"
	}
	const source = "Korthikanti et al. (arXiv 2205.05198) section 4.2"
	products := fmt.Sprintf("(%s - (%s)) / %g", k.rec.Sum("forward"), orZero(k.core.forwardFormula), regions)
	fwd.exposed = k.recordExposed("tp-forward", "forward TP traffic of a region", source,
		"max("+fwd.seconds+" * share_that_is_exposed, "+fwd.seconds+" - "+products+")", forward, soft.TPForward)
	if soft.TPBackward > 0 {
		hidden = "max(" + bwd.seconds + " * share_that_is_exposed, " + bwd.seconds + " - " + weight + ")"
	}
	bwd.exposed = k.recordExposed("tp-backward", "backward TP traffic of a region", source, hidden, backward, soft.TPBackward)
	k.recordTraffic("forward.tp", regions, fwd)
	k.recordTraffic("backward.tp", regions, bwd)
	k.rec.Term("split-backward-exposed-tp", fmt.Sprintf("(%s - %s) * %g", bwd.seconds, bwd.exposed, regions))
	k.rec.Term("forward-overlap", fmt.Sprintf("(%s - %s) * %g", fwd.seconds, fwd.exposed, regions))
}

// orZero returns a formula, or that of nothing.
func orZero(formula string) string {
	if formula == "" {
		return "0"
	}
	return formula
}

// traffic are the formulas of a Traffic.
type traffic struct{ bytes, seconds, exposed string }

// recordTraffic adds so many times a traffic to what a pass moves over a dimension.
func (k *kernels) recordTraffic(pass string, times float64, t traffic) {
	for _, part := range [...]struct{ what, formula string }{{"bytes", t.bytes}, {"seconds", t.seconds}, {"exposed", t.exposed}} {
		if times != 1 {
			part.formula = fmt.Sprintf("%g * %s", times, part.formula)
		}
		k.rec.Term(pass+"."+part.what, part.formula)
	}
}

// exposed returns the sums of what nothing hides in a pass.
func (k *kernels) exposed(pass string) (sum []string) {
	for _, dimension := range [...]string{"tp", "cp", "ep", "etp"} {
		if s := k.rec.Sum(pass + "." + dimension + ".exposed"); s != "0" {
			sum = append(sum, s)
		}
	}
	return sum
}

// recordExposed records the part of a traffic that is exposed.
func (k *kernels) recordExposed(id, name, source, formula string, t units.Seconds, share float64) string {
	k.rec.Figure(record.Entry{
		ID: id + ".exposed", Name: "part of the " + name + " that nothing hides, in one " + k.rec.What(), Symbol: "exposed " + name,
		Unit: record.Seconds, Formula: formula, Value: float64(t),
		Source: source + "; " + record.From(k.m.Software.From), LeavesOut: "slowdown of the overlapped products",
	}, record.InUnit(record.Share, "share_that_is_exposed", share))
	return k.rec.Ref(id + ".exposed")
}

// collective returns the scope of a collective of a volume given by its formula.
func (k *kernels) collective(id, name, volume string) *record.Recorder {
	rec := k.in.Record.Scope(id, name)
	rec.Let("volume", volume)
	return rec
}

func (k *kernels) tpGather() *record.Recorder {
	return k.collective("layer.tp-gather", "TP all-gather or reduce-scatter", "hidden_states")
}

// edge adds the collective behind the embedding and before the head: hidden
// states are scattered over TP once and gathered once, and the other way round
// in the backward. The loss's own three all-reduces of a number per token are
// left out.
func (k *kernels) edge(c *Cost) {
	if k.in.Layout.TP == 1 {
		return
	}
	g := k.in.Groups.TP
	volume := units.Bytes(k.elem * k.tokens.V * k.hidden().V)
	t := Traffic{Bytes: sent(volume, g), Seconds: k.m.AllGather(k.tpGather(), volume, members(g))}
	t.Exposed = t.Seconds
	c.ForwardLinks.TP.add(t, 1)
	c.BackwardLinks.TP.add(t, 1)
	if k.rec.On() {
		formulas := traffic{"hidden_states * (t - 1) / t", "{layer.tp-gather}", "{layer.tp-gather}"}
		k.recordTraffic("forward.tp", 1, formulas)
		k.recordTraffic("backward.tp", 1, formulas)
	}
}

// contextParallel adds ring attention: keys and values travel round c-1 times,
// in the backward with their gradients; it overlaps with core attention.
func (k *kernels) contextParallel(c *Cost, layer *model.Layer) {
	l := k.in.Layout
	core, ok := layer.Core()
	switch o := layer.Scanned(); {
	case l.CP == 1:
		return
	case o != nil:
		k.exchange(c, layer, o)
		return
	case !ok:
		return
	}
	width := layer.WidthOn([3]model.Ref{core.In[1], core.In[2]}, k.t, k.etp)
	hop := units.Bytes(k.elem * k.tokens.V * width.V)
	hops := units.Seconds(l.CP - 1)
	far := k.in.Groups.CP.Crosses()
	fwd := Traffic{Bytes: hop * units.Bytes(hops), Seconds: hops * k.m.Send(hop, far)}
	bwd := Traffic{Bytes: 2 * fwd.Bytes, Seconds: hops * k.m.Send(2*hop, far)}
	share := units.Seconds(k.m.Software.CP)
	fwd.Exposed = max(fwd.Seconds*share, fwd.Seconds-k.core.forward)
	bwd.Exposed = max(bwd.Seconds*share, bwd.Seconds-k.core.backward)
	c.ForwardLinks.CP.add(fwd, 1)
	c.BackwardLinks.CP.add(bwd, 1)
	c.ForwardOverlap += fwd.Seconds - fwd.Exposed
	c.InputGradOverlap += bwd.Seconds - bwd.Exposed
	if k.rec.On() {
		k.recordRingTraffic(layer, hop, width.Text(), fwd.Exposed, bwd.Exposed, far)
	}
}

// recordRingTraffic records what contextParallel adds.
func (k *kernels) recordRingTraffic(l *model.Layer, hop units.Bytes, width string, forward, backward units.Seconds, far bool) {
	k.in.Record.Figure(record.Entry{
		ID: l.Scope("cp-hop"), Name: "keys and values that one CP rank sends to the next", Symbol: "v_kv", Unit: record.Traffic,
		Formula: "bytes * T * (" + width + ")", Value: float64(hop), Source: "ring attention: bytes x tokens x widths of keys and values",
	})
	const source = "keys and values travel while attention runs"
	over, volume := [...]string{"forward-overlap", "input-gradient-overlap"}, record.Ref(l.Scope("cp-hop"))
	for i, p := range [...]struct {
		pass, volume, under string
		exposed             units.Seconds
	}{{"forward", volume, k.core.forwardFormula, forward}, {"backward", "2 * " + volume, k.core.backwardFormula, backward}} {
		seconds := "(c - 1) * (" + hardware.SendFormula(p.volume, far) + ")"
		exposed := k.recordExposed("cp-"+p.pass, p.pass+" CP traffic", source,
			"max("+seconds+" * share_that_is_exposed, "+seconds+" - "+orZero(p.under)+")", p.exposed, k.m.Software.CP)
		k.recordTraffic(p.pass+".cp", 1, traffic{p.volume + " * (c - 1)", seconds, exposed})
		k.rec.Term(over[i], "("+seconds+" - "+exposed+")")
	}
}

// expertParallel adds dispatch and combine of the routed tokens, forward and
// backward, and with expert-TP the gather and scatter of the same tokens. A part of them
// may overlap with the compute of both passes that no other traffic overlaps with.
func (k *kernels) expertParallel(c *Cost) {
	l, g := k.in.Layout, k.in.Groups
	width, h := k.hidden().V, "h"
	if n := k.in.Model.ExpertLatent; n > 0 {
		width, h = float64(n), "h_latent"
	}
	routed := units.Bytes(k.elem * k.routed.V * width)
	pass := expertPass{&c.ForwardLinks.EP, &c.BackwardLinks.EP}
	if k.rec.On() {
		k.in.Record.Figure(record.Entry{
			ID: "layer.experts.volume", Name: "hidden states of the routed tokens of one micro-batch", Symbol: "v_routed", Unit: record.Traffic,
			Formula: "bytes * T_routed * " + h, Value: float64(routed), Source: "bytes x routed tokens x hidden width",
		})
	}
	if l.EP > 1 {
		share := k.m.Software.EP
		if EPOverlaps(k.in) {
			share = k.m.Software.EPOverlap
		}
		t, f := k.allToAll(routed, h)
		k.expertTraffic(c, pass, t, share, f)
	}
	if l.ETP > 1 {
		whole := routed * units.Bytes(l.ETP)
		once := k.m.AllGather(k.collective("layer.etp-gather", "expert-TP all-gather", "v_routed * ETP"), whole, members(g.ETP))
		pass = expertPass{&c.ForwardLinks.ETP, &c.BackwardLinks.ETP}
		k.expertTraffic(c, pass, Traffic{Bytes: 2 * sent(whole, g.ETP), Seconds: 2 * once}, k.m.Software.EP,
			expertFormulas{"etp", "2 * v_routed * ETP * (ETP - 1) / ETP", "2 * {layer.etp-gather}"})
	}
}

// allToAll returns a dispatch and a combine of routed tokens over EP. In the backward the
// gradient is dispatched and that of the dispatch combined, each in its own width.
func (k *kernels) allToAll(routed units.Bytes, width string) (Traffic, expertFormulas) {
	m, g := k.in.Model, members(k.in.Groups.EP)
	routing := hardware.Routing{Copies: int(m.Copies()), Experts: m.Experts, Groups: m.ExpertGroups, Limit: m.RoutedGroups}
	combine, back := k.m.AllToAll(k.collective("layer.ep-all-to-all", "expert all-to-all", "v_routed"), routed, g, routing)
	narrow := k.in.Precision.DispatchBytes()
	if narrow == k.elem {
		return Traffic{Bytes: 2 * back, Seconds: 2 * combine}, expertFormulas{"ep", "2 * {layer.ep-all-to-all.sent}", "2 * {layer.ep-all-to-all}"}
	}
	if k.rec.On() {
		k.in.Record.Given(record.In("bytes_of_a_dispatched_element", narrow))
	}
	rec := k.collective("layer.ep-dispatch", "expert dispatch", "bytes_of_a_dispatched_element * T_routed * "+width)
	dispatch, out := k.m.AllToAll(rec, routed*units.Bytes(narrow/k.elem), g, routing)
	return Traffic{Bytes: out + back, Seconds: dispatch + combine}, expertFormulas{
		"ep", "({layer.ep-dispatch.sent} + {layer.ep-all-to-all.sent})", "({layer.ep-dispatch} + {layer.ep-all-to-all})",
	}
}

// expertPass is where the expert traffic of both passes is added up.
type expertPass struct{ forward, backward *Traffic }

// expertTraffic adds a dispatch and a combine to each pass, of which at least a share is
// exposed. The traffic of one pass overlaps with the compute of the other: each gives half,
// or all that it has left and the other the rest.
func (k *kernels) expertTraffic(c *Cost, to expertPass, t Traffic, share float64, f expertFormulas) {
	forward, backward := c.ForwardOverlapBudget(), c.BackwardOverlapBudget(false)
	t.Exposed = max(t.Seconds*units.Seconds(share), t.Seconds-(forward+backward)/2)
	hidden := t.Seconds - t.Exposed
	k.recordExpertTraffic(f, t.Exposed, hidden, share)
	to.forward.add(t, 1)
	to.backward.add(t, 1)
	over := min(max(hidden, 2*hidden-backward), forward)
	c.ForwardOverlap += over
	c.InputGradOverlap += 2*hidden - over
}

// expertFormulas are the dimension of an expert traffic and the formulas of a pass.
type expertFormulas struct{ dimension, bytes, seconds string }

// recordExpertTraffic records the dispatch and the combine of a pass.
func (k *kernels) recordExpertTraffic(f expertFormulas, exposed, hidden units.Seconds, share float64) {
	if !k.rec.On() {
		return
	}
	formula := f.seconds + " * share_that_is_exposed"
	forward := "max(0, " + k.rec.Sum("forward") + " - (" + k.rec.Sum("forward-overlap") + "))"
	backward := "max(0, " + k.rec.Sum("input-gradient") + " + " + k.rec.Sum("weight-gradient") + " - (" + record.Sum(k.rec.Sum("input-gradient-overlap"), k.rec.Sum("split-backward-exposed-tp")) + "))"
	if share < 1 {
		formula = "max(" + formula + ", " + f.seconds + " - (" + forward + " + " + backward + ") / 2)"
	}
	t := traffic{f.bytes, f.seconds, k.recordExposed(f.dimension, "dispatch and combine over "+strings.ToUpper(f.dimension),
		"routed tokens go out and come back", formula, exposed, share)}
	k.recordTraffic("forward."+f.dimension, 1, t)
	k.recordTraffic("backward."+f.dimension, 1, t)
	if hidden > 0 {
		half := "(" + f.seconds + " - " + t.exposed + ")"
		over := "min(max(" + half + ", 2 * " + half + " - " + backward + "), " + forward + ")"
		k.rec.Term("forward-overlap", over)
		k.rec.Term("input-gradient-overlap", "(2 * "+half+" - "+over+")")
	}
}

// EPOverlaps reports whether the expert traffic of one micro-batch runs next to the work of
// another: what Megatron-Core asks of its layouts and recomputation
// (megatron/core/transformer/transformer_config.py: overlap_moe_expert_parallel_comm).
func EPOverlaps(in *Input) bool {
	l := in.Layout
	return in.Machine.Software.EPOverlap > 0 && l.EP > 1 && (l.PP == 1 || l.VPP > 1) && in.Recompute.Mode != recipe.RecomputeFull
}

// SendRecv returns one message between neighbouring stages: a micro-batch's hidden
// states, over TP with SP or where the stack sends shards and gathers them.
func SendRecv(in *Input) (units.Bytes, units.Seconds) {
	m, l := &in.Machine, in.Layout
	whole := units.Bytes(in.Precision.Bytes() * l.MicroBatchTokens() * float64(in.Model.Hidden))
	k := whole
	var gather units.Seconds
	switch {
	case l.SP:
		k /= units.Bytes(l.TP)
	case m.Software.Scatter && l.TP > 1:
		k /= units.Bytes(l.TP)
		gather = m.AllGather(nil, whole, members(in.Groups.TP))
	}
	t := (m.Send(k, in.Groups.PP.Crosses()) + gather) * units.Seconds(m.Software.Factor)
	if in.Record.On() {
		recordSendRecv(in, k, t, gather > 0)
	}
	return k, t
}

// recordSendRecv records a message between stages and its time.
func recordSendRecv(in *Input, message units.Bytes, t units.Seconds, gathered bool) {
	formula := "hidden_states"
	if in.Layout.SP || gathered {
		formula += " / t"
	}
	in.Record.Figure(record.Entry{
		ID: "pipeline.message", Name: "message between neighbouring stages", Symbol: "v_pp", Unit: record.Traffic, Formula: formula, Value: float64(message),
		Source: "hidden states of a micro-batch, over TP with SP or where the stack sends shards",
	})
	formula = hardware.SendFormula("v_pp", in.Groups.PP.Crosses())
	if gathered {
		formula += " + {layer.tp-gather}"
	}
	in.Record.Figure(record.Entry{
		ID: "pipeline.hand-over", Name: "time of one send/recv between stages", Symbol: "t_pp", Unit: record.Seconds,
		Formula: "(" + formula + ") * factor_of_the_stack", Value: float64(t), Source: record.From(in.Machine.Network.From),
	})
}
