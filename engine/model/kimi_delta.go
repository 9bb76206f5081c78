package model

import "meshscope/engine/record"

// kimiDelta is Kimi Delta Attention (arXiv 2510.26692): the gated delta rule with a decay for each channel of
// a key. Decay and output gate come through a narrow layer of the width of a head, which is whole on every
// rank.
func kimiDelta(b *builder, x Ref) Ref {
	s, two := &b.size, record.Lit(2)
	b.part = PartAttention
	width := s.valueHeads.Times(s.valueDim)
	part := func() Ref { return b.heads(s.valueHeads, s.valueDim, Columns) }
	narrow := func(id, name string) Ref {
		down, up := b.tensor(s.valueDim, Sequence), part()
		b.add(Op{Kind: Product, ID: id + "-down", Name: name + ", down"}, refs(x), refs(down))
		b.add(Op{Kind: Product, ID: id + "-up", Name: name + ", up"}, refs(down), refs(up))
		return up
	}
	all, strength := b.tensor(record.Lit(3).Times(width), Columns), b.tensor(s.valueHeads, Columns)
	b.add(Op{Kind: Product, ID: "linear-in", Name: "projections of linear attention"}, refs(x), refs(all))
	b.add(Op{Kind: Product, ID: "strength", Name: "writing strength"}, refs(x), refs(strength))
	narrow("decay", "decay of each channel")
	gate := part()
	if b.m.LinearFullGate {
		b.add(Op{Kind: Product, ID: "gate", Name: "gate of linear attention's output"}, refs(x), refs(gate))
	} else {
		gate = narrow("gate", "gate of linear attention's output")
	}
	q, k, v, qn, kn := part(), part(), part(), part(), part()
	b.convolution(all, record.Lit(0), q, k, v)
	// saved as they come out
	b.add(Op{Kind: View, ID: "qk-norm", Name: "norms of queries and keys"}, refs(q, k), refs(qn, kn))
	rule := deltaRule(s)
	rule.other = s.valueHeads.Plus(width)
	// the decay, two blocks of scores, 14 bytes a head
	rule.saved = width.Plus(record.Lit(135).Times(s.valueHeads))
	rule.Gathers = s.valueHeads.Times(s.keyDim).Times(s.keyDim.Plus(s.valueDim))
	for pass := range rule.Moved { // the decay is read as keys are, and has a gradient
		rule.Moved[pass] = rule.Moved[pass].Plus(record.Lit(float64(1 + 2*pass)).Times(two).Times(width))
	}
	gated, y := b.tensor(width, Columns), b.tensor(s.h, Sequence)
	b.add(Op{
		Kind: Norm, ID: "output-norm", Name: "norm and gate of linear attention's output",
		Other: s.valueDim,
	},
		refs(b.scan(refs(qn, kn, v), rule), gate), refs(gated))
	b.add(Op{Kind: Product, ID: "output", Name: "output projection"}, refs(gated), refs(y))
	return y
}
