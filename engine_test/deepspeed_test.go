package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// deepSpeed evaluates a model with DeepSpeed's ZeRO on some GPUs, one sequence each.
func deepSpeed(t *testing.T, m model.Model, gpu string, gpus, stage, seq, mbs int, given ...knob.Given,
) engine.Report {
	t.Helper()
	g, err := presets.Default().GPU(gpu)
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(m, presets.Default().NodeOf(g), knob.Given{
		knob.GPUs: gpus, knob.DP: gpus, knob.Calibration: recipe.DeepSpeed, knob.ZeRO: stage, knob.MBS: mbs,
		knob.GBS: mbs * gpus, knob.Seq: seq,
	})
	for _, g := range given {
		d.With(g)
	}
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Evaluate(s)
	if !r.Legal {
		t.Fatal(r.Problems)
	}
	return r
}

// qwen2 returns the sizes of a model of Qwen2's family that is no preset.
func qwen2(t *testing.T, hidden, layers, heads, kv, ffn int, tied bool) model.Model {
	t.Helper()
	m := presetModel(t, "qwen2.5-7b")
	m.ID, m.Name = "", "reported"
	m.Hidden, m.Layers, m.Heads, m.KVHeads, m.HeadDim, m.FFN = hidden, layers, heads, kv, hidden/heads, ffn
	m.Vocab, m.Tied = 151936, tied
	return m
}

// TestDeepSpeedReports: whether what people report ran, in this order: OpenRLHF#698, LLaMA-Factory#4133 and
// #6752, OpenRLHF#1088 twice, xtuner#842 twice, open-r1#506 twice. Nothing is fitted to them.
func TestDeepSpeedReports(t *testing.T) {
	full := knob.Given{knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull}}
	host := knob.Given{knob.Offload: recipe.OffloadOptimizer}
	small := qwen2(t, 1536, 28, 12, 2, 8960, true)
	for _, c := range []struct {
		name                   string
		model                  model.Model
		gpu                    string
		gpus, stage, seq, each int
		given                  knob.Given
		runs                   bool
	}{
		{"8B on one A100", presetModel(t, "llama3-8b"), "a100-sxm-80g", 1, 2, 128, 1, nil, false},
		{
			"7B on 8 A100 40GB", qwen2(t, 4096, 32, 32, 32, 11008, false), "a100-sxm-40g", 8, 2, 512, 1,
			knob.Given{knob.Precision: recipe.FP16},
			false,
		},
		{"3B on 4 RTX 3090", qwen2(t, 2048, 36, 16, 2, 11008, true), "rtx3090", 4, 2, 512, 1, nil, false},
		{"14B on 4 GPUs of 48 GB", presetModel(t, "qwen3-14b"), "l40s", 4, 3, 1024, 1, nil, false},
		{"the same, optimizer on the host", presetModel(t, "qwen3-14b"), "l40s", 4, 3, 1024, 1, host, true},
		{"70B on 16 GPUs", presetModel(t, "llama3-70b"), "a100-sxm-80g", 16, 3, 2048, 1, full, false},
		{"70B on 32 GPUs", presetModel(t, "llama3-70b"), "a100-sxm-80g", 32, 3, 2048, 1, full, true},
		{"1.5B at 16k, 16 sequences", small, "h20", 8, 3, 16 << 10, 16, full, false},
		{"1.5B at 16k, 2 sequences", small, "h20", 8, 3, 16 << 10, 2, full, true},
	} {
		r := deepSpeed(t, c.model, c.gpu, c.gpus, c.stage, c.seq, c.each, c.given)
		if r.Memory.Fits != c.runs {
			t.Errorf("%s: %v of %v, and it ran: %v", c.name, r.Memory.Peak, r.Memory.Usable, c.runs)
		}
	}
}

// TestDeepSpeedStates: bytes of a parameter on D ranks as deepspeed/runtime/zero has them; the first step's
// backward comes before there are moments.
func TestDeepSpeedStates(t *testing.T) {
	m := presetModel(t, "llama3.1-8b")
	params := model.Lay(&m, nil).Total()
	for _, c := range []struct {
		stage, ranks                  int
		given                         knob.Given
		weights, gradients, optimizer float64 // bytes a parameter
	}{
		{1, 8, nil, 2, 2, 12. / 8},
		{2, 8, nil, 2, 2. / 8, 12. / 8},
		{3, 8, nil, 2. / 8, 2. / 8, 12. / 8},
		{3, 8, knob.Given{knob.Offload: recipe.OffloadOptimizer}, 2. / 8, 0, 0},
		{2, 1, nil, 2, 2, 12},
	} {
		r := deepSpeed(t, m, "h100-sxm", c.ranks, c.stage, 4096, 1, knob.Given{
			knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull},
		}, c.given)
		rank := &r.Memory.Ranks[0]
		for name, pair := range map[string][2]float64{
			"weights":   {float64(rank.Weights), c.weights},
			"gradients": {float64(rank.Gradients), c.gradients},
			"optimizer": {float64(rank.Optimizer), c.optimizer},
		} {
			if math.Abs(pair[0]-pair[1]*params) > .001*params {
				t.Errorf("ZeRO-%d on %d: %s %.3f bytes a parameter, want %.3f", c.stage, c.ranks, name,
					pair[0]/params, pair[1])
			}
		}
		if rank.FirstStepPeak > rank.Allocated {
			t.Errorf("ZeRO-%d: the first step has %v, later ones %v", c.stage, rank.FirstStepPeak, rank.Allocated)
		}
	}
}
