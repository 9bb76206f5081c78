package engine_test

import (
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search/bound"
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
			knob.GPUs: 64, knob.TP: 1, knob.PP: pp, knob.GBS: 256, knob.Seq: 8192,
			knob.Loss: recipe.FusedLoss, "offload-layers": layers,
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
				t.Errorf("%s, PP %d: steps %v, %v over C2C, %v over PCIe", model, pp, a.Time.Step,
					b.Time.Step, c.Time.Step)
			}
			all := some
			all.Overlap = recipe.OverlapNone
			agrees(t, all)
			d := engine.Evaluate(all)
			if row, ok := host(&d); !ok || row.Exposed < row.Seconds*(1-1e-9) {
				t.Errorf("%s, PP %d: without overlap %+v", model, pp, row)
			}
			row, ok := host(&c)
			if _, without := host(&a); without || !ok || row.Exposed <= 0 {
				t.Errorf("%s, PP %d: row %+v", model, pp, row)
			}
			near(t, "time of the way", float64(row.Seconds), float64(row.Bytes)/63e9, 1e-9)
		}
	}
	for name, change := range map[string]func(*engine.Setup){
		"another stack":      func(s *engine.Setup) { s.Stack = recipe.TorchTitan },
		"full recomputation": func(s *engine.Setup) { s.Recompute.Mode = recipe.RecomputeFull },
		"no link to the host": func(s *engine.Setup) {
			s.Cluster.GPU.HostLink, s.Cluster.GPU.HostBandwidth = 0, 0
		},
	} {
		s := at("llama3-70b", "gb200", 1, 10)
		if s.OffloadLayers = 5000; !slices.ContainsFunc(engine.Check(s),
			func(p engine.Problem) bool { return p.Code == "offload-all" }) {
			t.Error("5000 offloaded layers are taken without a word")
		}
		if change(&s); engine.Legal(s) {
			t.Errorf("offloaded layers with %s are taken", name)
		}
	}
}

// TestOffloadedLayersInHostMemory: of Llama 3 8B a layer keeps 139,328 bytes of each of 8,192 tokens: 34
// times the hidden size, and 64 of attention's statistics. Of four ranks the first has four micro-batches
// between forward and backward, the last one, each with two layers; two GPUs of each are on the node. One
// rank alone has one micro-batch, here of ten layers, next to its share of the 12 bytes of the optimizer.
// Interleaved, the first of two ranks runs four forwards of chunks ahead.
func TestOffloadedLayersInHostMemory(t *testing.T) {
	const layer = (34*4096 + 64) * 8192
	at := func(given knob.Given) *engine.Memory {
		given[knob.GPUs], given[knob.TP], given[knob.GBS] = 8, 1, 64
		given[knob.MBS], given[knob.Seq] = 1, 8192
		d := knob.DraftOf(presetModel(t, "llama3-8b"), presetCluster(t, "dgx-h100"), given)
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		agrees(t, s)
		r := engine.Evaluate(s)
		return r.Memory
	}
	piped := at(knob.Given{knob.PP: 4, "offload-layers": 2})
	for i := range piped.Ranks {
		near(t, "a rank of the pipeline", float64(piped.Ranks[i].Offloaded), float64((4-i)*2*layer), 1e-12)
	}
	near(t, "the node of a pipeline", float64(piped.Host), 2*(4+3+2+1)*2*layer, 1e-12)
	one := at(knob.Given{knob.PP: 1, knob.ZeRO: 1, knob.Offload: "optimizer", "offload-layers": 10})
	near(t, "one rank", float64(one.Host), 8*10*layer+12*8030261248, 1e-12)
	if one.HostSize != 2000e9 {
		t.Errorf("a host of %v", one.HostSize)
	}
	interleaved := at(knob.Given{knob.PP: 2, knob.VPP: 2, "offload-layers": 4})
	near(t, "interleaved", float64(interleaved.Ranks[0].Offloaded), 5*2*layer, 1e-12)
}

// Offloaded layers that do not divide over the stages of a rank leave equal stages with
// different numbers of them: memory, time, their explanations and the bounds know each stage. (A
// single layer is on its way when the memory is fullest.)
func TestOffloadedLayersThatDoNotDivide(t *testing.T) {
	gpu, err := presets.Default().GPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	before := engine.Report{}
	for n := range 6 {
		d := knob.DraftOf(presetModel(t, "llama3-8b"), presets.Default().NodeOf(gpu), knob.Given{
			knob.GPUs: 8, knob.TP: 1, knob.PP: 8, knob.VPP: 4, knob.GBS: 32, knob.MBS: 1, knob.Seq: 8192,
			"offload-layers": n,
		})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		s.Cluster.GPU.HostLink, s.Cluster.GPU.HostBandwidth = 0, 2e9 // slow: every layer shows
		recorded, r := agrees(t, s).Report(), engine.Evaluate(s)
		if recorded.Memory.Peak != r.Memory.Peak || recorded.Time.Step != r.Time.Step {
			t.Errorf("%d layers: explained %v and %v, evaluated %v and %v", n, recorded.Memory.Peak,
				recorded.Time.Step, r.Memory.Peak, r.Time.Step)
		}
		if n > 0 && n <= 4 &&
			(n > 1 && r.Memory.Peak >= before.Memory.Peak || r.Time.Step <= before.Time.Step) {
			t.Errorf("%d layers: %v and %v, with one fewer %v and %v", n, r.Memory.Peak, r.Time.Step,
				before.Memory.Peak, before.Time.Step)
		}
		var f bound.Bounder
		if b, ok := f.Bound(&s); !ok || b.Peak > r.Memory.Peak || b.Step > r.Time.Step {
			t.Errorf("%d layers: bounds %+v over %v and %v", n, b, r.Memory.Peak, r.Time.Step)
		}
		before = r
	}
}
