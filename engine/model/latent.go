package model

import "meshscope/engine/recipe"

// latent is multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1):
// queries, keys and values come up from latents. What goes down to a latent stands whole on
// every rank of a TP group; without a query latent queries come from the hidden state.
func latent(b *builder, x Ref) Ref {
	s := &b.size
	b.part = PartAttention
	from := b.queryLatent(x)
	norm, turned := b.keyLatent(x)
	b.module = recipe.ModuleMLAUp
	q := b.product("query-up", "query up-projection", from, b.heads(s.a, s.nope.Plus(s.rope), Columns))
	part, v := b.heads(s.a, s.nope, Columns), b.heads(s.a, s.v, Columns)
	b.product("kv-up", "key-value up-projection", norm, part, v)
	k := b.like(q)
	b.add(Op{Kind: View, Fused: true}, refs(part, turned), refs(k))
	q, k = b.rotary(q, k)
	b.module = 0
	out := b.core(q, k, v, s.v)
	if b.m.AttnGate == GateChannel {
		gate := b.product("gate", "gate of attention's output", x, b.heads(s.a, s.v, Columns))
		out = b.gated(out, gate, "attention-gate", "gated output of attention")
	}
	return b.output(out)
}

// queryLatent returns what queries come up from: a normed latent, or without one the hidden state.
func (b *builder) queryLatent(x Ref) Ref {
	if b.m.QLoraRank == 0 {
		return x
	}
	down := b.product("query-down", "query down-projection", x, b.tensor(b.size.rq, Sequence))
	return b.latentNorm("query-norm", "norm of the query latent", down)
}

// keyLatent returns the normed latent of keys and values, and the part of keys that is turned.
func (b *builder) keyLatent(x Ref) (latent, turned Ref) {
	down, turned := b.tensor(b.size.rkv, Sequence), b.tensor(b.size.rope, Sequence)
	b.product("kv-down", "key-value down-projection", x, down, turned)
	return b.latentNorm("kv-norm", "norm of the key-value latent", down), turned
}

// latentNorm is the norm of a latent, which is made again with what comes up from it.
func (b *builder) latentNorm(id, name string, x Ref) Ref {
	b.module = recipe.ModuleMLAUp
	defer func() { b.module = 0 }()
	return b.fusedNorm(id, name, b.Tensors[x].Width, refs(x), b.like(x))
}
