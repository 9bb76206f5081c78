package setupdoc_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets/setupdoc"
)

// anySetup draws a setup, legal or not, that its own checks let through.
func anySetup(t *rapid.T) engine.Setup {
	d := setupdoc.Document{}
	s, err := d.Setup(shelf{})
	if err != nil {
		t.Fatal(err)
	}
	size := rapid.IntRange(1, knob.MaxMicroBatches)
	for _, field := range []*int{
		&s.DP, &s.TP, &s.PP, &s.VPP, &s.CP, &s.EP, &s.ETP, &s.GPUs, &s.MBS,
		&s.MicroBatches, &s.GBS, &s.Seq,
	} {
		*field = size.Draw(t, "size")
	}
	s.ZeRO = rapid.IntRange(0, 3).Draw(t, "zero")
	s.SP, s.TrainMTP = rapid.Bool().Draw(t, "sp"), rapid.Bool().Draw(t, "mtp")
	s.GroupSize = rapid.IntRange(0, 100).Draw(t, "group size")
	s.Split = rapid.SampledFrom([]string{"", "40,40", "15,16,16,14"}).Draw(t, "split")
	s.Recompute = rapid.SampledFrom([]recipe.Recompute{
		{Mode: recipe.RecomputeNone},
		{Mode: recipe.RecomputeFull, Layers: 7},
		{Mode: recipe.RecomputeModules, Modules: recipe.ModuleNorm | recipe.ModuleShared},
	}).Draw(t,
		"recompute")
	s.Precision = rapid.SampledFrom(recipe.Precisions()).Draw(t, "precision")
	s.GradDtype = rapid.SampledFrom(recipe.GradDtypes()).Draw(t, "gradients")
	s.Loss = rapid.SampledFrom(recipe.Losses()).Draw(t, "loss")
	s.Offload = rapid.SampledFrom(recipe.Offloads()).Draw(t, "offload")
	s.Imbalance, s.HSDP = rapid.IntRange(100, 10_000).Draw(t, "imbalance"), size.Draw(t, "hsdp")
	s.Optimizer = rapid.SampledFrom(recipe.Optimizers()).Draw(t, "optimizer")
	s.Stack = rapid.SampledFrom(recipe.Stacks()).Draw(t, "stack")
	s.Model.Layers = rapid.IntRange(1, 200).Draw(t, "layers")
	s.Model.ExtraParams = rapid.Int64Range(0, 1<<40).Draw(t, "extra")
	s.Model.Name = rapid.StringOfN(rapid.RuneFrom(nil, unicode.L, unicode.Zs, unicode.P), 0, 20, 100).Draw(t,
		"name")
	s.Cluster.Inter.Bandwidth = units.BytesPerSecond(rapid.Float64Range(1e6, 1e16).Draw(t, "bandwidth"))
	s.Cluster.Intra.Latency = units.Seconds(rapid.Float64Range(1e-9, 10).Draw(t, "latency"))
	s.Cluster.GPU.PeakTF32 = units.FLOPsPerSecond(rapid.Float64Range(1e9, 1e20).Draw(t, "rate"))
	return s
}

func TestCompleteFormReadsBackAsItself(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		s := anySetup(t)
		for name, write := range map[string]func(engine.Setup) ([]byte, error){"s.json": setupdoc.JSON, "s.toml": setupdoc.TOML} {
			text, err := write(s)
			if err != nil {
				t.Fatal(err)
			}
			back, err := resolve(name, string(text))
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if back != s {
				t.Fatalf("%s reads back as another setup:\n%+v\n%+v", name, s, back)
			}
		}
	})
}

// Whatever the bytes are, reading them ends with a setup or an error, and a
// setup that was read writes and reads back as itself.
func fuzz(t *testing.T, name string, data []byte) {
	d, err := setupdoc.Parse(name, data)
	if err != nil {
		if strings.TrimSpace(err.Error()) == "" {
			t.Error("an error that says nothing")
		}
		return
	}
	s, err := d.Setup(shelf{})
	if err != nil {
		return
	}
	if _, err := json.Marshal(s); err != nil {
		t.Fatalf("a setup that cannot be written: %v", err)
	}
	text, err := setupdoc.JSON(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := resolve("s.json", string(text))
	if err != nil || back != s {
		t.Fatalf("reads back as another setup (%v):\n%+v\n%+v", err, s, back)
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"model":"llama3.1-70b","gpus":64,"tp":8,"pp":2,"mbs":1,"gbs":512,"seq":8192,"set":{"model.layers":40}}`,
		`{"model":{"id":"small","layers":3},"gpu":{"peak_bf16":1e15},"sp":false}`,
		`{"tp": 1e400}`, `{"set":{"gpu.id":"x","cluster.intra.latency":0}}`, `[`, `{"a":{"a":{"a":[[[]]]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, "s.json", data) })
}

func FuzzTOML(f *testing.F) {
	for _, seed := range []string{
		"model = 'llama3.1-70b'\ngpus = 64\ntp = 8\n[set]\nmodel.layers = 40\n",
		"[model]\nid = \"small\"\n[gpu]\npeak_bf16 = 1e15\n", "tp = nan", "[[model]]\n[model.x]\n",
		"set = {a.b = [1, {c = 2}]}\n",
		"[cluster.inter]\nbandwidth = 1_000\n", "\"quoted key\" = '''\nx'''\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, "s.toml", data) })
}
