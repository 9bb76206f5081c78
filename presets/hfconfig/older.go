package hfconfig

import "meshscope/engine/model"

// older is what decoders before Llama share: LayerNorm and biases everywhere, under positions of a kind.
func older(position string) option {
	return func(r *reader) {
		m := &r.Model
		m.Norm, m.AttnBias, m.MLPBias, m.Position = model.NormLayer, model.BiasAll, true, position
	}
}

// parallel has attention and MLP side by side behind so many norms.
func (r *reader) parallel(norms int) { r.Model.ParallelBlock, r.Model.NormsPer = true, norms }

func headBias(key string) option {
	return func(r *reader) { r.Model.HeadBias = r.flag(key, "head_bias") }
}

func bigCode(r *reader) {
	if r.flag("multi_query", "kv_heads") {
		r.Model.KVHeads, r.Model.Attention = 1, "mqa"
	}
}

// gptJ has biases in the MLP and the head, none in attention.
func gptJ(r *reader) {
	r.parallel(1)
	r.Model.AttnBias, r.Model.HeadBias = model.BiasNone, true
}

func bloom(r *reader) { r.Model.EmbeddingNorm = true }

// opt has two rows of positions more than tokens.
func opt(r *reader) {
	m := &r.Model
	m.PositionRows = m.MaxSeq + 2
	if n, ok := r.number("word_embed_proj_dim", "hidden"); ok && n != m.Hidden {
		r.refusef("word_embed_proj_dim", "%d: an embedding of another width than hidden_size is not modelled",
			n)
	}
	for _, key := range []string{"do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine"} {
		if !r.flag(key, "norm") {
			r.refusef(key, "false: not modelled for OPT")
		}
	}
	if r.has("_remove_final_layer_norm") && r.flag("_remove_final_layer_norm", "norm") {
		r.refusef("_remove_final_layer_norm", "true: not modelled for OPT")
	}
}

func phi(r *reader) {
	r.parallel(1)
	r.Model.HeadBias = true
	if r.has("qk_layernorm") && r.flag("qk_layernorm", "qk_norm") {
		r.refusef("qk_layernorm", "true: norms of queries and keys with biases are not modelled")
	}
}

// mpt has no biases, unless no_bias is off.
func mpt(r *reader) {
	m := &r.Model
	m.Norm, m.Position = model.NormLayerNoBias, model.PositionLearned
	if !r.flag("no_bias", "norm", "attn_bias", "mlp_bias") {
		m.Norm, m.AttnBias, m.MLPBias = model.NormLayer, model.BiasAll, true
	}
	if r.has("attn_config.rope") && r.flag("attn_config.rope", "pos_embedding") {
		m.Position = "rope"
	} else if r.flag("attn_config.alibi", "pos_embedding") {
		m.Position = "alibi"
	}
	if r.word("attn_config.attn_type", "kv_heads") == "multiquery_attention" {
		m.KVHeads, m.Attention = 1, "mqa"
	}
	for _, key := range []string{"attn_config.qk_ln", "attn_config.qk_gn"} {
		if r.has(key) && r.flag(key, "qk_norm") {
			m.QKNorm = model.QKNormFullWidth
		}
	}
}

// falcon has keys and values of one head, of some, or of all; one norm before attention and MLP, or two.
func falcon(r *reader) {
	m := &r.Model
	m.Norm = model.NormLayer
	if r.flag("bias", "attn_bias", "mlp_bias") {
		m.AttnBias, m.MLPBias = model.BiasAll, true
	}
	if r.flag("alibi", "pos_embedding") {
		m.Position = "alibi"
	}
	grouped, one, beside := r.flag("new_decoder_architecture", "kv_heads"), r.flag("multi_query", "kv_heads"),
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
	if n, ok := r.number("num_ln_in_parallel_attn", "norms_per_layer"); ok {
		norms = n
	} else if grouped {
		norms = 2
	}
	r.parallel(norms)
}
