package engine_test

import (
	"math"
	"testing"

	"meshscope/engine/model"
)

func TestModelCountsEqualTheFactSheet(t *testing.T) {
	rows := modelRows(t)
	if len(rows) != 107 {
		t.Errorf("%d models in the fact sheet, want 107", len(rows))
	}
	for _, row := range rows {
		m := row.model(t)
		for _, c := range []struct {
			column string
			got    int64
		}{
			{"params_computed", m.Total()},
			{"params_active_computed", m.Active()},
			{"params_mtp_computed", m.MTP()},
		} {
			if want := row.count(t, c.column); c.got != want {
				t.Errorf("%s: %s = %d, want %d", m.ID, c.column, c.got, want)
			}
		}
		if errs := m.Check(); len(errs) > 0 {
			t.Errorf("%s does not pass its check: %v", m.ID, errs)
		}
	}
}

func TestModelTotalIsTheSumOfItsLayers(t *testing.T) {
	for _, row := range modelRows(t) {
		m := row.model(t)
		sum := m.Embedding() + m.BeforeLayers() + m.Head() + m.FinalNorm() + m.Extra()
		moe := 0
		for i := range m.Layers {
			sum += m.Layer(i).Total()
			if m.MoELayer(i) {
				moe++
			}
		}
		if sum != m.Total() || moe != m.MoELayers() {
			t.Errorf("%s: layers add up to %d parameters and %d MoE layers, want %d and %d", m.ID, sum, moe,
				m.Total(), m.MoELayers())
		}
	}
}

// gpt is the transformer of the playbook's formulas: four-fold plain MLP,
// every bias, LayerNorm, tied head.
func gpt(hidden, layers, vocab, positions int) model.Model {
	m := model.Model{
		Layers: layers, Hidden: hidden, Heads: hidden / 64, KVHeads: hidden / 64, HeadDim: 64,
		FFN: 4 * hidden, Vocab: vocab, MaxSeq: 1024, Tied: true, Norm: model.NormLayer, NormsPer: 2,
		AttnBias: model.BiasAll, MLPBias: true, QKNorm: model.QKNormNone, Position: "rope",
	}
	if positions > 0 {
		m.Position, m.MaxSeq = model.PositionLearned, positions
	}
	return m
}

// llama is the gated, bias-free, RMSNorm transformer.
func llama(hidden, layers, heads, kv, ffn, vocab int, tied bool) model.Model {
	return model.Model{
		Layers: layers, Hidden: hidden, Heads: heads, KVHeads: kv, HeadDim: hidden / heads, FFN: ffn,
		Vocab: vocab, MaxSeq: 8192, Tied: tied, Gated: true, Norm: model.NormRMS, NormsPer: 2,
		AttnBias: model.BiasNone, QKNorm: model.QKNormNone, Position: "rope",
	}
}

// Sources of N1 to N5: the Ultra-Scale Playbook, its memory widget and the
// models of its benchmark sweep.
func TestModelPlaybookFormulaN1(t *testing.T) {
	for _, c := range []struct {
		hidden, layers int
		want           int64
	}{
		{4096, 32, 6_969_499_648},
		{8192, 80, 65_483_718_656},
		{16384, 126, 408_002_625_536},
		{2048, 16, 1_068_404_736},
		{3072, 28, 3_566_020_608},
	} {
		m := gpt(c.hidden, c.layers, 128_256, 0)
		if m.Total() != c.want {
			t.Errorf("h=%d L=%d: %d parameters, want %d", c.hidden, c.layers, m.Total(), c.want)
		}
	}
}

func TestModelPlaybookFormulaN2(t *testing.T) {
	m := gpt(4096, 32, 128_256, 1024)
	if want := int64(6_973_693_952); m.Total() != want {
		t.Errorf("with a table of 1,024 positions: %d parameters, want %d", m.Total(), want)
	}
}

func TestModelPlaybookFormulaN3(t *testing.T) {
	plain := gpt(4096, 1, 128_256, 0)
	plain.AttnBias, plain.MLPBias = model.BiasNone, false
	gated := llama(4096, 1, 32, 32, 4*4096, 128_256, false)
	for _, c := range []struct {
		m    model.Model
		want int64
	}{
		{plain, 12 * 4096 * 4096},
		{gated, 16 * 4096 * 4096},
	} {
		l := c.m.Layer(0)
		if got := l.AttnSharded + l.MLPSharded; got != c.want {
			t.Errorf("matrices of one layer: %d, want %d", got, c.want)
		}
	}
}

func TestModelPlaybookFormulaN4(t *testing.T) {
	for _, c := range []struct {
		m    model.Model
		want int64
	}{
		{llama(4096, 32, 32, 8, 14336, 128_256, false), 8_030_261_248},
		{llama(8192, 80, 64, 8, 28672, 128_256, false), 70_553_706_496},
		{llama(2048, 16, 32, 8, 8192, 128_256, true), 1_235_814_400},
	} {
		if c.m.Total() != c.want {
			t.Errorf("h=%d L=%d: %d parameters, want %d", c.m.Hidden, c.m.Layers, c.m.Total(), c.want)
		}
	}
}

// sweepModels are the models of the playbook's benchmark sweep.
func sweepModels() map[string]model.Model {
	return map[string]model.Model{
		"1B":       llama(2048, 16, 32, 32, 8192, 131_072, true),
		"3B":       llama(3072, 28, 32, 32, 8192, 131_072, true),
		"8B":       llama(4096, 32, 32, 32, 14336, 131_072, false),
		"80B":      llama(8192, 80, 64, 64, 28672, 131_072, false),
		"405B":     llama(16384, 126, 128, 128, 53248, 131_072, false),
		"80B kv 8": llama(8192, 80, 64, 8, 28672, 131_072, false),
	}
}

func TestModelPlaybookFormulaN5(t *testing.T) {
	models := sweepModels()
	for _, c := range []struct {
		name         string
		want, norms  int64
		labelBillion float64
	}{
		{"1B", 1_342_177_280, 67_584, 1.34},
		{"3B", 3_573_547_008, 175_104, 3.57},
		{"8B", 8_858_370_048, 266_240, 8.86},
		{"80B", 79_993_765_888, 1_318_912, 80.0},
		{"405B", 469_359_394_816, 4_145_152, 0},
		{"80B kv 8", 70_598_524_928, 1_318_912, 0},
	} {
		m := models[c.name]
		norms := m.FinalNorm() + int64(m.Layers)*m.Layer(0).Norms
		if norms != c.norms || m.Total()-norms != c.want {
			t.Errorf("%s: %d parameters and %d of norms, want %d and %d", c.name, m.Total()-norms, norms,
				c.want, c.norms)
		}
		if c.labelBillion > 0 && math.Abs(float64(m.Total())/1e9/c.labelBillion-1) > 0.005 {
			t.Errorf("%s: %d parameters, labelled %.2f B", c.name, m.Total(), c.labelBillion)
		}
	}
}

// Published totals: model cards and configurations of the models; the GPT
// sizes are Table 1 of arXiv 2104.04473.
func TestModelPublishedTotals(t *testing.T) {
	for _, c := range []struct {
		id   string
		want int64
	}{
		{"llama3-8b", 8_030_261_248},
		{"llama3.1-70b", 70_553_706_496},
		{"llama3.1-405b", 405_853_388_800},
		{"qwen3-30b-a3b", 30_532_122_624},
		{"mixtral-8x22b", 140_630_071_296},
		{"deepseek-v3", 671_026_419_200},
	} {
		m := modelByID(t, c.id)
		if m.Total() != c.want {
			t.Errorf("%s: %d parameters, want %d", c.id, m.Total(), c.want)
		}
	}

	v3 := modelByID(t, "deepseek-v3")
	if got := float64(v3.Active()) / 1e9; math.Abs(got-37.55) > 0.005 {
		t.Errorf("deepseek-v3: %.3f B active, want 37.55", got)
	}
	v3.RouterBias = false
	if want := int64(671_026_404_352); v3.Total() != want {
		t.Errorf("deepseek-v3 without balancing biases: %d, want %d", v3.Total(), want)
	}

	for id, want := range map[string]float64{
		"megatron-22b": 22.07, "megatron-gpt3-174.6b": 174.6, "megatron-529.6b": 529.6,
		"megatron-1008b": 1008.0,
	} {
		m := modelByID(t, id)
		h, l := float64(m.Hidden), float64(m.Layers)
		formula := 12 * l * h * h * (1 + 13/(12*h) + float64(m.Vocab+m.MaxSeq)/(12*l*h))
		if got := float64(m.Total()); math.Abs(got/formula-1) > 1e-6 || math.Abs(got/1e9/want-1) > 5e-4 {
			t.Errorf("%s: %.4g parameters, formula %.4g, want %.2f B", id, got, formula, want)
		}
	}
}

// What tensor parallelism replicates in DeepSeek-V3: the down-projections
// h*q_l and h*(kv_l+d_r) and the norms on the latents.
func TestModelLatentAttentionSplit(t *testing.T) {
	m := modelByID(t, "deepseek-v3")
	l := m.Layer(m.Layers - 1)
	if want := int64(7168*1536 + 1536 + 7168*(512+64) + 512); l.AttnReplicated != want {
		t.Errorf("replicated attention: %d, want %d", l.AttnReplicated, want)
	}
	if want := int64(1536*128*192 + 512*128*256 + 128*128*7168); l.AttnSharded != want {
		t.Errorf("sharded attention: %d, want %d", l.AttnSharded, want)
	}
	if want := int64(256 * 3 * 7168 * 2048); l.ExpertsSharded != want || l.ExpertsReplicated != 0 {
		t.Errorf("experts: %d + %d, want %d + 0", l.ExpertsSharded, l.ExpertsReplicated, want)
	}
	if want := int64(256*7168 + 256); l.Router != want {
		t.Errorf("router: %d, want %d", l.Router, want)
	}
}
