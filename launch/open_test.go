package launch_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// TestOpen: a text is what it looks like, whatever its name; what it is not is said, and nothing of
// it is taken.
func TestOpen(t *testing.T) {
	lib := presets.Default()
	start := presets.StartSetup()
	line, _ := setupdoc.Share(start, lib, lib)
	file, err := setupdoc.TOML(start)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text, launcher, wrong string
		only                  bool
	}{
		"a share string":       {line + "\n", "meshscope", "", false},
		"a cut one":            {line[:30], "meshscope", "its end is missing", false},
		"a setup file":         {string(file), "meshscope", "", false},
		"a report that is fed": {`{"schema_version":1,"setup":{"gpus":8,"tp":8}}`, "meshscope", "", false},
		"a config.json":        {`{"model_type":"gpt2"}`, "huggingface", "", true},
		"one that is not known": {
			`{"model_type":"rwkv"}`, "huggingface", `model_type "rwkv" is not known`,
			false,
		},
		"JSON of something else": {`{"a":1}`, "", `unknown key "a"`, false},
		"prose": {
			"Nothing of a model.", "",
			"is no share string, config.json, setup document or file of a launcher", false,
		},
		"a program": {"\x7fELF\x02\x01\x01\x00", "", "zero byte", false},
		"UTF-16":    {"\xff\xfe{\x00", "", "UTF-16", false},
		"deep":      {`{"model_type":` + strings.Repeat("[", 10_000), "", "nested more than", false},
	} {
		r := launch.Open("", []byte(c.text), lib)
		err := r.Err("")
		switch {
		case c.wrong == "" && err != nil, c.wrong != "" &&
			(err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		case r.Launcher != c.launcher || r.OnlyModel() != c.only:
			t.Errorf("%s: of %q, only a model %t", name, r.Launcher, r.OnlyModel())
		case c.wrong == "":
			d, err := r.Document(lib)
			if err == nil {
				_, err = d.Setup(lib)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	large := launch.Open("config.json", bytes.Repeat([]byte(" "), launch.MaxFile+1), lib)
	if err := large.Err("config.json"); err == nil ||
		!strings.Contains(err.Error(), "longer than 10485760 bytes (10 MiB)") {
		t.Errorf("%v", err)
	}
	for range 20 {
		if r := launch.Open("accelerate-nanotron.yaml", []byte("parallelism:\n  tp: 8\n"),
			lib); r.Launcher != "nanotron" {
			t.Fatalf("a file with the names of two launchers is of %q", r.Launcher)
		}
	}
	of := launch.Open("", file, lib)
	d, err := of.Document(lib)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := d.Setup(lib); err != nil || s != start {
		t.Errorf("a setup file is another setup: %v", err)
	}
}

// TestOwnDocuments: what this program writes is read as its own from a pipe too, whatever stack it is for.
func TestOwnDocuments(t *testing.T) {
	lib := presets.Default()
	for _, stack := range []string{
		"default", "torchtitan", "nanotron", "megatron-2022",
		"megatron-core@2025.04", "llm-foundry", "textbook",
	} {
		s := setup(t, "llama3-70b", knob.Given{
			knob.GPUs: 64, knob.TP: 8, knob.PP: 2, knob.GBS: 128,
			knob.Calibration: stack, knob.ZeRO: 1,
		})
		text, err := setupdoc.JSON(s)
		if err != nil {
			t.Fatal(err)
		}
		table, err := setupdoc.TOML(s)
		if err != nil {
			t.Fatal(err)
		}
		report := `{"schema_version":1,"version":"0","setup":` + string(text) +
			`,"legal":true,"assumptions":["import nothing: from torchtitan"]}`
		for form, text := range map[string]string{
			"JSON": string(text), "TOML": string(table),
			"a report": report,
		} {
			r := launch.Open("standard input", []byte(text), lib)
			doc, err := r.Document(lib)
			if err != nil || r.Launcher != "meshscope" || len(r.Problems) > 0 {
				t.Errorf("%s of %s: read by %q, %+v, %v", form, stack, r.Launcher, r.Problems, err)
				continue
			}
			if got, err := doc.Setup(lib); err != nil || got != s {
				t.Errorf("%s of %s is another setup: %v", form, stack, err)
			}
		}
	}
}

// TestNameOnce: an error about a whole file has the file's name once.
func TestNameOnce(t *testing.T) {
	for _, text := range []string{"a: b\n", "{\n  # a comment\n  \"ici_fsdp_parallelism\": 1\n}\n"} {
		r := launch.Open("odd.yml", []byte(text), presets.Default())
		if err := r.Err("odd.yml"); err == nil || strings.Count(err.Error(), "odd.yml") != 1 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMachineOfAFile: the machine is that of the comment that this program writes, else it is said to be
// assumed; what is given beside the file counts over both.
func TestMachineOfAFile(t *testing.T) {
	stamp := func(machine string) string {
		return "# Any on 32 x " + machine + ": dp 4 tp 8 pp 1\n# Written by meshscope 1\n"
	}
	rows := []struct{ head, given, cluster, say string }{
		{"", "", "dgx-h100", "cluster dgx-h100 the file names no machine"},
		{"", "b200-sxm", "node-of-b200-sxm", "--gpu b200-sxm"},
		{stamp("A100 SXM4 80GB (dgx-a100)"), "", "dgx-a100", "comment A100 SXM4 80GB"},
		{stamp("A100 SXM4 80GB (node-of-a100-sxm-80g)"), "", "node-of-a100-sxm-80g", "comment A100"},
		{stamp("A100 SXM4 80GB"), "", "node-of-a100-sxm-80g", "comment A100 SXM4 80GB"},
		{stamp("A100 SXM4 80GB (dgx-a100)"), "b200-sxm", "node-of-b200-sxm", "--gpu b200-sxm"},
		{stamp("A100 SXM4 80GB (dgx-a100, changed)"), "", "dgx-a100", "changed from its preset"},
		{stamp("Q7 (mine)"), "", "dgx-h100", `"Q7 mine" is no preset`},
	}
	for _, gpu := range presets.Default().GPUs() { // whose names may have brackets
		id := presets.Default().NodeOf(gpu.GPU).ID
		rows = append(rows, struct{ head, given, cluster, say string }{stamp(gpu.Name), "", id, gpu.Name},
			struct{ head, given, cluster, say string }{stamp(gpu.Name + " (" + id + ")"), "", id, gpu.Name})
	}
	for _, c := range rows {
		r := launch.Open("a.sh", []byte(c.head+megatronLine), presets.Default())
		if c.given != "" {
			r.Give("gpu", c.given)
		}
		s := r.Resolve(presets.Default())
		said := ""
		for _, u := range r.Understood {
			said += fmt.Sprintln(u.Key, u.Value, u.Assumed)
		}
		for _, i := range r.Ignored {
			said += i.Why + "\n"
		}
		if s.Cluster.ID != c.cluster || !strings.Contains(said, c.say) ||
			c.given != "" && strings.Contains(said, "A100") {
			t.Errorf("%q with %q: on %s; want %s, said %q in\n%s", c.head, c.given, s.Cluster.ID, c.cluster,
				c.say, said)
		}
	}
}

// TestNodesOfAFile: nodes have the GPUs that the file starts processes on; what is given beside it counts
// more.
func TestNodesOfAFile(t *testing.T) {
	const start = "torchrun --nnodes 12 --nproc_per_node 4 pretrain_gpt.py --num-layers 8 " +
		"--hidden-size 1024 --num-attention-heads 8 --seq-length 2048 --micro-batch-size 1 " +
		"--global-batch-size 96\n"
	const head = "# Ours on 48 x A100 SXM4 40GB (node-of-a100-sxm-40g, changed): dp 4 tp 8 pp 1\n" +
		"# Written by meshscope 1\n"
	for _, c := range []struct {
		file, given string
		node, nodes int
		say         string
	}{
		{head + start, "", 4, 12, "not its network (--node-bandwidth)"},
		{start, "", 4, 12, "number of processes per node"},
		{head + start, "nodes 12", 4, 12, "number of processes per node"},
		{head + start, "cluster dgx-a100", 8, 6, "--cluster"},
		{head + start, "gpus-per-node 2", 2, 24, "--gpus-per-node"},
		{strings.ReplaceAll(head+start, "nnodes 12", "nnodes 1"), "", 8, 1, "number of processes"}, // a part
	} {
		r := launch.Open("a.sh", []byte(c.file), presets.Default())
		if key, value, ok := strings.Cut(c.given, " "); ok {
			r.Give(key, value)
		}
		s := r.Resolve(presets.Default())
		said := fmt.Sprint(r.Problems)
		for _, u := range r.Understood {
			said += fmt.Sprintln(u.Key, u.Value, u.Assumed)
		}
		for _, i := range r.Ignored {
			said += i.Why + "\n"
		}
		if s.Cluster.Node() != c.node || s.Nodes() != c.nodes || !strings.Contains(said, c.say) ||
			strings.HasPrefix(c.file, "#") && s.Model.Name != "Ours" {
			t.Errorf("%q with %q: %q on %d nodes of %d; want %d of %d, said %q in\n%s", c.file, c.given,
				s.Model.Name, s.Nodes(), s.Cluster.Node(), c.nodes, c.node, c.say, said)
		}
	}
}

// TestSectionsAndEndings: one value for what holds keys is a problem, and an ending that no format has does
// not hide whose file it is.
func TestSectionsAndEndings(t *testing.T) {
	for file, want := range map[string]string{
		`{"zero_optimization": 3, "fp16": {"enabled": true}}`: `"3", allowed are keys below it, such as st`,
		`{"zero_optimization": {"stage": 3}}`:                 "",
		`{"zero_optimization": true, "fp16": {}}`:             `"true", allowed are keys below it`,
		`{"zero_optimization": "a.json", "fp16": {}}`:         "", // may be a path
		`{"zero_optimization": [{"stage": 3}]}`:               `allowed are keys below it, such as stage`,
		`{"zero_optimization": null}`:                         "",
	} {
		for _, name := range []string{"ds.json", "ds.cfg", "ds.txt", "ds"} {
			r, _ := launch.Read(name, []byte(file))
			if r.Launcher != "deepspeed" {
				t.Errorf("%s, %s: of %q", name, file, r.Launcher)
			}
			got := fmt.Sprint(r.Problems)
			if want == "" && len(r.Problems) > 0 || !strings.Contains(got, want) {
				t.Errorf("%s, %s: problems %s, not %q", name, file, got, want)
			}
		}
	}
	r, _ := launch.Read("ds.yaml", []byte(`{"zero_optimization": {"stage": 3}}`))
	if r.Launcher == "deepspeed" {
		t.Error("JSON of DeepSpeed in a file that says YAML")
	}
}
