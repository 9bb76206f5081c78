package hfconfig

import "meshscope/engine/model"

// qwen2MoE has biases on queries, keys and values, and a shared expert with a gate.
func qwen2MoE(r *reader) {
	m := &r.Model
	r.decoder("")
	if m.AttnBias = model.BiasQKV; r.has("qkv_bias") && !r.flag("qkv_bias", "attn_bias") {
		m.AttnBias = model.BiasNone
	}
	r.experts("num_experts", "num_local_experts", r.must("moe_intermediate_size", "moe_ffn_hidden"))
	m.SharedExperts, m.SharedGate, m.SharedFFN = 1, true,
		r.must("shared_expert_intermediate_size", "shared_ffn_hidden_total")
	r.switchedWindow()
	r.sparseStep()
}

// afMoE (Trinity): four norms, a gate of attention's output, windows in all but every fourth layer.
func afMoE(r *reader) {
	m := &r.Model
	r.decoder("")
	r.sharedExperts("num_experts", "num_shared_experts")
	m.RouterBias, m.NormsPer, m.QKNorm, m.AttnGate, m.Position = true, 4, model.QKNormPerHead,
		model.GateChannel, "rope, NoPE every 4th layer"
	r.window()
	n, ok := r.number("global_attn_every_n_layers", "local_to_global_ratio")
	if !ok {
		n = 4
	}
	r.pattern(n)
}

func exaoneMoE(r *reader) {
	r.decoder("")
	r.sharedExperts("num_experts", "num_shared_experts")
	r.Model.RouterBias, r.Model.QKNorm = true, model.QKNormPerHead
	exaone(r)
}

// step35 (Step-3.5): more heads in the layers with a window, and a gate for each head.
func step35(r *reader) {
	m := &r.Model
	modules, _ := r.number("num_nextn_predict_layers", "mtp_layers")
	r.decoder("")
	r.sharedExperts("num_experts", "n_shared_experts")
	r.shareExpert()
	m.RouterBias, m.QKNorm = !r.has("use_moe_router_bias") || r.flag("use_moe_router_bias", "router_bias"),
		model.QKNormPerHead
	if r.has("use_head_wise_attn_gate") && r.flag("use_head_wise_attn_gate", "attn_gate") {
		m.AttnGate = model.GateHead
	}
	r.window()
	const other = "attention_other_setting."
	if r.has(other + "num_attention_heads") {
		m.LocalHeads = r.must(other+"num_attention_heads", "local_heads")
		m.LocalKVHeads, _ = r.number(other+"num_attention_groups", "local_kv_heads")
		m.LocalHeadDim, _ = r.number(other+"head_dim", "local_head_dim")
	}
	types := r.words("layer_types", "layer_pattern")
	if len(types) < m.Layers {
		r.long("layer_types", len(types))
		return
	}
	// prediction modules stand behind
	r.windows("layer_types", func(i int) bool { return types[i] == "sliding_attention" })
	r.module(modules, 3, int64(m.Vocab)*int64(m.Hidden), func(m *model.Model) {
		withoutExperts(m)
		m.Pattern = string(model.LetterWindow)
	})
}

// shareExpert reads a shared expert of a width of its own.
func (r *reader) shareExpert() {
	if width, _ := r.number("share_expert_dim", "shared_ffn_hidden_total"); width > 0 {
		r.Model.SharedExperts, r.Model.SharedFFN = 1, width
	}
}

// step3 has queries through a latent, and one head of keys and values (multi-matrix factorization attention).
func step3(r *reader) {
	r.decoder("")
	r.Model.QLoraRank = r.must("share_q_dim", "q_lora_rank")
	r.sharedExperts("num_experts", "n_shared_experts")
	r.shareExpert()
}

// gemma4 has layers with a window of other heads than the rest, a number that scales each layer, and in some
// models a mixture beside the MLP, which is its shared expert.
func gemma4(r *reader) {
	m := &r.Model
	r.decoder(model.BiasAll)
	m.NormsPer, m.QKNorm, m.LayerScalar = 4, model.QKNormPerHead, true
	r.window()
	r.pattern(6)
	m.LocalHeadDim, m.LocalKVHeads = m.HeadDim, m.KVHeads
	m.HeadDim = r.must("global_head_dim", "head_dim")
	if m.ValuesAreKeys = r.flag("attention_k_eq_v", "values_are_keys"); m.ValuesAreKeys {
		if n, ok := r.number("num_global_key_value_heads", "kv_heads"); ok {
			m.KVHeads = n
		}
	}
	r.skip("of keys that are values, which there are none of", "num_global_key_value_heads")
	for _, key := range []string{"hidden_size_per_layer_input", "num_kv_shared_layers"} {
		if n, _ := r.number(key, "layers"); n > 0 {
			r.refusef(key,
				"%d: inputs of each layer, and keys of another layer, are not modelled yet; allowed: 0", n)
		}
	}
	if r.flag("use_double_wide_mlp", "ffn_hidden") {
		r.refusef("use_double_wide_mlp", "true: MLPs of two widths are not modelled yet; allowed: false")
	}
	r.ffn()
	if !r.flag("enable_moe_block", "n_experts") {
		r.skip("of experts, which there are none of", "num_experts", "top_k_experts", "moe_intermediate_size")
		return
	}
	r.experts("num_experts", "num_local_experts", r.must("moe_intermediate_size", "moe_ffn_hidden"))
	m.NormsPer, m.SharedExperts, m.SharedFFN, m.RouterBias, m.RouterScale = 7, 1, m.FFN, true, true
}

// longcat has two layers in each of its own, and one mixture, which is fed after the first attention and
// added at the end: here the first of two layers has it, with its MLP as the shared expert. Some of the
// experts do nothing.
func longcat(r *reader) {
	m := &r.Model
	r.decoder(model.BiasAll)
	r.mla()
	r.ffn()
	m.Layers *= 2
	r.derive("layers", m.Layers, "two in each of the file's: attention and MLP twice", "layers")
	r.experts("n_routed_experts", "num_experts", r.must("moe_intermediate_size", "moe_ffn_hidden"))
	m.ZeroExperts, _ = r.number("zero_expert_num", "zero_experts")
	m.SharedExperts, m.SharedFFN, m.MoEPattern, m.RouterBias = 1, m.FFN, "E-", true
	modules, _ := r.number("num_nextn_predict_layers", "mtp_layers")
	r.module(modules, 3, m.Embedding(), withoutExperts)
}
