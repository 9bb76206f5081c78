package hfconfig

import (
	"encoding/json"
	"slices"
	"strconv"

	"meshscope/engine/escape"
	"meshscope/engine/model"
)

// family holds the defaults of a class of the transformers library.
type family struct {
	tied    bool   // embeddings, where the file has no such key
	mha     bool   // as many key-value heads as heads, where the file has no such key
	ownHead bool   // head_dim is required: it is not hidden/heads
	latent  bool   // MLA: head_dim means something else
	plain   bool   // two MLP matrices instead of three
	experts bool   // no dense layer, or intermediate_size means an expert
	bias    bool   // attention has a bias, where the file has no such key
	qkvOnly bool   // that bias is on q, k and v alone
	gpt2    bool   // GPT-2's own names
	act     string // where the file has no such key

	more func(r *reader)
}

func (f *family) biasWord() string {
	if f.qkvOnly {
		return model.BiasQKV
	}
	return model.BiasAll
}

// families returns the supported values of model_type.
func families() map[string]family {
	return map[string]family{
		"llama":   {mha: true, act: "silu"},
		"phi3":    {mha: true, act: "silu", more: window},
		"mistral": {act: "silu", more: window},
		"mixtral": {act: "silu", experts: true, more: func(r *reader) {
			r.experts("num_local_experts", r.c.LocalExperts, r.number("intermediate_size", r.c.FFN))
			window(r)
		}},
		"qwen2":     {act: "silu", bias: true, qkvOnly: true, more: switchedWindow},
		"qwen3":     {act: "silu", ownHead: true, more: func(r *reader) { perHead(r); switchedWindow(r) }},
		"qwen3_moe": {act: "silu", ownHead: true, experts: true, more: qwen3MoE},
		"deepseek_v2": {mha: true, latent: true, act: "silu", more: func(r *reader) {
			latent(r)
		}},
		"deepseek_v3": {mha: true, latent: true, act: "silu", more: func(r *reader) {
			latent(r)
			r.m.RouterBias = true
		}},
		"glm4_moe": {ownHead: true, act: "silu", qkvOnly: true, more: func(r *reader) {
			if or(r.c.QKNorm, false) {
				perHead(r)
			}
			sharedExperts(r)
			r.m.RouterBias = true
		}},
		"gpt_oss": {ownHead: true, act: "silu", experts: true, bias: true, more: gptOSS},
		"gpt_neox": {plain: true, mha: true, act: "gelu", bias: true, more: func(r *reader) {
			r.m.Norm, r.m.MLPBias, r.m.ParallelBlock = model.NormLayer, true, or(r.c.Parallel, true)
		}},
		"gpt2":        {gpt2: true, tied: true, more: gpt2},
		"gemma":       {tied: true, ownHead: true, act: "gelu_pytorch_tanh"},
		"gemma2":      {tied: true, ownHead: true, act: "gelu_pytorch_tanh", more: func(r *reader) { gemma(r, 2) }},
		"gemma3":      {tied: true, ownHead: true, act: "gelu_pytorch_tanh", more: func(r *reader) { perHead(r); gemma(r, 6) }},
		"gemma3_text": {tied: true, ownHead: true, act: "gelu_pytorch_tanh", more: func(r *reader) { perHead(r); gemma(r, 6) }},
		"olmo2":       {mha: true, act: "silu", more: func(r *reader) { r.m.QKNorm = model.QKNormFullWidth }},
		"smollm3":     {tied: true, act: "silu", more: func(r *reader) { r.m.Position = "rope, NoPE every 4th layer" }},
	}
}

func perHead(r *reader) { r.m.QKNorm = model.QKNormPerHead }

// window sets attention to the last tokens only, in every layer.
func window(r *reader) { r.m.LocalWindow = or(r.c.Window, 0) }

// switchedWindow refuses use_sliding_window: a window from some layer on is not
// modelled.
func switchedWindow(r *reader) {
	if or(r.c.UseWindow, false) {
		r.refusef("use_sliding_window is true: a window from some layer on is not modelled")
	}
}

// experts reads a mixture in every layer.
func (r *reader) experts(key string, n *int, width int) {
	m := &r.m
	m.Experts, m.TopK, m.ExpertFFN = r.number(key, n), r.number("num_experts_per_tok", r.c.TopK), width
	m.MoEFreq = 1
}

func qwen3MoE(r *reader) {
	c, m := r.c, &r.m
	perHead(r)
	switchedWindow(r)
	n := c.Experts
	if n == nil {
		n = c.LocalExperts
	}
	r.experts("num_experts", n, r.number("moe_intermediate_size", c.ExpertFFN))
	if len(c.DenseLayers) > 0 {
		r.refusef("mlp_only_layers: dense layers at listed places are not modelled")
	}
	if m.MoEFreq = or(c.SparseStep, 1); m.MoEFreq > 1 {
		m.FFN = r.number("intermediate_size", c.FFN)
	}
}

// sharedExperts reads routed and shared experts behind some dense layers.
func sharedExperts(r *reader) {
	c, m := r.c, &r.m
	width := r.number("moe_intermediate_size", c.ExpertFFN)
	r.experts("n_routed_experts", c.RoutedExperts, width)
	m.SharedExperts = or(c.SharedExperts, 0)
	m.SharedFFN = m.SharedExperts * width
	m.FirstDense, m.MTPLayers = or(c.FirstDense, 0), or(c.MTPLayers, 0)
	if groups, limit := or(c.Groups, 1), or(c.LimitGroups, 1); groups > 1 && limit < groups {
		m.ExpertGroups, m.RoutedGroups = groups, limit
	}
	if freq := or(c.MoEFreq, 1); freq != 1 {
		r.refusef("moe_layer_freq %d: only 1 is modelled", freq)
	}
}

// latent is DeepSeek's attention (MLA) and its mixture. Under MLA neither head_dim
// nor num_key_value_heads gives the size of a tensor.
func latent(r *reader) {
	c, m := r.c, &r.m
	sharedExperts(r)
	m.KVHeads, m.Attention, m.QKNorm = m.Heads, "mla", model.QKNormLatent
	m.QLoraRank, m.KVLoraRank = r.orNone("q_lora_rank", c.QLoraRank), r.number("kv_lora_rank", c.KVLoraRank)
	m.QKNopeDim, m.QKRopeDim = r.number("qk_nope_head_dim", c.QKNope), r.number("qk_rope_head_dim", c.QKRope)
	m.VHeadDim = r.number("v_head_dim", c.VHead)
}

// orNone reads a number, 0 for null. The key is required: the default of the library
// differs between versions.
func (r *reader) orNone(key string, raw json.RawMessage) int {
	var n *int
	switch err := json.Unmarshal(raw, &n); {
	case len(raw) == 0:
		r.refusef("%s is missing: a number, or null for none", key)
	case err != nil:
		r.refusef("%s: a whole number or null, not %s", key, escape.Quote(string(raw)))
	}
	return or(n, 0)
}

// gptOSS: experts of intermediate_size with biases, learned sinks (one number per
// head and layer), every other layer local.
func gptOSS(r *reader) {
	c, m := r.c, &r.m
	r.experts("num_local_experts", c.LocalExperts, r.number("intermediate_size", c.FFN))
	m.Activation, m.MLPBias = "clamped swiglu", true
	m.ExtraParams, m.ExtraParamsWhat = int64(m.Layers)*int64(m.Heads), "attention sinks"
	if m.LocalWindow = or(c.Window, 0); m.LocalWindow > 0 {
		if every := r.period(2); every > 1 {
			m.LocalRatio = strconv.Itoa(every-1) + ":1"
		}
	}
}

// gemma has four norms per layer and a window in all but every n-th layer.
func gemma(r *reader, every int) {
	c, m := r.c, &r.m
	m.NormsPer, m.LocalWindow = 4, or(c.Window, 0)
	every = r.period(or(c.Pattern, every))
	if m.LocalWindow > 0 && every > 1 {
		m.LocalRatio = strconv.Itoa(every-1) + ":1"
	}
}

// period returns every how many layers one attends to all tokens, by layer_types where
// the file has them: the last of every n-th, as the library lays them out, in a list
// as long as the model or in one period of it.
func (r *reader) period(every int) int {
	types := r.c.LayerTypes
	if len(types) == 0 {
		return every
	}
	switch every = 1 + slices.Index(types, "full_attention"); every {
	case 0:
		every = len(types) + 1 // a window in every layer
	case 1:
		r.m.LocalWindow = 0
	}
	for i, kind := range types {
		if want := (i+1)%every == 0; (kind == "full_attention") != want || !want && kind != "sliding_attention" {
			r.refusef("layer_types: layer %d is %s, which is no pattern of one full_attention after every %d sliding_attention", i+1, escape.Quote(kind), every-1)
			return every
		}
	}
	if every > len(types) {
		return 1
	}
	return every
}

func gpt2(r *reader) {
	c, m := r.c, &r.m
	m.Hidden, m.Layers = r.number("n_embd", c.Embed), r.number("n_layer", c.Depth)
	m.Heads, m.Vocab = r.number("n_head", c.NHead), r.number("vocab_size", c.Vocab)
	m.MaxSeq, m.FFN, m.KVHeads = r.number("n_positions", c.Positions), or(c.Inner, 4*m.Hidden), m.Heads
	if m.Heads > 0 {
		m.HeadDim = m.Hidden / m.Heads
	}
	if c.Act = c.ActGPT2; c.Act == "" {
		c.Act = "gelu_new"
	}
	r.activation(&family{plain: true})
	m.Norm, m.Position, m.AttnBias, m.MLPBias, m.Attention = model.NormLayer, model.PositionLearned, model.BiasAll, true, "mha"
}
