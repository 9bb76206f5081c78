package model

import "meshscope/engine/record"

// mamba2 is a state-space layer (arXiv 2405.21060): one projection of gate, input, what writes to the state
// (B) and reads from it (C) in groups of heads, and a step for each head; a convolution with bias over the
// last tokens; a scan in chunks. Its kernel makes all but its output again from the projection's
// (state-spaces/mamba, mamba_ssm/ops/triton/ssd_combined.py: mamba_split_conv1d_scan_combined), and gates the
// output itself.
func mamba2(b *builder, x Ref) Ref {
	s, two := &b.size, record.Lit(2)
	b.part = PartAttention
	all := b.product("linear-in", "projections of the state-space layer", x,
		b.tensor(two.Times(s.values).Plus(two.Times(s.keys)).Plus(s.valueHeads), Columns))
	in, write := b.tensor(s.values, Columns), b.heads(s.keyHeads, s.keyDim, KeyValue)
	read := b.like(write)
	b.convolution(all, record.Lit(1), in, write, read)
	out := b.scan(refs(in, write, read), stateSpace(s))
	normed := b.like(in)
	b.add(Op{Kind: Multiply, Fused: true, ID: "scan", Name: "state-space scan in chunks"}, refs(out, all),
		refs(normed))
	if !b.m.LinearBare {
		gated := normed
		normed = b.like(in)
		b.add(Op{Kind: Norm, ID: "output-norm", Name: "norm of the state-space output", Other: s.values},
			refs(gated), refs(normed))
	}
	return b.output(normed)
}

// stateSpace is the scan of mamba2. FLOPs: the state is updated and read, and passed on once a chunk; scores
// inside a chunk for each group and their product with the input, of which the kernels skip what lies above
// the diagonal. The backward has 2.5 times as many, and makes the states again. Moved: the input twice, the
// gate, the output with and without it; B and C twice; scores written and read; states of each chunk in fp32
// four times.
func stateSpace(s *sizes) recurrence {
	n, inner, states := record.Lit, s.values, s.keys
	state := inner.Times(s.keyDim)
	forward := n(4).Times(state).Plus(s.chunk.Times(states.Plus(inner))).Plus(n(2).Times(state).Over(s.chunk))
	moved := n(5).Times(inner).Plus(n(4).Times(states)).Plus(n(2).Times(s.chunk).Times(s.keyHeads)).Plus(
		n(8).Times(state).Over(s.chunk),
	)
	return recurrence{
		name: "state-space scan in chunks", other: n(3).Times(s.valueHeads), saved: n(2).Times(s.keyHeads),
		ScanCost: ScanCost{
			Again: true, State: state,
			FLOPs: [2]record.Num{forward, n(2.5).Times(forward).Plus(n(2).Times(state))},
			Moved: [2]record.Num{moved, n(2.5).Times(moved)},
		},
	}
}
