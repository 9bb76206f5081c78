package model

// beside is attention and Mamba-2 on the same normed input (Falcon-H1, arXiv 2507.22448): their outputs add.
// Each runs its own kernels, one after the other.
func beside(b *builder, x Ref) Ref {
	y := attention(b, x)
	z := secondMamba(b, x)
	sum := b.tensor(b.size.h, Sequence)
	b.add(Op{Kind: Residual, Part: PartNorms, ID: "norms", Name: "norms and residuals"}, refs(y, z),
		refs(sum))
	return sum
}

// secondMamba is Mamba-2 in a layer that has another mixer.
func secondMamba(b *builder, x Ref) Ref {
	b.beside = true
	defer func() { b.beside = false }()
	return mamba2(b, x)
}
