package engine_test

import (
	"math"
	"testing"

	"meshscope/engine/model"
)

// nanotron's own count per token (formula C3), which the playbook's sweep
// prints: non-causal, head counted, embedding not.
func TestModelFLOPsOfThePlaybookSweep(t *testing.T) {
	models := sweepModels()
	for name, want := range map[string]float64{
		"1B": 9_663_676_416, "3B": 25_669_140_480, "8B": 56_371_445_760,
		"80B": 505_732_399_104, "80B kv 8": 449_360_953_344,
	} {
		m := models[name]
		if got := float64(m.TrainingFLOPs(4096, false, false)); got != want {
			t.Errorf("%s: %.0f FLOPs per token, want %.0f", name, got, want)
		}
	}
	oneB, threeB := models["1B"], models["3B"]
	near(t, "1B TFLOP/s", 40_149.94*float64(oneB.TrainingFLOPs(4096, false, false))/1e12, 388.00, 5e-5)
	near(t, "3B TFLOP/s", 14_167.25*float64(threeB.TrainingFLOPs(4096, false, false))/1e12, 363.66, 5e-5)
}

func TestModelTrainingFLOPsPerToken(t *testing.T) {
	for _, c := range []struct {
		id     string
		seq    int
		causal bool
		want   float64
	}{
		{"llama3.1-8b", 8192, false, 5.791e10},
		{"llama3.1-8b", 8192, true, 5.147e10},
		{"llama3.1-70b", 8192, false, 4.814e11},
		{"llama3.1-70b", 8192, true, 4.492e11},
		{"llama3.1-405b", 8192, false, 2.625e12},
		{"llama3.1-405b", 8192, true, 2.524e12},
		{"llama3.1-405b", 131072, false, 5.670e12},
		{"llama3.1-405b", 131072, true, 4.046e12},
	} {
		m := modelByID(t, c.id)
		near(t, c.id, float64(m.TrainingFLOPs(c.seq, c.causal, false)), c.want, 2e-4)
	}
}

// Runs that print tokens per second and TFLOP/s of one GPU side by side, which
// pins the convention: Megatron-Bridge performance summary (causal), and
// DeepSeek's ISCA paper (arXiv 2505.09343) Table 4, which prints both.
func TestModelPrintedTFLOPS(t *testing.T) {
	for _, c := range []struct {
		id        string
		seq       int
		causal    bool
		mtp       bool
		tokens    float64
		want      float64 // printed, or exactly computed from it
		tolerance float64
	}{
		{"llama3-8b", 8192, true, false, 14_079, 725, 1e-3},
		{"llama3-8b", 8192, false, false, 14_079, 815, 1e-3},
		{"llama3-70b", 8192, true, false, 1_619, 727, 1e-3},
		{"llama3.1-405b", 8192, true, false, 302, 763, 2e-3},
		{"deepseek-v3", 4096, true, false, 3_848, 963.7, 1e-4},
		{"deepseek-v3", 4096, true, false, 3_848, 961, 3e-3},
		{"deepseek-v3", 4096, true, false, 1_541.7, 386.1, 1e-4},
		{"deepseek-v3", 4096, true, false, 1_541.7, 385, 3e-3},
		{"deepseek-v3", 4096, false, false, 1_541.7, 433.5, 2e-4},
		{"deepseek-v3", 4096, false, false, 1_541.7, 432, 4e-3},
	} {
		m := modelByID(t, c.id)
		near(t, c.id+" TFLOP/s", c.tokens*float64(m.TrainingFLOPs(c.seq, c.causal, c.mtp))/1e12, c.want,
			c.tolerance)
	}
	v3 := modelByID(t, "deepseek-v3")
	near(t, "deepseek-v3 with multi-token prediction", float64(v3.TrainingFLOPs(4096, true, true)), 2.6003e11,
		1e-4)
	near(t, "deepseek-v3 with its 2h x h projection",
		float64(v3.TrainingFLOPs(4096, true, true))+3*4*7168*7168, 2.606e11, 2e-4)
}

// Table 1 of arXiv 2104.04473 counts the recomputed forward too:
// 96*B*s*L*h^2*(1 + s/(6h) + V/(16*L*h)), four forwards of the layers and
// three of the head. Korthikanti et al. (arXiv 2205.05198) count 72.
func TestModelFLOPsOfTheMegatronPapers(t *testing.T) {
	for _, id := range []string{
		"megatron-1.7b", "megatron-18.4b", "megatron-145.6b", "megatron-529.6b",
		"megatron-1008b",
	} {
		m := modelByID(t, id)
		h, l, v, s := float64(m.Hidden), float64(m.Layers), float64(m.Vocab), 2048.0
		f := m.ForwardFLOPs(2048, false)
		layers := f.Total() - f.Head
		near(t, id+" (2021)", float64(4*layers+3*f.Head), 96*l*h*h*(1+s/(6*h)+v/(16*l*h)), 1e-9)
		near(t, id+" (2022)", float64(m.TrainingFLOPs(2048, false, false)), 72*l*h*h*(1+s/(6*h)+v/(12*h*l)),
			1e-9)
	}
}

func TestModelFLOPsPartsAddUp(t *testing.T) {
	for _, row := range modelRows(t) {
		m := row.model(t)
		for _, causal := range []bool{false, true} {
			var layers float64
			for i := range m.Layers {
				layers += float64(m.LayerForward(i, 4096, causal).Total())
			}
			f := m.ForwardFLOPs(4096, causal)
			near(t, m.ID+" layers", float64(f.LayerFLOPs.Total()), layers, 1e-12)
			near(t, m.ID+" training", float64(m.TrainingFLOPs(4096, causal, false)),
				3*(layers+float64(f.Head+f.Extra)), 1e-12)
		}
	}
}

func TestModelWindowShare(t *testing.T) {
	for _, c := range []struct {
		name        string
		window, seq int
		ratio       string
		causal      bool
		want        float64
	}{
		{"no window", 0, 8192, "", true, 1},
		{"window of the whole sequence", 8192, 8192, "", true, 1},
		{"every layer local", 1024, 4096, "", false, 0.25},
		{"every layer local, causal", 1024, 4096, "", true, 7.0 / 16},
		{"every second layer", 1024, 4096, "1:1", false, 0.625},
		{"five of six", 1024, 4096, "5:1", false, 0.375},
	} {
		p, got := model.Lay(&model.Model{Layers: 12, LocalWindow: c.window, LocalRatio: c.ratio}, nil), 0.0
		for i := range p.Layers {
			got += p.Layers[i].WindowShare(c.seq, c.causal) * float64(p.Layers[i].Count) / 12
		}
		if math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}
