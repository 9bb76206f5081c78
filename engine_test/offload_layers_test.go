package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// Activations in host memory leave the GPU, all but those of two layers on their way, and a
// pass takes as long as the longer of its compute and its copies; a slower link only costs
// time, and every figure is explained.
func TestOffloadedLayers(t *testing.T) {
	at := func(model, gpu string, pp, layers int) engine.Setup {
		g, err := presets.Default().GPU(gpu)
		if err != nil {
			t.Fatal(err)
		}
		d := knob.DraftOf(presetModel(t, model), presets.Default().NodeOf(g), knob.Given{
			knob.GPUs: 64, knob.TP: 1, knob.PP: pp, knob.GBS: 256, knob.Seq: 8192, knob.Loss: recipe.FusedLoss, "offload-layers": layers,
		})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	host := func(r *engine.Report) (engine.Communication, bool) {
		for _, c := range r.Communication {
			if c.Dimension == "host" {
				return c, true
			}
		}
		return engine.Communication{}, false
	}
	for _, model := range []string{"llama3-70b", "qwen3-30b-a3b"} {
		for _, pp := range []int{1, 4} {
			none, some := at(model, "gb200", pp, 0), at(model, "gb200", pp, presetModel(t, model).Layers/pp)
			slow := some
			slow.Cluster.GPU.HostLink = 0
			agrees(t, some)
			agrees(t, slow)
			a, b, c := engine.Evaluate(none), engine.Evaluate(some), engine.Evaluate(slow)
			if b.Memory.Peak >= a.Memory.Peak || c.Memory.Peak != b.Memory.Peak {
				t.Errorf("%s, PP %d: peak %v of %v", model, pp, b.Memory.Peak, a.Memory.Peak)
			}
			if b.Time.Step < a.Time.Step || c.Time.Step <= b.Time.Step {
				t.Errorf("%s, PP %d: steps %v, %v over C2C, %v over PCIe", model, pp, a.Time.Step, b.Time.Step, c.Time.Step)
			}
			row, ok := host(&c)
			if _, without := host(&a); without || !ok || row.Exposed <= 0 {
				t.Errorf("%s, PP %d: row %+v", model, pp, row)
			}
			near(t, "time of the way", float64(row.Seconds), float64(row.Bytes)/63e9, 1e-9)
		}
	}
	for name, change := range map[string]func(*engine.Setup){
		"another stack":       func(s *engine.Setup) { s.Stack = recipe.TorchTitan },
		"full recomputation":  func(s *engine.Setup) { s.Recompute.Mode = recipe.RecomputeFull },
		"no link to the host": func(s *engine.Setup) { s.Cluster.GPU.HostLink, s.Cluster.GPU.HostBandwidth = 0, 0 },
	} {
		s := at("llama3-70b", "gb200", 1, 10)
		if change(&s); engine.Legal(s) {
			t.Errorf("offloaded layers with %s are taken", name)
		}
	}
}
