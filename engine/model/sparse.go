package model

import (
	"strings"

	"meshscope/engine/record"
)

// sparse is DeepSeek sparse attention (DeepSeek-V3.2, arXiv 2512.02556): latent attention to the IndexTopK
// tokens that an indexer chooses. Queries meet the key's up-projection first, so that one key of the latent's
// width serves all heads. The indexer is whole on every rank of a TP group
// (megatron/core/transformer/experimental_attention_variant/dsa.py); it is trained by the
// scores of the chosen tokens, and its inputs have no gradients.
func sparse(b *builder, x Ref) Ref {
	if !b.m.IsMLA() {
		return blockSparse(b, x)
	}
	return b.selected(x, true)
}

// reselected is sparse attention to what the last indexer chose (GLM-5.2).
func reselected(b *builder, x Ref) Ref { return b.selected(x, false) }

// SharedChoice returns the letters of layers that choose their tokens up to an offset, then every freq-th
// (is_dsa_skip_topk_layer in megatron/core/transformer/experimental_attention_variant/dsa.py).
func SharedChoice(layers, freq, offset int) string {
	letters := make([]byte, min(max(layers, 0), MaxLayers))
	for i := range letters {
		if letters[i] = LetterShared; max(i+1-max(offset, 1), 0)%max(freq, 1) == 0 {
			letters[i] = LetterSparse
		}
	}
	return string(letters)
}

// ChoiceShared is the reverse of SharedChoice; false where the letters of the layers are of no such rule.
func (m *Model) ChoiceShared() (freq, offset int, ok bool) {
	if !m.IsMLA() || !m.Has(LetterSparse) || !m.Only("DR") {
		return 0, 0, false
	}
	letters := make([]byte, min(max(m.Layers, 0), MaxLayers))
	for i := range letters {
		letters[i] = m.Letter(i)
	}
	first := strings.IndexByte(string(letters), LetterShared)
	if first < 0 {
		return 1, 0, true
	}
	next := strings.IndexByte(string(letters[first:]), LetterSparse)
	if freq = next + 1; next < 0 {
		freq = len(letters) + 1
	}
	return freq, first, SharedChoice(m.Layers, freq, first) == string(letters)
}

func (b *builder) selected(x Ref, chooses bool) Ref {
	s, one := &b.size, record.Lit(1)
	b.part, b.Window, b.sparse = PartAttention, b.m.IndexTopK, true
	whole := func(width record.Num) Ref { return b.heads(one, width, KeyValue) }
	query := b.queryLatent(x)
	latent, turned := b.keyLatent(x)
	part, turnedQuery := b.heads(s.a, s.nope, Columns), b.heads(s.a, s.rope, Columns)
	b.add(Op{Kind: Product, ID: "query-up", Name: "query up-projection"}, refs(query),
		refs(part, turnedQuery))
	if chooses {
		keys, width := whole(s.indexDim), s.indexHeads.Times(s.indexDim)
		b.add(Op{Kind: Product, ID: "index-query", Name: "queries of the indexer"}, refs(query),
			refs(whole(width)))
		b.add(Op{Kind: Product, ID: "index-key", Name: "keys and weights of the indexer"}, refs(x),
			refs(keys, whole(s.indexHeads)))
		b.add(Op{
			Kind: Norm, ID: "index-norm", Name: "norm of the indexer's keys", Fused: true,
			Other: record.Lit(2).Times(s.indexDim),
		}, refs(keys), refs(whole(s.indexDim)))
		b.indexer = record.Lit(2).Times(s.rq.Times(width).Plus(s.h.Times(s.indexDim.Plus(s.indexHeads))))
		b.index = record.Lit(2).Times(s.indexHeads).Times(s.indexDim.Plus(one))
	}
	b.add(Op{Kind: Choice, ID: "chosen", Name: "chosen tokens", Fused: true}, refs(),
		refs(whole(s.indexTopK)))
	wide, q, k := b.heads(s.a, s.rkv, Columns), b.heads(s.a, s.rkv.Plus(s.rope), Columns),
		whole(s.rkv.Plus(s.rope))
	b.add(Op{Kind: Product, ID: "absorb", Name: "queries in the latent", Blocks: s.a}, refs(part), refs(wide))
	b.add(Op{Kind: View, ID: "absorbed", Name: "queries and key of the latent"}, refs(wide, turnedQuery),
		refs(q))
	b.add(Op{Kind: View, Fused: true}, refs(latent, turned), refs(k))
	v, y := b.heads(s.a, s.v, Columns), b.tensor(s.h, Sequence)
	b.add(Op{Kind: Product, ID: "value-up", Name: "value up-projection", Blocks: s.a},
		refs(b.core(q, k, 0, s.rkv)), refs(v))
	b.add(Op{Kind: Product, ID: "output", Name: "output projection"}, refs(v), refs(y))
	return y
}
