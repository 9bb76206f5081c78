package hfconfig

import "meshscope/engine/model"

func bigCode(r *reader) {
	if r.flag("multi_query") {
		r.Model.KVHeads, r.Model.Attention = 1, "mqa"
	}
}

// opt has two rows of positions more than tokens.
func opt(r *reader) {
	m := &r.Model
	m.PositionRows = m.MaxSeq + 2
	if n, ok := r.number("word_embed_proj_dim"); ok && n != m.Hidden {
		r.refusef("word_embed_proj_dim", "%d: an embedding of another width than hidden_size is not modelled",
			n)
	}
	for _, key := range []string{"do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine"} {
		if !r.flag(key, "norm") {
			r.refusef(key, "false: not modelled for OPT")
		}
	}
	r.unmodelled(true, "norm", "not modelled for OPT", "_remove_final_layer_norm")
}

func phi(r *reader) {
	r.unmodelled(true, "qk_norm", "norms of queries and keys with biases are not modelled", "qk_layernorm")
}

// mpt has no biases, unless no_bias is off.
func mpt(r *reader) {
	m := &r.Model
	if !r.flag("no_bias", "norm", "attn_bias", "mlp_bias") {
		m.Norm, m.AttnBias, m.MLPBias = model.NormLayer, model.BiasAll, true
	}
	if r.on("attn_config.rope") {
		m.Position = "rope"
	} else if r.flag("attn_config.alibi") {
		m.Position = "alibi"
	}
	if r.word("attn_config.attn_type") == "multiquery_attention" {
		m.KVHeads, m.Attention = 1, "mqa"
	}
	for _, key := range []string{"attn_config.qk_ln", "attn_config.qk_gn"} {
		if r.on(key) {
			m.QKNorm = model.QKNormFullWidth
		}
	}
}

// falcon has keys and values of one head, of some, or of all; one norm before attention and MLP, or two.
func falcon(r *reader) {
	m := &r.Model
	if r.flag("bias", "attn_bias", "mlp_bias") {
		m.AttnBias, m.MLPBias = model.BiasAll, true
	}
	if r.flag("alibi") {
		m.Position = "alibi"
	}
	grouped, one, beside := r.flag("new_decoder_architecture", "kv_heads"), r.flag("multi_query"),
		r.flag("parallel_attn", "parallel_block")
	switch {
	case grouped:
	case one:
		m.KVHeads, m.Attention = 1, "mqa"
	default:
		m.KVHeads, m.Attention = m.Heads, "mha"
	}
	if !grouped && !beside {
		return
	}
	norms := 1
	if n, ok := r.number("num_ln_in_parallel_attn"); ok {
		norms = n
	} else if grouped {
		norms = 2
	}
	m.ParallelBlock, m.NormsPer = true, norms
}
