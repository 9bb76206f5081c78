package launch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/launch"
	"meshscope/presets"
)

// with returns a change of a setup to another legal one by its knobs.
func with(t *testing.T, g knob.Given) func(engine.Setup) engine.Setup {
	t.Helper()
	return func(s engine.Setup) engine.Setup {
		base := knob.Given{
			knob.DP: 4, knob.TP: 1, knob.ZeRO: 3, knob.MicroBatches: 16, knob.Seq: 8192,
			knob.SP: false,
		}
		id := s.Model.ID
		for k, v := range g {
			if k == "model" {
				id = v.(string)
				continue
			}
			base[k] = v
		}
		return setup(t, id, base)
	}
}

// set returns a change of fields.
func set(f func(*engine.Setup)) func(engine.Setup) engine.Setup {
	return func(s engine.Setup) engine.Setup { f(&s); return s }
}

// TestSources: each rule of each launcher names a file of a repository.
func TestSources(t *testing.T) {
	for _, l := range launch.Launchers() {
		for _, r := range l.Rules() {
			if !strings.Contains(r.Source, "/") {
				t.Errorf("%s, %s: read in %q", l.ID, r.ID, r.Source)
			}
		}
	}
}

// TestFileRules: each rule of each launcher refuses a setup, and accepts the sample; what is
// refused names the nearest that is accepted where one is near.
func TestFileRules(t *testing.T) {
	type change = func(engine.Setup) engine.Setup
	expert := knob.Given{"model": "deepseek-v3", knob.DP: 64, knob.EP: 64, knob.Seq: 4096}
	software := map[string]change{
		"dispatcher":          set(func(s *engine.Setup) { s.Dispatcher = recipe.DeepEP }),
		"ep-overlap":          set(func(s *engine.Setup) { s.EPOverlap = recipe.On }),
		"tp-overlap":          set(func(s *engine.Setup) { s.TPOverlap = recipe.UserBuffers }),
		"cuda-graph":          set(func(s *engine.Setup) { s.CUDAGraphs = recipe.GraphsIteration }),
		"attention-precision": set(func(s *engine.Setup) { s.Attending = recipe.Attention8 }),
		"dp-overlap":          set(func(s *engine.Setup) { s.DPOverlap = recipe.Off }),
		"grouped-mlp":         set(func(s *engine.Setup) { s.GroupedMLP = recipe.GroupedFused }),
		"exchange":            set(func(s *engine.Setup) { s.CP, s.CPComm = 2, recipe.Ulysses }),
		"mtp":                 set(func(s *engine.Setup) { s.TrainMTP = true }),
		"precision":           set(func(s *engine.Setup) { s.Precision = recipe.NVFP4 }),
		"grad-dtype":          set(func(s *engine.Setup) { s.GradDtype = recipe.GradBF16FP32 }),
		"optimizer":           set(func(s *engine.Setup) { s.Optimizer = recipe.SGDMomentum }),
		"attention":           set(func(s *engine.Setup) { s.Attention = recipe.Standard }),
		"offload":             set(func(s *engine.Setup) { s.Offload = recipe.OffloadOptimizer }),
		"offload-weights":     set(func(s *engine.Setup) { s.Offload = recipe.OffloadWeights }),
		"offload-nvme":        set(func(s *engine.Setup) { s.Offload = recipe.OffloadOptimizerNVMe }),
		"offload-activations": set(func(s *engine.Setup) { s.Offload = recipe.OffloadActivations }),
		"offload-layers":      set(func(s *engine.Setup) { s.OffloadLayers = 2 }),
		"recompute":           set(func(s *engine.Setup) { _ = s.Recompute.UnmarshalText([]byte("full:4")) }),
		"model":               with(t, knob.Given{"model": "gpt3-175b", knob.Seq: 2048}),
	}
	sharded := map[string]change{
		"zero": with(t, knob.Given{knob.ZeRO: 1}),
		"ddp":  with(t, knob.Given{knob.ZeRO: 0, knob.TP: 2}),
		"hsdp": with(t, knob.Given{knob.HSDP: 4}),
	}
	adapters := map[string]change{"base-dtype": set(func(s *engine.Setup) {
		s.Stack, s.Rank, s.BaseDtype, s.TP, s.SP = recipe.Transformers, 8, recipe.BaseFP8, 1, false
	}), "lora-targets": set(func(s *engine.Setup) {
		m, _ := presets.Default().Model("gpt2-xl")
		s.Model, s.Stack, s.Rank, s.Targets, s.TP, s.SP = m, recipe.Transformers, 8, "qkv", 1, false
	}), "weight-dtype": set(func(s *engine.Setup) {
		s.Stack, s.WeightDtype, s.TP, s.SP = recipe.Transformers, recipe.WeightsBF16, 1, false
	})}
	// launchers of pre-training, which have no adapters
	frozen := map[string]change{
		"lora":         set(func(s *engine.Setup) { s.Rank = 8 }),
		"lora-targets": set(func(s *engine.Setup) { s.Rank, s.Targets = 8, "attention" }),
		"base-dtype":   set(func(s *engine.Setup) { s.Rank, s.BaseDtype = 8, recipe.BaseNF4 }),
	}
	pipelined := map[string]change{
		"order":    with(t, knob.Given{knob.PP: 2, knob.Schedule: "zb-h1"}),
		"stages":   with(t, knob.Given{knob.PP: 2, knob.VPP: 1, knob.Schedule: "looped-bfs"}),
		"rounds":   with(t, knob.Given{knob.PP: 4, knob.VPP: 2, knob.MicroBatches: 18}),
		"group":    with(t, knob.Given{knob.PP: 4, knob.VPP: 2, knob.MicroBatches: 10}),
		"tied":     with(t, knob.Given{"model": "gemma2-2b", knob.PP: 2, knob.Seq: 4096}),
		"kv-heads": with(t, knob.Given{knob.TP: 16, knob.SP: true}),
		"sequence": with(t, knob.Given{knob.CP: 2, knob.Seq: 4098}),
		"experts": with(t, knob.Given{
			"model": "deepseek-v3", knob.DP: 64, knob.EP: 64, knob.HSDP: 2,
			knob.Seq: 4096,
		}),
		"expert-tp": with(t, knob.Given{
			"model": "deepseek-v3", knob.DP: 64, knob.EP: 8, knob.ETP: 2,
			knob.Seq: 4096,
		}),
	}
	unpipelined := map[string]change{
		"pipeline":       with(t, knob.Given{knob.PP: 2}),
		"virtual-stages": set(func(s *engine.Setup) { s.VPP = 2 }),
		"order":          set(func(s *engine.Setup) { s.Schedule = schedule.AFAB }),
		"sp":             with(t, knob.Given{knob.TP: 2, knob.SP: true}),
		"expert-tp":      pipelined["expert-tp"],
		"experts":        with(t, expert),
	}
	for id, tables := range map[string][]map[string]change{
		"torchtitan":      {software, sharded, pipelined, frozen},
		"torchtitan-toml": {software, sharded, pipelined, frozen, {"sp": with(t, knob.Given{knob.TP: 2})}},
		"nanotron": {software, frozen, {
			"schedule":       pipelined["order"],
			"virtual-stages": with(t, knob.Given{knob.ZeRO: 1, knob.PP: 2, knob.VPP: 2}),
			"zero":           with(t, knob.Given{knob.ZeRO: 2}),
			"micro-batches":  with(t, knob.Given{knob.ZeRO: 1, knob.PP: 4, knob.MicroBatches: 2}),
			"kv-heads":       with(t, knob.Given{knob.ZeRO: 1, knob.TP: 16, knob.SP: true}),
			"experts":        with(t, expert), "expert-tp": pipelined["expert-tp"],
			"hsdp":    with(t, knob.Given{knob.ZeRO: 1, knob.HSDP: 2}),
			"split":   with(t, knob.Given{knob.ZeRO: 1, knob.PP: 2, knob.Split: "39,41"}),
			"context": with(t, knob.Given{knob.ZeRO: 1, knob.CP: 2}),
		}},
		"deepspeed": {software, unpipelined, {
			"sequence": with(t, knob.Given{knob.CP: 2}),
			"experts-tp": with(t, knob.Given{
				"model": "deepseek-v3", knob.DP: 32, knob.TP: 2, knob.EP: 64,
				knob.Seq: 4096,
			}),
			"experts":       with(t, knob.Given{"model": "grok-1", knob.DP: 8, knob.EP: 8}),
			"hsdp":          with(t, knob.Given{knob.ZeRO: 1, knob.HSDP: 2}),
			"offload-zero":  set(func(s *engine.Setup) { s.Offload, s.ZeRO = recipe.OffloadOptimizer, 0 }),
			"offload-param": set(func(s *engine.Setup) { s.Offload, s.ZeRO = recipe.OffloadWeights, 2 }),
		}},
		"accelerate-deepspeed": {software, unpipelined, {
			"tp": with(t, knob.Given{knob.TP: 2}), "cp": with(t, knob.Given{knob.CP: 2}),
			"hsdp":          sharded["hsdp"],
			"offload-zero":  set(func(s *engine.Setup) { s.Offload, s.ZeRO = recipe.OffloadOptimizer, 0 }),
			"offload-param": set(func(s *engine.Setup) { s.Offload, s.ZeRO = recipe.OffloadWeights, 2 }),
		}},
		"axolotl": {
			software, unpipelined, adapters,
			{
				"split-layers": with(t, knob.Given{knob.TP: 2, knob.ZeRO: 2}),
				"split-tokens": with(t, knob.Given{knob.CP: 2, knob.ZeRO: 2}),
				"hsdp":         with(t, knob.Given{knob.ZeRO: 2, knob.HSDP: 2}),
				"offload-activations": set(func(s *engine.Setup) {
					s.Offload, s.ZeRO = recipe.OffloadActivations, 2
				}),
				"offload-weights": set(func(s *engine.Setup) {
					s.Offload, s.ZeRO = recipe.OffloadWeights, 2
				}),
			},
		},
		"llama-factory": {
			software, unpipelined, adapters,
			{
				"split-layers": with(t, knob.Given{knob.TP: 2}), "hsdp": sharded["hsdp"],
				"split-tokens": with(t, knob.Given{knob.CP: 2}),
				"zero":         with(t, knob.Given{knob.ZeRO: 1}),
				"offload-weights": set(func(s *engine.Setup) {
					s.Offload, s.ZeRO = recipe.OffloadWeights, 2
				}),
				"offload": set(func(s *engine.Setup) { s.Offload, s.ZeRO = recipe.OffloadOptimizer, 3 }),
			},
		},
		"trl": {
			software, unpipelined, adapters,
			{
				"split-layers": with(t, knob.Given{knob.TP: 2}), "hsdp": sharded["hsdp"],
				"split-tokens": with(t, knob.Given{knob.CP: 2}),
			},
		},
		"accelerate": {
			software, sharded, unpipelined,
			{
				"replicas": with(t, knob.Given{knob.TP: 2, knob.HSDP: 4}),
				"offload-weights": set(func(s *engine.Setup) {
					s.Offload, s.ZeRO = recipe.OffloadWeights, 0
				}),
			},
		},
	} {
		l, _ := launch.Find(id)
		base := samples(t)[id]
		d, refused := l.Export(&base, "")
		if len(refused) > 0 || !l.Accepts(&base) {
			t.Fatalf("%s: %+v", id, refused)
		}
		left := strings.Split(strings.TrimSuffix(strings.TrimPrefix(d.Stamp[2], "Checked: "), "."), ", ")
		for _, table := range tables {
			for rule, change := range table {
				i := slices.Index(left, rule)
				if i < 0 {
					continue
				}
				s := change(base)
				at := slices.IndexFunc(l.Refusals(&s), func(r launch.Refusal) bool { return r.Rule == rule })
				if at < 0 {
					continue // another table may have the case
				}
				if r := l.Refusals(&s)[at]; r.Because == "" || strings.Contains(r.Because, "[") ||
					r.Source == "" {
					t.Errorf("%s: %+v", id, r)
				}
				left = slices.Delete(left, i, i+1)
				if near, ok := l.Nearest(s); ok && (!engine.Legal(near) || len(l.Refusals(&near)) > 0) {
					t.Errorf("%s, %s: nearest is %+v", id, rule, near.Layout)
				}
			}
		}
		if len(left) > 0 {
			t.Errorf("%s: no setup is refused for %v", id, left)
		}
	}
}

// TestNoAdapters: launchers of pre-training refuse adapters by name, the nearest that they run trains every
// weight; a file that does not say what is trained leaves that to the script.
func TestNoAdapters(t *testing.T) {
	gpu, err := presets.Default().GPU("rtx4090")
	if err != nil {
		t.Fatal(err)
	}
	m, err := presets.Default().Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	s, err := knob.DraftOf(m, presets.Default().NodeOf(gpu), knob.Given{
		knob.GPUs: 2, knob.GBS: 16, knob.Seq: 2048, knob.LoRA: 16, "base-dtype": "nf4", knob.ZeRO: 0,
		"lora-targets": "attention", knob.Optimizer: recipe.AdamPaged8Bit,
		knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull},
	}).Resolve()
	if err != nil || !engine.Legal(s) {
		t.Fatal(err, engine.Check(s))
	}
	for _, v := range launch.Check(&s) {
		refused := slices.IndexFunc(v.Refusals, func(r launch.Refusal) bool { return r.Field == knob.LoRA })
		l, _ := launch.Find(v.Launcher)
		switch v.Launcher {
		case "megatron", "bridge", "nanotron", "torchtitan", "torchtitan-toml":
			if refused < 0 {
				t.Errorf("%s accepts adapters", v.Launcher)
			}
		default:
			if refused >= 0 {
				t.Errorf("%s refuses adapters: %v", v.Launcher, v.Refusals)
			}
		}
		switch v.Launcher {
		case "megatron", "bridge":
			if fmt.Sprintf("%v %v", v.Nearest["lora"], v.Nearest["optimizer"]) != "none adam" {
				t.Errorf("%s: nearest %v", v.Launcher, v.Nearest)
			}
		case "deepspeed", "accelerate":
			d, _ := l.Export(&s, "")
			at := slices.IndexFunc(d.NotCarried, func(n launch.NotCarried) bool { return n.Key == "lora" })
			if at < 0 || d.NotCarried[at].Why != "the script decides what is trained" {
				t.Errorf("%s: %v", v.Launcher, d.NotCarried)
			}
		}
	}
}

// TestNearestOfFiles: what a launcher cannot express is offered as the layout next to it.
func TestNearestOfFiles(t *testing.T) {
	base := setup(t, "llama3.1-70b", knob.Given{knob.GPUs: 64, knob.TP: 8, knob.PP: 2, knob.GBS: 128})
	experts := setup(t, "deepseek-v3", knob.Given{
		knob.GPUs: 1024, knob.TP: 2, knob.PP: 16, knob.EP: 64,
		knob.GBS: 4096, knob.Seq: 4096,
	})
	for name, c := range map[string]struct {
		launcher string
		setup    engine.Setup
		want     func(s *engine.Setup) bool
	}{
		"a pipeline for accelerate is TP and FSDP": {
			"accelerate", base,
			func(s *engine.Setup) bool {
				return s.PP == 1 && s.TP == 8 && s.DP == 8 && s.ZeRO >= 2 && !s.SP
			},
		},
		"a pipeline for DeepSpeed is TP and ZeRO": {
			"deepspeed", base,
			func(s *engine.Setup) bool { return s.PP == 1 && s.TP == 8 && s.DP == 8 && s.ZeRO == 1 },
		},
		"ZeRO-1 for torchtitan is FSDP": {
			"torchtitan", base,
			func(s *engine.Setup) bool { return s.PP == 2 && s.TP == 8 && s.ZeRO >= 2 },
		},
		"experts for accelerate are gathered": {
			"accelerate", experts,
			func(s *engine.Setup) bool { return s.EP == 1 && s.PP == 1 },
		},
		"vpp for nanotron is 1": {
			"nanotron",
			setup(t, "llama3.1-70b", knob.Given{
				knob.GPUs: 64, knob.TP: 8, knob.PP: 2, knob.VPP: 4,
				knob.GBS: 128,
			}),
			func(s *engine.Setup) bool { return s.VPP == 1 && s.PP == 2 && s.Schedule == schedule.OneFOneB },
		},
	} {
		l, _ := launch.Find(c.launcher)
		near, ok := l.Nearest(c.setup)
		if !ok || !c.want(&near) || len(l.Refusals(&near)) > 0 || !engine.Legal(near) {
			t.Errorf("%s: %t %+v", name, ok, near.Layout)
		}
	}
	l, _ := launch.Find("nanotron")
	if near, ok := l.Nearest(experts); ok {
		t.Errorf("nanotron has no DeepSeek-V3, nearest is %+v", near.Layout)
	}
}
