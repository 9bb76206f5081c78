package model

import "meshscope/engine/record"

// blockSparse is attention of grouped queries to the blocks of 128 tokens that an indexer chooses
// (MiniMax-M3): IndexTopK tokens in all, for each of its heads anew. The choice has no gradient.
func blockSparse(b *builder, x Ref) Ref {
	s, one, two := &b.size, record.Lit(1), record.Lit(2)
	b.part, b.Window, b.sparse, b.untaught = PartAttention, b.m.IndexTopK, true, true
	whole := func(width record.Num) Ref { return b.heads(one, width, KeyValue) }
	width := s.indexHeads.Times(s.indexDim)
	q, k := whole(width), whole(s.indexDim)
	b.add(Op{Kind: Product, ID: "index-query", Name: "queries and keys of the indexer"}, refs(x), refs(q, k))
	b.add(Op{
		Kind: Norm, ID: "index-norm", Name: "norms of the indexer's queries and keys", Fused: true,
		Other: two.Times(s.indexDim),
	}, refs(q, k), refs(whole(width), whole(s.indexDim)))
	b.add(Op{Kind: Choice, ID: "chosen", Name: "chosen blocks", Fused: true}, refs(),
		refs(whole(s.indexHeads.Times(s.indexTopK).Over(record.Lit(128)))))
	b.indexer = two.Times(s.h).Times(width.Plus(s.indexDim))
	b.index = two.Times(width)
	return groupedQuery(b, x)
}
