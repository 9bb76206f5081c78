package model

import "meshscope/engine/record"

// blockSparse is attention of grouped queries to the blocks of 128 tokens that an indexer chooses
// (MiniMax-M3): IndexTopK tokens in all, for each of its heads anew. The choice has no gradient.
func blockSparse(b *builder, x Ref) Ref {
	s, two := &b.size, record.Lit(2)
	b.part, b.Window, b.sparse, b.untaught = PartAttention, b.m.IndexTopK, true, true
	width := s.indexHeads.Times(s.indexDim)
	q, k := b.whole(width), b.whole(s.indexDim)
	b.product("index-query", "queries and keys of the indexer", x, q, k)
	b.fusedNorm("index-norm", "norms of the indexer's queries and keys", two.Times(s.indexDim), refs(q, k),
		b.like(q), b.like(k))
	b.chosenOf("chosen blocks", s.indexHeads.Times(s.indexTopK).Over(record.Lit(128)))
	b.indexer = two.Times(s.h).Times(width.Plus(s.indexDim))
	b.index = two.Times(width)
	return groupedQuery(b, x)
}
