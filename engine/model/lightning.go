package model

import "meshscope/engine/record"

// lightning is linear attention with a fixed decay of each head (MiniMax-01, arXiv 2501.08313): queries, keys
// and values behind an activation, a scan, a norm over the whole width and an output gate.
func lightning(b *builder, x Ref) Ref {
	s := &b.size
	b.part = PartAttention
	width := s.valueHeads.Times(s.valueDim)
	part := func() Ref { return b.heads(s.valueHeads, s.valueDim, Columns) }
	all, gate := b.tensor(record.Lit(3).Times(width), Columns), b.tensor(width, Columns)
	b.add(Op{Kind: Product, ID: "linear-in", Name: "projections of linear attention"}, refs(x), refs(all))
	b.add(Op{Kind: Product, ID: "gate", Name: "gate of linear attention's output"}, refs(x), refs(gate))
	q, k, v := part(), part(), part()
	b.add(Op{Kind: Activation, ID: "activation", Name: "activation of queries, keys and values"}, refs(all),
		refs(q, k, v))
	out, normed, y := b.scan(refs(q, k, v), decayingState(s)), part(), b.tensor(s.h, Sequence)
	b.add(Op{Kind: Norm, ID: "output-norm", Name: "norm of linear attention's output", Other: width},
		refs(out), refs(normed))
	b.add(Op{Kind: Product, ID: "output", Name: "output projection"},
		refs(b.gated(normed, gate, "output-gate", "gated output of linear attention")), refs(y))
	return y
}

// decayingState is the scan of lightning: the state of a head is updated and read, with scores inside a chunk
// under the causal mask. The backward, of twice as many FLOPs and the states once more, is inferred. Moved:
// queries, keys, values and output, in the backward their gradients too; the state of each chunk in fp32.
func decayingState(s *sizes) recurrence {
	n := record.Lit
	width := s.valueHeads.Times(s.valueDim)
	state := width.Times(s.keyDim)
	forward, states := n(4).Times(state).Plus(n(2).Times(s.chunk).Times(width)), state.Over(s.chunk)
	return recurrence{
		name: "lightning attention in chunks",
		ScanCost: ScanCost{
			State: state, Gathers: state,
			FLOPs: [2]record.Num{forward, n(2).Times(forward).Plus(n(2).Times(state))},
			Moved: [2]record.Num{
				n(4).Times(width).Plus(n(4).Times(states)),
				n(10).Times(width).Plus(n(8).Times(states)),
			},
		},
	}
}
