package hfconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
)

// family is an architecture whose parameters can be counted.
type family struct {
	plain bool // two MLP matrices instead of three
	read  func(r *reader)
}

// families returns the supported values of model_type.
func families() map[string]family {
	gemma := func(norms int) family {
		return family{read: func(r *reader) {
			r.decoder(model.BiasAll)
			r.ffn()
			if r.Model.NormsPer = norms; norms == 2 {
				return
			}
			if r.window(); r.class.Name == "Gemma3TextConfig" {
				r.Model.QKNorm = model.QKNormPerHead
				every, _ := r.number("sliding_window_pattern", "local_to_global_ratio")
				r.pattern(every)
				return
			}
			r.pattern(2)
		}}
	}
	latentBiased := family{read: func(r *reader) { latent(r); r.Model.RouterBias = true }}
	return map[string]family{
		"llama":       dense(model.BiasAll, (*reader).mlpBias),
		"ministral3":  dense("", (*reader).window),
		"mistral3":    dense("", (*reader).window),
		"mistral":     dense("", (*reader).window),
		"phi3":        dense("", (*reader).window),
		"bamba":       dense("", bamba),
		"granite":     dense(model.BiasAll, (*reader).mlpBias),
		"ernie4_5":    dense("", (*reader).useBias),
		"internlm2":   dense("", internLM2),
		"internlm3":   dense("", internLM3),
		"seed_oss":    dense(model.BiasQKV, (*reader).mlpBias, seedOSS),
		"glm":         dense(model.BiasQKV),
		"glm4":        dense(model.BiasQKV, norms(4)),
		"qwen2":       dense("", qwen2),
		"mimo":        dense("", qwen2, (*reader).predictionModules),
		"qwen3":       dense(model.BiasAll, qkNorm(model.QKNormPerHead), (*reader).switchedWindow),
		"olmo2":       dense(model.BiasAll, qkNorm(model.QKNormFullWidth)),
		"olmo3":       dense(model.BiasAll, qkNorm(model.QKNormFullWidth), (*reader).window, every(4)),
		"exaone4":     dense("", qkNorm(model.QKNormPerHead), exaone),
		"smollm3":     dense(model.BiasAll, (*reader).mlpBias, smolLM3),
		"cohere":      dense(model.BiasAll, cohere),
		"cohere2":     dense(model.BiasAll, cohere, cohere2),
		"stablelm":    dense("", stableLM),
		"gemma":       gemma(2),
		"gemma2":      gemma(4),
		"gemma3":      gemma(4),
		"gemma3_text": gemma(4),

		"hunyuan_v1_dense":  dense(model.BiasAll, hunYuanNorm),
		"qwen3_vl":          dense(model.BiasAll, qkNorm(model.QKNormPerHead)),
		"qwen3_vl_text":     dense(model.BiasAll, qkNorm(model.QKNormPerHead)),
		"qwen3_vl_moe":      {read: qwen3MoE},
		"qwen3_vl_moe_text": {read: qwen3MoE},
		"qwen2_vl":          dense("", qwen2),
		"qwen2_vl_text":     dense("", qwen2),
		"qwen2_5_vl":        dense("", qwen2),
		"qwen2_5_vl_text":   dense("", qwen2),

		"starcoder2":      plain(dense("", (*reader).useBias, (*reader).window, norm(model.NormLayer))),
		"zamba2":          {read: zamba2},
		"nemotron_h":      {plain: true, read: nemotronH},
		"lfm2":            decoder("", lfm2Dense, nil),
		"lfm2_moe":        {read: lfm2MoE},
		"deepseek_v32":    {read: sparseLatent},
		"deepseek_v4":     {read: deepSeekV4},
		"glm_moe_dsa":     {read: sparseLatent},
		"kimi_linear":     {read: kimiLinear},
		"minimax":         mixture("", "num_local_experts", "num_experts", miniMax),
		"minimax_text_01": mixture("", "num_local_experts", "num_experts", miniMax),
		"minimax_m1":      mixture("", "num_local_experts", "num_experts", miniMax),
		"nemotron":        plain(dense(model.BiasAll, (*reader).mlpBias, norm("layernorm (1p)"))),
		"gpt_neox":        plain(dense(model.BiasAll, neoX)),
		"gpt2":            plain(dense("", older(model.PositionLearned))),
		"gpt_bigcode":     plain(dense("", older(model.PositionLearned), bigCode)),
		"gptj":            plain(dense("", older("rope"), gptJ)),
		"bloom":           plain(dense("", older("alibi"), bloom)),
		"opt":             plain(dense("", older(model.PositionLearned), opt)),
		"phi":             plain(dense("", older("rope"), phi)),
		"mpt":             plain(dense("", mpt)),
		"falcon":          plain(dense("", falcon)),

		"mixtral":    mixture("", "num_local_experts", "num_experts", (*reader).window),
		"granitemoe": mixture(model.BiasAll, "num_local_experts", "num_experts"),
		"olmoe": mixture(model.BiasAll, "num_experts", "num_local_experts",
			qkNorm(model.QKNormFullWidth)),
		"minimax_m2": mixture("", "num_local_experts", "num_experts", miniMaxM2),
		"phimoe": mixture(model.BiasAll, "num_local_experts", "num_experts", norm(model.NormLayer),
			headBias("lm_head_bias"), (*reader).window),
		"dbrx":             mixture("", "num_local_experts", "num_experts", norm(model.NormLayerNoBias)),
		"qwen2_moe":        {read: qwen2MoE},
		"afmoe":            {read: afMoE},
		"gemma3n":          {read: gemma3n},
		"gemma3n_text":     {read: gemma3n},
		"gemma4":           {read: gemma4},
		"gemma4_text":      {read: gemma4},
		"step3p5":          {read: step35},
		"step3p7":          {read: step35},
		"step3_vl":         {read: step3},
		"step3_text":       {read: step3},
		"longcat_flash":    {read: longcat},
		"nemotron-nas":     {read: nemotronNAS},
		"minimax_m3":       {read: miniMaxM3},
		"minimax_m3_vl":    {read: miniMaxM3},
		"kimi_k3":          {read: kimiLinear},
		"mimo_v2":          {read: mimoV2},
		"mimo_v2_flash":    {read: mimoV2},
		"exaone_moe":       {read: exaoneMoE},
		"falcon_h1":        dense(model.BiasAll, falconH1),
		"jamba":            {read: jamba},
		"granitemoehybrid": {read: graniteHybrid},
		"qwen3_moe":        {read: qwen3MoE},
		"qwen3_next":       {read: qwenHybridMoE},
		"qwen3_5_moe":      {read: qwenHybridMoE},
		"qwen3_5_moe_text": {read: qwenHybridMoE},
		"qwen3_5":          dense(model.BiasAll, qwenHybrid),
		"qwen3_5_text":     dense(model.BiasAll, qwenHybrid),
		"hunyuan_v1_moe":   {read: hunYuanMoE},
		"ernie4_5_moe":     {read: ernieMoE},
		"bailing_moe":      {read: bailing},
		"bailing_moe_v2":   {read: bailing},
		"dots1":            {read: dots},
		"glm4_moe":         {read: glm4MoE},
		"gpt_oss":          {read: gptOSS},
		"llama4":           {read: llama4},
		"llama4_text":      {read: llama4},
		"deepseek_v2":      {read: latent},
		"deepseek_v3":      latentBiased,
		"kimi_k2":          latentBiased,
		"kimi_k25":         latentBiased,
		"glm4_moe_lite":    latentBiased,
	}
}

// option reads what a family has in addition to the common keys of a decoder.
type option = func(*reader)

// decoder is a family with a channel part in every layer. bias is where attention_bias puts biases; empty
// where the class has no such key.
func decoder(bias string, channel option, options []option) family {
	return family{read: func(r *reader) {
		r.decoder(bias)
		for _, read := range append([]option{channel}, options...) {
			read(r)
		}
	}}
}

// dense is a decoder with an MLP of intermediate_size.
func dense(bias string, options ...option) family { return decoder(bias, (*reader).ffn, options) }

// mixture is a decoder with experts of intermediate_size, whose number has two names.
func mixture(bias, key, alias string, options ...option) family {
	return decoder(bias,
		func(r *reader) { r.experts(key, alias, r.must("intermediate_size", "moe_ffn_hidden")) }, options)
}

// plain gives a family two MLP matrices instead of three.
func plain(f family) family { return family{plain: true, read: f.read} }

func qkNorm(kind string) option { return func(r *reader) { r.Model.QKNorm = kind } }
func norm(kind string) option   { return func(r *reader) { r.Model.Norm = kind } }
func norms(n int) option        { return func(r *reader) { r.Model.NormsPer = n } }
func every(n int) option        { return func(r *reader) { r.pattern(n) } }

func (r *reader) mlpBias() { r.Model.MLPBias = r.flag("mlp_bias", "mlp_bias") }

// useBias reads one key for the biases of attention and MLP.
func (r *reader) useBias() {
	if r.flag("use_bias", "attn_bias", "mlp_bias") {
		r.Model.AttnBias, r.Model.MLPBias = model.BiasAll, true
	}
}

// predictionModules reads how many modules for multi-token prediction the file has.
func (r *reader) predictionModules() {
	if key := r.first("num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers"); r.has(key) &&
		!r.used[key] {
		r.Model.MTPLayers, _ = r.number(key, "mtp_layers")
	}
}

// decoder reads what nearly all families share: the stream, attention and the vocabulary. bias is
// where attention_bias puts biases; empty where the class has no such key.
func (r *reader) decoder(bias string) {
	m := &r.Model
	m.Norm, m.NormsPer, m.Position, m.Gated = model.NormRMS, 2, "rope", !r.plain
	m.AttnBias, m.QKNorm = model.BiasNone, model.QKNormNone
	m.Hidden, m.Layers = r.must("hidden_size", "hidden"), r.must("num_hidden_layers", "layers")
	m.Heads, m.Vocab = r.must("num_attention_heads", "heads"), r.must("vocab_size", "vocab")
	if m.MaxSeq, _ = r.number("max_position_embeddings", "max_seq"); m.MaxSeq == 0 &&
		!r.has("max_position_embeddings") {
		m.MaxSeq = 4096
		r.derive("max_position_embeddings", m.MaxSeq, "none given; it changes no size", "max_seq")
	}
	m.Tied = r.flag("tie_word_embeddings", "tied_embeddings")
	if bias != "" && r.flag("attention_bias", "attn_bias") {
		m.AttnBias = bias
	}
	r.activation(r.first("hidden_act", "hidden_activation"))
	if r.isLatent() {
		return
	}
	var ok bool
	if m.KVHeads, ok = r.number("num_key_value_heads", "kv_heads"); !ok {
		m.KVHeads = m.Heads
		r.derive("num_key_value_heads", m.Heads, "none given: as many as num_attention_heads", "kv_heads")
	}
	if m.HeadDim, ok = r.number("head_dim", "head_dim"); !ok {
		r.headDim()
	}
	switch m.KVHeads {
	case m.Heads:
		m.Attention = "mha"
	case 1:
		m.Attention = "mqa"
	default:
		m.Attention = "gqa"
	}
}

// headDim gives each head its part of the stream.
func (r *reader) headDim() {
	m := &r.Model
	switch {
	case m.Heads < 1 || m.Hidden < 1: // said already, or by the check of the model
		m.HeadDim = 1
	case m.Hidden%m.Heads != 0:
		r.refusef("num_attention_heads", "%d does not divide hidden_size %d, and head_dim is not given",
			m.Heads, m.Hidden)
	default:
		m.HeadDim = m.Hidden / m.Heads
		r.derive("head_dim", m.HeadDim, "none given: hidden_size / num_attention_heads", "head_dim")
	}
}

// isLatent reports whether the family has DeepSeek's attention, in which neither head_dim nor
// num_key_value_heads is the size of a tensor.
func (r *reader) isLatent() bool {
	_, latent := r.class.Defaults["kv_lora_rank"]
	return latent
}

// ffn reads the width of an MLP: a key of its own, or a multiple of the stream's.
func (r *reader) ffn() {
	times := r.class.Times
	if r.has("expansion_ratio") {
		times, _ = r.number("expansion_ratio", "ffn_hidden")
	}
	if times == 0 || r.has("intermediate_size") {
		r.Model.FFN = r.must("intermediate_size", "ffn_hidden")
		return
	}
	r.Model.FFN = times * r.Model.Hidden
	r.derive("intermediate_size", r.Model.FFN, fmt.Sprintf("none given: %d times hidden_size", times),
		"ffn_hidden")
}

// activation reads the function between the matrices of an MLP.
func (r *reader) activation(key string) {
	if _, ok := r.class.Defaults["hidden_activation"]; ok {
		key = "hidden_activation" // Gemma: hidden_act is there for old versions and not read
	}
	if _, ok := r.class.Defaults["mlp_hidden_act"]; ok {
		key = "mlp_hidden_act"
	}
	act := r.word(key, "activation")
	r.skip("not read by "+r.class.Name+": "+key+" counts", "hidden_act", "hidden_activation")
	if act == "" && r.class.Defaults[key] != nil {
		act, _ = r.class.Defaults[key].(string) // null
	}
	smooth := slices.Contains([]string{
		"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python",
		"quick_gelu",
	}, act)
	switch {
	case r.plain && smooth:
		r.Model.Activation = "gelu"
	case r.plain && act == "relu":
		r.Model.Activation = "relu"
	case r.plain && act == "relu2":
		r.Model.Activation = "squared-relu"
	case !r.plain && act == "swigluoai":
		r.Model.Activation = "clamped swiglu"
	case !r.plain && act == "situ":
		r.Model.Activation = act
	case !r.plain && (act == "silu" || act == "swish"):
		r.Model.Activation = "swiglu"
	case !r.plain && smooth:
		r.Model.Activation = "geglu"
	default:
		r.refusef(key, "%s is no activation that is known for %s", escape.Quote(act), r.class.Name)
	}
}

// window reads attention to the last tokens only, in every layer; null is all of them.
func (r *reader) window() {
	n, ok := r.number("sliding_window", "local_window")
	if r.Model.LocalWindow = n; ok && n == 0 {
		r.refusef("sliding_window", "0 tokens; allowed: a window of 1 or more, or null for none")
	}
}

// switchedWindow reads a window that is off unless use_sliding_window is on, and then begins at
// a layer: one that is not the last is not modelled.
func (r *reader) switchedWindow() {
	if on := r.flag("use_sliding_window", "local_window"); !on {
		r.skip("off: use_sliding_window is not true", "sliding_window", "max_window_layers")
		r.allFull()
		return
	}
	from, ok := r.number("max_window_layers", "local_window")
	if window, set := r.number("sliding_window", "local_window"); set && (!ok || from < r.Model.Layers) {
		r.Model.LocalWindow = window
		if from <= 0 || r.has("layer_types") {
			r.pattern(0)
			return
		}
		r.windows("max_window_layers", func(layer int) bool { return layer >= from })
	}
}

// allFull accepts layer_types that say of every layer what nothing says otherwise.
func (r *reader) allFull() {
	if !r.has("layer_types") {
		return
	}
	types := r.words("layer_types")
	if !r.long("layer_types", len(types)) {
		return
	}
	for i, kind := range types {
		if kind != "full_attention" {
			r.refusef("layer_types", "layer %d is %s, while use_sliding_window is not true", i+1,
				escape.Quote(kind))
			return
		}
	}
}

// words reads a list of texts.
func (r *reader) words(key string, fields ...string) []string {
	var list []string
	if !r.find(key, &list, "a list of texts", fields) {
		return nil // not what was read before an item that is no text
	}
	return list
}

func qwen2(r *reader) {
	r.Model.AttnBias = model.BiasQKV
	r.derive("attention_bias", model.BiasQKV, "no key of the file: Qwen2Attention has a bias on q, k and v",
		"attn_bias")
	r.skip("not read by "+r.class.Name+", whose q, k and v have a bias in any case", "attention_bias")
	r.switchedWindow()
}

// local makes all but every n-th layer attend to the window alone; 0: all of them.
func (r *reader) local(every int) {
	if m := &r.Model; m.LocalWindow > 0 && every > 1 {
		m.LocalRatio = strconv.Itoa(every-1) + ":1"
	}
}

// pattern reads which layers attend to all tokens: every n-th, or as layer_types say.
func (r *reader) pattern(every int) {
	types := r.words("layer_types", "local_to_global_ratio", "layer_pattern")
	if len(types) == 0 {
		if r.has("layer_types") {
			r.long("layer_types", 0)
		}
		r.local(every)
		return
	}
	if !r.long("layer_types", len(types)) {
		return
	}
	r.skip("layer_types tells each layer", "sliding_window_pattern")
	for i, kind := range types {
		switch {
		case kind != "sliding_attention" && kind != "full_attention":
			r.refusef("layer_types", "layer %d is %s; allowed: full_attention, sliding_attention", i+1,
				escape.Quote(kind))
			return
		case kind == "sliding_attention" && r.Model.LocalWindow == 0:
			if len(r.Problems) == 0 {
				r.refusef("layer_types", "layer %d is sliding_attention, without a sliding_window; "+
					"allowed is a window of 1 or more", i+1)
			}
			return
		}
	}
	n := 1 + slices.Index(types, "full_attention")
	if regular(len(types), n, func(i int) bool { return types[i] == "sliding_attention" }) {
		if r.local(n); n == 1 {
			r.Model.LocalWindow = 0
		}
	} else {
		r.windows("layer_types", func(i int) bool { return types[i] == "sliding_attention" })
	}
}

// regular reports whether of so many layers every n-th, and no other, attends to all tokens; 0: none does.
func regular(layers, n int, local func(layer int) bool) bool {
	for i := range layers {
		if local(i) != (n == 0 || (i+1)%n != 0) {
			return false
		}
	}
	return true
}

// windows makes layers attend to the window alone, as a list or a rule has it that a key gives.
func (r *reader) windows(key string, local func(layer int) bool) {
	m := &r.Model
	if m.Layers < 0 || m.Layers > model.MaxPattern {
		r.refusef(key, "at most %d layers, each with a kind of its own", model.MaxPattern)
		return
	}
	letters, n := make([]byte, m.Layers), 0
	for i := range letters {
		if letters[i] = model.LetterWindow; !local(i) {
			letters[i] = model.LetterAttention
		}
		if n == 0 && !local(i) {
			n = i + 1
		}
	}
	switch r.given["layer_pattern"] = key; {
	case n == 1 && regular(m.Layers, n, local):
		m.LocalWindow = 0
	case regular(m.Layers, n, local):
		r.local(n)
	default:
		r.patternOf(string(letters))
	}
}

func smolLM3(r *reader) {
	r.Model.Position = "rope, NoPE every 4th layer"
	if r.flag("use_sliding_window", "local_window") {
		r.refusef("use_sliding_window", "true: windows in some layers of this class are not modelled")
	}
	r.switchedWindow()
	r.skip("which layers have rotary positions changes no size", "no_rope_layers", "no_rope_layer_interval")
}

func neoX(r *reader) {
	r.Model.Norm, r.Model.MLPBias = model.NormLayer, true
	r.Model.ParallelBlock = r.flag("use_parallel_residual", "parallel_block")
}

func internLM3(r *reader) {
	m := &r.Model
	switch qkv, rest := r.flag("qkv_bias", "attn_bias"), r.flag("bias", "attn_bias", "mlp_bias"); {
	case qkv && rest:
		m.AttnBias = model.BiasAll
	case qkv:
		m.AttnBias = model.BiasQKV
	case rest:
		r.refusef("bias", "true without qkv_bias: a bias of the output alone is not modelled")
	}
	m.MLPBias = m.AttnBias == model.BiasAll
}

func internLM2(r *reader) {
	if r.flag("bias", "attn_bias") {
		r.Model.AttnBias = model.BiasAll
	}
}

func seedOSS(r *reader) {
	if out := r.flag("attention_out_bias", "attn_bias"); out && r.Model.AttnBias == model.BiasNone {
		r.refusef("attention_out_bias",
			"true without attention_bias: a bias of the output alone is not modelled")
	} else if out {
		r.Model.AttnBias = model.BiasAll
	}
}

// exaone has a window in all but every n-th layer; its pattern is a number or letters such as LLLG.
func exaone(r *reader) {
	r.window()
	var pattern any
	n := 0
	if r.find("sliding_window_pattern", &pattern, "a whole number or letters such as LLLG",
		[]string{"local_to_global_ratio"}) {
		switch of := pattern.(type) {
		case float64:
			if n = int(of); of != float64(n) || n < 1 || n > model.MaxLayers {
				r.refusef("sliding_window_pattern",
					"%v: a whole number from 1 to %d, or letters such as LLLG", of, model.MaxLayers)
			}
		case string:
			if of == "" || strings.Trim(of, "LG") != "" {
				r.refusef("sliding_window_pattern", "%s: letters L and G, such as LLLG", escape.Quote(of))
			} else if !r.has("layer_types") {
				r.windows("sliding_window_pattern",
					func(i int) bool {
						return r.Model.LocalWindow > 0 && i < r.Model.Layers-1 && of[i%len(of)] == 'L'
					})
				return
			}
		default:
			r.refusef("sliding_window_pattern", "a whole number or letters such as LLLG, not %s",
				escape.Clip(string(r.keys["sliding_window_pattern"].raw)))
		}
	}
	r.pattern(n)
}

// cohere: one norm for attention and MLP, which are side by side.
func cohere(r *reader) {
	m := &r.Model
	m.Norm, m.NormsPer, m.ParallelBlock = model.NormLayerNoBias, 1, true
	if r.flag("use_qk_norm", "qk_norm") {
		m.QKNorm = model.QKNormOwn
	}
}

func cohere2(r *reader) {
	r.window()
	n, ok := r.number("sliding_window_pattern", "local_to_global_ratio")
	if ok && n < 1 {
		r.refusef("sliding_window_pattern", "%d: a whole number of at least 1", n)
	}
	r.pattern(n)
}

func stableLM(r *reader) {
	m := &r.Model
	m.Norm = model.NormLayer
	if r.flag("use_qkv_bias", "attn_bias") {
		m.AttnBias = model.BiasQKV
	}
	if m.ParallelBlock = r.flag("use_parallel_residual", "parallel_block"); m.ParallelBlock {
		m.NormsPer = 1
	}
	if r.flag("qk_layernorm", "qk_norm") {
		m.QKNorm = model.QKNormOwn
	}
}

// hunYuanNorm: queries and keys are normed, unless the file says otherwise.
func hunYuanNorm(r *reader) {
	if !r.has("use_qk_norm") || r.flag("use_qk_norm", "qk_norm") {
		r.Model.QKNorm = model.QKNormPerHead
	}
}
