package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/recipe"
)

// TestAbsentLayerCostsNothing: the width of a dense MLP changes nothing of a model whose layers all
// have experts, on any stack and whatever runs again.
func TestAbsentLayerCostsNothing(t *testing.T) {
	for _, stack := range recipe.Stacks() {
		for _, mode := range []recipe.RecomputeMode{
			recipe.RecomputeNone, recipe.RecomputeSelective,
			recipe.RecomputeFull,
		} {
			narrow := benchSetup(t, "qwen3-30b-a3b", 64, 4, 2, 1, 8)
			narrow.Stack, narrow.Recompute = stack, recipe.Recompute{Mode: mode}
			wide := narrow
			wide.Model.FFN *= 16
			a, b := engine.Evaluate(narrow), engine.Evaluate(wide)
			if a.Legal != b.Legal {
				t.Fatalf("%s, %s: legal %t, with a wider MLP %t", stack, mode, a.Legal, b.Legal)
			}
			if a.Legal && (a.Memory.Peak != b.Memory.Peak || a.Time.Step != b.Time.Step) {
				t.Errorf("%s, %s: %v and %v s, with a wider MLP %v and %v s", stack, mode, a.Memory.Peak,
					a.Time.Step, b.Memory.Peak, b.Time.Step)
			}
		}
	}
}
