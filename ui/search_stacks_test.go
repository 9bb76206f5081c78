package ui

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// TestSearchOfEveryStack: Search lists layouts on stacks of data parallelism alone too, whose rules hold
// before a schedule is drawn.
func TestSearchOfEveryStack(t *testing.T) {
	for _, stack := range []recipe.Stack{
		recipe.MegatronCore, recipe.TorchTitan, recipe.LLMFoundry, recipe.PyTorch, recipe.Transformers,
		recipe.DeepSpeed,
	} {
		s := setupOf(t, "llama3.2-1b", "aws-p4d", knob.Given{
			knob.GPUs: 8, knob.GBS: 8, knob.Seq: 2048, knob.Calibration: stack,
			knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull},
		})
		m := sample(t, 100, 30, func(o *Options) { o.Evaluate, o.Setup = engine.Evaluate, s })
		_, cmd := m.Update(press("s"))
		finishAll(m, cmd)
		if text := screenText(m); strings.Contains(text, "No layout") || !strings.Contains(text, " 1 ") {
			t.Errorf("%s:\n%s", stack, text)
		}
	}
}
