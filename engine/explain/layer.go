package explain

import (
	"strings"

	"meshscope/engine/recipe"
)

// layer is what one micro-batch costs on one GPU in one piece of the model: a
// layer, the embedding, the head. It follows engine/step operation by operation.
type layer struct {
	id, name string
	f, i, w  []*Expr // times of forward, input gradient, weight gradient

	forward, backward links
	unhidden          []*Expr // TP traffic that only a whole backward hides

	sums [3]*Expr // forward, input gradient, weight gradient
}

// one is the piece with its article: there are many layers and one head.
func (l *layer) one() string {
	if strings.HasSuffix(l.name, "layer") {
		return "one " + l.name
	}
	return "the " + l.name
}

// traffic is what one dimension moves in one pass, as sums.
type traffic struct{ bytes, seconds, exposed []*Expr }

// links are the dimensions that talk inside a layer.
type links map[string]*traffic

// dimensions inside a layer, in the order of the report.
func dimensions() []string { return []string{"tp", "cp", "ep", "etp"} }

func (l links) add(dimension string, times float64, bytes, seconds, exposed *Expr) {
	t := l[dimension]
	if t == nil {
		t = &traffic{}
		l[dimension] = t
	}
	scale := func(x *Expr) *Expr {
		if times == 1 {
			return x
		}
		return mul(lit(times), x)
	}
	t.bytes, t.seconds, t.exposed = append(t.bytes, scale(bytes)), append(t.seconds, scale(seconds)), append(t.exposed, scale(exposed))
}

func (l links) exposed() []*Expr {
	var sum []*Expr
	for _, d := range dimensions() {
		if t := l[d]; t != nil {
			sum = append(sum, t.exposed...)
		}
	}
	return sum
}

// shard are the tokens outside the TP regions.
func (b *Book) shard() *Expr { return b.overSP(b.tokens()) }

func (b *Book) elem() *Expr { return num("bytes", b.precision().Bytes(), Count) }

// over divides by TP, or not where that is 1.
func (b *Book) overTP(x *Expr) *Expr {
	if b.w.Setup.TP == 1 {
		return x
	}
	return div(x, b.tp())
}

// matmul adds one product and its two gradients.
func (b *Book) matmul(l *layer, id, name string, rows, inner, cols *Expr) {
	in, weight, out := mul(rows, inner), mul(inner, cols), mul(rows, cols)
	touched := b.term(l.id+"."+id+".bytes", about{
		name: "Operands and result of the " + name, symbol: "touched", unit: Memory, source: "read and written once each",
	}, func() *Expr { return mul(b.elem(), add(in, weight, out)) })
	grads := count("bytes of a gradient", b.w.Setup.GradDtype.Bytes(b.precision()))
	base := l.id + "." + id
	l.f = append(l.f, b.product(base+".forward", name, rows, inner, cols, touched))
	l.i = append(l.i, b.product(base+".input-gradient", name+", input gradient", rows, cols, inner, touched))
	l.w = append(l.w, b.product(base+".weight-gradient", name+", weight gradient", inner, rows, cols,
		add(mul(b.elem(), add(in, out)), mul(lit(2), grads, weight))))
}

// pass adds an element-wise operation that moves so many bytes forward and takes
// twice as long backward.
func (b *Book) pass(l *layer, id, name string, bytes *Expr) {
	t := b.term(l.id+"."+id, about{
		name: name, symbol: "t(" + name + ")", unit: Seconds,
		source: "bytes moved through memory, forward; the backward takes twice as long; " + from(b.machine().Software.From),
	}, func() *Expr { return b.stream(scaled(b.machine().Software.Passes, "passes", bytes)) })
	l.f, l.i = append(l.f, t), append(l.i, mul(lit(2), t))
}

// kind is a layer of one kind, made once.
func (b *Book) kind(moe bool) *layer {
	id, name := "layer.dense", "dense layer"
	if moe {
		id, name = "layer.moe", "MoE layer"
	}
	return b.piece(id, name, func(l *layer) {
		m := &b.w.Setup.Model
		b.projections(l)
		b.coreAttention(l)
		b.pass(l, "norms", "norms and residuals", mul(b.elem(), b.shard(), b.hidden(), add(mul(lit(2), count("norms", m.NormsPer)), lit(6))))
		if m.Extra() > 0 {
			width := div(count("P_extra", m.Extra()), mul(count("L", m.Layers), b.hidden(), b.tp()))
			b.matmul(l, "extra", "extra parameters", b.tokens(), width, b.hidden())
		}
		if moe {
			b.expertOps(l)
		} else {
			b.mlp(l, "mlp", "MLP", count("f", m.FFN))
		}
		b.tensorParallel(l, moe)
		b.contextParallel(l)
		if moe {
			b.expertParallel(l)
		}
		b.host(l, moe)
	})
}

// piece makes a piece of the model once and names its sums.
func (b *Book) piece(id, name string, build func(*layer)) *layer {
	if l, ok := b.layers[id]; ok {
		return l
	}
	l := &layer{id: id, name: name, forward: links{}, backward: links{}}
	b.layers[id] = l
	build(l)
	for k, p := range []struct {
		id, name string
		list     []*Expr
	}{{"forward", "Forward", l.f}, {"input-gradient", "Input gradient", l.i}, {"weight-gradient", "Weight gradient", l.w}} {
		l.sums[k] = b.term(id+"."+p.id, about{
			name: p.name + " of one micro-batch in " + l.one(), symbol: p.id + " of " + name, unit: Seconds,
			source: "the sum of its operations", omits: "communication that nothing hides (its own figure)",
		}, func() *Expr { return add(p.list...) })
	}
	return l
}

func (b *Book) projections(l *layer) {
	m := &b.w.Setup.Model
	h, a := b.hidden(), b.overTP(count("a", m.Heads))
	if m.IsMLA() {
		qk := count("d_nope + d_rope", m.QKNopeDim+m.QKRopeDim)
		if m.QLoraRank > 0 {
			b.matmul(l, "query-down", "query down-projection", b.shard(), h, count("r_q", m.QLoraRank))
		}
		b.matmul(l, "kv-down", "key-value down-projection", b.shard(), h, count("r_kv + d_rope", m.KVLoraRank+m.QKRopeDim))
		b.latentUp(l)
		b.matmul(l, "output", "output projection", b.tokens(), mul(a, count("d_v", m.VHeadDim)), h)
		b.pass(l, "rotary", "rotary positions", mul(b.elem(), lit(2), b.tokens(), a, lit(2), qk))
		return
	}
	q, kv := mul(a, count("d", m.HeadDim)), b.kvWidth()
	b.matmul(l, "qkv", "query, key and value projections", b.tokens(), h, add(q, mul(lit(2), kv)))
	b.matmul(l, "output", "output projection", b.tokens(), q, h)
	b.pass(l, "rotary", "rotary positions", mul(b.elem(), lit(2), b.tokens(), add(q, kv)))
}

// kvWidth is the width of keys on one rank: at least one head.
func (b *Book) kvWidth() *Expr {
	m := &b.w.Setup.Model
	return mul(maxOf(div(count("kv heads", m.KVHeads), b.tp()), lit(1)), count("d", m.HeadDim))
}

func (b *Book) latentUp(l *layer) {
	m := &b.w.Setup.Model
	a, rank := b.overTP(count("a", m.Heads)), count("r_q", m.QLoraRank)
	if m.QLoraRank == 0 {
		rank = b.hidden()
	}
	b.matmul(l, "query-up", "query up-projection", b.tokens(), rank, mul(a, count("d_nope + d_rope", m.QKNopeDim+m.QKRopeDim)))
	b.matmul(l, "kv-up", "key-value up-projection", b.tokens(), count("r_kv", m.KVLoraRank), mul(a, count("d_nope + d_v", m.QKNopeDim+m.VHeadDim)))
}

// coreAttention is the fused kernel, or the products and passes of an unfused one.
func (b *Book) coreAttention(l *layer) {
	f, i := b.scores()
	l.f, l.i = append(l.f, f), append(l.i, i)
}

// scores are core attention's forward and backward times.
func (b *Book) scores() (forward, backward *Expr) {
	s, m, k := b.w.Setup, &b.w.Setup.Model, b.machine()
	width := m.HeadDim
	if m.IsMLA() {
		width = m.QKNopeDim + m.QKRopeDim
	}
	a := about{name: "Core attention, forward", symbol: "t(core attention)", unit: Seconds, source: from(k.Ops.From), omits: "clocks under load"}
	back := a
	back.name, back.symbol = "Core attention, backward", "t(core attention, backward)"
	if b.w.Step.Attention == recipe.Standard {
		return b.unfused(a, back, width)
	}
	flops := b.term("layer.attention.core-flops", about{
		name: "FLOPs of core attention of one micro-batch in one layer, as the kernel computes them", symbol: "F_core", unit: FLOPs,
		source: "2 x heads x widths x sequence / 2 per token under the causal mask, less what windows skip, times the busiest CP rank's share",
	}, func() *Expr {
		per := m.LayerForward(false, s.Seq, true).Scores
		x := mul(num("FLOPs per token", float64(per), FLOPs), b.tokens())
		if w := m.WindowShare(s.Seq, true); w != 1 {
			x = mul(x, num("share inside local windows", w, Share))
		}
		if u := s.CausalImbalance(); u != 1 {
			x = mul(x, count("imbalance of the causal split", u))
		}
		return b.overTP(x)
	})
	if flops.Value() <= 0 {
		return lit(0), lit(0)
	}
	rate := func(name string, share float64) *Expr {
		x := mul(b.peak16(), num(name, share, Share))
		if width > 128 {
			x = mul(x, num("share of wide heads", k.Ops.AttentionWide, Share))
		}
		if k.Software.Attention != 1 {
			x = div(x, count("stack's attention over the best", k.Software.Attention))
		}
		return x
	}
	start := seconds("start", k.Ops.AttentionStart)
	ringF, ringB := b.ring()
	forward = b.term("layer.attention.forward", a, func() *Expr {
		return add(div(flops, rate("share of the peak", k.Ops.AttentionForward)), start, ringF)
	})
	backward = b.term("layer.attention.backward", back, func() *Expr {
		return add(div(mul(lit(2.5), flops), rate("share of the peak", k.Ops.AttentionBackward)), start, ringB)
	})
	return forward, backward
}

// unfused is attention that writes its scores.
func (b *Book) unfused(a, back about, width int) (forward, backward *Expr) {
	s := b.w.Setup
	heads, seq, d := b.overTP(count("a", s.Model.Heads)), count("s", s.Seq), count("d", width)
	square := mul(heads, b.tokens(), seq)
	touched := mul(b.elem(), add(square, mul(lit(2), heads, b.tokens(), d)))
	batched := maxOf(div(mul(heads, b.tokens()), seq), lit(1))
	rows := div(mul(heads, b.tokens()), batched)
	first := b.grouped("layer.attention.scores", "scores", batched, rows, d, seq, touched)
	second := b.grouped("layer.attention.values", "scores times values", batched, rows, seq, d, touched)
	passes := 4*b.precision().Bytes() + 1
	forward = b.term("layer.attention.forward", a, func() *Expr {
		return add(first, second, b.stream(mul(count("bytes per score", passes), square)))
	})
	backward = b.term("layer.attention.backward", back, func() *Expr {
		return add(mul(lit(2), add(first, second)), b.stream(mul(count("bytes per score", passes+b.precision().Bytes()), square)))
	})
	return forward, backward
}

func (b *Book) gates() float64 {
	if b.w.Setup.Model.Gated {
		return 2
	}
	return 1
}

func (b *Book) activation(l *layer, id, name string, elements *Expr) {
	b.pass(l, id+"-activation", "activation of the "+name, mul(b.elem(), lit(b.gates()+1), elements))
}

func (b *Book) mlp(l *layer, id, name string, width *Expr) {
	b.matmul(l, id+"-up", name+" up", b.tokens(), b.hidden(), b.overTP(mul(lit(b.gates()), width)))
	b.matmul(l, id+"-down", name+" down", b.tokens(), b.overTP(width), b.hidden())
	b.activation(l, id, name, b.overTP(mul(b.tokens(), width)))
}

// routed are the tokens that one rank's experts work on.
func (b *Book) routed() *Expr {
	return b.term("layer.experts.tokens", about{
		name: "Routed tokens on the busiest expert rank, over ETP", symbol: "T_routed", unit: Count, source: "tokens sent x experts per token x imbalance",
	}, func() *Expr {
		return scaled(b.w.Load(), "imbalance", mul(b.shard(), count("k", b.w.Setup.Model.TopK)))
	})
}

func (b *Book) expertOps(l *layer) {
	s := b.w.Setup
	m, h := &s.Model, b.hidden()
	if m.SharedFFN > 0 {
		b.mlp(l, "shared", "shared experts", count("f_shared", m.SharedFFN))
	}
	b.matmul(l, "router", "router", b.shard(), h, count("E", m.Experts))
	b.pass(l, "permute", "permute and unpermute", mul(lit(4), b.elem(), b.routed(), h))
	local, etp := div(count("E", m.Experts), count("EP", s.EP)), count("ETP", s.ETP)
	rows := div(mul(b.routed(), etp), local)
	width := div(count("f_expert", m.ExpertFFN), etp)
	grads := count("bytes of a gradient", s.GradDtype.Bytes(b.precision()))
	for k, p := range [2][2]*Expr{{h, mul(lit(b.gates()), width)}, {width, h}} {
		id, name := "experts-up", "experts up"
		if k == 1 {
			id, name = "experts-down", "experts down"
		}
		in, weight, out := mul(rows, local, p[0]), mul(local, p[0], p[1]), mul(rows, local, p[1])
		touched := mul(b.elem(), add(in, weight, out))
		each := func(t *Expr) *Expr { return b.issued(t, local) }
		l.f = append(l.f, each(b.grouped(l.id+"."+id+".forward", name, local, rows, p[0], p[1], touched)))
		l.i = append(l.i, each(b.grouped(l.id+"."+id+".input-gradient", name+", input gradient", local, rows, p[1], p[0], touched)))
		l.w = append(l.w, each(b.grouped(l.id+"."+id+".weight-gradient", name+", weight gradient", local, rows, p[0], p[1],
			add(mul(b.elem(), add(in, out)), mul(lit(2), grads, weight)))))
	}
	elements := mul(b.routed(), count("f_expert", m.ExpertFFN))
	b.activation(l, "experts", "experts", elements)
	if more := b.machine().Software.Biased; m.MLPBias && more > 0 {
		b.activation(l, "expert-biases", "experts' biases, as passes of it", mul(count("passes", more), elements))
	}
}

func (b *Book) embedding() *layer {
	return b.piece("embedding", "embedding", func(l *layer) {
		b.pass(l, "look-up", "look-up", mul(lit(2), b.elem(), b.tokens(), b.hidden()))
		b.edge(l)
	})
}

// head is the final norm, the output projection and the loss.
func (b *Book) head() *layer {
	return b.piece("head", "head", func(l *layer) {
		m := &b.w.Setup.Model
		b.pass(l, "norm", "final norm", mul(lit(2), b.elem(), b.shard(), b.hidden()))
		b.matmul(l, "output", "head projection", b.tokens(), b.hidden(), b.overTP(count("V", m.Vocab)))
		loss := b.term("head.loss", about{
			name: "Loss over the logits", symbol: "t(loss)", unit: Seconds, source: "one fused pass: logits read and written", omits: "reductions of a number per token",
		}, func() *Expr { return b.stream(b.overTP(mul(lit(2), b.elem(), b.tokens(), count("V", m.Vocab)))) })
		l.f, l.i = append(l.f, loss), append(l.i, loss)
		b.edge(l)
	})
}

func (b *Book) mtpProjection() *layer {
	return b.piece("mtp-projection", "MTP projection", func(l *layer) {
		b.matmul(l, "projection", "MTP projection", b.shard(), mul(lit(2), b.hidden()), b.hidden())
	})
}
