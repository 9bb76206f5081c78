package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets"
)

// The fused grouped MLP gains what NVIDIA published of it, 93 % of GPT-OSS's step and 8 % of
// DeepSeek-V3's, to which nothing is fitted; it is explained, has no effect on Hopper, and a
// release from before it refuses it.
func TestFusedGroupedMLP(t *testing.T) {
	at := func(model, gpuID string, grouped recipe.GroupedMLP, more knob.Given) engine.Setup {
		g, err := presets.Default().GPU(gpuID)
		if err != nil {
			t.Fatal(err)
		}
		d := knob.DraftOf(presetModel(t, model), presets.Default().NodeOf(g),
			knob.Given{knob.TP: 1, knob.Seq: 4096, knob.Precision: recipe.FP8})
		d.With(more)
		d.With(knob.Given{"grouped-mlp": grouped})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	oss := knob.Given{knob.GPUs: 64, knob.PP: 1, knob.EP: 64, knob.MBS: 4, knob.GBS: 1280}
	v3 := knob.Given{
		knob.GPUs: 256, knob.PP: 4, knob.VPP: 4, knob.EP: 64, knob.MBS: 1, knob.GBS: 4096,
		knob.Schedule: schedule.Interleaved,
	}
	gain := func(model, gpu string, more knob.Given) float64 {
		fused, loop := at(model, gpu, recipe.GroupedFused, more), at(model, gpu, recipe.GroupedLoop, more)
		agrees(t, fused)
		return float64(engine.Evaluate(loop).Time.Step/engine.Evaluate(fused).Time.Step) - 1
	}
	near(t, "GPT-OSS", gain("gpt-oss-120b", "gb200", oss), 0.93, 0.2)
	near(t, "DeepSeek-V3", gain("deepseek-v3", "gb200", v3), 0.08, 0.2)
	near(t, "on Hopper",
		gain("gpt-oss-120b", "h100-sxm", knob.Given{
			knob.GPUs: 64, knob.PP: 4, knob.EP: 8, knob.MBS: 1,
			knob.GBS: 1280,
		}), 0, 0)
	four := at("gpt-oss-120b", "gb200", recipe.GroupedFused, oss)
	four.Precision = recipe.NVFP4
	agrees(t, four)
	if four.Stack = "megatron-core@2025.11"; engine.Legal(four) {
		t.Error("a release of 2025 has the fused grouped MLP")
	}
}
