package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// TestBandsWidenWithDistance: a setup inside a group's runs has the narrowest band; in
// each way in which no published run is like it, the band is wider.
func TestBandsWidenWithDistance(t *testing.T) {
	lib := presets.Default()
	m, err := lib.Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	c, err := lib.Cluster("hf-p5-playbook-early")
	if err != nil {
		t.Fatal(err)
	}
	like := evaluated(t,
		knob.DraftOf(m, c, knob.Given{
			knob.GPUs: 64, knob.Seq: 4096, knob.TP: 2, knob.ZeRO: 1, knob.GBS: 256,
			knob.Calibration: recipe.Nanotron,
		}))
	base := engine.Evaluate(like)
	if base.Time.Runs < 10 || base.Memory.Runs < 10 {
		t.Fatalf("a setup of the sweep: step %s, memory %s", base.Time.Words(), base.Memory.Words())
	}
	for name, change := range map[string]func(*engine.Setup){
		"a GPU five times as fast":  func(s *engine.Setup) { s.Cluster.GPU.PeakBF16 *= 5 },
		"links of another speed":    func(s *engine.Setup) { s.Cluster.Inter.Bandwidth /= 50 },
		"a model ten times as deep": func(s *engine.Setup) { s.Model.Layers *= 200 },
		"an unknown generation":     func(s *engine.Setup) { s.Cluster.GPU.Architecture = "Next" },
		"no calibration":            func(s *engine.Setup) { s.Cluster.Calibration = nil },
		"textbook":                  func(s *engine.Setup) { s.Stack = recipe.Textbook },
		"a slower network":          func(s *engine.Setup) { s.Cluster.Inter.Latency *= 1000 },
		"no published runs":         func(s *engine.Setup) { s.Cluster.Published = nil },
		"four thousand nodes": func(s *engine.Setup) {
			s.GPUs, s.DP, s.GBS = 32768, 512*s.DP, 512*s.GBS
		},
	} {
		s := like
		change(&s)
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Errorf("%s: %v", name, r.Problems)
			continue
		}
		if r.Time.ErrorBand < 1.1*base.Time.ErrorBand {
			t.Errorf("%s: step %s, the sweep's own %s", name, r.Time.Words(), base.Time.Words())
		}
	}
}

// TestBandsWidenBeyondThePublishedSizes: the further a size is beyond all published runs,
// the wider the bands of step and memory, by half at least at the end; both say why.
func TestBandsWidenBeyondThePublishedSizes(t *testing.T) {
	like := presets.DefaultSetup()
	base := engine.Evaluate(like)
	for name, change := range map[string]func(s *engine.Setup, times int){
		"micro-batch size": func(s *engine.Setup, times int) {
			s.MBS, s.GBS = s.MBS*64*times, s.GBS*64*times
		},
		"sequence": func(s *engine.Setup, times int) { s.Seq *= 40 * times },
		"GPUs": func(s *engine.Setup, times int) {
			s.GPUs, s.DP, s.GBS = s.GPUs*256*times, s.DP*256*times, s.GBS*256*times
		},
	} {
		step, peak := base.Time.ErrorBand, base.Memory.ErrorBand
		for _, times := range []int{4, 16, 64} {
			s := like
			change(&s, times)
			r := engine.Evaluate(s)
			if !r.Legal {
				t.Fatalf("%s: %v", name, r.Problems)
			}
			// a larger one waits and communicates less
			if r.Memory.ErrorBand < peak || r.Time.ErrorBand < 0.95*step {
				t.Errorf("%s, %d times: step %.3f, memory %.3f; before %.3f and %.3f", name, times,
					r.Time.ErrorBand, r.Memory.ErrorBand, step, peak)
			}
			step, peak = r.Time.ErrorBand, r.Memory.ErrorBand
			t.Logf("%s, %d times: %s", name, times, r.Time.Words())
		}
		if step < 1.5*base.Time.ErrorBand || peak < 1.5*base.Memory.ErrorBand {
			t.Errorf("%s: step %.3f, memory %.3f; within the published sizes %.3f and %.3f", name, step, peak,
				base.Time.ErrorBand, base.Memory.ErrorBand)
		}
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
			m := hardware.NewMachine(&c, p, recipe.MegatronCore, &recipe.Software{})
			const n = 1 << 17
			rate := 2 * float64(n) * n * n / float64(m.MatMul(nil, n, n, n, 0))
			if rate > float64(best) {
				t.Errorf("%s %s: %.0f TFLOP/s, %.0f were measured at best", g.ID, p, rate/1e12,
					float64(best)/1e12)
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
