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
		qr := b.heads(s.a, s.d, Columns)
		if b.m.QKNorm == QKNormPerHead {
			b.unused = b.unused.Plus(two.Times(s.d))
			qn := b.heads(s.a, s.d, Columns)
			b.add(Op{Kind: Norm, ID: "qk-norm", Name: "norms of queries", Fused: true}, refs(q), refs(qn))
			q = qn
		}
		b.add(Op{Kind: Rotary, ID: "rotary", Name: "rotary positions"}, refs(q), refs(qr))
		out, y := b.core(qr, 0, 0, s.v), b.tensor(s.h, Sequence)
		b.add(Op{Kind: Product, ID: "output", Name: "output projection"}, refs(out), refs(y))
		return y
	case b.m.QLoraRank > 0: // multi-matrix factorization attention (Step-3): queries through a latent
		down, norm := b.tensor(s.rq, Sequence), b.tensor(s.rq, Sequence)
		b.add(Op{Kind: Product, ID: "query-down", Name: "query down-projection"}, refs(x), refs(down))
		b.add(project, refs(x), refs(k, v))
		b.add(Op{Kind: Norm, ID: "query-norm", Name: "norm of the query latent", Fused: true, Other: s.rq},
			refs(down), refs(norm))
		b.add(Op{Kind: Product, ID: "query-up", Name: "query up-projection"}, refs(norm), refs(q))
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
		gate = b.tensor(s.a, Columns)
		b.add(project, refs(x), refs(q, k, v))
		b.add(Op{Kind: Product, ID: "gate", Name: "gate of attention's output"}, refs(x), refs(gate))
	default:
		b.add(project, refs(x), refs(q, k, v))
	}
	if b.m.ValueNorm {
		vn := b.heads(s.kv, s.v, KeyValue)
		b.add(Op{Kind: Norm, ID: "value-norm", Name: "norm of values", Fused: true}, refs(v), refs(vn))
		v = vn
	}
	if p := b.m.QKNorm; p == QKNormPerHead || p == QKNormOwn || p == QKNormFullWidth {
		scale := two.Times(s.d)
		if p != QKNormPerHead {
			scale = width.Plus(kv)
		}
		qn, kn := b.heads(s.a, s.d, Columns), b.heads(s.kv, s.d, KeyValue)
		b.add(Op{Kind: Norm, ID: "qk-norm", Name: "norms of queries and keys", Fused: true, Other: scale},
			refs(q, k), refs(qn, kn))
		q, k = qn, kn
	}
	if b.m.Position != "none" {
		qr, kr := b.heads(s.a, s.d, Columns), b.heads(s.kv, s.d, KeyValue)
		b.add(Op{Kind: Rotary, ID: "rotary", Name: "rotary positions"}, refs(q, k), refs(qr, kr))
		q, k = qr, kr
	}
	out := b.core(q, k, v, s.v)
	if gate != 0 {
		out = b.gated(out, gate, "attention-gate", "gated output of attention")
	}
	output := Op{Kind: Product, ID: "output", Name: "output projection"}
	if b.m.AttnBias == BiasAll {
		output.Other = s.h
	}
	y := b.tensor(s.h, Sequence)
	b.add(output, refs(out), refs(y))
	return y
}

// gated multiplies the output of a mixer by a function of its gate.
func (b *builder) gated(x, gate Ref, id, name string) Ref {
	t := b.Tensors[x]
	out := b.tensor(t.Width, t.Cut)
	b.Tensors[out].Head, b.Tensors[out].heads = t.Head, t.heads
	b.add(Op{Kind: Multiply, ID: id, Name: name}, refs(x, gate), refs(out))
	return out
}

// core adds core attention: it writes its output and the logarithm of the sum of each row.
func (b *builder) core(q, k, v Ref, width record.Num) Ref {
	b.Heads = b.size.a
	out, sums := b.heads(b.size.a, width, Columns), b.tensor(b.size.a, Columns)
	core := Op{Kind: Core, ID: "attention", Name: "core attention"}
	if b.m.AttnSinks || b.m.LocalSinks && b.Window > 0 {
		core.Other = b.size.a
	}
	if b.reuses {
		core.Other = core.Other.Plus(b.unused)
	}
	b.add(core, refs(q, k, v), refs(out, sums))
	return out
}
