package hfconfig

import (
	"encoding/json"
	"strconv"
	"strings"

	"meshscope/engine/model"
)

// qkvBias reads whether queries, keys and values have the biases of their class.
func qkvBias(r *reader) {
	if !r.usual("qkv_bias", "attn_bias") {
		r.Model.AttnBias = model.BiasNone
	}
}

// step35 (Step-3.5): more heads in the layers with a window, and a gate for each head.
func step35(r *reader) {
	m := &r.Model
	modules, _ := r.number("num_nextn_predict_layers")
	r.decoder()
	r.sharedExperts()
	r.shareExpert()
	m.RouterBias = r.usual("use_moe_router_bias")
	if r.on("use_head_wise_attn_gate", "attn_gate") {
		m.AttnGate = model.GateHead
	}
	r.window()
	const other = "attention_other_setting."
	if r.has(other + "num_attention_heads") {
		r.sizes(other + "num_attention_heads")
		r.counts(other+"num_attention_groups", other+"head_dim")
	}
	types := r.words("layer_types", "layer_pattern")
	if len(types) < m.Layers {
		r.long("layer_types", len(types))
		return
	}
	// prediction modules stand behind
	r.windows("layer_types", func(i int) bool { return types[i] == "sliding_attention" })
	r.module(modules, 3, int64(m.Vocab)*int64(m.Hidden), windowedModule)
}

// shareExpert reads a shared expert of a width of its own.
func (r *reader) shareExpert() {
	if width, _ := r.number("share_expert_dim"); width > 0 {
		r.Model.SharedExperts, r.Model.SharedFFN = 1, width
	}
}

// step3 has queries through a latent, and one head of keys and values (multi-matrix factorization attention).
func step3(r *reader) { r.sizes("share_q_dim") }

// gemma4 has layers with a window of other heads than the rest, a number that scales each layer, and in some
// models a mixture beside the MLP, which is its shared expert.
func gemma4(r *reader) {
	m := &r.Model
	m.LocalHeadDim, m.LocalKVHeads = m.HeadDim, m.KVHeads
	r.sizes("global_head_dim")
	if r.flags("attention_k_eq_v"); m.ValuesAreKeys {
		if n, ok := r.number("num_global_key_value_heads"); ok {
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
	experts(r)
	m.NormsPer, m.SharedExperts, m.SharedFFN, m.RouterBias, m.RouterScale = 7, 1, m.FFN, true, true
}

// layerInputs reads inputs of each layer from a table, and the last layers that take keys of earlier ones.
func (r *reader) layerInputs() {
	if r.counts("hidden_size_per_layer_input"); r.Model.LayerInput > 0 {
		r.sizes("vocab_size_per_layer_input")
	}
	r.skip("of inputs of layers, which there are none of", "vocab_size_per_layer_input")
	r.counts("num_kv_shared_layers")
}

// gemma3n has several streams, a path beside attention, and an input of each layer.
func gemma3n(r *reader) {
	r.layerInputs()
	r.sizes("altup_num_inputs", "laurel_rank")
	r.Model.FFN = r.alike("intermediate_size")
	r.skip("changes no size", "activation_sparsity_pattern", "altup_active_idx", "altup_coef_clip",
		"altup_correct_scale", "altup_lr_multiplier", "laurel_scale")
}

// longcat has two layers in each of its own, and one mixture, which is fed after the first attention and
// added at the end: here the first of two layers has it, with its MLP as the shared expert. Some of the
// experts do nothing.
func longcat(r *reader) {
	m := &r.Model
	m.Layers *= 2
	r.derive("layers", m.Layers, "two in each of the file's: attention and MLP twice", "layers")
	experts(r)
	r.counts("zero_expert_num")
	m.SharedFFN, m.MoEPattern = m.FFN, "E-"
	modules, _ := r.number("num_nextn_predict_layers")
	r.module(modules, 3, m.Embedding(), withoutExperts)
}

// mimoV2 has windows with sinks and other heads of keys and values in the layers that a list of 0 and 1
// marks.
func mimoV2(r *reader) {
	m := &r.Model
	r.counts("v_head_dim")
	r.sharedExperts()
	r.window()
	r.counts("swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim")
	if list := r.bits("hybrid_layer_pattern", "layer_pattern"); r.long("hybrid_layer_pattern", len(list)) {
		r.windows("hybrid_layer_pattern", func(i int) bool { return list[i] != 0 })
	}
	local := r.flag("add_swa_attention_sink_bias") && m.LocalWindow > 0
	r.flags("add_full_attention_sink_bias")
	if m.LocalSinks = local && !m.AttnSinks; m.AttnSinks && !local {
		r.refusef("add_full_attention_sink_bias", "true without those of windowed layers is not modelled")
	}
	r.skip("the same as sliding_window", "sliding_window_size", "attention_chunk_size")
	r.module(3, 3, 0, windowedModule) // of which no key tells
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
	r.decoder()
	r.flags("mlp_bias")
	if !r.long(key, len(blocks)) || m.Layers > model.MaxPattern/2 {
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
		if wide, ok := r.keys["intermediate_size"]; ok && !r.has("moe_intermediate_size") {
			r.keys["moe_intermediate_size"] = wide
		}
		r.keys["intermediate_size"] = r.keys[key]
		r.skip("intermediate_size here", key)
	}
	r.decoder()
	r.sharedExperts()
	m.RouterBias = r.usual("use_routing_bias")
	if r.on("attention_output_gate") {
		m.AttnGate = model.GateChannel
	}
	list := r.bits(of+"sparse_attention_freq", "layer_pattern")
	if r.long(of+"sparse_attention_freq", len(list)) {
		r.either(model.LetterSparse, model.LetterAttention, func(i int) bool { return list[i] != 0 })
	}
	if m.Has(model.LetterSparse) {
		r.sizes(of+"sparse_num_index_heads", of+"sparse_index_dim")
		m.IndexTopK = r.must(of+"sparse_topk_blocks") * r.must(of+"sparse_block_size")
	}
	r.skip("as moe_intermediate_size and the number of shared experts give it", "shared_intermediate_size")
	r.skip("weights of prediction modules are not known", "num_nextn_predict_layers", "num_mtp_modules")
	m.MTPLayers = 0
}
