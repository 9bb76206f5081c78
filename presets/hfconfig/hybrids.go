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
	kinds, ok := r.kinds(key, slices.Sorted(maps.Keys(of)), "layer_pattern")
	if !ok {
		return
	}
	var pattern strings.Builder
	for _, kind := range kinds {
		pattern.WriteByte(of[kind])
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
	n := r.must("full_attention_interval")
	if n < 1 || n > model.MaxLayers {
		r.refusef("full_attention_interval", "%d: a whole number from 1 to %d", n, model.MaxLayers)
		return
	}
	r.patternOf(strings.Repeat(string(other), n-1) + string(model.LetterAttention))
}

// mamba reads the widths of Mamba-2.
func (r *reader) mamba() {
	m, names := &r.Model, r.class.Mamba
	if !m.Mamba2() {
		return
	}
	r.sizes(names[0], names[2], names[3], names[4], names[5])
	inside := r.expanded("linear_value_head_dim")
	_, width := r.class.Defaults[names[1]]
	if word := string(r.keys[names[1]].raw); word != `"auto"` && (word != "" || width) {
		r.sizes(names[1])
		if inner := m.LinearValueHeads * m.LinearValueDim; r.has("mamba_d_ssm") {
			if n := r.must("mamba_d_ssm"); n != inner {
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
	r.stateSpaceBiases([]string{"mamba_proj_bias", "use_bias", "projectors_bias"},
		[]string{"mamba_conv_bias", "use_conv_bias"})
	r.skip("of state-space layers, without a size", "expand", "mamba_hidden_act", "use_mamba_kernels",
		"mamba_ssm_cache_dtype", "ssm_cache_dtype",
		"time_step_limit", "time_step_min", "time_step_max", "time_step_floor", "time_step_rank",
		"mamba_dt_rank", "rescale_prenorm_residual", "residual_in_fp32", "num_logits_to_keep")
}

// stateSpaceBiases refuses those that are not modelled, and convolutions without.
func (r *reader) stateSpaceBiases(projections, convolution []string) {
	r.unmodelled(true, "linear_value_heads", "biases of a state-space layer's projections are not modelled",
		projections...)
	r.unmodelled(false, "conv_width", "a state-space layer's convolution without a bias is not modelled",
		convolution...)
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
		r.word("hybrid_override_pattern")
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
	r.decoder()
	r.flags("mlp_bias")
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
	r.mamba()
	if m.Has(model.LetterExperts) {
		experts(r)
		r.counts("n_shared_experts")
		m.SharedFFN = m.SharedExperts * r.must("moe_shared_expert_intermediate_size")
		m.RouterBias = true
		r.groups()
		r.counts("moe_latent_size")
	}
	if !m.Flat() && len(r.Problems) == 0 {
		r.refusef(r.first("hybrid_override_pattern", list), "no layer is an MLP or a mixture, "+
			"which makes no model of this class")
	}
	r.skip("of layers that there are none of, or the same as another key", "intermediate_size",
		"n_routed_experts", "n_shared_experts", "num_experts_per_tok",
		"moe_intermediate_size", "moe_shared_expert_intermediate_size", "n_group", "topk_group",
		"moe_latent_size", "moe_shared_expert_overlap", "attention_head_dim", "sliding_window")
	of, known := r.word("mtp_hybrid_override_pattern"), m.Has(model.LetterExperts)
	if r.has("mtp_layers_block_type") {
		known = known && slices.Equal(r.words("mtp_layers_block_type"), []string{"attention", "moe"})
	}
	if modules, _ := r.number("num_nextn_predict_layers"); known && (of == "" || of == "*E") {
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
	r.mamba()
}

// qwenHybrid reads Gated DeltaNet in all layers but every n-th, whose attention has a gate of its output.
func qwenHybrid(r *reader) {
	m := &r.Model
	if r.usual("attn_output_gate") {
		m.AttnGate = model.GateChannel
	}
	if r.intervals(model.LetterDelta); m.Has(model.LetterDelta) {
		r.sizes("linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads",
			"linear_value_head_dim", "linear_conv_kernel_dim")
	}
	r.predictionModules()
}

// falconH1 has attention and Mamba-2 in each layer, on the same input.
func falconH1(r *reader) {
	r.flags("mlp_bias")
	r.mamba()
	r.Model.LinearBare = !r.flag("mamba_rms_norm")
}

// jamba has attention in one layer of a period, without positions, and Mamba-1 in the others; experts in one
// of another.
func jamba(r *reader) {
	m := &r.Model
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
		r.either(model.LetterAttention, model.LetterMamba1, period("attn"))
	}
	if m.Has(model.LetterMamba1) {
		m.LinearValueHeads, m.LinearValueDim, m.LinearKeyHeads = r.expanded("linear_value_heads"), 1, 1
		r.sizes("mamba_d_state", "mamba_d_conv")
		if word := string(r.keys["mamba_dt_rank"].raw); word != "" && word != `"auto"` {
			r.sizes("mamba_dt_rank")
		} else {
			m.LinearRank = (m.Hidden + 15) / 16
			r.derive("mamba_dt_rank", m.LinearRank, "hidden_size / 16, rounded up", "linear_rank")
			r.skip("auto: hidden_size / 16", "mamba_dt_rank")
		}
		r.stateSpaceBiases([]string{"mamba_proj_bias"}, []string{"mamba_conv_bias"})
	}
	if n, _ := r.number(r.first("num_experts", "num_local_experts")); n > 1 {
		r.experts(m.FFN)
		r.mixtures("expert_layer_period", period("expert"))
	}
	r.skip("of experts, which there are none of, or of inference", "num_experts", "num_experts_per_tok",
		"expert_layer_period", "expert_layer_offset", "use_mamba_kernels", "num_logits_to_keep",
		"sliding_window")
}
