package hfconfig

import (
	"slices"

	"meshscope/engine/model"
)

// experts reads a mixture in every layer, of experts of a width. Their number has two names.
func (r *reader) experts(key, alias string, width int) {
	m := &r.Model
	m.Experts, m.TopK, m.ExpertFFN = r.must(r.first(key, alias), "n_experts"), r.must("num_experts_per_tok", "top_k"), width
	m.MoEFreq = 1
}

func qwen3MoE(r *reader) {
	m := &r.Model
	r.decoder(model.BiasAll)
	r.experts("num_experts", "num_local_experts", r.must("moe_intermediate_size", "moe_ffn_hidden"))
	m.QKNorm = model.QKNormPerHead
	r.switchedWindow()
	if len(r.numbers("mlp_only_layers")) > 0 {
		r.refusef("mlp_only_layers", "dense layers at listed places are not modelled")
	}
	if m.MoEFreq = max(r.must("decoder_sparse_step", "moe_layer_freq"), 0); m.MoEFreq > 1 {
		r.ffn()
	}
	r.skip("of dense layers, which decoder_sparse_step 1 has none of", "intermediate_size")
}

// sharedExperts reads routed and shared experts behind some dense layers.
func (r *reader) sharedExperts() {
	m := &r.Model
	r.ffn()
	width := r.must("moe_intermediate_size", "moe_ffn_hidden", "shared_ffn_hidden_total")
	r.experts("n_routed_experts", "num_local_experts", width)
	m.SharedExperts, _ = r.number("n_shared_experts", "n_shared_experts", "shared_ffn_hidden_total")
	m.SharedFFN = m.SharedExperts * width
	m.FirstDense, _ = r.number("first_k_dense_replace", "first_k_dense_layers")
	if key := r.first("num_nextn_predict_layers", "num_mtp_layers"); r.has(key) {
		m.MTPLayers, _ = r.number(key, "mtp_layers")
	}
	groups, _ := r.number("n_group", "expert_groups")
	limit, _ := r.number("topk_group", "routed_groups")
	if groups > 1 && limit < groups {
		m.ExpertGroups, m.RoutedGroups = groups, limit
	}
	if r.has("moe_layer_freq") {
		if freq, ok := r.number("moe_layer_freq", "moe_layer_freq"); ok && freq != 1 {
			r.refusef("moe_layer_freq", "%d: only 1 is modelled", freq)
		}
	}
}

// latent is DeepSeek's attention (MLA) and its mixture.
func latent(r *reader) {
	m := &r.Model
	var there, lacking []string
	for _, key := range []string{"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "q_lora_rank"} {
		if _, ok := r.keys[key]; ok {
			there = append(there, key)
		} else {
			lacking = append(lacking, key)
		}
	}
	if len(there) > 0 && len(lacking) > 0 {
		r.refusef(there[0], "latent attention is half there: %s is missing", lacking[0])
	}
	r.decoder(model.BiasAll)
	r.sharedExperts()
	m.KVHeads, m.Attention, m.QKNorm = m.Heads, "mla", model.QKNormLatent
	m.QLoraRank, _ = r.number("q_lora_rank", "q_lora_rank")
	m.KVLoraRank = r.must("kv_lora_rank", "kv_lora_rank")
	m.QKNopeDim, m.QKRopeDim = r.must("qk_nope_head_dim", "qk_nope_head_dim"), r.must("qk_rope_head_dim", "qk_rope_head_dim")
	m.VHeadDim = r.must("v_head_dim", "v_head_dim")
	r.given["head_dim"] = "num_attention_heads"
	if m.Heads > 0 {
		m.HeadDim = m.Hidden / m.Heads
	}
	r.skip("says nothing under latent attention: its sizes are kv_lora_rank and the parts of a head", "num_key_value_heads", "head_dim", "qk_head_dim")
}

func glm4(r *reader) {
	r.decoder(model.BiasQKV)
	r.sharedExperts()
	r.Model.RouterBias = true
	if r.flag("use_qk_norm", "qk_norm") {
		r.Model.QKNorm = model.QKNormPerHead
	}
}

// gptOSS: experts of intermediate_size with biases, learned sinks (one number per head and
// layer), every other layer local.
func gptOSS(r *reader) {
	m := &r.Model
	r.decoder(model.BiasAll)
	r.experts("num_local_experts", "num_experts", r.must("intermediate_size", "moe_ffn_hidden"))
	r.skip("the same as num_experts_per_tok", "experts_per_token")
	m.Activation, m.MLPBias = "clamped swiglu", true
	m.ExtraParams, m.ExtraParamsWhat = int64(m.Layers)*int64(m.Heads), "attention sinks"
	r.window()
	r.pattern(2)
}

// llama4 has a shared expert as wide as the routed ones, wider dense layers between those with
// experts, and attention in chunks in the layers that have rotary positions.
func llama4(r *reader) {
	m := &r.Model
	r.decoder(model.BiasAll)
	width := r.must("intermediate_size", "moe_ffn_hidden", "shared_ffn_hidden_total")
	r.experts("num_local_experts", "num_experts", width)
	m.SharedExperts, m.SharedFFN = 1, width
	m.FFN = r.must("intermediate_size_mlp", "ffn_hidden")
	m.MoEFreq = r.must("interleave_moe_layer_step", "moe_layer_freq")
	if r.flag("use_qk_norm", "qk_norm") {
		m.QKNorm = model.QKNormL2
	}
	if r.has("moe_layers") {
		r.steps(r.numbers("moe_layers", "moe_layer_freq"))
	}
	m.LocalWindow, _ = r.number("attention_chunk_size", "local_window")
	every := 4
	if rope := r.numbers("no_rope_layers", "local_to_global_ratio"); len(rope) > 0 {
		every = 1 + slices.Index(rope, 0)
		for i, has := range rope {
			if every > 0 && (has == 0) != ((i+1)%every == 0) {
				r.refusef("no_rope_layers", "layer %d breaks the pattern of one without rotary positions after every %d", i+1, every-1)
				return
			}
		}
	} else if n, ok := r.number("no_rope_layer_interval", "local_to_global_ratio"); ok {
		every = n
	}
	r.skip("as no_rope_layers gives it", "layer_types", "no_rope_layer_interval")
	r.local(every)
}

// steps accepts a list of layers with experts that is every n-th of them.
func (r *reader) steps(layers []int) {
	step := r.Model.MoEFreq
	for i, at := range layers {
		if at != (i+1)*step-1 {
			r.refusef("moe_layers", "layer %d is no %d-th one: only every n-th layer with experts is modelled", at, step)
			return
		}
	}
	if step > 0 && len(layers) != r.Model.Layers/step {
		r.refusef("moe_layers", "%d layers with experts, where interleave_moe_layer_step %d gives %d", len(layers), step, r.Model.Layers/step)
	}
}
