package presets_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"meshscope/engine"
	"meshscope/engine/band"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

func calibrations(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for id, rest := range files {
		out["calibrations/"+id+".toml"] = &fstest.MapFile{Data: []byte("id = \"" + id +
			"\"\nfitted_to = \"a test\"\nsource = \"a test\"\n" + rest)}
	}
	return out
}

func onSweep(t *testing.T, lib *presets.Library) engine.Report {
	t.Helper()
	m, err := lib.Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	c, err := lib.Cluster("hf-p5-playbook-early")
	if err != nil {
		t.Fatal(err)
	}
	s, err := knob.DraftOf(m, c, knob.Given{
		knob.GPUs: 64, knob.Seq: 4096, knob.TP: 2, knob.ZeRO: 1,
		knob.GBS: 256, knob.Calibration: recipe.Nanotron,
	}).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return engine.Evaluate(s)
}

// TestOwnCalibrationsWidenTheBand: what the built-in constants scored says little about
// others; what is not changed keeps its band.
func TestOwnCalibrationsWidenTheBand(t *testing.T) {
	base := onSweep(t, presets.Default())
	for name, c := range map[string]struct {
		file         string
		time, memory bool // the band is as it was
	}{
		"kernels": {"kind = \"gpu\"\napplies_to = [\"h100-sxm\"]\ninherits = " +
			"\"gpu-h100\"\n[figures]\ngemm_efficiency = 0.1\n", false, true},
		"a stack": {"kind = \"stack\"\napplies_to = [\"nanotron\"]\ninherits = " +
			"\"stack-nanotron\"\n[figures]\nfactor = 2.0\n", false, true},
		"another stack": {"kind = \"stack\"\napplies_to = [\"torchtitan\"]\ninherits = " +
			"\"stack-torchtitan\"\n[figures]\nfactor = 2.0\n", true, true},
		"memory": {"kind = \"memory\"\napplies_to = [\"nanotron\"]\ninherits = " +
			"\"memory-nanotron\"\n[figures]\ndriver_context_GiB = 9.0\n", true, false},
	} {
		lib, errs := presets.Load(calibrations(map[string]string{"mine": c.file}), presets.Default())
		if len(errs) > 0 {
			t.Fatalf("%s: %v", name, errs)
		}
		r := onSweep(t, lib)
		for what, same := range map[string]bool{"step": c.time, "memory": c.memory} {
			now, then := r.Time.Evidence, base.Time.Evidence
			if what == "memory" {
				now, then = r.Memory.Evidence, base.Memory.Evidence
			}
			if same && now != then ||
				!same &&
					(now.ErrorBand <= then.ErrorBand ||
						what == "step" && now.ErrorBand < 1.3*then.ErrorBand) {
				t.Errorf("%s: %s is %s, before %s", name, what, now.Words(), then.Words())
			}
			if !same && now.Differs[0].Feature != band.Custom {
				t.Errorf("%s: %s does not say why: %s", name, what, now.Words())
			}
		}
		if changed := r.Time.Step != base.Time.Step ||
			r.Memory.Peak != base.Memory.Peak; changed != (name != "another stack") {
			t.Errorf("%s: %v and %v, before %v and %v", name, r.Time.Step, r.Memory.Peak, base.Time.Step,
				base.Memory.Peak)
		}
	}
}

// TestCalibrationsWithoutEffectAreRefused: a file of one's own is used or refused
// by name, never ignored.
func TestCalibrationsWithoutEffectAreRefused(t *testing.T) {
	const gpu = "kind = \"gpu\"\napplies_to = [\"h100-sxm\"]\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"an unknown GPU": {
			map[string]string{"a": "kind = \"gpu\"\napplies_to = " +
				"[\"h100-smx\"]\ninherits = \"gpu-h100\"\n"},
			"calibrations/a.toml: applies_to: neither a cluster nor a GPU: unknown GPU \"h100-smx\": did " +
				"you mean h100-sxm",
		},
		"nothing to speak of": {
			map[string]string{"a": "kind = \"gpu\"\ninherits = \"gpu-h100\"\n"},
			"applies_to: missing",
		},
		"an unknown stack": {
			map[string]string{"a": "kind = \"stack\"\napplies_to = " +
				"[\"nanotrn\"]\ninherits = \"stack-nanotron\"\n"},
			"unknown stack \"nanotrn\": did you mean nanotron",
		},
		"an unknown parent": {
			map[string]string{"a": gpu + "inherits = \"gpu-h10\"\n"},
			"inherits: unknown calibration \"gpu-h10\": did you mean gpu-h100",
		},
		"itself": {
			map[string]string{"a": gpu + "inherits = \"a\"\n"},
			"inherits: a cycle: a -> a",
		},
		"a cycle": {map[string]string{
			"a": gpu + "inherits = \"b\"\n",
			"b": "kind = \"gpu\"\napplies_to = [\"h20\"]\ninherits = \"a\"\n",
		}, "a cycle: a -> b -> a"},
		"another kind": {
			map[string]string{"a": gpu + "inherits = \"stack-nanotron\"\n"},
			"stack-nanotron is of the kind stack, this file of gpu",
		},
		"nodes of nothing": {map[string]string{"a": "kind = \"gpu\"\napplies_to = " +
			"[\"node-of-nothing\"]\ninherits = \"gpu-h100\"\n"}, "unknown GPU \"nothing\""},
		"an unknown machine": {
			map[string]string{"a": "kind = \"stack\"\napplies_to = " +
				"[\"nanotron\"]\ninherits = \"stack-nanotron\"\n[[machine]]\napplies_to = " +
				"[\"h1000\"]\n[machine.figures]\nfactor = 2.0\n"},
			"machine.applies_to: neither a cluster nor a GPU",
		},
		"a refused parent": {
			map[string]string{
				"a": gpu + "inherits = \"z\"\n",
				"z": "kind = \"gpu\"\napplies_to = [\"nothing\"]\ninherits = \"gpu-h100\"\n",
			},
			"calibrations/z.toml: applies_to",
		},
		"two files for one GPU": {
			map[string]string{
				"a": gpu + "inherits = \"gpu-h100\"\n",
				"b": gpu + "inherits = \"gpu-h100\"\n",
			},
			"calibrations/b.toml: applies_to: \"h100-sxm\" is already covered by calibrations/a.toml",
		},
		"a stack that is a word": {
			map[string]string{"a": "kind = \"memory\"\napplies_to = [\"default\"]\n"},
			"unknown stack \"default\"",
		},
	} {
		lib, errs := presets.Load(calibrations(c.files), presets.Default())
		if len(errs) == 0 || !strings.Contains(errs[0].Error(), c.want) {
			t.Errorf("%s: %v, wanted %q", name, errs, c.want)
		}
		if name == "a cycle" &&
			(len(errs) != 2 ||
				!strings.Contains(errs[1].Error(), "calibrations/b.toml: inherits: a is refused itself")) {
			t.Errorf("%s: %v", name, errs)
		}
		if r := onSweep(t, lib); !r.Legal || !(r.Time.Step > 0) {
			t.Errorf("%s: what is refused must not count: %v", name, r.Problems)
		}
	}
}

// TestOwnReleaseWidensTheBand: a file of the user's own for one release of a stack widens the
// bands of that release alone.
func TestOwnReleaseWidensTheBand(t *testing.T) {
	const release = recipe.MegatronCore + "@2025.04"
	lib, errs := presets.Load(calibrations(map[string]string{
		"mine": "kind = \"stack\"\napplies_to = [\"" + string(release) +
			"\"]\ninherits = \"stack-megatron-core-2025.04\"\n[figures]\nfactor = 2.0\n",
	}), presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for stack, own := range map[recipe.Stack]bool{
		release: true, recipe.MegatronCore: false,
		recipe.MegatronCore + "@2025.09": false,
	} {
		var bands [2]float64
		for i, l := range []*presets.Library{presets.Default(), lib} {
			s := presets.DefaultSetup()
			c, err := l.Cluster(s.Cluster.ID)
			if err != nil {
				t.Fatal(err)
			}
			s.Cluster, s.Stack = c, stack
			bands[i] = engine.Evaluate(s).Time.ErrorBand
		}
		if wider := bands[1] > 1.3*bands[0]; wider != own {
			t.Errorf("%s: the band is %v, built in %v", stack, bands[1], bands[0])
		}
	}
}

// TestBandsAreBuiltIn: files of the user's own that would replace the error bands, broken or
// sound, are rejected by name and leave the built-in bands as they are.
func TestBandsAreBuiltIn(t *testing.T) {
	want := onSweep(t, presets.Default())
	for name, text := range map[string]string{"distances.toml": "[time]\nprior = nan\n", "bands.csv": ""} {
		lib, errs := presets.Load(fstest.MapFS{name: &fstest.MapFile{Data: []byte(text)}}, presets.Default())
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), name+": without effect") {
			t.Errorf("%s: %v", name, errs)
		}
		if got := onSweep(t, lib); got.Time.Evidence != want.Time.Evidence ||
			got.Memory.Evidence != want.Memory.Evidence {
			t.Errorf("%s: step %s, memory %s", name, got.Time.Words(), got.Memory.Words())
		}
	}
}

// TestOwnMachinesWidenTheBand: a cluster of the user's own under a built-in id is
// another machine; a built-in cluster keeps the built-in GPU.
func TestOwnMachinesWidenTheBand(t *testing.T) {
	base := onSweep(t, presets.Default())
	text, err := presets.Default().Text("gpus", "h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	lib, errs := presets.Load(fstest.MapFS{"gpus/h100-sxm.toml": &fstest.MapFile{Data: text}},
		presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if r := onSweep(t, lib); r.Time.ErrorBand != base.Time.ErrorBand {
		t.Errorf("a built-in cluster has another band: %s, before %s", r.Time.Words(), base.Time.Words())
	}
	if text, err = presets.Default().Text("clusters", "hf-p5-playbook-early"); err != nil {
		t.Fatal(err)
	}
	lib, errs = presets.Load(fstest.MapFS{"clusters/hf-p5-playbook-early.toml": &fstest.MapFile{Data: text}},
		presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if r := onSweep(t, lib); r.Time.ErrorBand < 1.3*base.Time.ErrorBand ||
		r.Memory.ErrorBand <= base.Memory.ErrorBand {
		t.Errorf("a cluster of the user's own: step %s, memory %s", r.Time.Words(), r.Memory.Words())
	}
}
