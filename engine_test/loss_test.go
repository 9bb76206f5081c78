package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// The loss takes time by the passes over its logits, 8, 40 and 52 bytes each in 16 bits, and
// memory by its fp32 copy; every kind is explained.
func TestLossTakesTime(t *testing.T) {
	s := presets.DefaultSetup()
	step := map[recipe.Loss]engine.Report{}
	for _, loss := range []recipe.Loss{recipe.FusedLoss, recipe.NativeLoss, recipe.UnfusedLoss} {
		s.Loss = loss
		agrees(t, s)
		step[loss] = engine.Evaluate(s)
	}
	fused, native, unfused := step[recipe.FusedLoss], step[recipe.NativeLoss], step[recipe.UnfusedLoss]
	if fused.Time.Step >= native.Time.Step || native.Time.Step >= unfused.Time.Step {
		t.Errorf("steps %v fused, %v native, %v unfused", fused.Time.Step, native.Time.Step,
			unfused.Time.Step)
	}
	last := len(fused.Memory.Ranks) - 1
	near(t, "logits", float64(unfused.Memory.Ranks[last].Logits), 3*float64(fused.Memory.Ranks[last].Logits),
		1e-12)
	near(t, "logits", float64(native.Memory.Ranks[last].Logits), float64(unfused.Memory.Ranks[last].Logits),
		0)
	for loss, want := range map[recipe.Loss]float64{
		recipe.FusedLoss: 8, recipe.NativeLoss: 40,
		recipe.UnfusedLoss: 52,
	} {
		forward, backward := loss.LogitBytes(2)
		near(t, string(loss), forward+backward, want, 0)
	}
}
