package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets"
)

// TestBandsReachOnlyWhatIsLike: a setup inside a group's runs has its band; one
// that differs in any of the ways that no run had, has none.
func TestBandsReachOnlyWhatIsLike(t *testing.T) {
	lib := presets.Default()
	m, err := lib.Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	c, err := lib.Cluster("hf-p5-playbook-early")
	if err != nil {
		t.Fatal(err)
	}
	like := evaluated(t, knob.DraftOf(m, c, knob.Given{knob.GPUs: 64, knob.Seq: 4096, knob.TP: 2, knob.ZeRO: 1, knob.GBS: 256, knob.Calibration: recipe.Nanotron}))
	if r := engine.Evaluate(like); !r.Time.Validated() || !r.Memory.Validated() {
		t.Fatalf("a setup of the sweep: step by %q, memory by %q", r.Time.ValidatedBy, r.Memory.ValidatedBy)
	}
	for name, change := range map[string]func(*engine.Setup){
		"a GPU five times as fast":  func(s *engine.Setup) { s.Cluster.GPU.PeakBF16 *= 5 },
		"links of another speed":    func(s *engine.Setup) { s.Cluster.Inter.Bandwidth /= 50 },
		"a GPU's own link":          func(s *engine.Setup) { s.Cluster.Intra.Bandwidth *= 2 },
		"a model of four layers":    func(s *engine.Setup) { s.Model.Layers = 4; s.Model.FFN /= 8; s.Model.Vocab = 1024 },
		"a model ten times as deep": func(s *engine.Setup) { s.Model.Layers *= 200 },
		"sequences of 131,072":      func(s *engine.Setup) { s.Seq, s.Model.MaxSeq = 131072, 131072 },
		"context parallelism":       func(s *engine.Setup) { s.CP, s.DP = 2, s.DP/2; s.MicroBatches *= 2 },
		"recomputation":             func(s *engine.Setup) { s.Recompute.Mode = recipe.RecomputeFull },
		"fp16":                      func(s *engine.Setup) { s.Precision = recipe.FP16 },
		"another schedule":          func(s *engine.Setup) { s.Schedule = schedule.AFAB },
		"ZeRO-3":                    func(s *engine.Setup) { s.ZeRO = 3 },
		"replicas of shards":        func(s *engine.Setup) { s.HSDP = 4 },
		"stored scores":             func(s *engine.Setup) { s.Attention = recipe.Standard },
		"TP without SP":             func(s *engine.Setup) { s.SP = false },
		"another optimizer":         func(s *engine.Setup) { s.Optimizer = recipe.SGDMomentum },
		"16-bit gradients":          func(s *engine.Setup) { s.GradDtype = recipe.GradBF16 },
		"a slower start of a link":  func(s *engine.Setup) { s.Cluster.Intra.Latency *= 1000 },
		"a slower network":          func(s *engine.Setup) { s.Cluster.Inter.Latency *= 1000 },
		"a thousand nodes": func(s *engine.Setup) {
			s.GPUs, s.DP, s.GBS = 8192, 128*s.DP, 128*s.GBS
		},
	} {
		s := like
		change(&s)
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Errorf("%s: %v", name, r.Problems)
			continue
		}
		if r.Time.Validated() {
			t.Errorf("%s: step within %v by %s", name, *r.Time.ErrorBand, r.Time.ValidatedBy)
		}
	}
}

// TestUnfittedGroupGoesFirst: where constants have seen one group of runs and not
// another, the error of the second is shown.
func TestUnfittedGroupGoesFirst(t *testing.T) {
	lib := presets.Default()
	m, err := lib.Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	c, err := lib.Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	s := evaluated(t, knob.DraftOf(m, c, knob.Given{knob.GPUs: 8, knob.Seq: 4096, knob.TP: 2, knob.ZeRO: 1, knob.GBS: 64, knob.Calibration: recipe.Nanotron}))
	if r := engine.Evaluate(s); r.Memory.Fitted == nil || *r.Memory.Fitted {
		t.Errorf("memory: %+v, wanted a group that nothing was fitted to", r.Memory.Evidence)
	}
}

// TestMeasuredProductBoundsTheRate: no GPU multiplies faster than anybody measured.
func TestMeasuredProductBoundsTheRate(t *testing.T) {
	bound := 0
	for _, g := range presets.Default().GPUs() {
		c := presets.Default().NodeOf(g.GPU)
		for _, p := range []recipe.Precision{recipe.BF16, recipe.FP8} {
			best := g.Measured(p)
			if best <= 0 || g.Peak(p) <= 0 {
				continue
			}
			m := hardware.NewMachine(&c, p, recipe.MegatronCore)
			const n = 1 << 17
			rate := 2 * float64(n) * n * n / float64(m.MatMul(nil, n, n, n, 0))
			if rate > float64(best) {
				t.Errorf("%s %s: %.0f TFLOP/s, %.0f were measured at best", g.ID, p, rate/1e12, float64(best)/1e12)
			}
			if rate > 0.98*float64(best) {
				bound++
			}
		}
	}
	if bound < 2 {
		t.Errorf("the bound decides on %d GPUs, some of AMD's at least are wanted", bound)
	}
}

func evaluated(t *testing.T, d knob.Draft) engine.Setup {
	t.Helper()
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
