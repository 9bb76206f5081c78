package hfconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
)

// option reads what a class has in addition to the common keys of a decoder.
type option = func(*reader)

// readers returns the options by the names that classes.toml has for them.
func readers() map[string]option {
	return map[string]option{
		"ffn": (*reader).ffn, "window": (*reader).window, "windows": (*reader).windowed,
		"switched_window": (*reader).switchedWindow, "sparse_step": (*reader).sparseStep,
		"key_norms": (*reader).keyNorms, "usual_key_norms": (*reader).usualKeyNorms,
		"use_bias": (*reader).useBias, "prediction_modules": (*reader).predictionModules,
		"mixture": mixture, "experts": experts, "shared_mixture": (*reader).sharedExperts,
		"shared_expert": sharedExpert, "share_expert": (*reader).shareExpert, "share_q_dim": step3,
		"mla": (*reader).mla, "indexer": sparseLatent, "lfm2": lfm2, "lfm2_ffn": lfm2Dense,
		"qwen2": qwen2, "qkv_bias": qkvBias, "qwen_hybrid": qwenHybrid, "bamba": bamba, "falcon_h1": falconH1,
		"granite_hybrid": graniteHybrid, "jamba": jamba, "nemotron_h": nemotronH, "zamba2": zamba2,
		"big_code": bigCode, "opt": opt, "phi": phi, "mpt": mpt, "falcon": falcon, "exaone": exaone,
		"internlm2": internLM2, "internlm3": internLM3, "seed_oss": seedOSS, "smollm3": smolLM3,
		"stablelm": stableLM, "gpt_oss": gptOSS, "gemma3n": gemma3n, "gemma4": gemma4, "longcat": longcat,
		"llama4": llama4, "minimax": miniMax, "minimax_m2": miniMaxM2, "minimax_m3": miniMaxM3,
		"ernie": ernieMoE, "hunyuan": hunYuanMoE, "dots": dots, "step3p5": step35, "mimo_v2": mimoV2,
		"nemotron_nas": nemotronNAS, "bailing": bailing, "deepseek_v4": deepSeekV4, "kimi": kimiLinear,
	}
}

// read reads what the class has.
func (r *reader) read() {
	if !r.class.Whole {
		r.decoder()
	}
	for _, name := range r.class.Reads {
		if read, ok := readers()[name]; ok {
			read(r)
		} else {
			r.flags(name)
		}
	}
}

// mixture has experts of intermediate_size, experts those of a width of their own.
func mixture(r *reader) { r.experts(r.must("intermediate_size", "moe_ffn_hidden")) }
func experts(r *reader) { r.experts(r.must("moe_intermediate_size")) }

// sharedExpert reads the width of one, which has a key of its own.
func sharedExpert(r *reader) { r.sizes("shared_expert_intermediate_size") }

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
		r.counts(key)
	}
}

// decoder reads what nearly all families share: the stream, attention and the vocabulary, and takes what all
// models of the class have.
func (r *reader) decoder() {
	m := &r.Model
	m.Norm, m.NormsPer, m.Position, m.Gated = model.NormRMS, 2, "rope", !r.class.Plain
	m.AttnBias, m.QKNorm = model.BiasNone, model.QKNormNone
	r.sizes("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
	if r.counts("max_position_embeddings"); m.MaxSeq == 0 && !r.has("max_position_embeddings") {
		m.MaxSeq = 4096
		r.derive("max_position_embeddings", m.MaxSeq, "none given; it changes no size", "max_seq")
	}
	r.flags("tie_word_embeddings")
	if _, has := r.class.Defaults["attention_bias"]; has && r.flag("attention_bias") {
		m.AttnBias = cmp.Or(r.class.Bias, model.BiasAll)
	}
	r.activation(r.first("hidden_act", "hidden_activation"))
	r.give(r.class.Fixed)
	if r.isLatent() {
		return
	}
	var ok bool
	if m.KVHeads, ok = r.number("num_key_value_heads"); !ok {
		m.KVHeads = m.Heads
		r.derive("num_key_value_heads", m.Heads, "none given: as many as num_attention_heads", "kv_heads")
	}
	if m.HeadDim, ok = r.number("head_dim"); !ok {
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
		times, _ = r.number("expansion_ratio")
	}
	if times == 0 || r.has("intermediate_size") {
		r.sizes("intermediate_size")
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
	act := r.word(key)
	r.skip("not read by "+r.class.Name+": "+key+" counts", "hidden_act", "hidden_activation")
	if act == "" && r.class.Defaults[key] != nil {
		act, _ = r.class.Defaults[key].(string) // null
	}
	smooth := slices.Contains([]string{
		"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python",
		"quick_gelu",
	}, act)
	switch plain := r.class.Plain; {
	case plain && smooth:
		r.Model.Activation = "gelu"
	case plain && act == "relu":
		r.Model.Activation = "relu"
	case plain && act == "relu2":
		r.Model.Activation = "squared-relu"
	case !plain && act == "swigluoai":
		r.Model.Activation = "clamped swiglu"
	case !plain && act == "situ":
		r.Model.Activation = act
	case !plain && (act == "silu" || act == "swish"):
		r.Model.Activation = "swiglu"
	case !plain && smooth:
		r.Model.Activation = "geglu"
	default:
		r.refusef(key, "%s is no activation that is known for %s", escape.Quote(act), r.class.Name)
	}
}

// window reads attention to the last tokens only, in every layer; null is all of them.
func (r *reader) window() { r.windowOf("sliding_window") }

func (r *reader) windowOf(key string) {
	n, ok := r.number(key)
	if r.Model.LocalWindow = n; ok && n == 0 {
		r.refusef(key, "0 tokens; allowed: a window of 1 or more, or null for none")
	}
}

// switchedWindow reads a window that is off unless use_sliding_window is on, and then begins at a layer.
func (r *reader) switchedWindow() {
	if on := r.flag("use_sliding_window"); !on {
		r.skip("off: use_sliding_window is not true", "sliding_window", "max_window_layers")
		r.allFull()
		return
	}
	r.windowFrom()
}

// windowFrom reads a window that begins at a layer.
func (r *reader) windowFrom() {
	from, ok := r.number("max_window_layers")
	r.window()
	switch m := &r.Model; {
	case ok && from >= m.Layers:
		m.LocalWindow = 0
	case m.LocalWindow == 0:
	case from <= 0 || r.has("layer_types"):
		r.pattern(0)
	default:
		r.windows("max_window_layers", func(layer int) bool { return layer >= from })
	}
}

// allFull accepts layer_types that say of every layer what nothing says otherwise.
func (r *reader) allFull() {
	if !r.has("layer_types") {
		return
	}
	types := r.words("layer_types")
	other := slices.IndexFunc(types, func(kind string) bool { return kind != "full_attention" })
	if r.long("layer_types", len(types)) && other >= 0 {
		r.refusef("layer_types", "layer %d is %s, while use_sliding_window is not true", other+1,
			escape.Quote(types[other]))
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

// kinds reads a word for each layer, of some that are allowed; false where they are refused.
func (r *reader) kinds(key string, allowed []string, fields ...string) ([]string, bool) {
	kinds := r.words(key, fields...)
	if !r.long(key, len(kinds)) {
		return nil, false
	}
	for i, kind := range kinds {
		if !slices.Contains(allowed, kind) {
			r.refusef(key, "layer %d is %s; allowed: %s", i+1, escape.Quote(kind),
				strings.Join(allowed, ", "))
			return nil, false
		}
	}
	return kinds, true
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

// windowed has a window in all but every n-th layer, as the class or a key of it says.
func (r *reader) windowed() {
	r.window()
	every := r.class.FullEvery
	if key := r.class.EveryKey; key != "" {
		if n, ok := r.number(key, "local_to_global_ratio"); ok {
			if every = n; n < 1 {
				r.refusef(key, "%d: a whole number of at least 1", n)
			}
		}
	}
	r.pattern(every)
}

// pattern reads which layers attend to all tokens: every n-th, or as layer_types say.
func (r *reader) pattern(every int) {
	const key, near = "layer_types", "sliding_attention"
	if !r.has(key) {
		r.words(key, "local_to_global_ratio", "layer_pattern")
		r.local(every)
		return
	}
	types, ok := r.kinds(key, []string{"full_attention", near}, "local_to_global_ratio", "layer_pattern")
	if !ok {
		return
	}
	r.skip("layer_types tells each layer", "sliding_window_pattern")
	if i := slices.Index(types, near); i < 0 || r.Model.LocalWindow != 0 {
		r.windows(key, func(i int) bool { return types[i] == near })
	} else if len(r.Problems) == 0 {
		r.refusef(key, "layer %d is sliding_attention, without a sliding_window; "+
			"allowed is a window of 1 or more", i+1)
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
	if m.Layers < 0 || m.Layers > model.MaxLayers { // said by the check of the model
		return
	}
	n := 0 // the first layer without one
	for i := range m.Layers {
		if n == 0 && !local(i) {
			n = i + 1
		}
	}
	switch r.given["layer_pattern"] = key; {
	case n == 1 && regular(m.Layers, n, local):
		m.LocalWindow = 0
	case regular(m.Layers, n, local):
		r.local(n)
	case m.Layers > model.MaxPattern:
		r.refusef(key, "at most %d layers, each with a kind of its own", model.MaxPattern)
	default:
		r.either(model.LetterWindow, model.LetterAttention, local)
	}
}

func smolLM3(r *reader) {
	if r.flag("use_sliding_window") {
		r.refusef("use_sliding_window", "true: windows in some layers of this class are not modelled")
	}
	r.switchedWindow()
	r.skip("which layers have rotary positions changes no size", "no_rope_layers", "no_rope_layer_interval")
}

func internLM3(r *reader) {
	r.biases("qkv_bias", "bias", "attn_bias", "mlp_bias")
	r.Model.MLPBias = r.Model.AttnBias == model.BiasAll
}

// biases reads those of attention from a key for queries, keys and values and one for the others.
func (r *reader) biases(qkv, other string, fields ...string) {
	has, all := r.flag(qkv, "attn_bias"), r.flag(other, fields...)
	switch {
	case has && all:
		r.Model.AttnBias = model.BiasAll
	case has:
		r.Model.AttnBias = model.BiasQKV
	case all:
		r.refusef(other, "true without %s: a bias of the output alone is not modelled", qkv)
	}
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

func stableLM(r *reader) {
	m := &r.Model
	if r.flag("use_qkv_bias", "attn_bias") {
		m.AttnBias = model.BiasQKV
	}
	if r.flags("use_parallel_residual"); m.ParallelBlock {
		m.NormsPer = 1
	}
	if r.flag("qk_layernorm") {
		m.QKNorm = r.class.KeyNorms
	}
}

// keyNorms reads whether queries and keys are normed, usualKeyNorms where they are unless the file says
// otherwise.
func (r *reader) keyNorms() {
	if r.flag("use_qk_norm") {
		r.Model.QKNorm = r.class.KeyNorms
	}
}

func (r *reader) usualKeyNorms() {
	if r.usual("use_qk_norm") {
		r.Model.QKNorm = r.class.KeyNorms
	}
}
