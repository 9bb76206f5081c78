package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// TestFP8Base: a base in fp8 takes as many bytes as one in int8 but for its scales, copies no more for its
// products, and is no way out that advice names: one program alone trains on it.
func TestFP8Base(t *testing.T) {
	on := func(base recipe.BaseDtype) (engine.Setup, engine.Report) {
		return fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: 1, knob.LoRA: 16, "base-dtype": base,
		})
	}
	_, wide := on(recipe.BaseInt8)
	s, r := on(recipe.BaseFP8)
	holds(t, s)
	a, b := &r.Memory.Ranks[0], &wide.Memory.Ranks[0]
	const blocks = 8.03e9 - 2*128256*4096
	if a.Weights >= b.Weights || float64(b.Weights-a.Weights) > blocks*4/1024 {
		t.Errorf("weights: %v in fp8, %v in int8", a.Weights, b.Weights)
	}
	beside, there := a.Allocated-a.Weights, b.Allocated-b.Weights
	if beside < there || float64(beside) > 1.01*float64(there) {
		t.Errorf("beside weights: %v in fp8, %v in int8", beside, there)
	}
	if r.Time.Step > wide.Time.Step {
		t.Errorf("step: %v in fp8, %v in int8", r.Time.Step, wide.Time.Step)
	}
	s, _ = fineTuned(t, "llama3.1-8b", "rtx4090", knob.Given{knob.GPUs: 1, knob.LoRA: 16})
	out, ok := advise.For(s, advise.Options{Moves: 100})
	quantised := 0
	for i := range out.Moves {
		switch m := &out.Moves[i]; m.Setup.BaseDtype {
		case recipe.BaseFP8:
			t.Errorf("advice names fp8: %v", m.Changes)
		case recipe.BaseInt8, recipe.BaseNF4:
			quantised++
		default:
		}
	}
	if !ok || quantised == 0 {
		t.Errorf("%d moves to another base of %d", quantised, len(out.Moves))
	}
}
