package hfconfig

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
)

// deepSeekV4 has one key for all heads, compressed ones in most layers, and several streams.
func deepSeekV4(r *reader) {
	m := &r.Model
	r.sizes("q_lora_rank", "o_groups", "o_lora_rank", "hc_mult")
	r.skip("the part of a head that has positions", "qk_rope_head_dim", "partial_rotary_factor")
	r.window()
	width := r.must("moe_intermediate_size", "moe_ffn_hidden", "shared_ffn_hidden_total")
	r.experts(width)
	r.sharedOf(width)
	r.counts("num_nextn_predict_layers")
	r.hashed()
	r.compressed()
	if m.Has(model.LetterNear) {
		r.sizes("index_n_heads", "index_head_dim", "index_topk")
	}
	r.skip("of chosen keys, which there are none of", "index_n_heads", "index_head_dim", "index_topk")
}

// compressed reads what each layer attends to beside its window: of a list of words, or of the tokens that a
// key stands for, which goes on with the prediction modules'.
func (r *reader) compressed() {
	m := &r.Model
	letters := map[string]byte{
		"sliding_attention": model.LetterWindow, "compressed_sparse_attention": model.LetterNear,
		"heavily_compressed_attention": model.LetterFar,
	}
	near := r.must(r.first("compress_rate_csa", "compress_rates.compressed_sparse_attention"))
	far := r.must(r.first("compress_rate_hca", "compress_rates.heavily_compressed_attention"))
	const key = "compress_ratios"
	switch {
	case r.has("layer_types"):
		r.letters("layer_types", letters)
		r.skip("layer_types tells each layer", key)
	case r.has(key):
		list := r.numbers(key, "layer_pattern")
		if len(list) != m.Layers && len(list) != m.Layers+m.MTPLayers {
			r.long(key, len(list))
			return
		}
		if near < 1 || far <= near { // whose number would be another kind's
			r.refusef(key, "keys of %d (compress_rate_csa) and of %d tokens (compress_rate_hca) do not tell "+
				"two kinds of layers apart; allowed: the first above 0, the second above the first",
				near, far)
			return
		}
		of := map[int]byte{0: model.LetterWindow, near: model.LetterNear, far: model.LetterFar}
		for i, n := range list {
			if of[n] == 0 || i >= m.Layers && n != 0 {
				r.refusef(key, "layer %d has %d; allowed: %s, and 0 for prediction modules", i+1, n,
					strings.Join(numerals(slices.Sorted(maps.Keys(of))), ", "))
				return
			}
		}
		r.each(func(i int) byte { return of[list[i]] })
	default:
		r.derive(key, "two layers of the heavy kind, then by turns",
			"not given: as "+r.class.Name+" has them", "layer_pattern")
		r.each(func(i int) byte {
			if i < 2 || i%2 != 0 {
				return model.LetterFar
			}
			return model.LetterNear
		})
	}
	if m.CompressRatio = near; !m.Has(model.LetterNear) {
		m.CompressRatio = 0
	}
	if m.CompressHeavy = far; !m.Has(model.LetterFar) {
		m.CompressHeavy = 0
	}
}

// hashed reads how many of the first mixtures have a table in place of a router's choice.
func (r *reader) hashed() {
	const key = "mlp_layer_types"
	m := &r.Model
	if !r.has(key) {
		r.counts("num_hash_layers")
		m.HashLayers = min(m.HashLayers, max(m.Layers, 0))
		return
	}
	r.skip(key+" tells each layer", "num_hash_layers")
	kinds := r.words(key, "hash_layers")
	if !r.long(key, len(kinds)) {
		return
	}
	for i, kind := range kinds {
		switch {
		case kind == "hash_moe" && m.HashLayers == i:
			m.HashLayers++
		case kind != "moe":
			r.refusef(key, "layer %d is %s; allowed: hash_moe in the first layers, then moe", i+1,
				escape.Quote(kind))
			return
		}
	}
}

func numerals(list []int) (words []string) {
	for _, n := range list {
		words = append(words, strconv.Itoa(n))
	}
	return words
}
