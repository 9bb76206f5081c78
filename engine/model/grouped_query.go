package model

import "meshscope/engine/record"

// groupedQuery is softmax attention whose heads share keys and values in groups: of one
// head each (multi-head), of all (multi-query), or between.
func groupedQuery(b *builder, x Ref) Ref {
	s, two := &b.size, record.Lit(2)
	b.part = PartAttention
	q, gate := b.heads(s.a, s.d, Columns), Ref(0)
	k, v := b.heads(s.kv, s.d, KeyValue), b.heads(s.kv, s.d, KeyValue)
	width, kv := b.Tensors[q].Width, b.Tensors[k].Width

	project := Op{Kind: Product, ID: "qkv", Name: "query, key and value projections", Apart: true}
	if b.m.AttnBias == BiasQKV || b.m.AttnBias == BiasAll {
		project.Other = width.Plus(two.Times(kv))
	}
	switch b.m.AttnGate {
	case GateChannel: // as many columns more as queries have
		both := b.heads(s.a, two.Times(s.d), Columns)
		b.add(project, refs(x), refs(both, k, v))
		gate = b.heads(s.a, s.d, Columns)
		b.add(Op{Kind: View, Fused: true}, refs(both), refs(q, gate))
	case GateHead:
		gate = b.tensor(s.a, Columns)
		b.add(project, refs(x), refs(q, k, v))
		b.add(Op{Kind: Product, ID: "gate", Name: "gate of attention's output"}, refs(x), refs(gate))
	default:
		b.add(project, refs(x), refs(q, k, v))
	}
	if p := b.m.QKNorm; p == QKNormPerHead || p == QKNormFullWidth {
		scale := two.Times(s.d)
		if p == QKNormFullWidth {
			scale = width.Plus(kv)
		}
		qn, kn := b.heads(s.a, s.d, Columns), b.heads(s.kv, s.d, KeyValue)
		b.add(Op{Kind: Norm, ID: "qk-norm", Name: "norms of queries and keys", Fused: true, Other: scale}, refs(q, k), refs(qn, kn))
		q, k = qn, kn
	}
	qr, kr := b.heads(s.a, s.d, Columns), b.heads(s.kv, s.d, KeyValue)
	b.add(Op{Kind: Rotary, ID: "rotary", Name: "rotary positions"}, refs(q, k), refs(qr, kr))
	out := b.core(qr, kr, v, s.d)
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
	b.add(Op{Kind: Core, ID: "attention", Name: "core attention"}, refs(q, k, v), refs(out, sums))
	return out
}
