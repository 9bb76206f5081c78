package setupdoc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/engine/units"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
)

// shelf is a library of two models, two GPUs and one cluster.
type shelf struct{}

var errUnknown = errors.New("unknown id")

func (shelf) Model(id string) (model.Model, error) {
	m := model.Model{
		ID: id, Layers: 80, Hidden: 8192, Heads: 64, KVHeads: 8, HeadDim: 128, FFN: 28672, Vocab: 128256,
		MaxSeq: 131072,
		Gated:  true, Norm: "rmsnorm", NormsPer: 2, Position: "rope", AttnBias: "none", QKNorm: "none",
	}
	switch id {
	case setupdoc.DefaultModel:
		return m, nil
	case "small":
		m.Layers, m.MaxSeq = 12, 2048
		return m, nil
	}
	return m, errUnknown
}

func (shelf) GPU(id string) (hardware.GPU, error) {
	if id != "h100" && id != "v100" {
		return hardware.GPU{}, errUnknown
	}
	g := hardware.GPU{
		ID: id, MemoryUsable: 79 * units.GiB, MemoryBandwidth: 3350 * units.GBps,
		PeakFP16: 989 * units.TFLOPS, NodeGPUs: 8, ScaleUpGPUs: 8, LinkBandwidth: 450 * units.GBps,
	}
	if id == "h100" {
		g.PeakBF16 = g.PeakFP16
	}
	return g, nil
}

func (s shelf) Cluster(id string) (hardware.Cluster, error) {
	if id != setupdoc.DefaultCluster {
		return hardware.Cluster{}, errUnknown
	}
	g, _ := s.GPU("h100")
	c := s.NodeOf(g)
	c.ID = id
	return c, nil
}

func (shelf) NodeOf(g hardware.GPU) hardware.Cluster {
	return hardware.Cluster{
		ID: "node-of-" + g.ID, GPU: g, NodeGPUs: max(g.NodeGPUs, 1), ScaleUpGPUs: max(g.ScaleUpGPUs, 1),
		Intra: hardware.Link{Name: "in", Bandwidth: 450 * units.GBps, Latency: 1.3e-6},
		Inter: hardware.Link{Name: "out", Bandwidth: 50 * units.GBps, Latency: 2.1e-6},
	}
}

// resolve reads a document and resolves it.
func resolve(name, text string) (engine.Setup, error) {
	d, err := setupdoc.Parse(name, []byte(text))
	if err != nil {
		return engine.Setup{}, err
	}
	return d.Setup(shelf{})
}

func TestFlatDocuments(t *testing.T) {
	want, err := resolve("",
		`{"model":"llama3.1-70b","gpus":64,"tp":8,"pp":2,"mbs":1,"gbs":512,"seq":8192,"sp":true,"recompute":"full:4","grad_dtype":"bf16","set":{"model.layers":40,"gpu.memory_usable_bytes":8e10,"zero":2}}`)
	if err != nil {
		t.Fatal(err)
	}
	if want.Model.Layers != 40 || want.DP != 4 || want.Cluster.GPU.MemoryUsable != 8e10 || want.ZeRO != 2 ||
		want.Recompute.Layers != 4 {
		t.Errorf("not what the document says: %+v", want)
	}
	same := map[string]string{
		"setup.json": `{"seq":8192.0,"gbs":5.12e2,"gpus":64,"tp":8,"pp":2,"recompute":"full:4","grad-dtype":"bf16","model":{"id":"llama3.1-70b","layers":40},"gpu":{"memory_usable_bytes":80000000000},"zero":2,"offload":"none"}`,
		"setup.toml": "# a run\nmodel = 'llama3.1-70b'\ngpus = 0x40\ntp = 8\npp = 2\ngbs = 512\nseq = " +
			"8_192\nrecompute = \"full:4\"\ngrad_dtype = \"bf16\"\nzero = 2\n[set]\nmodel.layers = " +
			"40\ngpu.memory_usable_bytes = 8e10\n",
		"other.toml": "gpus = 64\ntp = 8\npp = 2\ngbs = 512\nrecompute = \"full:4\"\ngrad_dtype = " +
			"\"bf16\"\nzero = 2\nset = { \"model.layers\" = 40 }\n[gpu]\nmemory_usable_bytes = " +
			"80000000000\n[cluster]\nid = \"dgx-h100\"\n",
		"no ending": "\n gpus = 64\ntp = 8\npp = 2\ngbs = 512\nrecompute = \"full:4\"\ngrad_dtype = " +
			"\"bf16\"\nzero = 2\nset = { model = { layers = 40 }, gpu.memory_usable_bytes = 8e10 }\n",
	}
	for name, text := range same {
		got, err := resolve(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got != want {
			t.Errorf("%s: another setup\n%+v\n%+v", name, got, want)
		}
	}
}

// TestSwitches: a document takes the words of the command line for what is on or off.
func TestSwitches(t *testing.T) {
	for word, on := range map[string]bool{
		`true`: true, `"on"`: true, `"yes"`: true, `1`: true, `"Off"`: false, `"no"`: false, `false`: false,
	} {
		got, err := resolve("a.json", `{"gpus":8,"tp":2,"sp":`+word+`,"model":{"tied_embeddings":`+word+`}}`)
		if err != nil || got.SP != on || got.Model.Tied != on {
			t.Errorf("%s: sp %t, tied %t, %v", word, got.SP, got.Model.Tied, err)
		}
	}
}

func TestParts(t *testing.T) {
	tests := map[string]struct {
		text  string
		check func(engine.Setup) bool
	}{
		"nothing said": {
			`{}`,
			func(s engine.Setup) bool { return s.Model.ID == "llama3.1-70b" && s.Cluster.ID == "dgx-h100" },
		},
		"a GPU: its typical node": {
			`{"gpu":"v100"}`,
			func(s engine.Setup) bool { return s.Cluster.ID == "node-of-v100" && s.Precision == "fp16" },
		},
		"the cluster's own GPU": {
			`{"gpu":"h100","cluster":"dgx-h100"}`,
			func(s engine.Setup) bool { return s.Cluster.ID == "dgx-h100" },
		},
		"a GPU of one's own": {
			`{"gpu":{"id":"mine","memory_usable_bytes":1e11,"memory_bandwidth":1e12,"peak_bf16":1e15,"typical_gpus_per_node":4,"max_scale_up_domain":4,"intra_node_bandwidth":3e11}}`,
			func(s engine.Setup) bool { return s.Cluster.ID == "node-of-mine" && s.GPUs == 32 },
		},
		"links": {
			`{"set":{"cluster.inter.bandwidth":1e9,"cluster.intra.name":"wire","cluster.gpus_per_node":4}}`,
			func(s engine.Setup) bool {
				return s.Cluster.Inter.Bandwidth == 1e9 && s.Cluster.Intra.Name == "wire" && s.GPUs == 32
			},
		},
		"a report of eval": {
			`{"schema_version":1,"version":"x","setup":{"tp":8},"legal":true}`,
			func(s engine.Setup) bool { return s.TP == 8 },
		},
		"a shorter model": {`{"model":"small"}`, func(s engine.Setup) bool { return s.Seq == 2048 }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := resolve("", tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if !tc.check(s) {
				t.Errorf("not what %s says: %+v", tc.text, s)
			}
		})
	}
}

func TestBadDocuments(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a.json", "{\n  \"tp\": 8,\n  \"tpp\": 2\n}", `a.json:3:3: unknown key "tpp": did you mean tp`},
		{"a.toml", "tp = 8\n  tpp = 2\n", `a.toml:2:3: unknown key "tpp": did you mean tp`},
		{"a.toml", "num_layers = 8\n", `"num_layers": did you mean model.layers in the table set`},
		{"a.json", `{"microbatch": 2}`, `did you mean microbatches`},
		{
			"a.json", `{"model": {"layer": 2}}`,
			`a.json:1:12: unknown key "model.layer": did you mean model.layers`,
		},
		{
			"a.toml", "[cluster]\nid = 'dgx-h100'\n[cluster.inter]\nspeed = 1\n",
			`a.toml:4:1: unknown key "cluster.inter.speed"`,
		},
		{"a.json", `{"set": {"model.layerz": 2}}`, `unknown key "model.layerz": did you mean model.layers`},
		{"a.json", `{"set": {"mode.layers": 2}}`, `1:10: unknown key "mode.layers"`},
		{"a.json", `{"set": {"model.layers.deep": 2}}`, `unknown key "model.layers.deep"`},
		{"a.json", `{"set": {"set": {}}}`, `unknown key "set"`},
		{"a.json", `{"set": 3}`, `set: given "3"`},
		{"a.json", `{"tp": "8x"}`, `1:8: tp: given "8x", allowed is a whole number from 1 to 1048576`},
		{
			"a.json", `{"seq": "1.024"}`,
			`1:9: seq: given "1.024", allowed is 1024 if the point groups digits, 1 if 1.024 is rounded`,
		},
		{
			"a.toml", "[model]\nvocab = \"1.024\"",
			`2:1: model.vocab: given "1.024", allowed is 1024 if the point`,
		},
		{"a.json", `{"tp": 0}`, `tp: given "0", allowed is a whole number from 1 to 1048576, nearest 1`},
		{"a.json", `{"tp": -1}`, `nearest 1`},
		{"a.json", `{"tp": 1.5}`, `tp: given "1.5"`},
		{"a.json", `{"tp": 1e400}`, `tp: given "1e400"`},
		{"a.json", `{"tp": 99999999999999999999}`, `nearest 1048576`},
		{
			"a.toml", "mbs = 1\ntp = 99999999999999999999",
			`2:1: tp: given "99999999999999999999", allowed is a whole number from 1 to 1048576, nearest 1048576`,
		},
		{"a.toml", "tp = 1e400", `1:1: tp: given "1e400", allowed is a whole number from 1 to 1048576`},
		{"a.json", `{"tp": null}`, `tp: given "null"`},
		{"a.json", `{"tp": [8]}`, `tp: given "a list"`},
		{"a.json", `{"tp": {"x":1}}`, `tp: given "a table"`},
		{"a.json", `{"sp": "maybe"}`, `sp: given "maybe", allowed is on or off`},
		{"a.json", `{"zero": 4}`, `zero: given "4", allowed is a whole number from 0 to 3, nearest 3`},
		{"a.json", `{"precision": "fp4"}`, `allowed is one of bf16, fp16, fp32, fp8, fp8:te`},
		{"a.json", `{"recompute": "modules:head"}`, `allowed is one of none, selective, full, full:N`},
		{"a.json", `{"offload": "moments"}`, `offload: given "moments", allowed is one of none, optimizer`},
		{"a.json", `{"schedule": "zb-h3"}`, `schedule: given "zb-h3"`},
		{"a.json", `{"tp": 8, "tp": 4}`, `a.json:1:11: key "tp" comes twice`},
		{
			"a.json", `{"node_bandwidth": "100Gb/s", "gpu-bandwidth": "25Gb/s"}`,
			`a.json:1:31: node_bandwidth and gpu_bandwidth contradict each other`,
		},
		{
			"a.json", `{"node_bandwidth": "100Gb/s", "node-bandwidth": "25Gb/s"}`,
			`key "node_bandwidth" comes twice`,
		},
		{"a.json", `{"grad-dtype": "bf16", "grad_dtype": "fp32"}`, `comes twice`},
		{"a.toml", "tp = 8\ntp = 4\n", `a.toml:2:1: not TOML`},
		{"a.json", `{"tp": 8} {"pp": 2}`, `a.json:1:11: something follows the end`},
		{"a.json", `{"tp": NaN}`, `a.json:1:8: not JSON`},
		{"a.toml", "tp = nan\n", `tp: given "nan"`},
		{"a.toml", "tp = inf\n", `tp: given "inf"`},
		{"a.toml", "tp = 1979-05-27\n", `tp: given "a date or time"`},
		{"a.toml", "[[tp]]\n", `tp: given "a list"`},
		{"a.toml", "tp = \n", `a.toml:1:`},
		{"a.json", "{\n\"tp\": 8,\n", `a.json:3:1: not JSON: the text ends too early`},
		{"a.json", "", `not JSON`},
		{"a.json", `[1]`, `setup: given "a list"`},
		{"x", `[1]`, `setup: given "a list"`},
		{"a.json", strings.Repeat(`{"set":`, 20000), `nested more than`},
		{"a.toml", "a" + strings.Repeat(".a", 400) + " = 1\n", `nested more than`},
		{"a.json", strings.Repeat(" ", input.MaxDocument+1), `bytes, which is no setup`},
		{"a.json", `{"model": "unheard-of"}`, `a.json:1:11: unknown id`},
		{"a.json", `{"model": 3}`, `model: given "3", allowed is an id or a table of fields`},
		{"a.json", `{"model": {"id":"new"}}`, `model.layers: given "0", allowed is a whole number from 1`},
		{"a.json", `{"model": {"layers": -2}}`, `model.layers: given "-2"`},
		{"a.json", `{"model": {"hidden": 1e99}}`, `model.hidden: given "1e99"`},
		{"a.json", `{"model": {"gated_ffn": 2}}`, `model.gated_ffn: given "2", allowed is on or off`},
		{"a.json", `{"gpu": {"memory_bandwidth": 1e400}}`, `gpu.memory_bandwidth: given "1e400"`},
		{"a.json", `{"gpu": {"memory_bandwidth": -1}}`, `gpu.memory_bandwidth: given "-1"`},
		{
			"a.json", `{"gpu": {"id": "x"}}`,
			`gpu.typical_gpus_per_node: given "nothing", allowed is a whole number from 1`,
		},
		{
			"a.json", `{"gpu": {"id": "x","typical_gpus_per_node":8}}`,
			`gpu.max_scale_up_domain: given "nothing"`,
		},
		{
			"a.json", `{"gpu": {"id": "x","typical_gpus_per_node":8,"max_scale_up_domain":8}}`,
			`gpu.intra_node_bandwidth: given "nothing"`,
		},
		{
			"a.json",
			`{"gpu": {"id": "x","typical_gpus_per_node":8,"max_scale_up_domain":8,"intra_node_bandwidth":3e11}}`, `gpu.memory_usable_bytes: given "0", allowed is 1000000 to 1e+16`,
		},
		{"a.json", `{"set": {"cluster.gpus_per_node": 0}}`, `cluster.gpus_per_node: given "0"`},
		{
			"a.json", `{"gpu":"v100","cluster":"dgx-h100"}`,
			`a.json:1:8: --gpu and --cluster contradict each other`,
		},
		{"a.json", `{"gpus":64,"tp":8,"dp":3}`, `--gpus and --dp contradict each other`},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprintf("%.40s", tc.text), func(t *testing.T) {
			_, err := resolve(tc.name, tc.text)
			if err == nil {
				t.Fatal("taken without a word")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			if len(err.Error()) > 500 {
				t.Errorf("the message is %d characters long", len(err.Error()))
			}
		})
	}
}

func TestFlagsWinOverTheText(t *testing.T) {
	d, err := setupdoc.Parse("a.json", []byte(`{"tp":8,"pp":2,"gbs":512,"model":"small"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range [][2]string{
		{"tp", "4"},
		{"grad-dtype", "bf16"},
		{"model", "llama3.1-70b"},
		{"sp", "off"},
		{"offload", "none"},
	} {
		if err := d.Set(kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []string{
		"model.layers=40", "model.local_window=1024",
		"model.local_to_global_ratio=5:1", "model.name=7b", "mbs=2", "model.tied_embeddings=true",
		" cluster.inter.bandwidth = 1e10",
	} {
		if err := d.Assign(a); err != nil {
			t.Fatalf("%s: %v", a, err)
		}
	}
	s, err := d.Setup(shelf{})
	if err != nil {
		t.Fatal(err)
	}
	if s.TP != 4 || s.DP != 8 || s.MBS != 2 || s.SP || s.Model.Layers != 40 || s.Model.Name != "7b" ||
		!s.Model.Tied || s.Cluster.Inter.Bandwidth != 1e10 {
		t.Errorf("not what the flags say: %+v", s)
	}
}

func TestFlagsRefused(t *testing.T) {
	tests := map[string]string{
		"model.layers":     "key=value",
		"=3":               "key=value",
		"model.layers=x":   `model.layers: given "x"`,
		"model.layers=":    `model.layers: given ""`,
		"model.layers=-1":  `model.layers: given "-1"`,
		"model.layers=1.5": `model.layers: given "1.5"`,
		"tpp=3":            `unknown key "tpp": did you mean tp`,
		"tp=three":         `tp: given "three"`,
		"set=3":            `unknown key "set"`,
		"a.b=3":            `unknown key "a.b"`,
		"model=nobody":     `unknown id`,
		"offload=all":      `offload: given "all"`,
	}
	for text, want := range tests {
		var d setupdoc.Document
		err := d.Assign(text)
		if err == nil {
			_, err = d.Setup(shelf{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestIsChanges: a list is told from the name of a file that has = in it.
func TestIsChanges(t *testing.T) {
	for text, want := range map[string]bool{
		"tp=4": true, " tp = 4 , pp=2": true, "model=runs/a.toml": true, "tp=4,model=config.json": true,
		"calibration=x.toml": true, "model.layers=4": true,
		"split=40,40": true, "model.name=a.b": true, "goodput=0.9": true,
		"tp=4.toml": false, "run-tp=4,pp=2.json": false, "llama.tp=4.YAML": false, "dp=8.sbatch ": false,
		"runs/tp=4.toml": false, "tp": false, "": false,
	} {
		if setupdoc.IsChanges(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
