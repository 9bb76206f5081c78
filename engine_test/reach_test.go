package engine_test

import (
	"testing"

	"meshscope/engine"
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
	like := evaluated(t, engine.Draft{
		Model: &m, Cluster: &c, GPUs: ptr(64), Seq: ptr(4096), TP: ptr(2), ZeRO: ptr(1), GBS: ptr(256), Stack: ptr(recipe.Nanotron),
	})
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
	s := evaluated(t, engine.Draft{Model: &m, Cluster: &c, GPUs: ptr(8), Seq: ptr(4096), TP: ptr(2), ZeRO: ptr(1), GBS: ptr(64), Stack: ptr(recipe.Nanotron)})
	if r := engine.Evaluate(s); r.Memory.Fitted == nil || *r.Memory.Fitted {
		t.Errorf("memory: %+v, wanted a group that nothing was fitted to", r.Memory.Evidence)
	}
}

// TestMeasuredProductBoundsTheRate: no GPU multiplies faster than anybody measured.
func TestMeasuredProductBoundsTheRate(t *testing.T) {
	for _, id := range []string{"mi300x", "mi325x", "mi355x", "h100-sxm", "b200-sxm"} {
		g, err := presets.Default().GPU(id)
		if err != nil {
			t.Fatal(err)
		}
		if g.MatmulBF16 <= 0 {
			continue
		}
		s := presets.DefaultSetup()
		s.Cluster = presets.Default().NodeOf(g)
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatalf("%s: %v", id, r.Problems)
		}
		if rate := r.Throughput.HFU * float64(g.PeakBF16); rate > float64(g.MatmulBF16) {
			t.Errorf("%s runs at %.0f TFLOP/s, %.0f were measured at best", id, rate/1e12, float64(g.MatmulBF16)/1e12)
		}
	}
}

func evaluated(t *testing.T, d engine.Draft) engine.Setup {
	t.Helper()
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
