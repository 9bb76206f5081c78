package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// TestRepeatedPredictionModule: the module of Nemotron 3 Super has attention and a mixture, of one norm each,
// and runs twice with the same weights: twice its FLOPs, activations and logits, once its parameters.
func TestRepeatedPredictionModule(t *testing.T) {
	m := presetModel(t, "nemotron3-super-120b-a12b")
	const h, latent = 4096, 1024
	const attention = h*(32+2*2)*128 + 32*128*h
	const mixture = 512*2*latent*2688 + 2*h*latent + 2*h*5376 + 512*h + 512
	if got, want := m.MTP(), int64(attention+mixture+2*h+2*h*h+3*h); got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
	// printed: 795 TFLOP/s at 9,344 tokens/s and GPU, 817 at 9,600 (both rounded), with Megatron-LM's FLOPs
	for _, printed := range [][2]float64{{795, 9344}, {817, 9600}, {574, 6784}} {
		want := printed[0] * 1e12 / printed[1]
		if got := float64(m.TrainingFLOPs(8192, true, true)); math.Abs(got/want-1) > 0.005 {
			t.Errorf("%.4g FLOP a token, printed %.4g", got, want)
		}
	}
	report := func(passes int) engine.Report {
		s := hybrid(t, m.ID, knob.Given{knob.GPUs: 64, knob.EP: 64, knob.GBS: 512, knob.MTP: true})
		s.Model.MTPPasses = passes
		return new(engine.Evaluator).Evaluate(s)
	}
	once, twice := report(1), report(2)
	one, two := &once.Memory.Ranks[0], &twice.Memory.Ranks[0]
	if one.Parameters != two.Parameters || one.Gradients != two.Gradients {
		t.Errorf("parameters %v and %v", one.Parameters, two.Parameters)
	}
	none := hybrid(t, m.ID, knob.Given{knob.GPUs: 64, knob.EP: 64, knob.GBS: 512})
	without := new(engine.Evaluator).Evaluate(none)
	zero := &without.Memory.Ranks[0]
	a, b := two.Activations-one.Activations, one.Activations-zero.Activations
	if math.Abs(float64(a/b-1)) > 1e-9 {
		t.Errorf("the second pass keeps %v, the first %v", a, b)
	}
	if a, b := two.Logits-one.Logits, zero.Logits; a != b {
		t.Errorf("the second pass has logits of %v, the head %v", a, b)
	}
	if !(once.Time.Step > without.Time.Step && twice.Time.Step > once.Time.Step) {
		t.Errorf("steps %v, %v, %v", without.Time.Step, once.Time.Step, twice.Time.Step)
	}
}
