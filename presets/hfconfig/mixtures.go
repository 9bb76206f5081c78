package hfconfig

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/model"
	"meshscope/presets/input"
)

// experts reads a mixture in every layer, of experts of a width.
func (r *reader) experts(width int) {
	m, key := &r.Model, r.first(r.class.Experts...)
	m.Experts, m.ExpertFFN, m.MoEFreq = r.must(key), width, 1
	r.sizes("num_experts_per_tok")
	if m.Experts == 0 && r.has(key) {
		r.refusef(key, "0; allowed: a whole number of at least 1 in a mixture, with %d experts a token",
			m.TopK)
	}
	for _, other := range []string{"num_experts", "num_local_experts", "n_routed_experts"} {
		if string(r.keys[other].raw) == strconv.Itoa(m.Experts) {
			r.skip("the same as "+key, other)
		}
	}
}

// sparseStep reads which layers have experts: every n-th that is not among those listed as dense.
func (r *reader) sparseStep() {
	step, dense := 1, r.numbers("mlp_only_layers")
	if _, ok := r.class.Defaults["decoder_sparse_step"]; ok {
		step = r.must("decoder_sparse_step")
	}
	if step < 1 {
		r.refusef("decoder_sparse_step", "%d: a whole number from 1", step)
		return
	}
	r.mixtures("mlp_only_layers", func(i int) bool { return (i+1)%step == 0 && !slices.Contains(dense, i) })
	if r.Model.MoELayers() < r.Model.Layers {
		r.ffn()
	}
	r.skip("of dense layers, which there are none of", "intermediate_size")
}

// mixtures keeps which layers have experts, counted from 0, as a key has it: the first k dense and of the
// others every n-th, else a letter for each.
func (r *reader) mixtures(key string, has func(layer int) bool) {
	m := &r.Model
	if m.Layers < 1 || m.Layers > model.MaxLayers || m.Experts == 0 {
		return
	}
	letters := make([]byte, m.Layers)
	for i := range letters {
		letters[i] = map[bool]byte{true: model.LetterExperts, false: model.LetterMLP}[has(i)]
	}
	first := slices.Index(letters, model.LetterExperts)
	if first < 0 {
		r.refusef(key, "no layer has experts; allowed: at least one of the %d layers", m.Layers)
		return
	}
	second := 1 + slices.Index(letters[first+1:], model.LetterExperts)
	for _, freq := range []int{max(second, 1), first + 1} {
		m.FirstDense, m.MoEFreq, m.MoEPattern = first+1-freq, freq, ""
		same := m.FirstDense >= 0
		for i := range letters {
			same = same && m.MoELayer(i) == (letters[i] == model.LetterExperts)
		}
		if same {
			return
		}
	}
	if m.FirstDense, m.MoEFreq, m.MoEPattern = 0, 1,
		model.Period(string(letters)); len(m.MoEPattern) > model.MaxPattern {
		r.refusef(key, "at most %d layers, each with experts or without", model.MaxPattern)
	}
	r.given["moe_pattern"] = key
}

// long refuses a list that has not one for each layer.
func (r *reader) long(key string, n int) bool {
	refused := func(p *input.Error) bool { return p.Key == r.keys[key].path } // no list was read
	if n != r.Model.Layers && !slices.ContainsFunc(r.Problems, refused) {
		r.refusef(key, "%d layers, where num_hidden_layers is %d", n, r.Model.Layers)
	}
	return n == r.Model.Layers
}

// listed reads the layers with experts from the numbers of a key: a list, or a text of them.
func (r *reader) listed(key string) {
	var list []int
	var text string
	if raw := r.keys[key].raw; len(raw) > 0 && raw[0] == '"' {
		text = r.word(key, "moe_pattern")
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil {
				r.refusef(key, "%s is no number of a layer", escape.Quote(word))
				return
			}
			list = append(list, n)
		}
	} else {
		list = r.numbers(key, "moe_pattern")
	}
	for _, at := range list {
		if at < 0 || at >= r.Model.Layers {
			r.refusef(key, "layer %d: from 0 to %d", at, r.Model.Layers-1)
			return
		}
	}
	r.mixtures(key, func(i int) bool { return slices.Contains(list, i) })
}

// sharedExperts reads routed and shared experts behind some dense layers; their numbers have a key each.
func (r *reader) sharedExperts() {
	m := &r.Model
	width := r.must("moe_intermediate_size", "moe_ffn_hidden", "shared_ffn_hidden_total")
	r.experts(width)
	r.sharedOf(width)
	r.counts(r.first("first_k_dense_replace", "num_dense_layers"))
	r.predictionModules()
	r.groups()
	switch key := "moe_layer_freq"; {
	case r.has("mlp_layer_types"):
		kinds, ok := r.kinds("mlp_layer_types", []string{"dense", "sparse", "moe"}, "first_k_dense_layers",
			"moe_pattern")
		if ok {
			r.mixtures("mlp_layer_types", func(i int) bool { return kinds[i] != "dense" })
		}
	case r.has("is_moe_layer"):
		var has []bool
		if r.find("is_moe_layer", &has, "true or false for each layer", []string{"moe_pattern"}) &&
			r.long("is_moe_layer", len(has)) {
			r.mixtures("is_moe_layer", func(i int) bool { return has[i] })
		}
	case r.has("moe_layers_enum"):
		r.listed("moe_layers_enum")
	case r.has(key) && r.keys[key].raw[0] == '[':
		if has := r.bits(key, "moe_pattern"); r.long(key, len(has)) {
			r.mixtures(key, func(i int) bool { return has[i] != 0 })
		}
	case r.has(key):
		if freq, ok := r.number(key); ok && freq < 1 {
			r.refusef(key, "%d: a whole number from 1", freq)
		} else if from := m.FirstDense; ok && freq > 1 {
			r.mixtures(key, func(i int) bool { return i >= from && i%freq == 0 })
		}
	}
	if m.MoEPattern != "" || m.FirstDense > 0 || m.MoEFreq > 1 {
		r.skip("which layers have experts is said by another key", "first_k_dense_replace",
			"first_last_k_dense_replace", "moe_layer_freq")
	}
	if m.Experts > 0 && m.MoELayers() == m.Layers && !r.has("intermediate_size") {
		return
	}
	r.ffn()
}

// sharedOf reads how many experts of a width every token goes to.
func (r *reader) sharedOf(width int) {
	m := &r.Model
	m.SharedExperts, _ = r.number(cmp.Or(r.class.Shared, "n_shared_experts"), "n_shared_experts",
		"shared_ffn_hidden_total")
	m.SharedFFN = m.SharedExperts * width
}

// groups reads how many groups of experts there are, and to how many of them a token goes at most.
func (r *reader) groups() {
	groups, _ := r.number("n_group")
	if limit, _ := r.number("topk_group"); groups > 1 && limit < groups {
		r.Model.ExpertGroups, r.Model.RoutedGroups = groups, limit
	}
}

// alike reads a whole number, or a list that has the same one for every layer.
func (r *reader) alike(key string, fields ...string) int {
	var list []int
	if raw := r.keys[key].raw; len(raw) == 0 || raw[0] != '[' {
		return r.must(key, fields...)
	}
	if !r.find(key, &list, "a whole number, or one for each layer", fields) || len(list) == 0 {
		return 0
	}
	if len(list) != r.Model.Layers {
		r.refusef(key, "%d layers, where num_hidden_layers is %d", len(list), r.Model.Layers)
	}
	for i, n := range list {
		if n != list[0] {
			r.refusef(key, "layer %d has %d, layer 1 %d: only the same in each layer is modelled", i+1, n,
				list[0])
			break
		}
	}
	return list[0]
}

// mla reads DeepSeek's attention.
func (r *reader) mla() {
	m := &r.Model
	var there, lacking []string
	for _, key := range []string{
		"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
		"q_lora_rank",
	} {
		if _, ok := r.keys[key]; ok {
			there = append(there, key)
		} else {
			lacking = append(lacking, key)
		}
	}
	if len(there) > 0 && len(lacking) > 0 {
		r.refusef(there[0], "latent attention is half there: %s is missing", lacking[0])
	}
	m.KVHeads, m.Attention, m.QKNorm = m.Heads, "mla", model.QKNormLatent
	r.counts("q_lora_rank")
	r.sizes("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
	r.given["head_dim"] = "num_attention_heads"
	if m.Heads > 0 {
		m.HeadDim = m.Hidden / m.Heads
	}
	r.skip("says nothing under latent attention: its sizes are kv_lora_rank and the parts of a head",
		"num_key_value_heads", "head_dim", "qk_head_dim")
}

// gptOSS: experts of intermediate_size with biases, learned sinks (one number per head and
// layer), every other layer local.
func gptOSS(r *reader) { r.skip("the same as num_experts_per_tok", "experts_per_token") }

// llama4 has a shared expert as wide as the routed ones, wider dense layers between those with
// experts, and attention in chunks in the layers that have rotary positions.
func llama4(r *reader) {
	m := &r.Model
	m.SharedFFN = r.must("intermediate_size", "moe_ffn_hidden", "shared_ffn_hidden_total")
	r.experts(m.SharedFFN)
	r.sizes("intermediate_size_mlp", "interleave_moe_layer_step")
	r.keyNorms()
	if r.has("moe_layers") {
		r.listed("moe_layers")
		r.skip("as moe_layers gives it", "interleave_moe_layer_step")
	}
	r.windowOf("attention_chunk_size")
	if rope := r.bits("no_rope_layers"); len(rope) > 0 && m.LocalWindow > 0 {
		if r.long("no_rope_layers", len(rope)) {
			r.windows("no_rope_layers", func(i int) bool { return rope[i] != 0 })
		}
	} else if n, ok := r.number("no_rope_layer_interval"); ok {
		r.local(n)
	} else {
		r.local(4)
	}
	r.skip("as no_rope_layers gives it", "layer_types", "no_rope_layer_interval")
}

// dots has a mixture as DeepSeek's under attention of grouped queries.
func dots(r *reader) {
	if !r.has("layer_types") {
		r.windowFrom()
		return
	}
	r.number("max_window_layers")
	r.windowed()
}

// bailing is Ling's mixture, of which the first version has no norms of queries and keys.
func bailing(r *reader) {
	m := &r.Model
	r.flags("moe_router_enable_expert_bias")
	if r.has("moe_shared_expert_intermediate_size") {
		m.SharedFFN = m.SharedExperts * r.must("moe_shared_expert_intermediate_size")
	}
	r.biases("use_qkv_bias", "use_bias", "attn_bias")
}

// ernieMoE names the keys of its mixture in its own way.
func ernieMoE(r *reader) {
	m := &r.Model
	m.ExpertFFN = r.must("moe_intermediate_size", "moe_ffn_hidden", "shared_ffn_hidden_total")
	r.sizes("moe_num_experts", "moe_k")
	r.counts("moe_num_shared_experts")
	m.SharedFFN = m.SharedExperts * m.ExpertFFN
	from, every, end := r.must("moe_layer_start_index"), r.must("moe_layer_interval"),
		r.must("moe_layer_end_index")
	if end < 0 {
		end = m.Layers - 1
	}
	if every < 1 {
		r.refusef("moe_layer_interval", "%d: a whole number from 1", every)
		return
	}
	r.mixtures("moe_layer_start_index", func(i int) bool { return i >= from && i <= end && (i+1)%every == 0 })
	modules, _ := r.number(r.first("num_nextn_predict_layers", "num_mtp_layers"))
	r.module(modules, 2, 0, withoutExperts)
}

// hunYuanMoE has its widths and counts for all layers or for each.
func hunYuanMoE(r *reader) {
	m := &r.Model
	m.Experts, m.TopK = r.alike("num_experts"), r.alike("moe_topk")
	m.ExpertFFN = r.alike(r.first("moe_intermediate_size", "intermediate_size"), "moe_ffn_hidden",
		"shared_ffn_hidden_total")
	m.SharedExperts = r.alike("num_shared_expert")
	m.SharedFFN = m.SharedExperts * m.ExpertFFN
	r.window()
	if n, _ := r.number("moe_layer_num_skipped"); n > 0 {
		m.FirstDense = n
		r.ffn()
	}
	r.skip("of dense layers, which there are none of", "intermediate_size")
}

// miniMaxM2 normalises queries and keys over their whole width.
func miniMaxM2(r *reader) {
	r.Model.RouterBias = r.usual("use_routing_bias")
	r.usualKeyNorms()
	for i, softmax := range r.numbers("attn_type_list", "attention") {
		if softmax != 1 {
			r.refusef("attn_type_list", "layer %d is of lightning attention (%d), which this class has not: "+
				"allowed is 1; minimax_text_01 has it", i+1, softmax)
			return
		}
	}
	r.skip("modules for multi-token prediction are not in the weights", "use_mtp", "num_mtp_modules",
		"mtp_transformer_layers")
}

// graniteHybrid reads layers of Mamba-2, or of attention in every layer.
func graniteHybrid(r *reader) {
	m := &r.Model
	if r.word("position_embedding_type") == "rope" {
		m.Position = "rope"
	}
	if !r.told(mambaLetters(model.LetterMamba)) {
		m.Pattern = string(model.LetterMamba)
	}
	r.mamba()
	shared := r.must("shared_intermediate_size", "ffn_hidden", "shared_ffn_hidden_total")
	if n, _ := r.number("num_local_experts"); n == 0 {
		m.FFN = shared
		r.skip("of experts, which there are none of", "intermediate_size", "num_local_experts",
			"num_experts_per_tok")
		return
	}
	mixture(r)
	m.SharedExperts, m.SharedFFN = 1, shared
}
