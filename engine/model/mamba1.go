package model

import "meshscope/engine/record"

// mamba1 is the selective state space of Mamba (arXiv 2312.00752) with Jamba's norms: a projection of input
// and gate, a convolution, a small projection of what makes the step, writes to the state and reads from it,
// each normed; the step comes up from its rank to one for each channel. Each channel is a value head of width
// 1. Its products are cut by channel; the scan runs on vector units (state-spaces/mamba,
// mamba_ssm/ops/selective_scan_interface.py), whose time is what they move. The count of its operations
// is inferred.
func mamba1(b *builder, x Ref) Ref {
	s, n := &b.size, record.Lit
	b.part = PartAttention
	inner, state, rank := s.values, s.keys, s.scanRank
	all := b.product("linear-in", "projections of the state-space layer", x,
		b.tensor(n(2).Times(inner), Columns))
	in, raw := b.tensor(inner, Columns), rank.Plus(n(2).Times(state))
	b.convolution(all, n(1), in)
	made := b.product("scan-parameters", "step and what writes and reads the state", in,
		b.tensor(raw, Sequence))
	small, normed := b.tensor(rank, Sequence), b.tensor(n(2).Times(state), Sequence)
	b.add(Op{Kind: Norm, ID: "scan-norms", Name: "norms of step, B and C", Other: raw}, refs(made),
		refs(small, normed))
	step, out, gated := b.like(in), b.like(in), b.like(in)
	b.add(Op{Kind: Product, ID: "step-up", Name: "step of each channel", Other: inner}, refs(small),
		refs(step))
	scan := ScanCost{State: inner.Times(state)}
	scan.FLOPs = [2]record.Num{n(9).Times(scan.State), n(22.5).Times(scan.State)}
	scan.Moved = [2]record.Num{
		n(5).Times(inner).Plus(n(2).Times(state)),
		n(10).Times(inner).Plus(n(4).Times(state)),
	}
	b.add(Op{
		Kind: Scan, ID: "scan", Name: "selective scan", Other: inner.Times(state).Plus(inner),
		Scan: &scan,
	}, refs(in, step, normed), refs(out))
	b.add(Op{Kind: Multiply, Fused: true, ID: "scan", Name: "selective scan"}, refs(out, all), refs(gated))
	return b.output(gated)
}
