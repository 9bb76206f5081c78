package explain

import (
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/step"
)

// volume is a micro-batch's hidden states.
func (b *Book) volume() *Expr {
	return b.term("layout.hidden-states", about{
		name: "Hidden states of one micro-batch", symbol: "v", unit: Traffic, source: "bytes x tokens x hidden width",
	}, func() *Expr { return mul(b.elem(), b.tokens(), b.hidden()) })
}

const sourceTP = "Korthikanti et al. (arXiv 2205.05198) section 4.2"

// exposed makes a figure of the part of a traffic that nothing hides.
func (b *Book) exposed(l *layer, id, name, source string, formula func() *Expr) *Expr {
	return b.term(l.id+"."+id+".exposed", about{
		name: "Part of the " + name + " that nothing hides, in " + l.one(), symbol: "exposed " + name, unit: Seconds, source: source + "; " + from(b.machine().Software.From),
		omits: "slowing of the products that hide it",
	}, formula)
}

// tensorParallel adds the collectives around attention and MLP.
func (b *Book) tensorParallel(l *layer, moe bool) {
	s, g, soft := b.w.Setup, b.w.Step.Groups.TP, &b.machine().Software
	if s.TP == 1 {
		return
	}
	regions := 2.0
	if moe && s.Model.SharedFFN == 0 {
		regions = 1
	}
	v := b.volume()
	weight := div(b.weightOf(l), lit(regions))
	gather := b.collective("layer.tp-gather", "TP all-gather or reduce-scatter", v, g, b.gathering())
	fBytes, fTime, bBytes, bTime := mul(lit(2), sent(v, g)), mul(lit(2), gather), mul(lit(3), sent(v, g)), mul(lit(3), gather)
	hidden := add(gather, maxOf(lit(0), sub(mul(lit(2), gather), weight)))
	if !s.SP {
		reduce := b.collective("layer.tp-reduce", "TP all-reduce", v, g, b.reducing())
		fTime, bBytes, bTime = reduce, fBytes, reduce
		hidden = maxOf(lit(0), sub(reduce, weight))
	}
	fx := b.exposed(l, "tp-forward", "forward TP traffic of a region", sourceTP, func() *Expr {
		return mul(fTime, num("share that is exposed", soft.TPForward, Share))
	})
	bx := b.exposed(l, "tp-backward", "backward TP traffic of a region", sourceTP, func() *Expr {
		if soft.TPBackward > 0 {
			return maxOf(mul(bTime, num("share that is exposed", soft.TPBackward, Share)), sub(bTime, weight))
		}
		return hidden
	})
	l.forward.add("tp", regions, fBytes, fTime, fx)
	l.backward.add("tp", regions, bBytes, bTime, bx)
	l.unhidden = append(l.unhidden, mul(sub(bTime, bx), lit(regions)))
}

// weightOf are the weight gradients of a layer so far, which is all of them.
func (b *Book) weightOf(l *layer) *Expr {
	return b.term(l.id+".weight-gradient", about{
		name: "Weight gradient of one micro-batch in " + l.one(), symbol: "weight-gradient of " + l.name, unit: Seconds,
		source: "the sum of its operations", omits: "communication that nothing hides (its own figure)",
	}, func() *Expr { return add(l.w...) })
}

// edge adds the collective behind the embedding and before the head.
func (b *Book) edge(l *layer) {
	if b.w.Setup.TP == 1 {
		return
	}
	g, v := b.w.Step.Groups.TP, b.volume()
	t := b.collective("layer.tp-gather", "TP all-gather or reduce-scatter", v, g, b.gathering())
	l.forward.add("tp", 1, sent(v, g), t, t)
	l.backward.add("tp", 1, sent(v, g), t, t)
}

// contextParallel adds ring attention.
func (b *Book) contextParallel(l *layer) {
	s := b.w.Setup
	m := &s.Model
	if s.CP == 1 {
		return
	}
	width := mul(lit(2), b.kvWidth())
	if m.IsMLA() {
		width = b.overTP(mul(count("a", m.Heads), count("d_nope + d_rope + d_v", m.QKNopeDim+m.QKRopeDim+m.VHeadDim)))
	}
	hop := b.term("layer.cp-hop", about{
		name: "Keys and values that one CP rank hands on", symbol: "v_kv", unit: Traffic, source: "ring attention: bytes x tokens x widths of keys and values",
	}, func() *Expr { return mul(b.elem(), b.tokens(), width) })
	hops := sub(count("c", s.CP), lit(1))
	far := b.w.Step.Groups.CP.Crosses()
	fTime, bTime := mul(hops, b.send(hop, far)), mul(hops, b.send(mul(lit(2), hop), far))
	f, i := b.scores()
	share := num("share that is exposed", b.machine().Software.CP, Share)
	const source = "keys and values travel while attention runs"
	fx := b.exposed(l, "cp-forward", "forward CP traffic", source, func() *Expr { return maxOf(mul(fTime, share), sub(fTime, f)) })
	bx := b.exposed(l, "cp-backward", "backward CP traffic", source, func() *Expr { return maxOf(mul(bTime, share), sub(bTime, i)) })
	l.forward.add("cp", 1, mul(hop, hops), fTime, fx)
	l.backward.add("cp", 1, mul(lit(2), hop, hops), bTime, bx)
}

// expertParallel adds dispatch and combine of routed tokens.
func (b *Book) expertParallel(l *layer) {
	s, g := b.w.Setup, &b.w.Step.Groups
	share := num("share that is exposed", b.machine().Software.EP, Share)
	v := b.term("layer.experts.volume", about{
		name: "Hidden states of the routed tokens of one micro-batch", symbol: "v_routed", unit: Traffic, source: "bytes x routed tokens x hidden width",
	}, func() *Expr { return mul(b.elem(), b.routed(), b.hidden()) })
	work := add(append(append(append([]*Expr{}, l.f...), l.i...), l.w...)...)
	both := func(dimension string, bytes, t *Expr) {
		x := b.exposed(l, dimension, "dispatch or combine over "+strings.ToUpper(dimension), "routed tokens go out and come back", func() *Expr {
			if dimension == "ep" && step.EPOverlaps(b.w.Step) {
				overlapped := num("share felt beside another micro-batch", b.machine().Software.EPOverlap, Share)
				return maxOf(mul(t, overlapped), sub(t, div(work, lit(4))))
			}
			return mul(t, share)
		})
		l.forward.add(dimension, 2, bytes, t, x)
		l.backward.add(dimension, 2, bytes, t, x)
	}
	if s.EP > 1 {
		both("ep", sent(v, g.EP), b.allToAll("layer.ep-all-to-all", "expert all-to-all", v, g.EP, hardware.Routing{Copies: s.Model.TopK, Experts: s.Model.Experts}))
	}
	if s.ETP > 1 {
		whole := mul(v, count("ETP", s.ETP))
		both("etp", sent(whole, g.ETP), b.collective("layer.etp-gather", "expert-TP all-gather", whole, g.ETP, b.gathering()))
	}
}

// handOver is one message between stages and its time.
func (b *Book) handOver() (message, latency *Expr) {
	s, soft := b.w.Setup, &b.machine().Software
	shards := s.SP || soft.Scatter && s.TP > 1
	message = b.term("pipeline.message", about{
		name: "Message between neighbouring stages", symbol: "v_pp", unit: Traffic, source: "hidden states of a micro-batch, over TP with SP or where the stack sends shards",
	}, func() *Expr {
		if shards {
			return div(b.volume(), b.tp())
		}
		return b.volume()
	})
	latency = b.term("pipeline.hand-over", about{
		name: "Time of one hand-over between stages", symbol: "t_pp", unit: Seconds, source: from(b.machine().Network.From),
	}, func() *Expr {
		t := b.send(message, b.w.Step.Groups.PP.Crosses())
		if !s.SP && shards {
			t = add(t, b.collective("layer.tp-gather", "TP all-gather or reduce-scatter", b.volume(), b.w.Step.Groups.TP, b.gathering()))
		}
		return scaled(soft.Factor, "factor of the stack", t)
	})
	return message, latency
}
