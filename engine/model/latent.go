package model

import "meshscope/engine/recipe"

// latent is multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1):
// queries, keys and values come up from latents. What goes down to a latent stands whole on
// every rank of a TP group; without a query latent queries come from the hidden state.
func latent(b *builder, x Ref) Ref {
	s, up := &b.size, recipe.ModuleMLAUp
	b.part = PartAttention
	q, from := b.heads(s.a, s.nope.Plus(s.rope), Columns), b.queryLatent(x)
	norm, turned := b.keyLatent(x)
	b.add(Op{Kind: Product, ID: "query-up", Name: "query up-projection", Module: up}, refs(from), refs(q))
	part, v := b.heads(s.a, s.nope, Columns), b.heads(s.a, s.v, Columns)
	b.add(Op{Kind: Product, ID: "kv-up", Name: "key-value up-projection", Module: up}, refs(norm),
		refs(part, v))
	k := b.heads(s.a, s.nope.Plus(s.rope), Columns)
	b.add(Op{Kind: View, Fused: true, Module: up}, refs(part, turned), refs(k))
	qr, kr := b.heads(s.a, s.nope.Plus(s.rope), Columns), b.heads(s.a, s.nope.Plus(s.rope), Columns)
	b.add(Op{Kind: Rotary, ID: "rotary", Name: "rotary positions", Module: up}, refs(q, k), refs(qr, kr))
	y, out := b.tensor(s.h, Sequence), b.core(qr, kr, v, s.v)
	if b.m.AttnGate == GateChannel {
		gate := b.heads(s.a, s.v, Columns)
		b.add(Op{Kind: Product, ID: "gate", Name: "gate of attention's output"}, refs(x), refs(gate))
		out = b.gated(out, gate, "attention-gate", "gated output of attention")
	}
	b.add(Op{Kind: Product, ID: "output", Name: "output projection"}, refs(out), refs(y))
	return y
}

// queryLatent returns what queries come up from: a normed latent, or without one the hidden state.
func (b *builder) queryLatent(x Ref) Ref {
	if b.m.QLoraRank == 0 {
		return x
	}
	s := &b.size
	down, norm := b.tensor(s.rq, Sequence), b.tensor(s.rq, Sequence)
	b.add(Op{Kind: Product, ID: "query-down", Name: "query down-projection"}, refs(x), refs(down))
	b.add(Op{
		Kind: Norm, ID: "query-norm", Name: "norm of the query latent", Fused: true,
		Module: recipe.ModuleMLAUp, Other: s.rq,
	}, refs(down), refs(norm))
	return norm
}

// keyLatent returns the normed latent of keys and values, and the part of keys that is turned.
func (b *builder) keyLatent(x Ref) (latent, turned Ref) {
	s := &b.size
	down, turned, norm := b.tensor(s.rkv, Sequence), b.tensor(s.rope, Sequence), b.tensor(s.rkv, Sequence)
	b.add(Op{Kind: Product, ID: "kv-down", Name: "key-value down-projection"}, refs(x), refs(down, turned))
	b.add(Op{
		Kind: Norm, ID: "kv-norm", Name: "norm of the key-value latent", Fused: true,
		Module: recipe.ModuleMLAUp, Other: s.rkv,
	}, refs(down), refs(norm))
	return norm, turned
}
