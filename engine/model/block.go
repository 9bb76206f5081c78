package model

import "meshscope/engine/record"

// sharedBlock is the transformer block of Zamba2 (arXiv 2411.15242): SharedBlocks of them, used in turn by
// the layers that have one. Attention reads the stream and the embedding side by side, a gated MLP what it
// gives, and what a projection makes of that joins the input of the layer's Mamba-2. Low-rank adapters on the
// MLP, and where AttnAdapter says so on queries, keys and values, are of each layer, as the projection is.
func sharedBlock(b *builder, x Ref) Ref {
	s, two, three := &b.size, record.Lit(2), record.Lit(3)
	b.part = PartAttention
	wide := b.op(View, "beside-embedding", "stream beside the embedding", refs(x, b.tensor(s.h, Sequence)),
		b.tensor(two.Times(s.h), Sequence))
	normed := b.like(wide)
	adapter := func(id string, x Ref, blocks, up record.Num) {
		narrow := b.product(id+"-adapter-down", "adapters of "+id+", down", x,
			b.tensor(blocks.Times(s.adapter), Sequence))
		b.add(Op{Kind: Product, ID: id + "-adapter-up", Name: "adapters of " + id + ", up", Blocks: blocks},
			refs(narrow), refs(b.tensor(blocks.Times(up), Columns)))
	}
	b.shared = true
	b.add(Op{Kind: Norm, ID: "block-norms", Name: "norms of the shared block", Other: two.Times(s.h)},
		refs(wide), refs(normed))
	y, read := groupedQuery(b, normed), b.tensor(s.h, Sequence)
	b.add(Op{Kind: Norm, ID: "block-norms", Name: "norms of the shared block", Other: s.h},
		refs(y), refs(read))
	z := denseMLP(b, read)
	b.shared = false
	adapter("mlp", read, record.Lit(1), two.Times(s.f))
	b.part = PartAttention
	if b.m.AttnAdapter {
		adapter("qkv", normed, three, s.a.Times(s.d))
	}
	return b.residual(x, b.product("block-output", "projection of the shared block", z, b.like(read)))
}
