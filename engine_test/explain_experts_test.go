package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets"
)

// Layers with experts where a stack overlaps their all-to-all with another micro-batch,
// with biases and in fp8: the explanations give the engine's figures, and what Megatron
// refuses to overlap is not overlapped.
func TestExpertsOverlappedAreExplained(t *testing.T) {
	lib := presets.Default()
	for _, id := range []string{"gpt-oss-120b", "qwen3-235b-a22b"} {
		m := presetModel(t, id)
		cluster, err := lib.Cluster("dgx-h100")
		if err != nil {
			t.Fatal(err)
		}
		at := func(overlap recipe.Setting, vpp int, re recipe.RecomputeMode) engine.Report {
			d := knob.DraftOf(m, cluster, knob.Given{
				"ep-overlap": overlap, knob.GPUs: 256, knob.TP: 1,
				knob.PP: 2, knob.VPP: vpp, knob.EP: 32, knob.GBS: 512, knob.Seq: 4096,
				knob.Precision: recipe.FP8, knob.Recompute: recipe.Recompute{Mode: re},
			})
			if vpp > 1 {
				d.With(knob.Given{knob.Schedule: schedule.Interleaved})
			}
			s, err := d.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			agrees(t, s)
			return engine.Evaluate(s)
		}
		chunks := m.Layers / 2
		for _, c := range []struct {
			vpp    int
			re     recipe.RecomputeMode
			faster bool
		}{
			{chunks, recipe.RecomputeNone, true},
			{1, recipe.RecomputeNone, false},
			{chunks, recipe.RecomputeFull, false},
		} {
			with, without := at(recipe.On, c.vpp, c.re).Time.Step, at(recipe.Off, c.vpp, c.re).Time.Step
			if with > without || (with < without) != c.faster {
				t.Errorf("%s with %d virtual stages, recompute %s: %v overlapped, %v not", id, c.vpp, c.re,
					with, without)
			}
		}
	}
}
