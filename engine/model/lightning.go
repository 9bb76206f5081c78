package model

import "meshscope/engine/record"

// lightning is linear attention with a fixed decay of each head (MiniMax-01, arXiv 2501.08313): queries, keys
// and values behind an activation, a scan, a norm over the whole width and an output gate.
func lightning(b *builder, x Ref) Ref {
	s := &b.size
	b.part = PartAttention
	all := b.product("linear-in", "projections of linear attention", x,
		b.tensor(record.Lit(3).Times(s.values), Columns))
	gate := b.product("gate", "gate of linear attention's output", x, b.tensor(s.values, Columns))
	q, k, v := b.values(), b.values(), b.values()
	b.op(Activation, "activation", "activation of queries, keys and values", refs(all), q, k, v)
	out := b.scanNorm(b.scan(refs(q, k, v), decayingState(s)), s.values)
	return b.output(b.gated(out, gate, "output-gate", "gated output of linear attention"))
}

// decayingState is the scan of lightning: the state of a head is updated and read, with scores inside a chunk
// under the causal mask. The backward, of twice as many FLOPs and the states once more, is inferred. Moved:
// queries, keys, values and output, in the backward their gradients too; the state of each chunk in fp32.
func decayingState(s *sizes) recurrence {
	n, width := record.Lit, s.values
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
