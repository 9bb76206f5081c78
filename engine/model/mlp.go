package model

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
)

// denseMLP is two matrices around an activation, three where it is gated.
func denseMLP(b *builder, x Ref) Ref {
	b.part = PartMLP
	return b.mlp(Product, x, b.size.f, [3]Op{
		{ID: "mlp-up", Name: "MLP up", Module: recipe.ModuleMLP},
		{ID: "mlp-activation", Name: "activation of the MLP", Module: recipe.ModuleMLP | recipe.ModuleAct},
		{ID: "mlp-down", Name: "MLP down", Module: recipe.ModuleMLP},
	})
}

// mlp adds the products and the activation of an MLP of some width.
func (b *builder) mlp(kind Kind, x Ref, width record.Num, ops [3]Op) Ref {
	outside, inside, h := Sequence, Columns, b.size.h
	if kind == Grouped {
		outside, inside, h = Routed, RoutedColumns, b.size.latent
	}
	up := refs(b.tensor(width, inside))
	if b.m.Gated {
		up[1] = b.tensor(width, inside)
	}
	product, y := b.tensor(width, inside), b.tensor(h, outside)
	ops[0].Kind, ops[1].Kind, ops[2].Kind = kind, Activation, kind
	ops[0].Apart = true
	if b.m.MLPBias {
		ops[0].Other, ops[2].Other = b.Width(up), h
	}
	b.add(ops[0], refs(x), up)
	b.add(ops[1], up, refs(product))
	b.add(ops[2], refs(product), refs(y))
	return y
}
