package memory

import (
	"context"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
	"meshscope/ui/screen"
)

// TestWeightsShardedBelowZeRO3: where a stack divides the weights although the
// stage is below 3, the screen says where the whole ones are.
func TestWeightsShardedBelowZeRO3(t *testing.T) {
	for stack, want := range map[recipe.Stack]bool{recipe.TorchTitan: true, recipe.MegatronCore: false} {
		m, err := presets.Default().Model("llama3.1-8b")
		if err != nil {
			t.Fatal(err)
		}
		c, err := presets.Default().Cluster("dgx-h100")
		if err != nil {
			t.Fatal(err)
		}
		s, err := knob.DraftOf(m, c, knob.Given{
			knob.GPUs: 8, knob.TP: 1, knob.ZeRO: 2,
			knob.Calibration: stack,
		}).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		r := engine.Evaluate(s)
		v := New()
		in := &screen.Context{Setup: &s, Report: &r}
		v.Refresh(in).Work(context.Background())()
		if got := strings.Contains(v.moves(in, 0, weightsTerm), "in buffers"); got != want {
			t.Errorf("%s: %q", stack, v.moves(in, 0, weightsTerm))
		}
		if v.moves(in, 0, gradientsTerm) != depends(gradientsTerm) {
			t.Error("the gradients are not in buffers")
		}
	}
}
