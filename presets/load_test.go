package presets_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"meshscope/presets"
	"meshscope/presets/input"
)

func folder(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// builtIn returns the text of a built-in file with one thing replaced.
func builtIn(t testing.TB, name, old, replacement string) string {
	t.Helper()
	file, err := presets.BuiltInFiles().Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	text := make([]byte, 1<<16)
	n, err := file.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text[:n]), old) {
		t.Fatalf("%s has no %q", name, old)
	}
	return strings.Replace(string(text[:n]), old, replacement, 1)
}

// TestFilesNearANameThatIsNone: a model's file that lies there is named where its name alone is not known,
// and a config.json among presets is said to be none.
func TestFilesNearANameThatIsNone(t *testing.T) {
	const config = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512,
"num_hidden_layers": 2, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000,
"max_position_embeddings": 1024}`
	files := map[string]string{
		"my13b/config.json": config, "mine.json": config, "./bare": config,
		"our.toml": builtIn(t, "models/llama3.1-8b.toml", `"llama3.1-8b"`, `"our"`),
	}
	l := presets.Default().ReadingModels(func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	})
	for name, want := range map[string]string{
		"my13b": "my13b/config.json", "mine": "mine.json", "our": "our.toml", "bare": "./bare",
	} {
		_, err := l.Model(name)
		if err == nil || !strings.HasSuffix(err.Error(), "did you mean "+want+"?") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := l.Model(want); err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
	_, errs := presets.Load(folder(map[string]string{"models/mine.json": config}), presets.Default())
	if text := fmt.Sprint(errs); !strings.Contains(text, "models/mine.json: a preset is a .toml") {
		t.Errorf("a config.json among presets: %s", text)
	}
}

func TestLoadOwnPresets(t *testing.T) {
	fsys := folder(map[string]string{
		"models/mine.toml":         builtIn(t, "models/llama3.1-8b.toml", `"llama3.1-8b"`, `"mine"`),
		"models/llama3.1-70b.toml": builtIn(t, "models/llama3.1-70b.toml", "layers = 80", "layers = 40"),
		"clusters/cellar.toml":     builtIn(t, "clusters/dgx-h100.toml", `"dgx-h100"`, `"cellar"`),
		"models/README.txt":        "not a preset",
	})
	l, errs := presets.Load(fsys, presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if m, err := l.Model("mine"); err != nil || m.Layers != 32 {
		t.Errorf("own model: %d layers, %v", m.Layers, err)
	}
	if m, err := l.Model("llama3.1-70b"); err != nil || m.Layers != 40 {
		t.Errorf("own model before the built-in one: %d layers, %v", m.Layers, err)
	}
	if c, err := l.Cluster("cellar"); err != nil || c.GPU.ID != "h100-sxm" {
		t.Errorf("own cluster of a built-in GPU: %s, %v", c.GPU.ID, err)
	}
	if g, err := l.GPU("a100-sxm-80g"); err != nil || l.NodeOf(g).Inter.Bandwidth == 0 {
		t.Errorf("built-in GPU: %v", err)
	}
	if n, built := len(l.Models()), len(presets.Default().Models()); n != built+1 {
		t.Errorf("%d models, want the %d built-in ones and the new one", n, built)
	}
}

func TestLoadRefusesByNameLineAndKey(t *testing.T) {
	model := func(old, replacement string) map[string]string {
		return map[string]string{"models/llama3.1-8b.toml": builtIn(t, "models/llama3.1-8b.toml", old,
			replacement)}
	}
	gpu := func(old, replacement string) map[string]string {
		return map[string]string{"gpus/h100-sxm.toml": builtIn(t, "gpus/h100-sxm.toml", old, replacement)}
	}
	cluster := func(old, replacement string) map[string]string {
		return map[string]string{"clusters/dgx-h100.toml": builtIn(t, "clusters/dgx-h100.toml", old,
			replacement)}
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		key   string // expected in one of the errors
		line  bool   // the line is known
	}{
		{"unknown key", model("layers = 32", "layers = 32\nlayrs = 32"), "layrs", true},
		{"key twice", model("layers = 32", "layers = 32\nlayers = 33"), "layers", true},
		{"not TOML", model("layers = 32", "layers 32"), "", true},
		{"text for a number", model("layers = 32", `layers = "32"`), "layers", true},
		{"zero", model("layers = 32", "layers = 0"), "layers", true},
		{"negative", model("hidden = 4096", "hidden = -4096"), "hidden", true},
		{"huge", model("vocab = 128256", "vocab = 9000000000000000000"), "vocab", true},
		{"too large for an integer", model("vocab = 128256", "vocab = 99999999999999999999"), "vocab", true},
		{"too large for a figure", gpu("tdp_W = 700.0", "tdp_W = 1e400"), "tdp_W", true},
		{"missing", model("hidden = 4096\n", ""), "hidden", false},
		{"kv heads", model("kv_heads = 8", "kv_heads = 7"), "kv_heads", true},
		{"id is not the file", model(`id = "llama3.1-8b"`, `id = "llama3.1-9b"`), "id", true},
		{"no source", model("source = ", "note = "), "source", false},
		{"control characters", model("name = \"", `name = "\u001b[31m`), "name", true},
		{
			"file name",
			map[string]string{"models/Upper.toml": builtIn(t, "models/llama3.1-8b.toml", "llama3.1-8b",
				"Upper")},
			"id", false,
		},
		{"too long", map[string]string{"models/long.toml": strings.Repeat("# long\n", 20_000)}, "", false},
		{
			"bits for bytes", gpu("memory_usable_GiB = 79.1", "memory_usable_GiB = 632.8"),
			"memory_usable_GiB",
			true,
		},
		{
			"GB/s for TB/s", gpu("hbm_bandwidth_TBps = 3.35", "hbm_bandwidth_TBps = 3350"),
			"hbm_bandwidth_TBps",
			true,
		},
		{
			"FLOP/s for TFLOP/s", gpu("bf16_dense_TFLOPS = 989.0", "bf16_dense_TFLOPS = 989e12"),
			"bf16_dense_TFLOPS", true,
		},
		{"zero rate", gpu("bf16_dense_TFLOPS = 989.0", "bf16_dense_TFLOPS = 0"), "bf16_dense_TFLOPS", true},
		{
			"not a number", gpu("bf16_dense_TFLOPS = 989.0", "bf16_dense_TFLOPS = nan"), "bf16_dense_TFLOPS",
			true,
		},
		{"infinite", gpu("tdp_W = 700.0", "tdp_W = inf"), "tdp_W", true},
		{"unit of the key", gpu("hbm_bandwidth_TBps", "hbm_bandwidth_GBps"), "hbm_bandwidth_GBps", true},
		{
			"two nominal memories",
			gpu("memory_nominal_GiB = 80.0", "memory_nominal_GiB = 80.0\nmemory_nominal_GB = 80.0"),
			"memory_nominal_GiB", true,
		},
		{
			"unsourced of nothing", gpu("note = ", "unsourced = [\"fp4_dense_TFLOPS\"]\nnote = "),
			"unsourced",
			true,
		},
		{"unknown GPU", cluster(`gpu_id = "h100-sxm"`, `gpu_id = "h100"`), "gpu_id", true},
		{
			"a hidden mark", cluster(`intra_node_link = "`, `intra_node_link = "\u202e`), "intra_node_link",
			true,
		},
		{
			"a hidden mark in a list",
			cluster("gpus_per_node = 8", "gpus_per_node = 8\nunsourced = [\"\\u009b31m\"]"), "unsourced",
			true,
		},
		{"a hidden mark in a name", cluster(`name = "`, `name = "\u2066`), "name", true},
		{"no nodes", cluster("gpus_per_node = 8", "gpus_per_node = 0"), "gpus_per_node", true},
		{
			"negative link",
			cluster("inter_node_GBps_per_dir_per_gpu = 50.0", "inter_node_GBps_per_dir_per_gpu = -50.0"),
			"inter_node_GBps_per_dir_per_gpu", true,
		},
		{"latency without a source", cluster("latency_source", "note"), "latency_source", false},
		{"links", map[string]string{"links.toml": "[unknown]\nlatency_us = -1.0\n"}, "latency_us", true},
	} {
		l, errs := presets.Load(folder(c.files), presets.Default())
		if len(errs) == 0 {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		found := false
		for _, e := range flatten(errs) {
			var at *input.Error
			if !errors.As(e, &at) {
				t.Errorf("%s: an error without a place: %v", c.name, e)
				continue
			}
			if _, ours := c.files[at.File]; !ours {
				t.Errorf("%s: an error in %q", c.name, at.File)
			}
			found = found || at.Key == c.key && (at.Line > 0) == c.line
			if len(at.Error()) > 700 || strings.ContainsAny(at.Error(), "\x1b\n") ||
				strings.Contains(at.Error(), "strconv") || strings.Contains(at.Error(), "64-bit") {
				t.Errorf("%s: not fit to print: %q", c.name, at.Error())
			}
		}
		if !found {
			t.Errorf("%s: key %q is not named: %v", c.name, c.key, errs)
		}
		if c.files["models/llama3.1-8b.toml"] != "" {
			builtIn, _ := presets.Default().Model("llama3.1-8b")
			if m, err := l.Model("llama3.1-8b"); err != nil || m != builtIn {
				t.Errorf("%s: in place of the refused file there is not the built-in one: %v", c.name, err)
			}
		}
	}
}

func flatten(errs []error) []error {
	var all []error
	for _, err := range errs {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = append(all, flatten(joined.Unwrap())...)
			continue
		}
		all = append(all, err)
	}
	return all
}

// FuzzLoad feeds arbitrary files of every kind to the loader.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{
		"models/deepseek-v3.toml", "gpus/h100-sxm.toml",
		"clusters/hf-p5-playbook.toml", "links.toml",
	} {
		f.Add(builtIn(f, name, "", ""))
	}
	for _, name := range []string{"gpu-a100", "stack-nanotron"} {
		f.Add(builtIn(f, "calibrations/"+name+".toml", "", ""))
	}
	f.Add("kind = \"stack\"\napplies_to = [\"nanotron\"]\ninherits = \"x\"\n[figures]\nfactor = nan\n")
	f.Add("layers = 1e400")
	f.Add("a.b.c = [[[{x=1}]]]")
	f.Add("[model]\nid = 1\n[[class]]\nmatch = []")
	f.Fuzz(func(t *testing.T, text string) {
		fsys := folder(map[string]string{
			"models/x.toml": text, "gpus/x.toml": text, "clusters/x.toml": text, "links.toml": text,
			"calibrations/x.toml": text,
		})
		l, errs := presets.Load(fsys, presets.Default())
		for _, err := range errs {
			if err.Error() == "" {
				t.Error("an error that says nothing")
			}
		}
		for _, m := range l.Models() {
			if m.Total() <= 0 || m.Active() <= 0 {
				t.Errorf("%s: %d parameters", m.ID, m.Total())
			}
		}
		for _, g := range l.GPUs() {
			_ = l.NodeOf(g.GPU)
		}
		if r := onSweep(t, l); !r.Legal || !(r.Time.Step > 0) || math.IsInf(float64(r.Time.Step), 0) {
			t.Errorf("with these files a built-in setup takes %v: %v", r.Time, r.Problems)
		}
	})
}
