package model

// beside is attention and Mamba-2 on the same normed input (Falcon-H1, arXiv 2507.22448): their outputs add.
// Each runs its own kernels, one after the other.
func beside(b *builder, x Ref) Ref {
	y := attention(b, x)
	b.beside = true
	z := mamba2(b, x)
	b.beside = false
	sum := b.tensor(b.size.h, Sequence)
	b.add(Op{Kind: Residual, Part: PartNorms, ID: "norms", Name: "norms and residuals"}, refs(y, z),
		refs(sum))
	return sum
}
