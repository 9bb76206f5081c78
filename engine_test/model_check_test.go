package engine_test

import (
	"math"
	"strings"
	"testing"

	"meshscope/engine/model"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

func TestModelCheckNamesTheField(t *testing.T) {
	dense := llama(4096, 32, 32, 8, 14336, 128_256, false)
	moe := dense
	moe.Experts, moe.TopK, moe.ExpertFFN, moe.MoEFreq = 64, 6, 1408, 1
	mla := moe
	mla.QLoraRank, mla.KVLoraRank, mla.QKNopeDim, mla.QKRopeDim, mla.VHeadDim = 1536, 512, 128, 64, 128
	local, hybrid := dense, dense
	local.LocalWindow, local.LocalRatio, local.Attention = 1024, "5:1", "gqa, 5 local : 1 global"
	hybrid.Pattern, hybrid.ConvWidth, hybrid.Attention = "CC*", 3, "hybrid: convolutions and softmax"
	for _, m := range []model.Model{dense, moe, mla, local, hybrid} {
		if errs := m.Check(); errs.Err() != nil {
			t.Errorf("a sound model is refused: %v", errs)
		}
	}

	for _, c := range []struct {
		field string
		base  model.Model
		spoil func(*model.Model)
	}{
		{"layers", dense, func(m *model.Model) { m.Layers = 0 }},
		{"layers", dense, func(m *model.Model) { m.Layers = math.MaxInt }},
		{"hidden", dense, func(m *model.Model) { m.Hidden = -4096 }},
		{"heads", dense, func(m *model.Model) { m.Heads = 0 }},
		{"kv_heads", dense, func(m *model.Model) { m.KVHeads = 7 }},
		{"kv_heads", dense, func(m *model.Model) { m.KVHeads = 64 }},
		{"head_dim", dense, func(m *model.Model) { m.HeadDim = 1 << 30 }},
		{"ffn_hidden", dense, func(m *model.Model) { m.FFN = 0 }},
		{"vocab", dense, func(m *model.Model) { m.Vocab = 0 }},
		{"max_seq", dense, func(m *model.Model) { m.MaxSeq = -1 }},
		{"norms_per_layer", dense, func(m *model.Model) { m.NormsPer = -2 }},
		{"norm", dense, func(m *model.Model) { m.Norm = "batchnorm" }},
		{"attn_bias", dense, func(m *model.Model) { m.AttnBias = "some" }},
		{"qk_norm", dense, func(m *model.Model) { m.QKNorm = model.QKNormLatent }},
		{"local_to_global_ratio", dense, func(m *model.Model) { m.LocalRatio = "five" }},
		{"local_to_global_ratio", dense, func(m *model.Model) { m.LocalRatio = "0:0" }},
		{"local_window", dense, func(m *model.Model) { m.LocalRatio = "5:1" }},
		{"local_window", local, func(m *model.Model) { m.LocalWindow = 0 }},
		{"local_window", dense, func(m *model.Model) { m.Pattern = "W*" }},
		{"local_window", dense, func(m *model.Model) { m.LocalHeads = 16 }},
		{"local_kv_heads", local, func(m *model.Model) { m.LocalKVHeads = 7 }},
		{"attention", dense, func(m *model.Model) { m.Attention = "NaN" }},
		{"attention", dense, func(m *model.Model) { m.Attention = "gqa2, local" }},
		{"attention", dense, func(m *model.Model) { m.Attention = "5" }},
		{"params_extra", dense, func(m *model.Model) { m.ExtraParams = -1 }},
		{"name", dense, func(m *model.Model) { m.Name = "\x1b]0;title\a" }},
		{"name", dense, func(m *model.Model) { m.Name = strings.Repeat("x", 1e6) }},
		{"top_k", dense, func(m *model.Model) { m.TopK = 2 }},
		{"attention", dense, func(m *model.Model) { m.Attention = "mla" }},
		{"kv_lora_rank", dense, func(m *model.Model) { m.KVLoraRank = -1 }},
		{"v_head_dim", dense, func(m *model.Model) { m.VHeadDim = -1 }},
		{"top_k", moe, func(m *model.Model) { m.TopK = 65 }},
		{"top_k", moe, func(m *model.Model) { m.TopK = 0 }},
		{"n_experts", moe, func(m *model.Model) { m.Experts = -1 }},
		{"shared_ffn_hidden_total", moe, func(m *model.Model) { m.SharedExperts, m.SharedFFN = 3, 2816 }},
		{"shared_ffn_hidden_total", moe, func(m *model.Model) { m.SharedExperts = 2 }},
		{"hash_layers", moe, func(m *model.Model) { m.HashLayers = m.Layers + 1 }},
		{"hash_layers", dense, func(m *model.Model) { m.HashLayers = 2 }},
		{"moe_ffn_hidden", moe, func(m *model.Model) { m.ExpertFFN = 0 }},
		{"first_k_dense_layers", moe, func(m *model.Model) { m.FirstDense = 32 }},
		{"moe_layer_freq", moe, func(m *model.Model) { m.MoEFreq = 0 }},
		{"ffn_hidden", moe, func(m *model.Model) { m.FFN, m.MoEFreq = 0, 2 }},
		{"v_head_dim", mla, func(m *model.Model) { m.VHeadDim = 0 }},
		{"attn_bias", mla, func(m *model.Model) { m.AttnBias = model.BiasAll }},
		{"qk_norm", mla, func(m *model.Model) { m.QKNorm = model.QKNormPerHead }},
		{"layers", moe, func(m *model.Model) {
			m.Layers, m.Hidden, m.ExpertFFN, m.Experts = model.MaxLayers, model.MaxWidth, model.MaxWidth,
				model.MaxExperts
		}},
	} {
		m := c.base
		c.spoil(&m)
		errs := m.Check()
		found := false
		for _, e := range errs {
			found = found || e.Field == c.field && e.Given != "" && e.Allowed != ""
			if len(e.Error()) > 300 {
				t.Errorf("%s: the message has %d bytes", e.Field, len(e.Error()))
			}
		}
		if !found {
			t.Errorf("a bad %s is not named: %v", c.field, errs)
		}
	}
}

// TestHashLayersOfNoExperts: a number of experts that is wrong is named first, and no range of hash_layers
// that follows from it.
func TestHashLayersOfNoExperts(t *testing.T) {
	m := model.Model{Layers: 20, Experts: -1}
	for _, e := range m.Check() {
		if e.Field == "hash_layers" {
			t.Errorf("named: %v", e)
		}
	}
}

// anyModel draws fields from inside and around the bounds.
func anyModel(t *rapid.T) model.Model {
	size := func(name string, high int) int {
		return rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(-1, high+1)).Draw(t, name)
	}
	maybe := func(name string, high int) int {
		if !rapid.Bool().Draw(t, name+" used") {
			return 0
		}
		return size(name, high)
	}
	m := model.Model{
		Layers: size("layers", model.MaxLayers), Hidden: size("hidden", model.MaxWidth),
		Heads: size("heads", model.MaxHeads), HeadDim: size("head_dim", model.MaxHeadDim),
		FFN: size("ffn", model.MaxWidth), Vocab: size("vocab", model.MaxVocab),
		MaxSeq: size("max_seq", model.MaxSequence),
		Tied:   rapid.Bool().Draw(t, "tied"), Gated: rapid.Bool().Draw(t, "gated"),
		MLPBias:     rapid.Bool().Draw(t, "bias"),
		Norm:        rapid.SampledFrom(model.Norms()).Draw(t, "norm"),
		NormsPer:    rapid.IntRange(0, 5).Draw(t, "norms"),
		Position:    rapid.SampledFrom([]string{"rope", model.PositionLearned}).Draw(t, "position"),
		AttnBias:    rapid.SampledFrom(model.AttentionBiases()).Draw(t, "attention bias"),
		QKNorm:      rapid.SampledFrom(model.QKNorms()).Draw(t, "qk norm"),
		LocalWindow: maybe("window", model.MaxSequence),
		LocalRatio:  rapid.SampledFrom([]string{"", "1:1", "5:1", "0:3"}).Draw(t, "ratio"),
		MTPLayers:   maybe("mtp", model.MaxMTPLayers),
	}
	m.KVHeads = m.Heads
	if rapid.Bool().Draw(t, "grouped") {
		m.KVHeads = 1
	}
	if rapid.Bool().Draw(t, "mla") {
		m.QLoraRank, m.KVLoraRank = maybe("q_lora", model.MaxWidth), size("kv_lora", model.MaxWidth)
		m.QKNopeDim, m.QKRopeDim, m.VHeadDim = size("nope", model.MaxHeadDim),
			maybe("rope", model.MaxHeadDim), size("v", model.MaxHeadDim)
		m.AttnBias, m.QKNorm = model.BiasNone, model.QKNormLatent
	}
	if rapid.Bool().Draw(t, "moe") {
		m.Experts, m.ExpertFFN, m.SharedFFN = size("experts", model.MaxExperts),
			size("expert width", model.MaxWidth), maybe("shared", model.MaxWidth)
		m.TopK = rapid.IntRange(1, max(m.Experts, 1)).Draw(t, "top_k")
		m.FirstDense = rapid.IntRange(0, max(m.Layers-1, 0)).Draw(t, "first dense")
		m.MoEFreq = rapid.IntRange(1, max(m.Layers-m.FirstDense, 1)).Draw(t, "freq")
		m.RouterBias = rapid.Bool().Draw(t, "router bias")
	}
	return m
}

// Whatever passes the check has finite, non-negative, consistent figures, and
// whatever does not is still counted without a panic.
func modelFiguresProperty(t *rapid.T) {
	m := anyModel(t)
	seq := rapid.IntRange(1, model.MaxSequence).Draw(t, "seq")
	checked := len(m.Check()) == 0
	total, active, mtp := m.Total(), m.Active(), m.MTP()
	full, causal := float64(m.TrainingFLOPs(seq, false, true)), float64(m.TrainingFLOPs(seq, true, true))
	p := model.Lay(&m, nil)
	share := p.Layers[0].WindowShare(seq, true)
	if !checked {
		return
	}
	if total <= 0 || active <= 0 || active > total || mtp < 0 || total+mtp > model.MaxParameters {
		t.Fatalf("total %d, active %d, multi-token prediction %d", total, active, mtp)
	}
	for _, layer := range []int{0, m.Layers - 1} {
		l := m.Layer(layer)
		for _, part := range []int64{
			l.AttnSharded, l.AttnReplicated, l.Norms, l.MLPSharded, l.MLPReplicated,
			l.SharedExperts, l.Router, l.ExpertsSharded, l.ExpertsReplicated,
		} {
			if part < 0 {
				t.Fatalf("a negative part: %+v", l)
			}
		}
	}
	if math.IsInf(full, 0) || math.IsNaN(full) || causal <= 0 || causal > full {
		t.Fatalf("FLOPs per token: %g full, %g causal", full, causal)
	}
	if !(share > 0 && share <= 1) {
		t.Fatalf("window share %g", share)
	}
}

func TestModelFiguresAreFinite(t *testing.T) { draws.Check(t, modelFiguresProperty) }

func FuzzModelFigures(f *testing.F) { f.Fuzz(rapid.MakeFuzz(modelFiguresProperty)) }

func BenchmarkModelFigures(b *testing.B) {
	m := llama(8192, 80, 64, 8, 28672, 128_256, false)
	b.ReportAllocs()
	for b.Loop() {
		if m.Total() == 0 || m.TrainingFLOPs(8192, true, false) == 0 {
			b.Fatal("no figures")
		}
	}
}
