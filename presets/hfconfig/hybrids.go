package hfconfig

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
)

// letters reads the kind of each layer from a list; version 5 of the library writes the same kinds in words
// of its own.
func (r *reader) letters(key string, of map[string]byte) {
	kinds := r.words(key, "layer_pattern")
	if !r.long(key, len(kinds)) {
		return
	}
	var pattern strings.Builder
	for i, kind := range kinds {
		letter, ok := of[kind]
		if !ok {
			r.refusef(key, "layer %d is %s; allowed: %s", i+1, escape.Quote(kind),
				strings.Join(slices.Sorted(maps.Keys(of)), ", "))
			return
		}
		pattern.WriteByte(letter)
	}
	r.patternOf(pattern.String())
}

// told reads the kind of each layer from a list of words, where the file has one, in place of other keys.
func (r *reader) told(of map[string]byte, others ...string) bool {
	key := r.first("layer_types", "layers_block_type")
	if !r.has(key) {
		return false
	}
	r.letters(key, of)
	r.skip(key+" tells each layer", others...)
	return true
}

// patternOf keeps one period of the letters of all layers; attention alone is no pattern.
func (r *reader) patternOf(all string) {
	if r.Model.Pattern = model.Period(all); r.Model.Pattern == string(model.LetterAttention) {
		r.Model.Pattern = ""
	}
}

// intervals reads which layers have softmax attention: of a list, else every n-th of them.
func (r *reader) intervals(other byte) {
	if r.told(linearOr(other), "full_attention_interval") {
		return
	}
	n := r.must("full_attention_interval", "layer_pattern")
	if n < 1 || n > model.MaxLayers {
		r.refusef("full_attention_interval", "%d: a whole number from 1 to %d", n, model.MaxLayers)
		return
	}
	r.patternOf(strings.Repeat(string(other), n-1) + string(model.LetterAttention))
}

// mambaWidths are the keys of a state-space layer, in three sets of names: its heads, the width of one, the
// state's width, groups of heads, tokens of the convolution, tokens of a chunk.
func mambaWidths() [3][6]string {
	return [3][6]string{
		{"mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel", "chunk_size"},
		{
			"mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv",
			"mamba_chunk_size",
		},
		{
			"n_mamba_heads", "mamba_headdim", "mamba_d_state", "mamba_ngroups", "mamba_d_conv", "chunk_size",
		},
	}
}

// mamba reads the widths of Mamba-2.
func (r *reader) mamba(names [6]string) {
	m := &r.Model
	if !m.Mamba2() {
		return
	}
	m.LinearValueHeads, m.LinearKeyDim = r.must(names[0], "linear_value_heads"),
		r.must(names[2], "linear_key_head_dim")
	m.LinearKeyHeads, m.ConvWidth, m.LinearChunk = r.must(names[3], "linear_key_heads"),
		r.must(names[4], "conv_width"), r.must(names[5], "linear_chunk")
	inside := r.expanded("linear_value_head_dim")
	_, width := r.class.Defaults[names[1]]
	if word := string(r.keys[names[1]].raw); word != `"auto"` && (word != "" || width) {
		m.LinearValueDim = r.must(names[1], "linear_value_head_dim")
		if inner := m.LinearValueHeads * m.LinearValueDim; r.has("mamba_d_ssm") {
			if n := r.must("mamba_d_ssm", "linear_value_head_dim"); n != inner {
				r.refusef("mamba_d_ssm", "%d is not %d heads of %d", n, m.LinearValueHeads, m.LinearValueDim)
			}
		} else if inside > 0 && inner != inside {
			r.refusef(names[1], "%d heads of %d are not mamba_expand x hidden_size = %d", m.LinearValueHeads,
				m.LinearValueDim, inside)
		}
	} else if m.LinearValueHeads > 0 {
		if m.LinearValueDim = inside / m.LinearValueHeads; inside%m.LinearValueHeads != 0 {
			r.refusef(names[0], "%d does not divide mamba_expand x hidden_size = %d", m.LinearValueHeads,
				inside)
		}
		r.skip("mamba_expand x hidden_size over the heads", names[1])
	}
	for _, key := range []string{"mamba_proj_bias", "use_bias", "projectors_bias"} {
		if r.has(key) && r.flag(key, "linear_value_heads") {
			r.refusef(key, "true: biases of a state-space layer's projections are not modelled")
		}
	}
	for _, key := range []string{"mamba_conv_bias", "use_conv_bias"} {
		if r.has(key) && !r.flag(key, "conv_width") {
			r.refusef(key, "false: a state-space layer's convolution without a bias is not modelled")
		}
	}
	r.skip("of state-space layers, without a size", "expand", "mamba_hidden_act", "use_mamba_kernels",
		"mamba_ssm_cache_dtype", "ssm_cache_dtype",
		"time_step_limit", "time_step_min", "time_step_max", "time_step_floor", "time_step_rank",
		"mamba_dt_rank", "rescale_prenorm_residual", "residual_in_fp32", "num_logits_to_keep")
}

// expanded returns mamba_expand x hidden_size; 0 where there is none, or a problem.
func (r *reader) expanded(field string) int {
	expand, ok := r.number("mamba_expand", field)
	switch h := r.Model.Hidden; {
	case !ok || h < 1 || h > model.MaxWidth: // said by the check of the model
		return 0
	case expand < 1 || expand > model.MaxWidth/h:
		r.refusef("mamba_expand", "%d: a whole number from 1 to %d", expand, model.MaxWidth/h)
		return 0
	default:
		return expand * h
	}
}

// linearOr are the words of layers of softmax attention and of another kind, linear attention to version 5 of
// the library; mambaLetters those where that is of state-space.
func linearOr(other byte) map[string]byte {
	return map[string]byte{
		"linear_attention": other, "full_attention": model.LetterAttention,
		"attention": model.LetterAttention,
	}
}

func mambaLetters(letter byte) map[string]byte {
	of := linearOr(letter)
	of["mamba"] = letter
	return of
}

// nemotronH has one sub-layer a layer, as letters or words tell: Mamba-2, attention without positions, an MLP
// or a mixture.
func nemotronH(r *reader) {
	m := &r.Model
	list, letters := r.first("layers_block_type", "layer_types"),
		r.word("hybrid_override_pattern", "layer_pattern")
	_, inLetters := r.keys["hybrid_override_pattern"]
	if !r.has("num_hidden_layers") {
		n := len(letters)
		if letters == "" && r.has(list) { // which is read below
			var kinds []json.RawMessage
			_ = json.Unmarshal(r.keys[list].raw, &kinds)
			n = len(kinds)
		}
		r.keys["num_hidden_layers"] = value{raw: []byte(strconv.Itoa(n)), path: "num_hidden_layers"}
	}
	r.decoder(model.BiasAll)
	m.NormsPer, m.Position = 1, "none"
	r.mlpBias()
	switch of := mambaLetters(model.LetterMamba); {
	case letters != "" && len(letters) != m.Layers:
		r.refusef("hybrid_override_pattern", "%d letters, where num_hidden_layers is %d", len(letters),
			m.Layers)
	case letters != "" && strings.Trim(letters, "M*-E") != "":
		r.refusef("hybrid_override_pattern", "%s: allowed are the letters M, *, - and E",
			escape.Quote(letters))
	case letters != "":
		r.patternOf(letters)
		r.skip("hybrid_override_pattern tells each layer", list)
	case inLetters && !r.has(list):
		r.long("hybrid_override_pattern", 0)
	default:
		of["mlp"], of["moe"] = model.LetterMLP, model.LetterExperts
		r.letters(list, of)
	}
	if m.Has(model.LetterMLP) {
		r.ffn()
	}
	r.mamba(mambaWidths()[0])
	if m.Has(model.LetterExperts) {
		r.experts("n_routed_experts", "num_local_experts", r.must("moe_intermediate_size", "moe_ffn_hidden"))
		m.SharedExperts, _ = r.number("n_shared_experts", "n_shared_experts")
		m.SharedFFN = m.SharedExperts * r.must("moe_shared_expert_intermediate_size",
			"shared_ffn_hidden_total")
		m.RouterBias = true
		groups, _ := r.number("n_group", "expert_groups")
		limit, _ := r.number("topk_group", "routed_groups")
		if groups > 1 && limit < groups {
			m.ExpertGroups, m.RoutedGroups = groups, limit
		}
		m.ExpertLatent, _ = r.number("moe_latent_size", "moe_latent_hidden")
	}
	if !m.Flat() && len(r.Problems) == 0 {
		r.refusef(r.first("hybrid_override_pattern", list), "no layer is an MLP or a mixture, "+
			"which makes no model of this class")
	}
	r.skip("of layers that there are none of, or the same as another key", "intermediate_size",
		"n_routed_experts", "n_shared_experts", "num_experts_per_tok",
		"moe_intermediate_size", "moe_shared_expert_intermediate_size", "n_group", "topk_group",
		"moe_latent_size", "moe_shared_expert_overlap", "attention_head_dim", "sliding_window")
	of, known := r.word("mtp_hybrid_override_pattern", "mtp_layers"), m.Has(model.LetterExperts)
	if r.has("mtp_layers_block_type") {
		known = known && slices.Equal(r.words("mtp_layers_block_type"), []string{"attention", "moe"})
	}
	if modules, _ := r.number("num_nextn_predict_layers", "mtp_layers"); known && (of == "" || of == "*E") {
		m.MTPLayers = modules
	} else if modules > 0 {
		r.other("multi-token prediction of other layers than attention and a mixture", 0)
	}
}

// bamba has Mamba-2 in all layers but those that a list counts from 0.
func bamba(r *reader) {
	switch {
	case r.told(mambaLetters(model.LetterMamba), "attn_layer_indices"):
	case !r.has("attn_layer_indices"):
		r.Model.Pattern = string(model.LetterMamba)
	default:
		r.among("attn_layer_indices", 0, model.LetterAttention, model.LetterMamba)
	}
	r.mamba(mambaWidths()[1])
}

// qwenHybrid reads Gated DeltaNet in all layers but every n-th, whose attention has a gate of its output.
func qwenHybrid(r *reader) {
	m := &r.Model
	m.QKNorm, m.AttnGate = model.QKNormPerHead, model.GateChannel
	if r.has("attn_output_gate") && !r.flag("attn_output_gate", "attn_gate") {
		m.AttnGate = ""
	}
	if r.intervals(model.LetterDelta); m.Has(model.LetterDelta) {
		m.LinearKeyHeads, m.LinearKeyDim = r.must("linear_num_key_heads", "linear_key_heads"),
			r.must("linear_key_head_dim", "linear_key_head_dim")
		m.LinearValueHeads = r.must("linear_num_value_heads", "linear_value_heads")
		m.LinearValueDim = r.must("linear_value_head_dim", "linear_value_head_dim")
		m.ConvWidth = r.must("linear_conv_kernel_dim", "conv_width")
	}
	r.predictionModules()
}

// qwenHybridMoE has a mixture in each layer, with a gate of its shared expert.
func qwenHybridMoE(r *reader) {
	m := &r.Model
	r.decoder(model.BiasAll)
	r.experts("num_experts", "num_local_experts", r.must("moe_intermediate_size", "moe_ffn_hidden"))
	m.SharedExperts, m.SharedGate = 1, true
	m.SharedFFN = r.must("shared_expert_intermediate_size", "shared_ffn_hidden_total")
	qwenHybrid(r)
	r.sparseStep()
}

// falconH1 has attention and Mamba-2 in each layer, on the same input.
func falconH1(r *reader) {
	m := &r.Model
	m.Pattern = string(model.LetterBeside)
	r.mlpBias()
	r.mamba(mambaWidths()[1])
	m.LinearBare = !r.flag("mamba_rms_norm", "linear_bare")
}

// jamba has attention in one layer of a period, without positions, and Mamba-1 in the others; experts in one
// of another.
func jamba(r *reader) {
	m := &r.Model
	r.decoder("")
	r.ffn()
	m.Position = "none"
	period := func(of string) func(int) bool {
		n, at := r.must(of+"_layer_period", "layer_pattern"), r.must(of+"_layer_offset", "layer_pattern")
		switch {
		case n < 1:
			r.refusef(of+"_layer_period", "%d: a whole number of at least 1", n)
			n = 1
		case at < 0 || at >= n:
			r.refusef(of+"_layer_offset", "%d: from 0 to %s_layer_period - 1 = %d", at, of, n-1)
			n = 1
		}
		return func(i int) bool { return i%n == at }
	}
	if !r.told(mambaLetters(model.LetterMamba1), "attn_layer_period", "attn_layer_offset") {
		attends := period("attn")
		r.each(func(i int) byte {
			return map[bool]byte{true: model.LetterAttention, false: model.LetterMamba1}[attends(i)]
		})
	}
	if m.Has(model.LetterMamba1) {
		m.LinearValueHeads, m.LinearValueDim, m.LinearKeyHeads = r.expanded("linear_value_heads"), 1, 1
		m.LinearKeyDim, m.ConvWidth = r.must("mamba_d_state", "linear_key_head_dim"),
			r.must("mamba_d_conv", "conv_width")
		if word := string(r.keys["mamba_dt_rank"].raw); word != "" && word != `"auto"` {
			m.LinearRank = r.must("mamba_dt_rank", "linear_rank")
		} else {
			m.LinearRank = (m.Hidden + 15) / 16
			r.derive("mamba_dt_rank", m.LinearRank, "hidden_size / 16, rounded up", "linear_rank")
			r.skip("auto: hidden_size / 16", "mamba_dt_rank")
		}
		if r.has("mamba_proj_bias") && r.flag("mamba_proj_bias", "linear_value_heads") {
			r.refusef("mamba_proj_bias", "true: biases of a state-space layer's projections are not modelled")
		}
		if r.has("mamba_conv_bias") && !r.flag("mamba_conv_bias", "conv_width") {
			r.refusef("mamba_conv_bias",
				"false: a state-space layer's convolution without a bias is not modelled")
		}
	}
	if n, _ := r.number(r.first("num_experts", "num_local_experts"), "n_experts"); n > 1 {
		r.experts("num_experts", "num_local_experts", m.FFN)
		r.mixtures("expert_layer_period", period("expert"))
	}
	r.skip("of experts, which there are none of, or of inference", "num_experts", "num_experts_per_tok",
		"expert_layer_period", "expert_layer_offset", "use_mamba_kernels", "num_logits_to_keep",
		"sliding_window")
}
