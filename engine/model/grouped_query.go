package model

import "meshscope/engine/record"

// groupedQuery is softmax attention whose heads share keys and values in groups: of one
// head each (multi-head), of all (multi-query), or between.
func groupedQuery(b *builder, x Ref) Ref {
	s, two := &b.size, record.Lit(2)
	b.part = PartAttention
	q, gate := b.heads(s.a, s.d, Columns), Ref(0)
	k, v := b.heads(s.kv, s.d, KeyValue), b.heads(s.kv, s.v, KeyValue)
	width, kv := b.Tensors[q].Width, b.Tensors[k].Width

	project := Op{Kind: Product, ID: "qkv", Name: "query, key and value projections", Apart: true}
	if b.m.AttnBias == BiasQKV || b.m.AttnBias == BiasAll {
		project.Other = b.Width(refs(q, k, v))
	}
	switch {
	case b.reuses:
		b.unused = s.h.Times(b.Width(refs(k, v)))
		b.add(project, refs(x), refs(q))
		if b.m.QKNorm == QKNormPerHead {
			b.unused = b.unused.Plus(two.Times(s.d))
			q = b.fusedNorm("qk-norm", "norms of queries", record.Num{}, refs(q), b.like(q))
		}
		return b.output(b.core(b.op(Rotary, "rotary", "rotary positions", refs(q), b.like(q)), 0, 0, s.v))
	case b.m.QLoraRank > 0: // multi-matrix factorization attention (Step-3): queries through a latent
		down := b.product("query-down", "query down-projection", x, b.tensor(s.rq, Sequence))
		b.add(project, refs(x), refs(k, v))
		norm := b.fusedNorm("query-norm", "norm of the query latent", s.rq, refs(down), b.like(down))
		b.product("query-up", "query up-projection", norm, q)
	case b.m.ValuesAreKeys && b.Window == 0:
		b.add(project, refs(x), refs(q, k))
		if v = k; !b.m.ValueNorm { // which reads the same tensor as the norm of keys
			v = b.heads(s.kv, s.v, KeyValue)
			b.add(Op{Kind: View, Fused: true}, refs(k), refs(v))
		}
	case b.m.AttnGate == GateChannel: // as many columns more as queries have
		both := b.heads(s.a, two.Times(s.d), Columns)
		b.add(project, refs(x), refs(both, k, v))
		gate = b.heads(s.a, s.d, Columns)
		b.add(Op{Kind: View, Fused: true}, refs(both), refs(q, gate))
	case b.m.AttnGate == GateHead:
		b.add(project, refs(x), refs(q, k, v))
		gate = b.product("gate", "gate of attention's output", x, b.tensor(s.a, Columns))
	default:
		b.add(project, refs(x), refs(q, k, v))
	}
	if b.m.ValueNorm {
		v = b.fusedNorm("value-norm", "norm of values", record.Num{}, refs(v), b.heads(s.kv, s.v, KeyValue))
	}
	if p := b.m.QKNorm; p == QKNormPerHead || p == QKNormOwn || p == QKNormFullWidth {
		scale := two.Times(s.d)
		if p != QKNormPerHead {
			scale = width.Plus(kv)
		}
		qn, kn := b.like(q), b.like(k)
		b.fusedNorm("qk-norm", "norms of queries and keys", scale, refs(q, k), qn, kn)
		q, k = qn, kn
	}
	if b.m.Position != "none" {
		q, k = b.rotary(q, k)
	}
	out := b.core(q, k, v, s.v)
	if gate != 0 {
		out = b.gated(out, gate, "attention-gate", "gated output of attention")
	}
	y := b.output(out)
	if b.m.AttnBias == BiasAll {
		b.Ops[len(b.Ops)-1].Other = s.h
	}
	return y
}

// gated multiplies the output of a mixer by a function of its gate.
func (b *builder) gated(x, gate Ref, id, name string) Ref {
	return b.op(Multiply, id, name, refs(x, gate), b.like(x))
}

// core adds core attention: it writes its output and the logarithm of the sum of each row.
func (b *builder) core(q, k, v Ref, width record.Num) Ref {
	b.Heads = b.size.a
	out, sums := b.heads(b.size.a, width, Columns), b.tensor(b.size.a, Columns)
	core := Op{Kind: Core, ID: "attention", Name: "core attention"}
	if b.sinks {
		core.Other = b.size.a
	}
	if b.reuses {
		core.Other = core.Other.Plus(b.unused)
	}
	b.add(core, refs(q, k, v), refs(out, sums))
	return out
}
