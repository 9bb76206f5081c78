package engine_test

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// TestAssumptionsFollowTheSoftware: what a report assumes of the host and of overlaps is that
// of what the stack is told to run.
func TestAssumptionsFollowTheSoftware(t *testing.T) {
	s := presets.DefaultSetup()
	s.Model, s.Precision = presetModel(t, "qwen3-30b-a3b"), recipe.FP8
	s.TP, s.PP, s.VPP, s.CP, s.EP, s.DP, s.GPUs, s.MicroBatches = 1, 1, 1, 1, 8, 8, 8, 1
	s.SP, s.GBS = false, 8*s.MBS
	says := func(s engine.Setup, words string) bool {
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatalf("illegal: %+v", r.Problems)
		}
		return strings.Contains(strings.Join(r.Assumptions, "\n"), words)
	}
	const host = "takes the host at least"
	if !says(s, host) || !says(s, "is exposed however much compute there is") {
		t.Errorf("nothing on the host or on exposed traffic: %v", engine.Evaluate(s).Assumptions)
	}
	s.CUDAGraphs, s.DPOverlap = recipe.GraphsIteration, recipe.Off
	if says(s, host) || !says(s, "gradient traffic overlaps with no compute") {
		t.Errorf("with one graph and no overlap: %v", engine.Evaluate(s).Assumptions)
	}
}
