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
	s, two := &b.size, record.Lit(2)
	b.part, b.Window, b.sparse = PartAttention, b.m.IndexTopK, true
	query := b.queryLatent(x)
	latent, turned := b.keyLatent(x)
	part, turnedQuery := b.heads(s.a, s.nope, Columns), b.heads(s.a, s.rope, Columns)
	b.product("query-up", "query up-projection", query, part, turnedQuery)
	if chooses {
		keys, width := b.whole(s.indexDim), s.indexHeads.Times(s.indexDim)
		b.product("index-query", "queries of the indexer", query, b.whole(width))
		b.product("index-key", "keys and weights of the indexer", x, keys, b.whole(s.indexHeads))
		b.fusedNorm("index-norm", "norm of the indexer's keys", two.Times(s.indexDim), refs(keys),
			b.like(keys))
		b.indexer = two.Times(s.rq.Times(width).Plus(s.h.Times(s.indexDim.Plus(s.indexHeads))))
		b.index = two.Times(s.indexHeads).Times(s.indexDim.Plus(record.Lit(1)))
	}
	b.chosenOf("chosen tokens", s.indexTopK)
	wide, q, k := b.heads(s.a, s.rkv, Columns), b.heads(s.a, s.rkv.Plus(s.rope), Columns),
		b.whole(s.rkv.Plus(s.rope))
	b.add(Op{Kind: Product, ID: "absorb", Name: "queries in the latent", Blocks: s.a}, refs(part), refs(wide))
	b.op(View, "absorbed", "queries and key of the latent", refs(wide, turnedQuery), q)
	b.add(Op{Kind: View, Fused: true}, refs(latent, turned), refs(k))
	out, v := b.core(q, k, 0, s.rkv), b.heads(s.a, s.v, Columns)
	b.add(Op{Kind: Product, ID: "value-up", Name: "value up-projection", Blocks: s.a}, refs(out), refs(v))
	return b.output(v)
}

// chosenOf lists the choice of an indexer, which reads what its products give.
func (b *builder) chosenOf(name string, width record.Num) {
	b.add(Op{Kind: Choice, ID: "chosen", Name: name, Fused: true}, refs(), refs(b.whole(width)))
}
