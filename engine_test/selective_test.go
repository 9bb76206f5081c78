package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// TestEverySecondProduct: what selective recomputation on torchtitan keeps of one layer, in
// bytes per token by hand: the input, the output of attention with the sums of its softmax,
// and the outputs of every second product, of which the router and the experts are none.
func TestEverySecondProduct(t *testing.T) {
	for _, c := range []struct {
		model  string
		layers float64 // those counted
		want   func(h, a, d, kv, f float64) float64
	}{
		// q, v, gate and the MLP's output.
		{"llama3.1-8b", 32, func(h, a, d, kv, f float64) float64 {
			return 2*h + 2*a*d + 2*a + 2*a*d + 2*kv*d + 2*f + 2*h
		}},
		// q and v; k, the output, router and experts run again.
		{"qwen3-30b-a3b", 48, func(h, a, d, kv, _ float64) float64 {
			return 2*h + 2*a*d + 2*a + 2*a*d + 2*kv*d
		}},
		// Two matrices: q, v and the first of them.
		{"gpt3-175b", 96, func(h, a, d, kv, f float64) float64 {
			return 2*h + 2*a*d + 2*a + 2*a*d + 2*kv*d + 2*f
		}},
	} {
		m := presetModel(t, c.model)
		d := textbookDraft(t, c.model, 2048)
		d = knob.DraftOf(m, d.Cluster(), knob.Given{
			knob.GPUs: 8, knob.TP: 1, knob.PP: 1, knob.Seq: 2048, knob.MBS: 1,
			knob.Calibration: recipe.TorchTitan, knob.Recompute: recipe.RecomputeSelective,
		})
		_, r := peakOf(t, d)
		got := float64(r.Memory.Stages[0].Activations) / c.layers / 2048
		near(t, c.model, got, c.want(float64(m.Hidden), float64(m.Heads), float64(m.HeadDim),
			float64(m.KVHeads), float64(m.FFN)), 1e-12)
		if r.Time.Recompute <= 0 || r.Throughput.HFU <= r.Throughput.MFU {
			t.Errorf("%s: recomputation takes %v; HFU %v, MFU %v", c.model, r.Time.Recompute,
				r.Throughput.HFU, r.Throughput.MFU)
		}
	}
}

// TestDeepSeekOnEightGPUs: 16B of DeepSeek on 8 H100, FSDP 8 and EP 8, ran with 73.3 GiB of
// memory and selective recomputation (pytorch/torchtitan, issue 1789).
func TestDeepSeekOnEightGPUs(t *testing.T) {
	m := presetModel(t, "deepseek-v2-lite")
	d := textbookDraft(t, "deepseek-v2-lite", 4096)
	d = knob.DraftOf(m, d.Cluster(), knob.Given{
		knob.GPUs: 8, knob.DP: 8, knob.EP: 8, knob.TP: 1, knob.PP: 1, knob.ZeRO: 3, knob.MBS: 4, knob.GBS: 32,
		knob.Seq:         4096,
		knob.Calibration: recipe.TorchTitan, knob.Recompute: recipe.RecomputeSelective,
	})
	_, r := peakOf(t, d)
	near(t, "memory of DeepSeek-V2-Lite", float64(r.Memory.Peak/units.GiB), 73.3, 0.05)
}

// TestNamedNormsAreTwoKernels: named modules run again one by one, also where selective
// recomputation would fuse what lies between two products. By hand: of a layer with MLA and experts
// both norms, each of which reads and writes the hidden states once; of a dense one the first.
func TestNamedNormsAreTwoKernels(t *testing.T) {
	m, from := presetModel(t, "deepseek-v3"), deepseek(t)
	for _, stack := range []recipe.Stack{recipe.TorchTitan, recipe.MegatronCore} {
		d := knob.DraftOf(m, from.Cluster(), knob.Given{
			knob.GPUs: 8, knob.DP: 8, knob.TP: 1, knob.PP: 1, knob.EP: 8, knob.Seq: 4096, knob.MBS: 1,
			knob.Calibration: stack,
			knob.Recompute:   recipe.Recompute{Mode: recipe.RecomputeModules, Modules: recipe.ModuleNorm},
		})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		var mem memory.Input
		var in step.Input
		engine.Inputs(&s, model.Lay(&s.Model, nil), nil, &mem, &in)
		in.Recompute, in.Groups = s.Recompute, s.Groups(&s.Cluster)
		in.Stages = []layout.Stage{{
			Of:        layout.Counts{int16(m.Layers - m.MoELayers()), int16(m.MoELayers())},
			Embedding: true, Head: true,
		}}
		soft := &in.Machine.Software
		norm := in.Machine.Stream(units.Bytes(soft.Passes * 2 * 2 * 4096 * float64(m.Hidden)))
		norms := units.Seconds(2*m.MoELayers() + m.Layers - m.MoELayers())
		got := new(step.Parts).Stages(&in, nil)[0].Recompute
		near(t, string(stack), float64(got), float64(norms*norm)*soft.Factor, 1e-9)
	}
}
