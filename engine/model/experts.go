package model

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
)

// experts is a mixture: a router sends each token to some of many MLPs, and all tokens go
// through the shared ones. The router has a bias where the MLPs do (gpt-oss), and one that
// balances without a loss (DeepSeek-V3).
func experts(b *builder, x Ref) Ref {
	s := &b.size
	b.MoE, b.Experts, b.TopK, b.module = true, s.e, s.k, recipe.ModuleMoE
	defer func() { b.module = 0 }()
	var shared Ref
	if b.m.SharedFFN > 0 {
		b.part = PartShared
		shared = b.sharedExperts(x)
	}
	b.part = PartRouter
	biases := 0.0
	for _, has := range [...]bool{b.m.MLPBias, b.m.RouterBias && !b.hash} {
		if has {
			biases++
		}
	}
	other := record.Lit(biases).Times(s.routes)
	if b.m.RouterScale {
		other = other.Plus(s.h)
	}
	scores, shares := b.tensor(s.routes, Sequence), b.tensor(s.routes, Sequence)
	b.Tensors[scores].FP32, b.Tensors[shares].FP32 = true, true
	b.add(Op{Kind: Gate, ID: "router", Name: "router", Other: other}, refs(x), refs(scores))
	b.add(Op{Kind: Choice, ID: "choice", Name: "softmax and choice of experts", Fused: true}, refs(scores),
		refs(shares))
	from, latent := x, b.m.ExpertLatent > 0
	if latent {
		from = b.product("latent-down", "projection to the experts' latent", x, b.tensor(s.latent, Sequence))
		if b.m.LatentNorm {
			from = b.fusedNorm("latent-norm", "norm of the experts' latent", s.latent, refs(from),
				b.like(from))
		}
	}
	const permute = "permute and unpermute"
	rows := b.op(Permute, "permute", permute, refs(from), b.tensor(s.latent, Routed))
	b.part = PartExperts
	rows = b.mlp(Grouped, rows, s.expert, [3]Op{
		{ID: "experts-up", Name: "experts up"},
		{ID: "experts-activation", Name: "activation of the experts", Module: recipe.ModuleMoEAct},
		{ID: "experts-down", Name: "experts down"},
	})
	b.part = PartRouter
	y := b.tensor(s.h, Sequence)
	if !latent {
		return b.op(Permute, "permute", permute, refs(rows, shared), y)
	}
	narrow := b.op(Permute, "permute", permute, refs(rows), b.tensor(s.latent, Sequence))
	up := b.product("latent-up", "projection from the experts' latent", narrow, b.tensor(s.h, Sequence))
	b.add(Op{Kind: View, Fused: true}, refs(up, shared), refs(y))
	return y
}

// sharedExperts are those that every token goes to, with an input of their own to keep.
func (b *builder) sharedExperts(x Ref) Ref {
	copied := b.tensor(b.size.h, Sequence)
	b.add(Op{Kind: View, Fused: true}, refs(x), refs(copied))
	b.module |= recipe.ModuleShared
	defer func() { b.module &^= recipe.ModuleShared }()
	out := b.mlp(Product, copied, b.size.shared, [3]Op{
		{ID: "shared-up", Name: "shared experts up"},
		{ID: "shared-activation", Name: "activation of the shared experts", Module: recipe.ModuleAct},
		{ID: "shared-down", Name: "shared experts down"},
	})
	if !b.m.SharedGate {
		return out
	}
	gate := b.op(Gate, "shared-gate", "gate of the shared experts", refs(copied),
		b.tensor(record.Lit(1), Sequence))
	return b.gated(out, gate, "shared-gate-product", "gated output of the shared experts")
}
