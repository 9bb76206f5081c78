package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/escape"
)

// Limits of what is evaluated. They are far above every published model and
// keep every count inside an int64 and every loop short.
const (
	MaxLayers     = 10_000
	MaxWidth      = 1 << 24 // hidden, FFN and latent widths
	MaxHeads      = 1 << 16
	MaxHeadDim    = 1 << 16
	MaxVocab      = 1 << 28
	MaxRopeTheta  = 1e12
	MaxSequence   = 1 << 30 // tokens
	MaxExperts    = 1 << 16
	MaxMTPLayers  = 64
	MaxPattern    = 1 << 10               // letters
	MaxNorms      = 16                    // per layer
	MaxParameters = 1_000_000_000_000_000 // 10^15
	MaxLabel      = 200                   // bytes of a name or remark
)

// FieldError says what is wrong with one field of a Model. Field is its key in
// files and in --set model.KEY=VALUE.
type FieldError struct {
	Field   string
	Given   string
	Allowed string
	Nearest string // allowed value; empty where none is near
}

func (e FieldError) Error() string {
	return fmt.Sprintf("%s is %s; allowed: %s", e.Field, e.Given, e.Allowed)
}

// Errors is everything that is wrong with a Model, in the order of its fields.
type Errors []FieldError

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "; ")
}

// Err is nil when nothing is wrong.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Check says what is wrong with the architecture by itself; what a layout
// makes of it is not its business. A Model that passes gives finite,
// non-negative counts.
func (m *Model) Check() Errors {
	c := checker{}
	c.labels(m)
	c.widths(m)
	c.sharedKey(m)
	c.words(m)
	c.pattern(m)
	c.window(m)
	if m.IsMLA() {
		c.latent(m)
	} else {
		c.unused("kv_lora_rank", []field{
			{"kv_lora_rank", m.KVLoraRank},
			{"qk_nope_head_dim", m.QKNopeDim},
			{"qk_rope_head_dim", m.QKRopeDim},
		})
		c.grouped(m)
		if strings.HasPrefix(m.Attention, "mla") {
			c.add("attention", quoted(m.Attention), "mla with kv_lora_rank, qk_nope_head_dim, "+
				"qk_rope_head_dim and v_head_dim, another without them")
		}
	}
	if m.IsMoE() {
		c.experts(m)
	} else {
		c.dense(m)
	}
	if len(c.errs) == 0 {
		c.size(m)
	}
	return c.errs
}

type checker struct{ errs Errors }

// add refuses what a field has: a number, a switch, or text as it is to be shown.
func (c *checker) add(field string, given any, allowed string, args ...any) {
	if len(args) > 0 {
		allowed = fmt.Sprintf(allowed, args...)
	}
	c.errs = append(c.errs, FieldError{Field: field, Given: fmt.Sprint(given), Allowed: allowed})
}

// quoted is a text that a user wrote, as far as an error shows it.
func quoted(text string) string { return escape.Quote(escape.Clip(text)) }

func (c *checker) between(field string, value, low, high int) {
	if value < low || value > high {
		c.add(field, value, "a whole number from %d to %d", low, high)
		c.errs[len(c.errs)-1].Nearest = strconv.Itoa(min(max(value, low), high))
	}
}

func (c *checker) oneOf(field, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		c.add(field, escape.Quote(value), strings.Join(allowed, ", "))
	}
}

// field is the key and value of a number.
type field struct {
	name  string
	value int
}

// unused refuses fields that mean nothing without another one: they are more
// likely a slip than meant.
func (c *checker) unused(without string, fields []field) {
	for _, f := range fields {
		switch {
		case f.value == 0:
		case f.name == without:
			c.add(f.name, f.value, "0 or more")
		default:
			c.add(f.name, f.value, "0 without "+without)
		}
	}
}

func (c *checker) labels(m *Model) {
	for _, l := range []struct{ field, text string }{
		{"id", m.ID},
		{"name", m.Name},
		{"family", m.Family},
		{"read_as", m.ReadAs},
		{"activation", m.Activation},
		{"pos_embedding", m.Position},
		{"rope_scaling", m.RopeScaling},
		{"attention", m.Attention},
		{"local_to_global_ratio", m.LocalRatio},
		{"params_extra_what", m.ExtraParamsWhat},
	} {
		if len(l.text) > MaxLabel || !escape.Printable(l.text) {
			c.add(l.field, escape.Quote(l.text), fmt.Sprintf("at most %d bytes of printable text", MaxLabel))
		}
	}
}

func (c *checker) widths(m *Model) {
	c.between("layers", m.Layers, 1, MaxLayers)
	c.between("hidden", m.Hidden, 1, MaxWidth)
	c.between("heads", m.Heads, 1, MaxHeads)
	c.between("kv_heads", m.KVHeads, 1, MaxHeads)
	if m.KVHeads > 0 && m.Heads > 0 && m.Heads%m.KVHeads != 0 {
		c.add("kv_heads", m.KVHeads, "a divisor of heads = %d", m.Heads)
	}
	c.between("head_dim", m.HeadDim, 1, MaxHeadDim)
	c.between("ffn_hidden", m.FFN, 0, MaxWidth)
	c.ffnWidths(m)
	c.between("vocab", m.Vocab, 1, MaxVocab)
	c.between("max_seq", m.MaxSeq, 1, MaxSequence)
	c.between("position_rows", m.PositionRows, 0, MaxSequence)
	if m.PositionRows > 0 && m.Position != PositionLearned {
		c.add("position_rows", m.PositionRows, "0 without pos_embedding = learned")
	}
	c.between("rope_theta", m.RopeTheta, 0, MaxRopeTheta)
	if f := m.RopeFactor; !(f >= 0 && f <= MaxSequence) || f > 0 && m.RopeScaling == "" {
		c.add("rope_factor", fmt.Sprintf("%g", f),
			fmt.Sprintf("a number from 0 to %d, 0 without rope_scaling", MaxSequence))
	}
	if !(m.NormEps >= 0 && m.NormEps < 1) {
		c.add("norm_eps", m.NormEps, "a number from 0 to below 1")
	}
	c.between("norms_per_layer", m.NormsPer, 0, MaxNorms)
	c.between("residual_block", m.ResidualBlock, 0, MaxLayers)
	c.between("altup_streams", m.AltUpStreams, 0, MaxNorms)
	c.between("laurel_rank", m.LaurelRank, 0, MaxHeadDim)
	c.between("layer_input", m.LayerInput, 0, MaxHeadDim)
	c.between("layer_vocab", m.LayerVocab, min(m.LayerInput, 1), MaxVocab*min(m.LayerInput, 1))
	c.between("reused_kv_layers", m.ReusedKV, 0, max(m.Layers-1, 0))
	if plain := m.Pattern == "" && !m.IsMLA() && m.QLoraRank == 0 && m.AttnGate == "" &&
		m.AttnBias == BiasNone && (m.QKNorm == QKNormPerHead || m.QKNorm == QKNormNone) &&
		!m.ValuesAreKeys; m.ReusedKV > 0 && !plain {
		c.add("reused_kv_layers", m.ReusedKV, "0 but for attention of grouped queries without "+
			"layer_pattern, biases and gates, and with qk_norm none or per-head")
	}
	if m.ReusedKV > 0 && m.ReusedKV < m.Layers && m.Layers <= MaxLayers {
		for _, t := range m.tied() {
			if t.source < 0 {
				c.add("reused_kv_layers", m.ReusedKV, "fewer: an earlier layer of each "+
					"kind makes the keys")
				break
			}
		}
	}
	c.between("mtp_layers", m.MTPLayers, 0, MaxMTPLayers)
	if m.MTPPasses > 1 && m.MTPLayers != 1 {
		c.add("mtp_passes", m.MTPPasses, "0 or 1 but for mtp_layers 1: one module runs again")
	} else {
		c.between("mtp_passes", m.MTPPasses, 0, MaxMTPLayers)
	}
	if m.ExtraParams < 0 || m.ExtraParams > MaxParameters {
		c.add("params_extra", m.ExtraParams, "a whole number from 0 to %d", int64(MaxParameters))
	}
}

func (c *checker) words(m *Model) {
	c.oneOf("norm", m.Norm, Norms())
	if m.Activation != "" { // an own model may leave out what no count needs
		c.oneOf("activation", m.Activation, Activations())
	}
	if gated, known := GatedActivation(m.Activation); known && gated != m.Gated {
		c.add("gated_ffn", m.Gated,
			"%t with activation = %q (three MLP matrices are swiglu or geglu, two gelu or relu)",
			gated, m.Activation)
	}
	if m.Position != "" {
		c.oneOf("pos_embedding", m.Position, Positions())
	}
	c.oneOf("attn_bias", m.AttnBias, AttentionBiases())
	c.oneOf("qk_norm", m.QKNorm, QKNorms())
	if m.AttnGate != "" {
		c.oneOf("attn_gate", m.AttnGate, []string{GateChannel, GateHead})
	}
	if m.SharedGate && m.SharedFFN == 0 {
		c.add("shared_expert_gate", "true", "false without shared_ffn_hidden_total")
	}
	if m.LatentNorm && m.ExpertLatent == 0 {
		c.add("moe_latent_norm", "true", "false without moe_latent_hidden")
	}
	if m.LinearFullGate && !m.Has(LetterKimi) {
		c.add("linear_full_gate", "true", "false without such layers in layer_pattern (letter K)")
	}
	remarks := strings.TrimLeft(m.Attention, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	if word := strings.TrimSuffix(m.Attention, remarks); m.Attention != "" &&
		!slices.Contains(Attentions(), word) {
		c.add("attention", escape.Quote(m.Attention),
			strings.Join(Attentions(), ", ")+", with remarks after it, or nothing")
	}
	if !m.IsMLA() && m.QKNorm == QKNormLatent {
		c.add("qk_norm", strconv.Quote(m.QKNorm), "latent only with kv_lora_rank (MLA)")
	}
}

// pattern checks which layers are of which kind, and the widths of those that carry a state.
func (c *checker) pattern(m *Model) {
	for i, letter := range m.Pattern {
		if i >= MaxPattern || !strings.ContainsRune(Letters(), letter) {
			c.add("layer_pattern", quoted(m.Pattern), "at most %d letters of %s", MaxPattern, Letters())
			return
		}
	}
	wrong := func(allowed string, args ...any) { c.add("layer_pattern", quoted(m.Pattern), allowed, args...) }
	if len(c.errs) == 0 && m.Pattern != "" {
		if kinds, _ := m.pattern(mixers(), m.feedForwards()); len(kinds) > MaxKinds {
			wrong("at most %d kinds of layers, mixture and dense apart", MaxKinds)
		}
	}
	if m.Flat() && (m.FirstDense != 0 || m.MoEFreq > 1) {
		wrong("letters - and E without first_k_dense_layers and moe_layer_freq: the pattern says which " +
			"layers are mixtures")
	}
	if m.Flat() && m.Has(LetterExperts) != m.IsMoE() {
		wrong("E where n_experts is not 0, and only there")
	}
	if m.AttnAdapter && !m.Has(LetterBlock) {
		c.add("attn_adapter", "true", "false without such layers in layer_pattern (letter Z)")
	}
	if m.HasAny("DR") && m.IsMLA() != (m.QLoraRank > 0) || m.Has(LetterShared) && !m.IsMLA() {
		wrong("D and R with kv_lora_rank and q_lora_rank (MLA), or D without both")
	}
	if m.HasAny("QX") && !m.sharesKey() {
		wrong("Q and X with output_groups and o_lora_rank (one key for all heads), else others of " +
			Letters())
	}
	if m.Has(LetterShared) && m.Letter(0) != LetterSparse {
		wrong("D first, where others (R) attend to what it chose")
	}
	for _, f := range []struct {
		name    string
		value   int
		letters string
	}{
		{"linear_key_heads", m.LinearKeyHeads, scanLetters},
		{"linear_key_head_dim", m.LinearKeyDim, scanLetters},
		{"linear_value_heads", m.LinearValueHeads, scanLetters},
		{"linear_value_head_dim", m.LinearValueDim, scanLetters},
		{"conv_width", m.ConvWidth, "GMSHKCZ"},
		{"linear_chunk", m.LinearChunk, "MHLZ"},
		{"linear_rank", m.LinearRank, "S"},
		{"shared_blocks", m.SharedBlocks, "Z"},
		{"adapter_rank", m.AdapterRank, "Z"},
		{"compress_ratio", m.CompressRatio, "Q"},
		{"compress_ratio_heavy", m.CompressHeavy, "X"},
		{"index_heads", m.IndexHeads, "DRQ"},
		{"index_head_dim", m.IndexDim, "DRQ"},
		{"index_top_k", m.IndexTopK, "DRQ"},
	} {
		switch {
		case m.HasAny(f.letters):
			c.between(f.name, f.value, 1, MaxHeads)
		case f.value != 0:
			c.add(f.name, f.value, "0 without such layers in layer_pattern (letters "+f.letters+")")
		}
	}
	if m.LinearKeyHeads > 0 && m.LinearValueHeads%m.LinearKeyHeads != 0 {
		c.add("linear_value_heads", m.LinearValueHeads, "a multiple of linear_key_heads = %d",
			m.LinearKeyHeads)
	}
	if m.HasAny("KL") && (m.LinearKeyHeads != m.LinearValueHeads || m.LinearKeyDim != m.LinearValueDim) {
		c.add("linear_value_heads", m.LinearValueHeads,
			"heads and widths of values as those of keys, where layer_pattern has K or L")
	}
}

// grouped checks what attention of grouped queries alone has.
func (c *checker) grouped(m *Model) {
	if m.ValueNorm && m.sharesKey() {
		c.add("value_norm", "true", "false with one key for all heads, which is the value too")
	}
	c.between("q_lora_rank", m.QLoraRank, 0, MaxWidth)
	c.between("v_head_dim", m.VHeadDim, 0, MaxHeadDim)
	if m.QLoraRank > 0 && m.AttnGate != "" {
		c.add("q_lora_rank", m.QLoraRank, "0 with attn_gate")
	}
}

func (c *checker) latent(m *Model) {
	if m.ValueNorm {
		c.add("value_norm", "true", "false with kv_lora_rank (MLA)")
	}
	c.between("q_lora_rank", m.QLoraRank, 0, MaxWidth)
	c.between("kv_lora_rank", m.KVLoraRank, 1, MaxWidth)
	c.between("qk_nope_head_dim", m.QKNopeDim, 1, MaxHeadDim)
	c.between("qk_rope_head_dim", m.QKRopeDim, 0, MaxHeadDim)
	c.between("v_head_dim", m.VHeadDim, 1, MaxHeadDim)
	if m.AttnGate == GateHead || m.AttnGate != "" && m.HasAny("DR") {
		c.add("attn_gate", strconv.Quote(m.AttnGate),
			"channel or none with kv_lora_rank (MLA), none with D or R in layer_pattern")
	}
	if m.AttnBias != BiasNone {
		c.add("attn_bias", strconv.Quote(m.AttnBias),
			"none with kv_lora_rank (biases of MLA are not modelled)")
	}
	if m.QKNorm != QKNormLatent && m.QKNorm != QKNormNone {
		c.add("qk_norm", strconv.Quote(m.QKNorm), "latent or none with kv_lora_rank (MLA)")
	}
}

func (c *checker) experts(m *Model) {
	c.between("n_experts", m.Experts, 1, MaxExperts)
	c.between("n_shared_experts", m.SharedExperts, 0, MaxExperts)
	c.between("shared_ffn_hidden_total", m.SharedFFN, 0, MaxWidth)
	if n := m.SharedExperts; n > 0 && (m.SharedFFN == 0 || m.SharedFFN%n != 0) {
		c.add("shared_ffn_hidden_total", m.SharedFFN, "a multiple of n_shared_experts = %d, above 0", n)
	}
	c.between("top_k", m.TopK, 1, max(m.Experts, 1))
	c.between("moe_ffn_hidden", m.ExpertFFN, 1, MaxWidth)
	c.between("moe_latent_hidden", m.ExpertLatent, 0, MaxWidth)
	c.between("zero_experts", m.ZeroExperts, 0, MaxExperts)
	c.between("hash_layers", m.HashLayers, 0, m.Layers)
	c.between("first_k_dense_layers", m.FirstDense, 0, max(m.Layers-1, 0))
	c.between("moe_layer_freq", m.MoEFreq, 1, max(m.Layers-m.FirstDense, 1))
	c.between("expert_groups", m.ExpertGroups, 0, max(m.Experts, 1))
	c.between("routed_groups", m.RoutedGroups, 0, m.ExpertGroups)
	if g := m.ExpertGroups; g > 0 && m.Experts%g != 0 {
		c.add("expert_groups", g, "a divisor of n_experts")
	}
	if g := m.ExpertGroups; g > 0 && m.RoutedGroups*(m.Experts/g) < m.TopK {
		c.add("routed_groups", m.RoutedGroups, "as many groups as hold top_k experts")
	}
	if p := m.MoEPattern; len(p) > MaxPattern || strings.Trim(p, "-E") != "" ||
		p != "" && (m.Flat() || m.FirstDense != 0 || m.MoEFreq != 1) {
		c.add("moe_pattern", quoted(p),
			"at most %d letters - or E, with first_k_dense_layers 0, moe_layer_freq 1 and no "+
				"such letter in layer_pattern", MaxPattern)
		return
	}
	if m.FFN == 0 && (m.Has(LetterMLP) || !m.Flat() && m.Layers > m.MoELayers()) {
		c.add("ffn_hidden", "0", "the width of the dense layers, at least 1")
	}
}

func (c *checker) dense(m *Model) {
	c.unused("n_experts", []field{
		{"n_experts", m.Experts},
		{"top_k", m.TopK},
		{"n_shared_experts", m.SharedExperts},
		{"shared_ffn_hidden_total", m.SharedFFN},
		{"moe_ffn_hidden", m.ExpertFFN},
		{"moe_latent_hidden", m.ExpertLatent},
		{"zero_experts", m.ZeroExperts},
		{"hash_layers", m.HashLayers},
		{"first_k_dense_layers", m.FirstDense},
		{"expert_groups", m.ExpertGroups},
		{"routed_groups", m.RoutedGroups},
	})
	if m.FFN < 1 && (!m.Flat() || m.HasAny("-Z")) {
		c.add("ffn_hidden", m.FFN, "at least 1 in a dense model")
	}
	if m.MoEPattern != "" {
		c.add("moe_pattern", quoted(m.MoEPattern), "nothing without n_experts")
	}
	if m.MoEFreq < 0 || m.MoEFreq > 1 {
		c.add("moe_layer_freq", m.MoEFreq, "0 or 1 without n_experts")
	}
}

// size bounds the total, in floating point, where it cannot overflow. Most models are so far
// below that they need not be laid out: no layer has more than a dozen matrices and three for
// each expert, and none is larger than the widest width squared.
func (c *checker) size(m *Model) {
	widest := float64(max(m.Hidden, m.ExpertLatent, max(m.Heads, m.LocalHeads, m.LocalKVHeads)*max(m.HeadDim,
		m.LocalHeadDim, m.LocalVHeadDim, m.VHeadDim, m.QKNopeDim+m.QKRopeDim+m.VHeadDim), m.FFN, m.SharedFFN,
		m.ExpertFFN, m.QLoraRank, m.KVLoraRank, m.LinearKeyHeads*m.LinearKeyDim,
		m.LinearValueHeads*m.LinearValueDim))
	if float64(m.Layers+m.MTPLayers)*float64(12+3*m.Experts+m.ZeroExperts)*widest*widest < MaxParameters/2 &&
		float64(m.Vocab+m.MaxSeq+m.PositionRows)*widest < MaxParameters/8 && m.ExtraParams < MaxParameters/8 {
		return
	}
	if all := Lay(m, nil).sums; all.total+all.mtp > MaxParameters {
		c.add("layers", fmt.Sprintf("%d, with these widths about %.2g parameters", m.Layers,
			all.total+all.mtp),
			fmt.Sprintf("at most %.0g parameters", float64(MaxParameters)))
	}
}
