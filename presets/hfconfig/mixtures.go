package hfconfig

import (
	"slices"

	"meshscope/engine/escape"
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
	r.sparseStep()
}

// sparseStep reads which layers have experts: every n-th.
func (r *reader) sparseStep() {
	m := &r.Model
	if len(r.numbers("mlp_only_layers")) > 0 {
		r.refusef("mlp_only_layers", "dense layers at listed places are not modelled")
	}
	if _, ok := r.class.Defaults["decoder_sparse_step"]; !ok {
		m.MoEFreq = 1
	} else if m.MoEFreq = max(r.must("decoder_sparse_step", "moe_layer_freq"), 0); m.MoEFreq > 1 {
		r.ffn()
	}
	r.skip("of dense layers, which decoder_sparse_step 1 has none of", "intermediate_size")
}

// sharedExperts reads routed and shared experts behind some dense layers; their numbers have a key each.
func (r *reader) sharedExperts(routed, shared string) {
	m := &r.Model
	r.ffn()
	width := r.must("moe_intermediate_size", "moe_ffn_hidden", "shared_ffn_hidden_total")
	r.experts(routed, "num_local_experts", width)
	m.SharedExperts, _ = r.number(shared, "n_shared_experts", "shared_ffn_hidden_total")
	m.SharedFFN = m.SharedExperts * width
	m.FirstDense, _ = r.number("first_k_dense_replace", "first_k_dense_layers")
	r.predictionModules()
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
	if r.has("mlp_layer_types") {
		r.denseFirst(r.words("mlp_layer_types", "first_k_dense_layers"))
	}
}

// denseFirst reads dense layers and after them layers with experts, and refuses any other order.
func (r *reader) denseFirst(kinds []string) {
	n := slices.Index(kinds, "sparse")
	if n < 0 {
		n = len(kinds)
	}
	if len(kinds) != r.Model.Layers {
		r.refusef("mlp_layer_types", "%d layers, where num_hidden_layers is %d", len(kinds), r.Model.Layers)
		return
	}
	for i, kind := range kinds {
		if want := map[bool]string{true: "dense", false: "sparse"}[i < n]; kind != want {
			r.refusef("mlp_layer_types", "layer %d is %s: only dense layers and after them sparse ones are modelled", i+1, escape.Quote(kind))
			return
		}
	}
	r.Model.FirstDense = n
}

// alike reads a whole number, or a list that has the same one for every layer.
func (r *reader) alike(key string, fields ...string) int {
	var list []int
	if raw := r.keys[key].raw; len(raw) == 0 || raw[0] != '[' {
		return r.must(key, fields...)
	}
	if !r.find(key, &list, "a whole number, or one for each layer", fields) || len(list) == 0 {
		return 0
	}
	if len(list) != r.Model.Layers {
		r.refusef(key, "%d layers, where num_hidden_layers is %d", len(list), r.Model.Layers)
	}
	for i, n := range list {
		if n != list[0] {
			r.refusef(key, "layer %d has %d, layer 1 %d: only the same in each layer is modelled", i+1, n, list[0])
			break
		}
	}
	return list[0]
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
	r.sharedExperts("n_routed_experts", "n_shared_experts")
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

func glm4MoE(r *reader) {
	r.decoder(model.BiasQKV)
	r.sharedExperts("n_routed_experts", "n_shared_experts")
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

// dots has a mixture as DeepSeek's under attention of grouped queries.
func dots(r *reader) {
	r.decoder(model.BiasAll)
	r.sharedExperts("n_routed_experts", "n_shared_experts")
	r.Model.RouterBias, r.Model.QKNorm = true, model.QKNormPerHead
	r.allFull()
	from, _ := r.number("max_window_layers", "local_window")
	if window, _ := r.number("sliding_window", "local_window"); window > 0 && from < r.Model.Layers {
		r.refusef("max_window_layers", "%d: a window from a layer on is not modelled", from)
	}
}

// bailing is Ling's mixture, of which the first version has no norms of queries and keys.
func bailing(r *reader) {
	m := &r.Model
	r.decoder("")
	r.sharedExperts("num_experts", "num_shared_experts")
	if r.flag("use_qk_norm", "qk_norm") {
		m.QKNorm = model.QKNormPerHead
	}
	m.RouterBias = r.flag("moe_router_enable_expert_bias", "router_bias")
	if r.has("moe_shared_expert_intermediate_size") {
		m.SharedFFN = m.SharedExperts * r.must("moe_shared_expert_intermediate_size", "shared_ffn_hidden_total")
	}
	switch qkv, out := r.flag("use_qkv_bias", "attn_bias"), r.flag("use_bias", "attn_bias"); {
	case qkv && out:
		m.AttnBias = model.BiasAll
	case qkv:
		m.AttnBias = model.BiasQKV
	case out:
		r.refusef("use_bias", "true without use_qkv_bias: a bias of the output alone is not modelled")
	}
}

// ernieMoE names the keys of its mixture in its own way.
func ernieMoE(r *reader) {
	m := &r.Model
	r.decoder("")
	r.ffn()
	r.useBias()
	m.ExpertFFN = r.must("moe_intermediate_size", "moe_ffn_hidden", "shared_ffn_hidden_total")
	m.Experts, m.TopK = r.must("moe_num_experts", "n_experts"), r.must("moe_k", "top_k")
	m.SharedExperts, _ = r.number("moe_num_shared_experts", "n_shared_experts")
	m.SharedFFN = m.SharedExperts * m.ExpertFFN
	m.FirstDense, m.RouterBias = r.must("moe_layer_start_index", "first_k_dense_layers"), true
	m.MoEFreq = r.must("moe_layer_interval", "moe_layer_freq")
	if m.MoEFreq > 1 {
		r.refusef("moe_layer_interval", "%d: only 1 is modelled", m.MoEFreq)
	}
	if end := r.must("moe_layer_end_index", "moe_layer_freq"); end >= 0 && end != m.Layers-1 {
		r.refusef("moe_layer_end_index", "%d: dense layers after those with experts are not modelled", end)
	}
	r.skip("its module for multi-token prediction is a dense layer, which is not counted here", "num_nextn_predict_layers", "num_mtp_layers")
}

// hunYuanMoE has its widths and counts for all layers or for each.
func hunYuanMoE(r *reader) {
	m := &r.Model
	r.decoder(model.BiasAll)
	hunYuanNorm(r)
	m.Experts, m.TopK = r.alike("num_experts", "n_experts"), r.alike("moe_topk", "top_k")
	m.ExpertFFN = r.alike(r.first("moe_intermediate_size", "intermediate_size"), "moe_ffn_hidden", "shared_ffn_hidden_total")
	m.SharedExperts, m.MoEFreq = r.alike("num_shared_expert", "n_shared_experts"), 1
	m.SharedFFN = m.SharedExperts * m.ExpertFFN
	r.window()
	if n, _ := r.number("moe_layer_num_skipped", "first_k_dense_layers"); n > 0 {
		r.refusef("moe_layer_num_skipped", "%d: dense layers of this class are not modelled", n)
	}
	r.skip("of dense layers, which there are none of", "intermediate_size")
}

// miniMaxM2 normalises queries and keys over their whole width.
func miniMaxM2(r *reader) {
	m := &r.Model
	m.RouterBias = !r.has("use_routing_bias") || r.flag("use_routing_bias", "router_bias")
	if !r.has("use_qk_norm") || r.flag("use_qk_norm", "qk_norm") {
		m.QKNorm = model.QKNormFullWidth
	}
	for i, softmax := range r.numbers("attn_type_list", "attention") {
		if softmax != 1 {
			r.refusef("attn_type_list", "layer %d is of lightning attention, which is not modelled", i+1)
			return
		}
	}
	r.skip("modules for multi-token prediction are not in the weights", "use_mtp", "num_mtp_modules", "mtp_transformer_layers")
}

// graniteHybrid reads layers of Mamba-2, or of attention in every layer.
func graniteHybrid(r *reader) {
	m := &r.Model
	r.decoder(model.BiasAll)
	if m.Position = "none"; r.word("position_embedding_type", "pos_embedding") == "rope" {
		m.Position = "rope"
	}
	if key := r.first("layer_types", "layers_block_type"); r.has(key) {
		r.letters(key, mambaLetters())
	} else {
		m.Pattern = string(model.LetterMamba)
	}
	r.mamba(mambaWidths()[1])
	shared := r.must("shared_intermediate_size", "ffn_hidden", "shared_ffn_hidden_total")
	if n, _ := r.number("num_local_experts", "n_experts"); n == 0 {
		m.FFN = shared
		r.skip("of experts, which there are none of", "intermediate_size", "num_local_experts", "num_experts_per_tok")
		return
	}
	r.experts("num_local_experts", "num_experts", r.must("intermediate_size", "moe_ffn_hidden"))
	m.SharedExperts, m.SharedFFN = 1, shared
}
