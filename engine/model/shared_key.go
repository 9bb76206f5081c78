package model

import "meshscope/engine/record"

// sharedKey is attention of DeepSeek-V4 (transformers at 01976081, models/deepseek_v4): all heads share one
// head that is key and value, queries come up from a latent, and the output goes down in groups of heads and
// up together. A token sees the last LocalWindow tokens.
func sharedKey(b *builder, x Ref) Ref { return b.sharedKey(x, record.Num{}, 0) }

// compressedSparse also sees keys of CompressRatio tokens each: IndexTopK of them, which an indexer chooses.
func compressedSparse(b *builder, x Ref) Ref { return b.sharedKey(x, b.size.ratio, b.m.IndexTopK) }

// heavilyCompressed also sees all keys of CompressHeavy tokens each.
func heavilyCompressed(b *builder, x Ref) Ref { return b.sharedKey(x, b.size.heavy, 0) }

// sharedKey adds the compressed keys of so many tokens, if any, and their choice. The key, its compression
// and the indexer stand whole on every rank of a TP group; the indexer is counted as trained as that of
// DeepSeek-V3.2.
func (b *builder) sharedKey(x Ref, ratio record.Num, chosen int) Ref {
	s := &b.size
	b.part, b.sparse = PartAttention, true
	b.Window, b.every, b.chosen = b.m.LocalWindow, int(ratio.V), chosen
	query := b.queryLatent(x)
	const norms = "norms of queries and the key"
	up := b.product("query-up", "query up-projection", query, b.heads(s.a, s.d, Columns))
	normed := b.fusedNorm("qk-norm", norms, record.Num{}, refs(up), b.like(up))
	key := b.product("key", "projection of the key", x, b.whole(s.d))
	turned, keyTurned := b.rotary(normed, b.fusedNorm("qk-norm", norms, s.d, refs(key), b.like(key)))
	var far Ref
	if ratio.V > 0 {
		far = b.compress(x, ratio, s.d, "compress", "keys")
	}
	if chosen > 0 {
		b.index4(x, query, ratio)
	}
	out := b.core(turned, keyTurned, far, s.d)
	back, low := b.like(out), b.heads(s.outGroups, s.outRank, Columns)
	b.op(Rotary, "rotary-back", "positions turned back", refs(out), back)
	b.add(Op{Kind: Product, ID: "output-down", Name: "output projection of groups", Blocks: s.outGroups},
		refs(back), refs(low))
	return b.output(low)
}

// index4 lists the choice of compressed keys: queries of the latent meet narrow compressed keys.
func (b *builder) index4(x, query Ref, ratio record.Num) {
	s, two := &b.size, record.Lit(2)
	width := s.indexHeads.Times(s.indexDim)
	b.product("index-query", "queries of the indexer", query, b.whole(width))
	b.product("index-weight", "weights of the indexer", x, b.whole(s.indexHeads))
	b.compress(x, ratio, s.indexDim, "index-compress", "keys of the indexer")
	b.chosenOf("chosen keys", s.indexTopK)
	fromStream := s.indexHeads.Plus(record.Lit(4).Times(s.indexDim))
	b.indexer = two.Times(s.rq.Times(width).Plus(s.h.Times(fromStream)))
	b.index = two.Times(width).Over(ratio)
}

// compress makes a key of so many tokens: the mean of what one projection makes of them, weighed by what
// another does with a table of positions, behind a norm. Layers that choose take twice as many, half of them
// from the key before.
func (b *builder) compress(x Ref, ratio, width record.Num, id, name string) Ref {
	overlap := record.Lit(1)
	if b.chosen > 0 {
		overlap = record.Lit(2)
	}
	each := overlap.Times(width)
	both, out := b.whole(record.Lit(2).Times(each)), b.whole(width.Over(ratio))
	b.add(Op{Kind: Product, ID: id, Name: "compression of " + name, Other: ratio.Times(each)}, refs(x),
		refs(both))
	b.add(Op{Kind: Norm, ID: id + "-mean", Name: "weighed mean and norm of " + name, Other: width},
		refs(both), refs(out))
	return out
}

// whole returns a tensor that every rank of a TP group has whole.
func (b *builder) whole(width record.Num) Ref { return b.heads(record.Lit(1), width, KeyValue) }

// hyper is a sub-layer between hyper-connections (arXiv 2409.19606, with a doubly stochastic mix): one stream
// is read from all, and its result is written to all, by coefficients of each token. They stand in
// megatron/core/transformer/hyper_connection.py at 023f5cf1, whose saved tensors these are; their products of
// a few columns are left out of FLOPs, as Megatron-Bridge does.
func (b *builder) hyper(all Ref, sublayer func(x Ref) Ref) Ref {
	n, h := record.Lit(float64(b.m.HyperStreams)), b.size.h
	columns, wide := n.Times(n.Plus(record.Lit(2))), n.Times(h)
	mix, one, out := b.tensor(columns, Sequence), b.tensor(h, Sequence), b.tensor(wide, Sequence)
	b.Tensors[mix].FP32 = true
	b.add(Op{
		Kind: Multiply, Part: PartNorms, ID: "hyper-mix", Name: "coefficients of the streams",
		Other: columns.Times(wide.Plus(record.Lit(1))).Plus(record.Lit(3)),
	}, refs(all), refs(mix))
	b.add(Op{Kind: Multiply, Part: PartNorms, ID: "hyper-read", Name: "stream of the sub-layer"},
		refs(all, mix), refs(one))
	b.add(Op{Kind: Multiply, Part: PartNorms, ID: "hyper-write", Name: "mixed streams"},
		refs(all, sublayer(one), mix), refs(out))
	return out
}

// hashed is a mixture whose tokens go to experts by a table, so that nothing balances them.
func hashed(b *builder, x Ref) Ref {
	b.hash = true
	return experts(b, x)
}

// streamMixer returns the parameters that make one stream of all behind the last layer.
func (m *Model) streamMixer() int64 {
	if n := int64(m.HyperStreams); n > 0 {
		return n*n*int64(m.Hidden) + n + 1
	}
	return 0
}

// sharesKey reports whether attention has one key for all heads and its output in groups.
func (m *Model) sharesKey() bool { return m.OutputGroups > 0 }

// sharedKey checks what DeepSeek-V4 has and others have not.
func (c *checker) sharedKey(m *Model) {
	c.between("hyper_streams", m.HyperStreams, 0, MaxNorms)
	c.between("output_groups", m.OutputGroups, 0, max(m.Heads, 0))
	c.between("o_lora_rank", m.OutputRank, min(m.OutputGroups, 1), MaxWidth*min(m.OutputGroups, 1))
	if m.HyperStreams > 0 && (m.AltUpStreams+m.ResidualBlock+m.LayerInput+m.LaurelRank > 0 ||
		m.Has(LetterBlock)) {
		c.add("hyper_streams", m.HyperStreams,
			"0 with altup_streams, laurel_rank, layer_input, residual_block and Z in layer_pattern")
	}
	if !m.sharesKey() {
		return
	}
	if m.Has(LetterNear) && m.CompressRatio == 1 {
		c.add("compress_ratio", "1", "at least 2: a key of one token is not compressed")
	}
	if m.Has(LetterFar) && m.CompressHeavy <= max(m.CompressRatio, 1) {
		c.add("compress_ratio_heavy", m.CompressHeavy,
			"more than compress_ratio = %d and than 1", m.CompressRatio)
	}
	only := m.Pattern != "" && m.Only("WQX") && m.KVHeads == 1 && m.QLoraRank > 0 &&
		m.LocalWindow > 0 && m.Heads > 0 && m.Heads%m.OutputGroups == 0
	plain := !m.IsMLA() && m.AttnBias == BiasNone && m.QKNorm == QKNormPerHead && m.AttnGate == "" &&
		!m.ValuesAreKeys && m.ReusedKV|m.LocalHeads|m.LocalKVHeads|m.LocalHeadDim|m.VHeadDim == 0
	if !only || !plain {
		c.add("output_groups", m.OutputGroups, "a divisor of heads, with kv_heads 1, "+
			"q_lora_rank, local_window and a layer_pattern of W, Q and X, with qk_norm per-head and no "+
			"biases, gates or other widths")
	}
}
