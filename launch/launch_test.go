package launch_test

import (
	"os"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/launch"
	"meshscope/presets"
)

// setup returns a model on so many H100 with a layout.
func setup(t testing.TB, model string, given knob.Given) engine.Setup {
	t.Helper()
	m, err := presets.Default().Model(model)
	if err != nil {
		t.Fatal(err)
	}
	c, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	s, err := knob.DraftOf(m, c, given).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if !engine.Legal(s) {
		t.Fatalf("%s %v is illegal", model, given)
	}
	return s
}

// TestMegatronLM has a legal setup that each rule refuses, and its kin that it accepts.
func TestMegatronLM(t *testing.T) {
	dense := knob.Given{knob.GPUs: 64, knob.TP: 4, knob.PP: 4, knob.GBS: 512}
	with := func(g knob.Given, id knob.ID, n int) knob.Given {
		out := knob.Given{id: n}
		for k, v := range g {
			if k != id {
				out[k] = v
			}
		}
		return out
	}
	launcher, ok := launch.Find("megatron-lm") // the old word
	if !ok {
		t.Fatal("no megatron")
	}
	for name, c := range map[string]struct {
		model  string
		given  knob.Given
		change func(*engine.Setup)
		rule   string // empty: accepted
	}{
		"plain":       {"llama3.1-70b", dense, nil, ""},
		"interleaved": {"llama3.1-70b", with(dense, knob.VPP, 10), nil, ""},
		"zb-h1": {
			"llama3.1-70b", dense,
			func(s *engine.Setup) { s.Schedule = schedule.ZBH1 }, "order",
		},
		"zero 2 with pp": {"llama3.1-70b", with(dense, knob.ZeRO, 2), nil, "zero-pipeline"},
		"zero 3 without": {
			"llama3.1-70b", with(with(dense, knob.ZeRO, 3), knob.PP, 1), nil,
			"",
		},
		"80 layers on 12 stages": {"llama3.1-70b", with(dense, knob.VPP, 3), nil, "layers"},
		"the same with a split": {
			"llama3.1-70b", with(dense, knob.VPP, 3),
			func(s *engine.Setup) { s.Split = "6,7,7,7,7,7,7,7,7,6,6,6" }, "",
		},
		"42 stages of 40 layers": {"llama2-13b", knob.Given{
			knob.GPUs: 48, knob.PP: 6, knob.VPP: 7,
			knob.GBS: 480,
		}, nil, "layers"},
		"94 layers on 32 stages": {
			"qwen3-235b-a22b",
			knob.Given{knob.GPUs: 256, knob.PP: 8, knob.VPP: 4, knob.EP: 32, knob.GBS: 512},
			nil, "",
		},
		"94 layers on 96 stages": {
			"qwen3-235b-a22b",
			knob.Given{knob.GPUs: 256, knob.PP: 8, knob.VPP: 12, knob.EP: 32, knob.GBS: 512},
			nil, "layers",
		},
		"61 layers on powers of two": {"deepseek-v3", knob.Given{
			knob.GPUs: 1024, knob.TP: 2, knob.PP: 16,
			knob.VPP: 2, knob.EP: 64, knob.GBS: 4096, knob.Seq: 4096,
		}, nil, ""},
		"ep folds over tp and dp": {"deepseek-v3", knob.Given{
			knob.GPUs: 1024, knob.TP: 2, knob.PP: 16,
			knob.EP: 64, knob.GBS: 4096, knob.Seq: 4096,
		}, nil, ""},
		"experts with tp without sp": {
			"deepseek-v3",
			knob.Given{
				knob.GPUs: 1024, knob.TP: 2, knob.PP: 16,
				knob.EP: 64, knob.GBS: 4096, knob.Seq: 4096,
			},
			func(s *engine.Setup) { s.SP = false },
			"experts-sp",
		},
		"a group smaller than pp": {
			"llama3.1-70b", with(dense, knob.VPP, 10),
			func(s *engine.Setup) { s.GroupSize = 2 }, "group",
		},
		"offloaded layers, a pipeline": {
			"llama3.1-70b", dense, func(s *engine.Setup) { s.OffloadLayers = 4 },
			"offload-layers",
		},
		"offloaded layers, none": {
			"llama3.1-70b", with(dense, knob.PP, 1),
			func(s *engine.Setup) { s.OffloadLayers = 4 }, "",
		},
		"all layers offloaded": {
			"llama3.1-70b", with(dense, knob.PP, 1),
			func(s *engine.Setup) { s.OffloadLayers = 80 }, "offload-layers",
		},
		"7 layers of 10 virtual ones": {
			"llama3.1-70b", with(dense, knob.VPP, 10),
			func(s *engine.Setup) { _ = s.Recompute.UnmarshalText([]byte("full:7")) }, "recompute-layers",
		},
	} {
		s := setup(t, c.model, c.given)
		if c.change != nil {
			c.change(&s)
		}
		refusals := launcher.Refusals(&s)
		if launcher.Accepts(&s) != (c.rule == "") || (len(refusals) > 0) != (c.rule != "") {
			t.Errorf("%s: accepted %t, refusals %+v", name, launcher.Accepts(&s), refusals)
			continue
		}
		for _, r := range refusals {
			if r.Rule != c.rule || r.Because == "" || r.Source == "" {
				t.Errorf("%s: %+v, want %s", name, r, c.rule)
			}
		}
		if near, ok := launcher.Nearest(s); ok && (!launcher.Accepts(&near) || !engine.Legal(near)) {
			t.Errorf("%s: nearest is %+v", name, near.Layout)
		}
	}
}

// TestOf: stacks are started by their own launcher where there is one.
func TestOf(t *testing.T) {
	for stack, want := range map[string]bool{
		"default": true, "megatron-core": true, "nanotron": true,
		"torchtitan": true, "llm-foundry": false, "textbook": false,
	} {
		k, _ := knob.Find(knob.Calibration)
		s, err := k.Set(presets.DefaultSetup(), stack)
		if err != nil {
			t.Fatal(err)
		}
		if (launch.Of(s.Stack) != nil) != want {
			t.Errorf("%s: %v", stack, launch.Of(s.Stack))
		}
	}
}

// TestDocumentsNameLaunchers: what is said of import and launch names every launcher that is written.
func TestDocumentsNameLaunchers(t *testing.T) {
	for _, name := range []string{"docs/launch.md", "docs/faq.md", "docs/commands.md", "CHANGELOG.md"} {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range launch.Launchers() {
			if of, _, _ := strings.Cut(l.Name, " "); !strings.Contains(string(text), of) {
				t.Errorf("%s does not name %s", name, l.Name)
			}
		}
	}
}
