package model

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
)

// experts is a mixture: a router sends each token to some of many MLPs, and all tokens go
// through the shared ones. The router has a bias where the MLPs do (gpt-oss), and one that
// balances without a loss (DeepSeek-V3).
func experts(b *builder, x Ref) Ref {
	s, all := &b.size, recipe.ModuleMoE
	b.MoE, b.Experts, b.TopK = true, s.e, s.k
	var shared, gate Ref
	if b.m.SharedFFN > 0 {
		b.part = PartShared
		copied := b.tensor(s.h, Sequence) // the shared experts keep an input of their own
		b.add(Op{Kind: View, Fused: true, Module: all}, refs(x), refs(copied))
		whole := all | recipe.ModuleShared
		shared = b.mlp(Product, copied, s.shared, [3]Op{
			{ID: "shared-up", Name: "shared experts up", Module: whole},
			{
				ID: "shared-activation", Name: "activation of the shared experts",
				Module: whole | recipe.ModuleAct,
			},
			{ID: "shared-down", Name: "shared experts down", Module: whole},
		})
		if b.m.SharedGate {
			gate = b.tensor(record.Lit(1), Sequence)
			b.add(Op{Kind: Gate, ID: "shared-gate", Name: "gate of the shared experts", Module: whole},
				refs(copied), refs(gate))
			gated := b.tensor(s.h, Sequence)
			b.add(Op{
				Kind: Multiply, ID: "shared-gate-product", Name: "gated output of the shared experts",
				Module: whole,
			}, refs(shared, gate), refs(gated))
			shared = gated
		}
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
	b.add(Op{Kind: Gate, ID: "router", Name: "router", Module: all, Other: other}, refs(x), refs(scores))
	b.add(Op{Kind: Choice, ID: "choice", Name: "softmax and choice of experts", Fused: true, Module: all},
		refs(scores), refs(shares))

	b.part = PartRouter
	from, latent := x, b.m.ExpertLatent > 0
	if latent {
		from = b.tensor(s.latent, Sequence)
		b.add(Op{Kind: Product, ID: "latent-down", Name: "projection to the experts' latent", Module: all},
			refs(x), refs(from))
		if b.m.LatentNorm {
			normed := b.tensor(s.latent, Sequence)
			b.add(Op{
				Kind: Norm, ID: "latent-norm", Name: "norm of the experts' latent", Module: all, Fused: true,
				Other: s.latent,
			}, refs(from), refs(normed))
			from = normed
		}
	}
	b.part = PartExperts
	rows := b.tensor(s.latent, Routed)
	b.add(Op{Kind: Permute, Part: PartRouter, ID: "permute", Name: "permute and unpermute", Module: all},
		refs(from), refs(rows))
	rows = b.mlp(Grouped, rows, s.expert, [3]Op{
		{ID: "experts-up", Name: "experts up", Module: all},
		{ID: "experts-activation", Name: "activation of the experts", Module: all | recipe.ModuleMoEAct},
		{ID: "experts-down", Name: "experts down", Module: all},
	})
	y, back := b.tensor(s.h, Sequence), Op{
		Kind: Permute, Part: PartRouter, ID: "permute",
		Name: "permute and unpermute", Module: all,
	}
	if !latent {
		b.add(back, refs(rows, shared), refs(y))
		return y
	}
	b.part = PartRouter
	narrow, up := b.tensor(s.latent, Sequence), b.tensor(s.h, Sequence)
	b.add(back, refs(rows), refs(narrow))
	b.add(Op{Kind: Product, ID: "latent-up", Name: "projection from the experts' latent", Module: all},
		refs(narrow), refs(up))
	b.add(Op{Kind: View, Fused: true, Module: all}, refs(up, shared), refs(y))
	return y
}
