package step

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

func members(g layout.Group) hardware.Members {
	return hardware.Members{Size: g.Size, PerDomain: g.PerDomain, Stride: g.Stride}
}

// sent is the bytes that one rank sends in a ring pass over a volume.
func sent(volume units.Bytes, g layout.Group) units.Bytes {
	n := float64(g.Size)
	return volume * units.Bytes((n-1)/n)
}

// tensorParallel adds the collectives around the attention and the MLP. With
// SP an all-gather and a reduce-scatter each, and in the backward one more
// all-gather for the weight gradient; without SP an all-reduce each
// (Korthikanti et al., arXiv 2205.05198, section 4.2). A layer with routed
// experts has them around attention and shared experts only.
func (k *kernels) tensorParallel(c *Cost, moe bool) {
	l, g := k.in.Layout, k.in.Groups.TP
	if l.TP == 1 {
		return
	}
	regions := 2.0
	if moe && k.in.Model.SharedFFN == 0 {
		regions = 1
	}
	volume := units.Bytes(k.elem * k.tokens * float64(k.in.Model.Hidden))
	gather := k.m.AllGather(volume, members(g))
	weight := c.WeightGrad / units.Seconds(regions)
	var fwd, bwd Traffic
	if l.SP {
		fwd = Traffic{Bytes: 2 * sent(volume, g), Seconds: 2 * gather}
		bwd = Traffic{Bytes: 3 * sent(volume, g), Seconds: 3 * gather}
		// The gradient of the output must be gathered before both products; the
		// scatter and the second gather have the weight gradient to hide under.
		bwd.Exposed = gather + max(0, 2*gather-weight)
	} else {
		reduce := k.m.AllReduce(volume, members(g))
		fwd = Traffic{Bytes: 2 * sent(volume, g), Seconds: reduce}
		bwd = fwd
		bwd.Exposed = max(0, reduce-weight)
	}
	soft := &k.m.Software
	fwd.Exposed = fwd.Seconds * units.Seconds(soft.TPForward)
	c.ForwardLinks.TP.add(fwd, regions)
	if share := units.Seconds(soft.TPBackward); share > 0 {
		bwd.Exposed = max(bwd.Seconds*share, bwd.Seconds-weight)
	}
	c.BackwardLinks.TP.add(bwd, regions)
	c.Unhidden += (bwd.Seconds - bwd.Exposed) * units.Seconds(regions)
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
	volume := units.Bytes(k.elem * k.tokens * float64(k.in.Model.Hidden))
	t := Traffic{Bytes: sent(volume, g), Seconds: k.m.AllGather(volume, members(g))}
	t.Exposed = t.Seconds
	c.ForwardLinks.TP.add(t, 1)
	c.BackwardLinks.TP.add(t, 1)
}

// contextParallel adds ring attention: keys and values travel round c-1 times,
// in the backward with their gradients; it hides under core attention.
func (k *kernels) contextParallel(c *Cost) {
	m, l := k.in.Model, k.in.Layout
	if l.CP == 1 {
		return
	}
	width := 2 * m.KVHeadsPerRank(l.TP) * float64(m.HeadDim)
	if m.IsMLA() {
		width = float64(m.Heads*(m.QKNopeDim+m.QKRopeDim+m.VHeadDim)) / k.t
	}
	hop := units.Bytes(k.elem * k.tokens * width)
	hops := units.Seconds(l.CP - 1)
	far := k.in.Groups.CP.Crosses()
	fwd := Traffic{Bytes: hop * units.Bytes(hops), Seconds: hops * k.m.Send(hop, far)}
	bwd := Traffic{Bytes: 2 * fwd.Bytes, Seconds: hops * k.m.Send(2*hop, far)}
	share := units.Seconds(k.m.Software.CP)
	fwd.Exposed = max(fwd.Seconds*share, fwd.Seconds-k.scores)
	bwd.Exposed = max(bwd.Seconds*share, bwd.Seconds-k.scoresBack)
	c.ForwardLinks.CP.add(fwd, 1)
	c.BackwardLinks.CP.add(bwd, 1)
}

// expertParallel adds dispatch and combine of the routed tokens, forward and
// backward, and with expert-TP the gather and scatter of the same tokens.
func (k *kernels) expertParallel(c *Cost) {
	m, l, g := k.in.Model, k.in.Layout, k.in.Groups
	share := units.Seconds(k.m.Software.EP)
	routed := units.Bytes(k.elem * k.routed() * float64(m.Hidden))
	if l.EP > 1 {
		once := k.m.AllToAll(routed, members(g.EP), hardware.Routing{Copies: m.TopK, Experts: m.Experts})
		t := Traffic{Bytes: sent(routed, g.EP), Seconds: once, Exposed: once * share}
		if EPOverlaps(k.in) {
			// of both dispatches and combines what does not fit beside the layer's work, at least
			work := c.Forward + c.InputGrad + c.WeightGrad
			t.Exposed = max(once*units.Seconds(k.m.Software.EPOverlap), once-work/4)
		}
		c.ForwardLinks.EP.add(t, 2)
		c.BackwardLinks.EP.add(t, 2)
	}
	if l.ETP > 1 {
		whole := routed * units.Bytes(l.ETP)
		once := k.m.AllGather(whole, members(g.ETP))
		t := Traffic{Bytes: sent(whole, g.ETP), Seconds: once, Exposed: once * share}
		c.ForwardLinks.ETP.add(t, 2)
		c.BackwardLinks.ETP.add(t, 2)
	}
}

// EPOverlaps says whether the expert traffic of one micro-batch runs beside the work of
// another: what Megatron-Core asks of its layouts and recomputation
// (megatron/core/transformer/transformer_config.py: overlap_moe_expert_parallel_comm).
func EPOverlaps(in *Input) bool {
	l := in.Layout
	return in.Machine.Software.EPOverlap > 0 && l.EP > 1 && (l.PP == 1 || l.VPP > 1) && in.Recompute.Mode != recipe.RecomputeFull
}

// HandOver is one message between neighbouring stages: a micro-batch's hidden
// states, over TP with SP or where the stack sends shards and gathers them.
func HandOver(in *Input) (units.Bytes, units.Seconds) {
	m, l := &in.Machine, in.Layout
	whole := units.Bytes(in.Precision.Bytes() * l.MicroBatchTokens() * float64(in.Model.Hidden))
	k := whole
	var gather units.Seconds
	switch {
	case l.SP:
		k /= units.Bytes(l.TP)
	case m.Software.Scatter && l.TP > 1:
		k /= units.Bytes(l.TP)
		gather = m.AllGather(whole, members(in.Groups.TP))
	}
	return k, (m.Send(k, in.Groups.PP.Crosses()) + gather) * units.Seconds(m.Software.Factor)
}
