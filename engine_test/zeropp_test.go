package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
)

// plusPlus evaluates Llama 3.1 8B under ZeRO-3 of DeepSpeed on 32 GPUs of four nodes.
func plusPlus(t *testing.T, given knob.Given) (engine.Setup, engine.Report) {
	t.Helper()
	d := knob.Given{
		knob.GPUs: 32, knob.Calibration: recipe.DeepSpeed, knob.ZeRO: 3, knob.MicroBatches: 4,
		knob.GBS: 128, knob.Seq: 512,
	}
	for id, v := range given {
		d[id] = v
	}
	return fineTuned(t, "llama3.1-8b", "h100-sxm", d)
}

// sent returns the data-parallel bytes of one GPU in a step.
func sent(r *engine.Report) (bytes float64) {
	for i := range r.Communication {
		bytes += float64(r.Communication[i].Bytes)
	}
	return bytes
}

// TestSecondCopies: hpZ keeps 2 bytes of each parameter over its group (ZeRO++, arXiv 2306.10209, section
// 3.2); of a step's gathers the first alone is over all GPUs, and none of frozen weights.
func TestSecondCopies(t *testing.T) {
	const n, m = 8.03e9, 4
	_, plain := plusPlus(t, nil)
	for _, group := range []int{2, 8} {
		s, r := plusPlus(t, knob.Given{knob.HPZ: group})
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		now, then := &r.Memory.Ranks[0], &plain.Memory.Ranks[0]
		if more := float64(now.Weights - then.Weights); math.Abs(more/(2*n/float64(group))-1) > .01 {
			t.Errorf("hpz %d: %.4g more bytes of weights", group, more)
		}
		if now.Optimizer != then.Optimizer || now.Gradients != then.Gradients {
			t.Errorf("hpz %d: optimizer %v and gradients %v, not %v and %v", group, now.Optimizer,
				now.Gradients, then.Optimizer, then.Gradients)
		}
		far, near := 31./32, 1-1/float64(group)
		want := 2 * n * (far + (2*m-1)*near + m*far)
		if got := sent(&r); math.Abs(got/want-1) > .001 {
			t.Errorf("hpz %d: %.5g bytes sent, want %.5g", group, got, want)
		}
		holds(t, s)
		slow, _ := engine.Pessimistic(s)
		holds(t, slow)
		if a, b := engine.Evaluate(slow), pessimisticStep(t, nil); a.Time.Step >= b {
			t.Errorf("hpz %d: %v, without %v", group, a.Time.Step, b)
		}
	}
	s, _ := plusPlus(t, knob.Given{knob.HPZ: 8, knob.LoRA: 16})
	holds(t, s)
	r := engine.Evaluate(s)
	adapters := 41.9e6
	if want := 2 * (n*2*m*7/8 + adapters*(m*31/32.+31/32.+(2*m-1)*7/8.)); math.Abs(sent(&r)/want-1) > .01 {
		t.Errorf("frozen: %.5g bytes sent, want %.5g", sent(&r), want)
	}
}

// pessimisticStep returns the step of plusPlus where nothing overlaps.
func pessimisticStep(t *testing.T, given knob.Given) (step units.Seconds) {
	t.Helper()
	s, _ := plusPlus(t, given)
	slow, _ := engine.Pessimistic(s)
	r := engine.Evaluate(slow)
	return r.Time.Step
}

// TestZeROppRefused: what ZeRO++ does not go with is said by name, and what it does not save.
func TestZeROppRefused(t *testing.T) {
	for says, given := range map[string]knob.Given{
		"a second copy of the weights with zero 3": {knob.ZeRO: 2, knob.HPZ: 8},
		"divides dp 32, not 5":                     {knob.HPZ: 5},
		"not offload weights":                      {knob.Offload: recipe.OffloadWeights, knob.HPZ: 8},
		"no weights gathered in int8: ZeRO++ is DeepSpeed's": {
			knob.Calibration: recipe.Transformers, knob.GradDtype: recipe.GradFP32, knob.QWZ: true,
		},
		"no int4 gradients here; deepspeed has": {
			knob.Calibration: recipe.MegatronCore, knob.Loss: recipe.FusedLoss, knob.QGZ: true,
		},
		"not of base-dtype nf4": {knob.QWZ: true, knob.LoRA: 16, "base-dtype": recipe.BaseNF4},
		"whole nodes of 8":      {knob.GPUs: 12, knob.GBS: 48, knob.QGZ: true},
	} {
		s, _ := plusPlus(t, given)
		refusedBy(t, &s, says)
	}
	s, _ := plusPlus(t, knob.Given{knob.HPZ: 32})
	if !layout.HasCode(engine.Check(s), "hpz-whole") {
		t.Errorf("a copy over all GPUs: %v", engine.Check(s))
	}
	for hpz, crosses := range map[int]bool{6: true, 8: false, 12: true} {
		s, _ := plusPlus(t, knob.Given{knob.GPUs: 24, knob.GBS: 96, knob.HPZ: hpz})
		if layout.HasCode(engine.Check(s), "hpz-nodes") != crosses {
			t.Errorf("hpz %d on three nodes of 8: %v", hpz, engine.Check(s))
		}
	}
	s, r := plusPlus(t, knob.Given{knob.HPZ: 1})
	if list := engine.NoEffects(&s, &r); len(list) != 1 || list[0].Field != knob.HPZ {
		t.Errorf("a copy over one GPU: %+v", list)
	}
}

// TestQuantisedTraffic: qwZ halves what gathers send but for a scale of 4 bytes in 8,000, qgZ sends a quarter
// of the gradients, in nodes and a node's share between them (arXiv 2306.10209, sections 3.1 and 3.3).
func TestQuantisedTraffic(t *testing.T) {
	const n, m = 8.03e9, 4
	far := 31. / 32
	fourBits := .5 * n * (7./8 + 3./4/8)
	for _, c := range []struct {
		given knob.Given
		want  float64
	}{
		{knob.Given{}, 2 * n * 3 * m * far},
		{knob.Given{knob.QWZ: true}, n * m * far * (2*(1+4./8000) + 2)},
		{knob.Given{knob.QGZ: true}, m * (2*n*2*far + fourBits)},
		{
			knob.Given{knob.QWZ: true, knob.QGZ: true, knob.HPZ: 8},
			n*(far+(2*m-1)*7/8.)*(1+4./8000) + m*fourBits,
		},
	} {
		s, r := plusPlus(t, c.given)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		holds(t, s)
		if got := sent(&r); math.Abs(got/c.want-1) > .002 {
			t.Errorf("%v: %.5g bytes sent, want %.5g", c.given, got, c.want)
		}
	}
	plain := pessimisticStep(t, nil)
	all := pessimisticStep(t, knob.Given{knob.QWZ: true, knob.QGZ: true, knob.HPZ: 8})
	if all > plain*2/3 {
		t.Errorf("all of ZeRO++ takes %v, nothing of it %v", all, plain)
	}
	// a search sets a model once and then degrees: its bound is that of the degrees
	one, _ := plusPlus(t, knob.Given{knob.GPUs: 8, knob.GBS: 32, knob.QGZ: true})
	four, evaluated := plusPlus(t, knob.Given{knob.QGZ: true})
	var first, own bound.Bounder
	first.SetModel(&one)
	own.SetModel(&four)
	least, _ := first.Bound(&four)
	if want, _ := own.Bound(&four); least != want || least.Step > evaluated.Time.Step {
		t.Errorf("bound %v of int4 gradients, want %v below %v", least, want, evaluated.Time.Step)
	}
	_, r := plusPlus(t, knob.Given{knob.QWZ: true})
	if _, p := plusPlus(t, nil); r.Memory.Ranks[0].Allocated < p.Memory.Ranks[0].Allocated {
		t.Errorf("int8 gathers take %v, others %v", r.Memory.Ranks[0].Allocated, p.Memory.Ranks[0].Allocated)
	}
	s, r := plusPlus(t, knob.Given{knob.GPUs: 8, knob.GBS: 32, knob.QGZ: true})
	if list := engine.NoEffects(&s, &r); len(list) != 1 || list[0].Field != knob.QGZ {
		t.Errorf("int4 gradients in one node: %+v", list)
	}
	const ends = 2 * 128256 * 4096. // embedding and head, the only matrices that 2 x 24 divides
	s, r = plusPlus(t, knob.Given{knob.GPUs: 24, knob.GBS: 96, knob.QGZ: true})
	_, p := plusPlus(t, knob.Given{knob.GPUs: 24, knob.GBS: 96})
	if got, want := sent(&r), sent(&p)-m*ends*(2*23./24-.5*(7./8+2./3/8)); math.Abs(got/want-1) > 1e-6 {
		t.Errorf("int4 gradients of some matrices: %.5g bytes sent, want %.5g", got, want)
	}
}

// TestAdviceTurnsSecondCopies: on several nodes of DeepSpeed advice offers the second copy, elsewhere none.
func TestAdviceTurnsSecondCopies(t *testing.T) {
	s, _ := plusPlus(t, nil)
	plain := s
	plain.Stack, plain.ZeRO = recipe.MegatronCore, 1
	for _, of := range []struct {
		setup engine.Setup
		want  bool
	}{{s, true}, {plain, false}} {
		turned := false
		got, _ := advise.For(of.setup, advise.Options{Alone: true})
		for i := range got.Knobs {
			turned = turned || got.Knobs[i].ID == knob.HPZ && len(got.Knobs[i].Values) > 0
		}
		if turned != of.want {
			t.Errorf("%s: hpz turned %v", of.setup.Stack, turned)
		}
	}
}
