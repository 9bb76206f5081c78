package model

import "meshscope/engine/record"

// gatedDelta is Gated DeltaNet (arXiv 2412.06464) as Qwen3-Next has it: one projection of queries, keys,
// values, output gate, decay and writing strength, a convolution over the last tokens, and a state for each
// value head that runs over the sequence in chunks. Keys and queries are copied to as many heads as values
// have.
func gatedDelta(b *builder, x Ref) Ref {
	s, two := &b.size, record.Lit(2)
	b.part = PartAttention
	all := b.product("linear-in", "projections of linear attention", x,
		b.tensor(two.Times(s.keys).Plus(two.Times(s.values)).Plus(two.Times(s.valueHeads)), Columns))
	gate, q := b.tensor(s.values, Columns), b.tensor(s.keys, Columns)
	k, v := b.like(q), b.like(gate)
	b.add(Op{Kind: View, Fused: true}, refs(all), refs(gate))
	b.convolution(all, record.Lit(0), q, k, v)
	qn, kn := b.like(q), b.like(k)
	b.op(Norm, "qk-norm", "norms of queries and keys", refs(q, k), qn, kn)
	if b.m.LinearValueHeads > b.m.LinearKeyHeads {
		wide := s.valueHeads.Times(s.keyDim)
		q, k = b.tensor(wide, Columns), b.tensor(wide, Columns)
		b.op(View, "repeat", "queries and keys of all value heads", refs(qn, kn), q, k)
		qn, kn = q, k
	}
	out := b.scanNorm(b.scan(refs(qn, kn, v), deltaRule(s)), s.valueDim)
	return b.output(b.gated(out, gate, "output-gate", "gated output of linear attention"))
}

// convolution sees the last tokens of each channel of a projection; biases are of each.
func (b *builder) convolution(from Ref, biases record.Num, out ...Ref) {
	o := Op{Kind: Convolution, ID: "convolution", Name: "convolution over the last tokens", Taps: b.size.conv}
	o.Other = b.size.conv.Plus(biases).Times(b.Width(refs(out...)))
	b.add(o, refs(from), refs(out...))
}

// recurrence is a scan: its cost, its name, its parameters for each head, and what it saves of a token next
// to its inputs, in elements of 2 bytes.
type recurrence struct {
	ScanCost

	name         string
	other, saved record.Num
}

func (b *builder) scan(in [3]Ref, r recurrence) Ref {
	out, saved := b.values(), b.tensor(r.saved, Columns)
	b.add(Op{Kind: Scan, ID: "scan", Name: r.name, Other: r.other, Scan: &r.ScanCost}, in, refs(out, saved))
	return out
}

// scanNorm is a norm of each head's output, with a scale of so many parameters.
func (b *builder) scanNorm(x Ref, scale record.Num) Ref {
	out := b.values()
	b.add(Op{Kind: Norm, ID: "output-norm", Name: "norm of linear attention's output", Other: scale},
		refs(x), refs(out))
	return out
}

// deltaRule is the chunked gated delta rule of flash-linear-attention (fla/ops/gated_delta_rule/chunk.py), in
// chunks of 64 tokens. FLOPs: keys against keys, the inverse of a triangle applied to keys and values, the
// state read for the correction, updated and read for the output, scores inside the chunk. The backward first
// makes all but the output again. Moved is what its kernels read and write: of queries and keys 7 times their
// width (backward 21), of values 6 (15), the state of each chunk twice (4 times), and the triangle in fp32
// and 16 bits. Saved next to the inputs: the triangle's inverse, 14 bytes of decay and strength a value head,
// and the norms of queries and keys in fp32.
func deltaRule(s *sizes) recurrence {
	const chunk = 64
	n, c := record.Lit, record.Lit(chunk)
	state := s.keyDim.Times(s.valueDim)
	states := state.Over(c)
	each := func(num record.Num) record.Num { return s.valueHeads.Times(num) }
	linear := func(keys, values float64) record.Num {
		return n(keys).Times(s.keyDim).Plus(n(values).Times(s.valueDim))
	}
	return recurrence{
		name: "gated delta rule in chunks", other: n(2).Times(s.valueHeads),
		saved: each(c.Plus(n(7))).Plus(n(4).Times(s.keyHeads)),
		ScanCost: ScanCost{
			State: each(state),
			FLOPs: [2]record.Num{
				each(n(6).Times(state).Plus(c.Times(linear(6, 4)))),
				each(n(16).Times(state).Plus(c.Times(linear(18, 10)))),
			},
			Moved: [2]record.Num{
				each(linear(7, 6).Plus(n(2).Times(states)).Plus(n(6).Times(c))),
				each(linear(21, 15).Plus(n(4).Times(states)).Plus(n(2).Times(c))),
			},
		},
	}
}
