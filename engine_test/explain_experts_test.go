package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
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
		own := *cluster.Calibration
		own.Software = append([]hardware.Software(nil), own.Software...)
		for i := range own.Software {
			own.Software[i].EPOverlap = 0.5
		}
		plain := cluster
		cluster.Calibration = &own
		at := func(c hardware.Cluster, vpp int, re recipe.RecomputeMode) engine.Report {
			d := engine.Draft{Model: &m, Cluster: &c, GPUs: ptr(256), TP: ptr(1), PP: ptr(2), VPP: ptr(vpp), EP: ptr(32), GBS: ptr(512), Seq: ptr(4096), Precision: ptr(recipe.FP8), Recompute: &recipe.Recompute{Mode: re}}
			if vpp > 1 {
				d.Schedule = ptr(schedule.Interleaved)
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
		}{{chunks, recipe.RecomputeNone, true}, {1, recipe.RecomputeNone, false}, {chunks, recipe.RecomputeFull, false}} {
			with, without := at(cluster, c.vpp, c.re).Time.Step, at(plain, c.vpp, c.re).Time.Step
			if with > without || (with < without) != c.faster {
				t.Errorf("%s with %d virtual stages, recompute %s: %v overlapped, %v not", id, c.vpp, c.re, with, without)
			}
		}
	}
}
