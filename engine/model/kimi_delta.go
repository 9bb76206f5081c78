package model

import "meshscope/engine/record"

// kimiDelta is Kimi Delta Attention (arXiv 2510.26692): the gated delta rule with a decay for each channel of
// a key. Decay and output gate come through a narrow layer of the width of a head, which is whole on every
// rank.
func kimiDelta(b *builder, x Ref) Ref {
	s, two := &b.size, record.Lit(2)
	b.part = PartAttention
	narrow := func(id, name string) Ref {
		down := b.product(id+"-down", name+", down", x, b.tensor(s.valueDim, Sequence))
		return b.product(id+"-up", name+", up", down, b.values())
	}
	all := b.product("linear-in", "projections of linear attention", x,
		b.tensor(record.Lit(3).Times(s.values), Columns))
	b.product("strength", "writing strength", x, b.tensor(s.valueHeads, Columns))
	narrow("decay", "decay of each channel")
	var gate Ref
	if name := "gate of linear attention's output"; b.m.LinearFullGate {
		gate = b.product("gate", name, x, b.values())
	} else {
		gate = narrow("gate", name)
	}
	q, k, v, qn, kn := b.values(), b.values(), b.values(), b.values(), b.values()
	b.convolution(all, record.Lit(0), q, k, v)
	// saved as they come out
	b.op(View, "qk-norm", "norms of queries and keys", refs(q, k), qn, kn)
	rule := deltaRule(s)
	rule.other = s.valueHeads.Plus(s.values)
	// the decay, two blocks of scores, 14 bytes a head
	rule.saved = s.values.Plus(record.Lit(135).Times(s.valueHeads))
	rule.Gathers = s.valueHeads.Times(s.keyDim).Times(s.keyDim.Plus(s.valueDim))
	for pass := range rule.Moved { // the decay is read as keys are, and has a gradient
		rule.Moved[pass] = rule.Moved[pass].Plus(record.Lit(float64(1 + 2*pass)).Times(two).Times(s.values))
	}
	out, gated := b.scan(refs(qn, kn, v), rule), b.tensor(s.values, Columns)
	b.add(Op{
		Kind: Norm, ID: "output-norm", Name: "norm and gate of linear attention's output",
		Other: s.valueDim,
	}, refs(out, gate), refs(gated))
	return b.output(gated)
}
