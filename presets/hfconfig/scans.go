package hfconfig

import (
	"maps"
	"slices"
	"strings"

	"meshscope/engine/model"
)

// each gives every layer a letter, by its number from 0.
func (r *reader) each(letter func(layer int) byte) {
	all := make([]byte, min(max(r.Model.Layers, 0), model.MaxLayers))
	for i := range all {
		all[i] = letter(i)
	}
	r.patternOf(string(all))
}

// either gives the layers of a rule one letter and the others another.
func (r *reader) either(in, others byte, has func(layer int) bool) {
	r.each(func(i int) byte {
		if has(i) {
			return in
		}
		return others
	})
}

// among gives the layers of a list one letter and the others another; from is the number of the first layer.
func (r *reader) among(key string, from int, in, others byte) {
	list, problems := r.numbers(key, "layer_pattern"), len(r.Problems)
	if !r.has(key) || len(r.Problems) > problems {
		if len(r.Problems) == problems {
			r.refusef(key, "is missing; %s has no default for it", r.class.Name)
		}
		return
	}
	for _, n := range list {
		if n < from || n >= r.Model.Layers+from {
			r.refusef(key, "%d: a layer from %d to %d", n, from, r.Model.Layers+from-1)
			return
		}
	}
	r.either(in, others, func(i int) bool { return slices.Contains(list, i+from) })
}

// others refuses a list of layers, counted from 1, that is not of those which another leaves.
func (r *reader) others(key, other string) {
	if !r.has(key) {
		return
	}
	list, left := r.numbers(key, "layer_pattern"), r.numbers(other, "layer_pattern")
	for i := range min(max(r.Model.Layers, 0), model.MaxLayers) {
		if in := slices.Contains(list, i+1); in == slices.Contains(left, i+1) {
			r.refusef(key, "layer %d is in %s %s; allowed is one of the two", i+1,
				map[bool]string{true: "this list and in", false: "neither this list nor in"}[in], other)
			return
		}
	}
	for _, n := range list {
		if n < 1 || n > r.Model.Layers {
			r.refusef(key, "%d: a layer from 1 to %d", n, r.Model.Layers)
			return
		}
	}
}

// lfm2 has short convolutions in all layers but those of a list. Its MLP is narrower than its file says where
// it is adjusted.
func lfm2(r *reader) {
	m := &r.Model
	if !r.told(map[string]byte{"conv": model.LetterConv, "full_attention": model.LetterAttention},
		"full_attn_idxs") && r.has("full_attn_idxs") {
		r.among("full_attn_idxs", 0, model.LetterAttention, model.LetterConv)
	}
	if m.Has(model.LetterConv) {
		r.sizes("conv_L_cache")
	}
	r.unmodelled(true, "conv_width", "biases of a short convolution are not modelled", "conv_bias")
	r.skip("the same as hidden_size", "conv_dim", "conv_dim_out", "block_dim", "block_use_swiglu",
		"block_use_xavier_init", "conv_use_xavier_init", "use_pos_enc", "block_mlp_init_scale",
		"block_out_init_scale", "block_norm_eps", "num_heads")
}

// lfm2Dense reads the width of LFM2's MLP.
func lfm2Dense(r *reader) {
	m := &r.Model
	key := r.first("block_ff_dim", "intermediate_size")
	r.sizes(key)
	r.skip("block_ff_dim counts", "intermediate_size")
	lfm2(r)
	if !r.flag("block_auto_adjust_ff_dim") {
		return
	}
	of, times := r.must("block_multiple_of"), 1.0
	r.find("block_ffn_dim_multiplier", &times, "a number", []string{"ffn_hidden"})
	if of < 1 || of > model.MaxWidth || times <= 0 || times > 1000 {
		r.refusef("block_multiple_of", "%d times %v: a whole number from 1, and a multiplier above 0", of,
			times)
		return
	}
	width := int(times * float64(2*m.FFN/3))
	m.FFN = (width + of - 1) / of * of
}

// sparseLatent is DeepSeek's attention to chosen tokens; where it is said, some layers attend to what the
// last one chose.
func sparseLatent(r *reader) {
	r.sizes("index_n_heads", "index_head_dim", "index_topk")
	freq, skips := r.number("index_topk_freq")
	switch {
	case r.has("indexer_types"):
		r.letters("indexer_types", map[string]byte{"full": model.LetterSparse, "shared": model.LetterShared})
		r.skip("indexer_types tells each layer", "index_skip_topk_offset")
	case skips && freq < 1:
		r.refusef("index_topk_freq", "%d: a whole number from 1", freq)
	case freq > 1:
		r.sharedSelections(freq)
	default:
		r.skip("every layer chooses its tokens", "index_skip_topk_offset")
	}
	r.skip("of prediction modules, without a size", "index_share_for_mtp_iteration", "layer_types")
}

// sharedSelections has some layers attend to what an earlier one chose.
func (r *reader) sharedSelections(freq int) {
	const key = "index_skip_topk_offset"
	offset, ok := r.number(key)
	switch {
	case offset < 0:
		r.refusef(key, "%d: a whole number from 0", offset)
		return
	case !ok:
		r.derive(key, offset, "not given: layer 1 chooses and every index_topk_freq-th after it, as "+
			"Megatron-LM's default", "layer_pattern")
	}
	r.patternOf(model.SharedChoice(r.Model.Layers, freq, offset))
}

// kimiLinear has Kimi Delta Attention in all layers but some of latent attention, whose positions say
// nothing.
func kimiLinear(r *reader) {
	const of = "linear_attn_config."
	m := &r.Model
	if r.flag("mla_use_nope") {
		m.Position = "none"
	}
	if r.flag("mla_use_output_gate") {
		m.AttnGate = model.GateChannel
	}
	r.counts("attn_res_block_size")
	r.flags(of + "use_full_rank_gate")
	r.counts("routed_expert_hidden_size")
	m.LatentNorm = r.flag("latent_moe_use_norm") && m.ExpertLatent > 0
	switch {
	case r.told(linearOr(model.LetterKimi), of+"kda_layers", of+"full_attn_layers"):
	case r.has(of + "kda_layers"):
		r.among(of+"kda_layers", 1, model.LetterKimi, model.LetterAttention)
		r.others(of+"full_attn_layers", of+"kda_layers")
	default:
		r.among(of+"full_attn_layers", 1, model.LetterAttention, model.LetterKimi)
	}
	m.LinearKeyHeads = r.must(of+"num_heads", "linear_key_heads", "linear_value_heads")
	m.LinearKeyDim = r.must(of+"head_dim", "linear_key_head_dim", "linear_value_head_dim")
	m.LinearValueHeads, m.LinearValueDim = m.LinearKeyHeads, m.LinearKeyDim
	r.sizes(of + "short_conv_kernel_size")
}

// miniMax has lightning attention in all layers but some of softmax.
func miniMax(r *reader) {
	m := &r.Model
	switch {
	case r.told(linearOr(model.LetterLightning), "attn_type_list"):
	case !r.has("attn_type_list"):
		m.Pattern = string([]byte{model.LetterAttention, model.LetterLightning})
	default:
		if types := r.bits("attn_type_list", "layer_pattern"); r.long("attn_type_list", len(types)) {
			r.either(model.LetterAttention, model.LetterLightning, func(i int) bool { return types[i] != 0 })
		}
	}
	if m.Has(model.LetterLightning) {
		m.LinearKeyHeads, m.LinearKeyDim, m.LinearValueHeads, m.LinearValueDim = m.Heads, m.HeadDim, m.Heads,
			m.HeadDim
		r.sizes("block_size")
		r.given["linear_key_heads"], r.given["linear_key_head_dim"] = "num_attention_heads", "head_dim"
	}
	if n, _ := r.number("shared_intermediate_size", "shared_ffn_hidden_total"); n > 0 {
		r.refusef("shared_intermediate_size", "%d: a shared expert of this class is not modelled", n)
	}
	r.skip("scales of the residual stream, without a size",
		slices.DeleteFunc(slices.Sorted(maps.Keys(r.keys)), func(key string) bool {
			return !strings.HasPrefix(key, "layernorm_") && !strings.HasSuffix(key, "_factor")
		})...)
	r.skip("changes no size", "postnorm", "shared_moe_mode", "rotary_dim")
}

// zamba2 has Mamba-2 in all layers, and before it in some a block that these share.
func zamba2(r *reader) {
	m := &r.Model
	r.skip("twice hidden_size over the heads", "attention_head_dim", "attention_hidden_size", "kv_channels",
		"num_query_groups", "head_dim", "ffn_hidden_size")
	r.decoder()
	r.ffn()
	if r.flag("use_mem_rope") {
		m.Position = "rope"
	}
	r.Understood = slices.DeleteFunc(r.Understood, func(k Key) bool { return k.Name == "head_dim" })
	if m.HeadDim = 2 * m.Hidden / max(m.Heads, 1); m.HeadDim*m.Heads != 2*m.Hidden {
		r.refusef("num_attention_heads", "%d does not divide twice hidden_size %d", m.Heads, m.Hidden)
	}
	r.derive("head_dim", m.HeadDim, "attention reads stream and embedding: twice hidden_size over the heads",
		"head_dim")
	if r.has("hybrid_layer_ids") {
		r.among("hybrid_layer_ids", 0, model.LetterBlock, model.LetterMamba)
		r.skip("hybrid_layer_ids tells each layer", "layers_block_type", "layer_types")
	} else {
		r.letters(r.first("layers_block_type", "layer_types"),
			map[string]byte{
				"mamba": model.LetterMamba, "linear_attention": model.LetterMamba,
				"hybrid": model.LetterBlock,
			})
	}
	r.mamba()
	if !m.Has(model.LetterBlock) && len(r.Problems) == 0 {
		r.refusef("hybrid_layer_ids", "no layer has a shared block, which makes no model of this class")
	}
	r.sizes("num_mem_blocks", "adapter_rank")
	r.flags("use_shared_attention_adapter")
	if r.flag("add_bias_linear") {
		r.refusef("add_bias_linear", "true: biases of the shared block are not modelled")
	}
	r.skip("the MLP of a shared block has adapters in any case", "use_shared_mlp_adapter")
	r.skip("of positions, which change no size", "use_long_context")
}
