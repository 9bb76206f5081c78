package hfconfig

import (
	"encoding/json"
	"strconv"
	"strings"

	"meshscope/engine/model"
)

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
	m.NormsPer, m.QKNorm, m.ValueNorm, m.LayerScalar = 4, model.QKNormPerHead, true, true
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
	r.layerInputs()
	if r.ffn(); r.flag("use_double_wide_mlp", "ffn_widths") && m.ReusedKV > 0 && m.ReusedKV < m.Layers {
		narrow, wide := strconv.Itoa(m.FFN), strconv.Itoa(2*m.FFN)
		m.FFN *= 2
		m.FFNWidths = strings.Repeat(narrow+",", m.Layers-m.ReusedKV) + strings.TrimSuffix(
			strings.Repeat(wide+",", m.ReusedKV), ",")
	}
	if !r.flag("enable_moe_block", "n_experts") {
		r.skip("of experts, which there are none of", "num_experts", "top_k_experts", "moe_intermediate_size")
		return
	}
	r.experts("num_experts", "num_local_experts", r.must("moe_intermediate_size", "moe_ffn_hidden"))
	m.NormsPer, m.SharedExperts, m.SharedFFN, m.RouterBias, m.RouterScale = 7, 1, m.FFN, true, true
}

// layerInputs reads inputs of each layer from a table, and the last layers that take keys of earlier ones.
func (r *reader) layerInputs() {
	m := &r.Model
	m.LayerInput, _ = r.number("hidden_size_per_layer_input", "layer_input")
	if m.LayerInput > 0 {
		m.LayerVocab = r.must("vocab_size_per_layer_input", "layer_vocab")
	}
	r.skip("of inputs of layers, which there are none of", "vocab_size_per_layer_input")
	m.ReusedKV, _ = r.number("num_kv_shared_layers", "reused_kv_layers")
}

// gemma3n has several streams, a path beside attention, and an input of each layer.
func gemma3n(r *reader) {
	m := &r.Model
	r.decoder(model.BiasAll)
	m.NormsPer, m.QKNorm, m.ValueNorm = 4, model.QKNormPerHead, true
	r.window()
	r.pattern(5)
	r.layerInputs()
	m.AltUpStreams = r.must("altup_num_inputs", "altup_streams")
	m.LaurelRank = r.must("laurel_rank", "laurel_rank")
	m.FFN = r.alike("intermediate_size", "ffn_hidden")
	r.skip("changes no size", "activation_sparsity_pattern", "altup_active_idx", "altup_coef_clip",
		"altup_correct_scale", "altup_lr_multiplier", "laurel_scale")
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

// mimoV2 has windows with sinks and other heads of keys and values in the layers that a list of 0 and 1
// marks.
func mimoV2(r *reader) {
	m := &r.Model
	r.decoder(model.BiasQKV)
	m.VHeadDim, _ = r.number("v_head_dim", "v_head_dim")
	r.sharedExperts("n_routed_experts", "n_shared_experts")
	m.RouterBias = true
	r.window()
	m.LocalHeads, _ = r.number("swa_num_attention_heads", "local_heads")
	m.LocalKVHeads, _ = r.number("swa_num_key_value_heads", "local_kv_heads")
	m.LocalHeadDim, _ = r.number("swa_head_dim", "local_head_dim")
	m.LocalVHeadDim, _ = r.number("swa_v_head_dim", "local_v_head_dim")
	if list := r.bits("hybrid_layer_pattern", "layer_pattern"); r.long("hybrid_layer_pattern", len(list)) {
		r.windows("hybrid_layer_pattern", func(i int) bool { return list[i] != 0 })
	}
	local := r.flag("add_swa_attention_sink_bias", "local_sinks") && m.LocalWindow > 0
	m.AttnSinks = r.flag("add_full_attention_sink_bias", "attn_sinks")
	if m.LocalSinks = local && !m.AttnSinks; m.AttnSinks && !local {
		r.refusef("add_full_attention_sink_bias", "true without those of windowed layers is not modelled")
	}
	r.skip("the same as sliding_window", "sliding_window_size", "attention_chunk_size")
	r.module(3, 3, 0, func(m *model.Model) { // of which no key tells
		withoutExperts(m)
		m.Pattern = string(model.LetterWindow)
	})
}

// nemotronNAS (DeciLM) tells of each layer whether it has attention and how wide its MLP is: a layer here is
// one of these, with its norm.
func nemotronNAS(r *reader) {
	type part struct {
		NoOp, Linear bool
		Group        int
		Mult         float64
	}
	var blocks []struct{ Attention, FFN map[string]json.RawMessage }
	const key = "block_configs"
	m := &r.Model
	r.find(key, &blocks, "a list with an object for each layer",
		[]string{"layer_pattern", "ffn_widths", "kv_heads"})
	r.skip("block_configs tells each layer", "num_key_value_heads", "intermediate_size")
	r.decoder(model.BiasAll)
	r.mlpBias()
	if m.NormsPer = 1; !r.long(key, len(blocks)) || m.Layers > model.MaxPattern/2 {
		return
	}
	var letters, widths []byte
	groups := 0
	for i, b := range blocks {
		of := func(keys map[string]json.RawMessage) (p part) {
			_ = json.Unmarshal(keys["no_op"], &p.NoOp)
			_ = json.Unmarshal(keys["replace_with_linear"], &p.Linear)
			_ = json.Unmarshal(keys["n_heads_in_group"], &p.Group)
			_ = json.Unmarshal(keys["ffn_mult"], &p.Mult)
			return p
		}
		a, f := of(b.Attention), of(b.FFN)
		if a.Linear || f.Linear || !a.NoOp && groups > 0 && a.Group != groups || !f.NoOp && (f.Mult <= 0 ||
			f.Mult > 1000) {
			r.refusef(key, "layer %d: one matrix in place of a part, heads in groups of several sizes and "+
				"an MLP without ffn_mult are not modelled", i+1)
			return
		}
		if !a.NoOp {
			letters, groups = append(letters, model.LetterAttention), a.Group
		}
		if !f.NoOp {
			n := (int(2*f.Mult*float64(m.Hidden)/3) + 255) / 256 * 256
			letters, m.FFN = append(letters, model.LetterMLP), max(m.FFN, n)
			widths = append(strconv.AppendInt(widths, int64(n), 10), ',')
		}
	}
	if groups < 1 || m.Heads%groups != 0 || len(widths) == 0 {
		r.refusef(key, "%d heads in groups of %d", m.Heads, groups)
		return
	}
	m.KVHeads, m.FFNWidths, m.Layers = m.Heads/groups, strings.TrimSuffix(string(widths), ","), len(letters)
	m.Attention = "gqa"
	r.derive("layers", m.Layers, "attention and MLP apart, without those that are left out", "layers")
	r.patternOf(string(letters))
}

// miniMaxM3 attends in most layers to blocks that an indexer chooses.
func miniMaxM3(r *reader) {
	const of = "sparse_attention_config."
	m := &r.Model
	if key := "dense_intermediate_size"; r.has(key) { // the other is that of an expert
		if !r.has("moe_intermediate_size") {
			r.keys["moe_intermediate_size"] = r.keys["intermediate_size"]
		}
		r.keys["intermediate_size"] = r.keys[key]
		r.skip("intermediate_size here", key)
	}
	r.decoder("")
	r.sharedExperts("num_local_experts", "n_shared_experts")
	m.RouterBias = !r.has("use_routing_bias") || r.flag("use_routing_bias", "router_bias")
	m.QKNorm = model.QKNormPerHead
	if r.has("attention_output_gate") && r.flag("attention_output_gate", "attn_gate") {
		m.AttnGate = model.GateChannel
	}
	list := r.bits(of+"sparse_attention_freq", "layer_pattern")
	if r.long(of+"sparse_attention_freq", len(list)) {
		r.each(func(i int) byte {
			return map[bool]byte{true: model.LetterSparse, false: model.LetterAttention}[list[i] != 0]
		})
	}
	if m.Has(model.LetterSparse) {
		m.IndexHeads, m.IndexDim = r.must(of+"sparse_num_index_heads", "index_heads"),
			r.must(of+"sparse_index_dim", "index_head_dim")
		m.IndexTopK = r.must(of+"sparse_topk_blocks", "index_top_k") * r.must(of+"sparse_block_size",
			"index_top_k")
	}
	r.skip("as moe_intermediate_size and the number of shared experts give it", "shared_intermediate_size")
	r.skip("weights of prediction modules are not known", "num_nextn_predict_layers", "num_mtp_modules")
	m.MTPLayers = 0
}
