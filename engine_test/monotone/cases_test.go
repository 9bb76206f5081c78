package monotone_test

import (
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// setupOf resolves what is given of a model on a machine.
func setupOf(t *testing.T, model, cluster string, given knob.Given) engine.Setup {
	t.Helper()
	m, err := presets.Default().Model(model)
	if err != nil {
		t.Fatal(err)
	}
	c, err := presets.Default().Cluster(cluster)
	if err != nil {
		t.Fatal(err)
	}
	s, err := knob.DraftOf(m, c, given).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func evaluate(t *testing.T, s engine.Setup) engine.Report {
	t.Helper()
	r := engine.Evaluate(s)
	if !r.Legal {
		t.Fatalf("illegal: %+v", r.Problems)
	}
	return r
}

// Setups that once broke a rule.
func TestSetupsThatOnceBrokeARule(t *testing.T) {
	step := func(s engine.Setup) float64 { return float64(evaluate(t, s).Time.Step) }
	t.Run("compute hides TP or gradients", func(t *testing.T) {
		s := setupOf(t, "llama3.1-70b", "dgx-h100",
			knob.Given{knob.GPUs: 128, knob.TP: 16, knob.MicroBatches: 1})
		before := step(s)
		better()[0].to(&s)
		if after := step(s); after > before*(1+margin) {
			t.Errorf("twice the compute: %g s, before %g", after, before)
		}
	})
	t.Run("compute hides experts or gradients", func(t *testing.T) {
		s := setupOf(t, "kimi-k2", "rtx4090-8x-100gbe", knob.Given{
			knob.CP: 8, knob.EP: 64, knob.DP: 8, knob.MBS: 2, knob.MicroBatches: 32, knob.ZeRO: 2,
			knob.Calibration: "megatron-core@2026.02",
			knob.Offload:     "optimizer",
		})
		s.Dispatcher, s.EPOverlap = recipe.HybridEP, recipe.On
		before := step(s)
		better()[0].to(&s)
		if after := step(s); after > before*(1+margin) {
			t.Errorf("twice the compute: %g s, before %g", after, before)
		}
	})
	t.Run("a pair hides no more than expert traffic adds", func(t *testing.T) {
		s := setupOf(t, "glm-4.5-air", "dgx-h100", knob.Given{
			knob.TP: 8, knob.CP: 4, knob.EP: 64, knob.Schedule: "dualpipe-v", knob.Precision: "fp8:tensor",
		})
		before := step(s)
		s.Imbalance = 200
		if after := step(s); after < before*(1-margin) {
			t.Errorf("imbalance 200: %g s, even %g", after, before)
		}
	})
	t.Run("the host updates an offloaded optimizer", func(t *testing.T) {
		s := setupOf(t, "gpt2-124m", "dgx-h100", knob.Given{})
		before := step(s)
		s.Offload = "optimizer"
		if after := step(s); after < before {
			t.Errorf("offloaded: %g s, on the GPU %g", after, before)
		}
	})
	t.Run("windows count in MFU and HFU alike", func(t *testing.T) {
		r := evaluate(t, setupOf(t, "mistral-7b", "dgx-h100", knob.Given{knob.Seq: 1 << 20}))
		said := slices.ContainsFunc(r.Problems,
			func(p engine.Problem) bool { return p.Code == "hfu-over-peak" })
		if u := r.Throughput; u.HFU < u.MFU || u.HFU > 1 != said {
			t.Errorf("MFU %g, HFU %g, over 100 %% is said: %t", u.MFU, u.HFU, said)
		}
	})
	t.Run("the textbook computes scores again", func(t *testing.T) {
		s := setupOf(t, "llama3.1-8b", "dgx-h100",
			knob.Given{knob.Calibration: "textbook", knob.Recompute: "none"})
		before := step(s)
		s.Recompute.Mode = "selective"
		if after := step(s); after <= before {
			t.Errorf("selective: %g s, none %g", after, before)
		}
	})
	t.Run("one layer prefetches none", func(t *testing.T) {
		s := setupOf(t, "llama3.1-8b", "dgx-h100",
			knob.Given{knob.PP: 32, knob.DP: 8, knob.ZeRO: 3, knob.MicroBatches: 64})
		ranks := evaluate(t, s).Memory.Ranks
		middle := ranks[16]
		layer := middle.Parameters
		// one gathered layer, its whole gradient, and the fp32 buffer that is scattered
		if want := (2 + 2 + 4) * layer; float64(middle.Buffers) < want {
			t.Errorf("buffers %v, at least %g", middle.Buffers, want)
		}
		s.PP, s.GPUs = 16, s.GPUs/2 // two layers on a rank
		two := evaluate(t, s).Memory.Ranks[8]
		if more := float64(two.Buffers - middle.Buffers); !same(more, 2*layer) {
			t.Errorf("a prefetched layer takes %g bytes, want %g", more, 2*layer)
		}
	})
	t.Run("waiting for messages has a row", func(t *testing.T) {
		r := evaluate(t, setupOf(t, "megatron-18.4b", "selene", knob.Given{
			knob.Calibration: "megatron-2021", knob.TP: 8, knob.PP: 4, knob.VPP: 2, knob.GPUs: 256,
			knob.MicroBatches: 16,
		}))
		wait, ok := r.Sent("pp-wait")
		if !ok || wait.Exposed <= 0 {
			t.Errorf("no row: %+v", r.Communication)
		}
		rows := 0.0
		for _, c := range r.Communication {
			if c.Dimension != "pp" {
				rows += float64(c.Exposed)
			}
		}
		if !same(rows, float64(r.Time.Exposed+r.Time.Offload)) {
			t.Errorf("rows %g, exposed and offload %g", rows, float64(r.Time.Exposed+r.Time.Offload))
		}
	})
}
