package setupdoc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/presets/input"
	"meshscope/presets/setupdoc"
)

// keys returns a document of n keys, one per line.
func keys(n int, line string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line+"\n", i)
	}
	return b.String()
}

// Documents with more keys than a setup has are refused before anything looks at all of them: TOML at the
// first key too many, JSON by its length.
func TestTooManyKeys(t *testing.T) {
	const many, manyJSON = 20_000, 100_000
	tests := []struct{ name, text, want string }{
		{
			"flat.json", "{\n" + keys(manyJSON, `"k%d": 1,`) + `"z": 1}`,
			"flat.json: longer than 1048576 bytes, which is no setup",
		},
		{"flat.toml", keys(many, "k%d = 1"), "flat.toml:1001:1: more than 1000 keys"},
		{"tables.toml", keys(many, "[k%d]"), "tables.toml:1001:2: more than 1000 keys"},
		{"array.toml", keys(many, "[[k.a%d]]"), "array.toml:501:3: more than 1000 keys"},
		{
			"inline.toml", "k = [" + strings.Repeat("{a = 1, b = 2},\n", many) + "]\n",
			"inline.toml:500:9: more than 1000 keys",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := setupdoc.Parse(tc.name, []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// A list of a hundred thousand numbers is one value, and positions behind it
// are still right.
func TestLongDocumentWithFewKeys(t *testing.T) {
	text := "{\n\"tp\": 8,\n\"x\": [" + strings.Repeat("1,\n", 100_000) + "1],\n\"pp\": 2}"
	_, err := setupdoc.Parse("long.json", []byte(text))
	if want := `long.json:3:1: unknown key "x"`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestSaidTwice(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a.json", `{"set":{"tp":2},"tp":8}`, `a.json:1:17: key "tp" comes twice`},
		{"a.json", `{"tp":8,"set":{"tp":2}}`, `a.json:1:16: key "tp" comes twice`},
		{
			"a.json", `{"set":{"grad-dtype":"bf16","grad_dtype":"fp32"}}`,
			`a.json:1:29: key "grad_dtype" comes twice`,
		},
		{
			"a.json", `{"set":{"model":{"layers":40},"model.layers":20}}`,
			`a.json:1:31: key "model.layers" comes twice`,
		},
		{"a.json", `{"model":{"layers":40},"set":{"model.layers":20}}`, `key "model.layers" comes twice`},
		{
			"a.json", `{"gpu":{"peak_bf16":1e15},"set":{"cluster.gpu.peak_bf16":1e14}}`,
			`key "cluster.gpu.peak_bf16" comes twice`,
		},
		{"a.json", `{"model":"small","set":{"model":"small"}}`, `key "model" comes twice`},
		{"a.toml", "tp = 8\n[set]\ntp = 2\n", `a.toml:3:1: key "tp" comes twice`},
		{"a.toml", "[model]\nlayers = 40\n[set]\nmodel.layers = 20\n", `key "model.layers" comes twice`},
	}
	for _, tc := range tests {
		if _, err := resolve(tc.name, tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got  %v\nwant %s", tc.text, err, tc.want)
		}
	}
}

// A report that is fed back has its setup inside and nothing else.
func TestFedBack(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema_version":1,"version":"x","setup":{"tp":8},"legal":true,"problems":[],"model":{},"memory":{}}`: "",
		`{"setup":{"tp":8}}`:                             "",
		`{"schema_version":1,"setup":{"tp":8},"lgal":1}`: `1:38: unknown key "lgal": did you mean legal`,
		`{"schema_version":2,"setup":{"tp":8}}`:          `schema_version: given "2", allowed is 1`,
		`{"schema_version":"1","setup":{"tp":8}}`:        `schema_version: given "1", allowed is 1`,
		`{"setup":{"tp":8},"tp":4}`:                      `1:19: key "tp" next to "setup"`,
		`{"setup":{"tp":8},"model":"small"}`:             `1:19: key "model" next to "setup"`,
		`{"setup":{"tp":8},"set":{}}`:                    `1:19: key "set" next to "setup"`,
		`{"setup":3}`:                                    `setup: given "3"`,
		`{"setup":{"setup":{"tp":8}}}`:                   `unknown key "setup"`,
		`{"schema_version":1,"tp":8}`:                    `unknown key "schema_version"`,
	} {
		_, err := resolve("a.json", text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got  %v\nwant %s", text, err, want)
		}
	}
}

// What is wrong with a value that was read long before it is checked still has
// its place, and what contradicts itself too.
func TestPlaces(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a.json", `{"model":{"id":"llama3.1-70b","layers":0}}`, `a.json:1:40: model.layers: given "0"`},
		{"a.json", `{"model":{"id":"llama3.1-70b","heads":3}}`, `a.json:1:10: model.kv_heads`},
		{
			"a.json", `{"gpu":{"peak_bf16":1e-300}}`,
			`a.json:1:21: gpu.peak_bf16: given "1e-300", allowed is 1e+09 to 1e+20, or 0 for none`,
		},
		{
			"a.json", `{"cluster":{"gpu":{"memory_bandwidth":3}}}`,
			`a.json:1:39: cluster.gpu.memory_bandwidth: given "3"`,
		},
		{"a.json", `{"gpu":{"memory_bytes":1e10}}`, `gpu.memory_usable_bytes`},
		{
			"a.json", `{"cluster":{"intra":{"latency":11}}}`,
			`a.json:1:32: cluster.intra.latency: given "11", allowed is 1e-09 to 10`,
		},
		{
			"a.toml", "[cluster]\nid = 'dgx-h100'\ngpus_per_node = 0\n",
			`a.toml:3:1: cluster.gpus_per_node: given "0"`,
		},
		{
			"a.json", "{\"gpus\":64,\n\"tp\":8,\n\"dp\":3}",
			`a.json:3:6: --gpus and --dp contradict each other`,
		},
		{"a.json", `{"gbs":1099511627776}`, `a.json:1:8: gbs:`},
	}
	for _, tc := range tests {
		if _, err := resolve(tc.name, tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got  %v\nwant %s", tc.text, err, tc.want)
		}
	}
}

// What would be shown in a terminal must be text.
func TestLabels(t *testing.T) {
	for _, field := range []string{
		"model.name", "model.family", "cluster.id", "cluster.name", "cluster.intra.name",
		"cluster.inter.name",
		"gpu.name", "gpu.vendor",
	} {
		for _, bad := range []string{"\x1b]0;x\a", "a\u202eb", "\xff", "a\nb", strings.Repeat("x", 201)} {
			var d setupdoc.Document
			err := d.Assign(field + "=" + bad)
			if err == nil {
				_, err = d.Setup(shelf{})
			}
			if err == nil || !strings.Contains(err.Error(), "printable text") {
				t.Errorf("%s=%q: %v", field, bad, err)
			}
		}
	}
	for _, text := range []string{
		`{"model":{"id":"\u009b31m"}}`, `{"model":{"id":"a\u202eb"}}`,
		`{"cluster":{"gpu":{"id":"\u001b"}}}`,
	} {
		if _, err := resolve("a.json", text); err == nil || !strings.Contains(err.Error(), "printable text") {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := setupdoc.Parse("\x1b]0;x\a.json", []byte("{"))
	if err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("the file's name steers the terminal: %q", err)
	}
}

// An id names a preset with its figures and its calibration. It is chosen, not set; a
// machine of one's own may have a name that no other has.
func TestIDsAreNotSet(t *testing.T) {
	for text, want := range map[string]string{
		"model.id=llama3.1-70b":  "model.id cannot be set",
		"gpu.id=h100":            "gpu.id cannot be set",
		"cluster.gpu.id=x":       "cluster.gpu.id cannot be set",
		"cluster.id=mine":        "",
		"cluster.gpu.name=other": "",
	} {
		var d setupdoc.Document
		err := d.Assign(text)
		if err == nil {
			_, err = d.Setup(shelf{})
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"set":{"model.id":"small"}}`:                  "a.json:1:9: model.id cannot be set",
		`{"set":{"gpu":{"id":"x"}}}`:                    "gpu.id cannot be set",
		`{"cluster":"dgx-h100","gpu":{"id":"x"}}`:       "dgx-h100 is made of",
		`{"cluster":"dgx-h100","gpu":{"id":"a\u202e"}}`: `made of`,
	} {
		if _, err := resolve("a.json", text); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\u202e") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A figure on the command line is decimal, as a flag is.
func TestDecimalFigures(t *testing.T) {
	for text, want := range map[string]int{
		"010": 10, "8.0": 8, "4e1": 40, "0x10": 0, "8_0": 0, "0o7": 0,
		"0x1p4": 0,
	} {
		var d setupdoc.Document
		if err := d.Assign("model.layers=" + text); err != nil {
			t.Fatal(err)
		}
		s, err := d.Setup(shelf{})
		switch {
		case want == 0 && err == nil:
			t.Errorf("%s is read as %d", text, s.Model.Layers)
		case want > 0 && (err != nil || s.Model.Layers != want):
			t.Errorf("%s: %v, %v", text, s.Model.Layers, err)
		}
		var f setupdoc.Document
		if err := f.Assign("gpu.memory_bandwidth=" + text + "000000000"); err == nil {
			_, err = f.Setup(shelf{})
			if (err != nil) != (want == 0) && !strings.Contains(text, "e") && !strings.Contains(text, ".") {
				t.Errorf("memory bandwidth %s: %v", text, err)
			}
		}
	}
}

// The typical node of a GPU can be changed where there is one.
func TestNodeOfGPU(t *testing.T) {
	read := func(gpu, cluster string, sets ...string) (engine.Setup, error) {
		var d setupdoc.Document
		for key, id := range map[string]string{"gpu": gpu, "cluster": cluster} {
			if id != "" {
				if err := d.Set(key, id); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range sets {
			if err := d.Assign(s); err != nil {
				t.Fatal(err)
			}
		}
		return d.Setup(shelf{})
	}
	s, err := read("h100", "", "gpu.typical_gpus_per_node=4")
	if err != nil || s.Cluster.NodeGPUs != 4 {
		t.Errorf("%d GPUs in a node, %v", s.Cluster.NodeGPUs, err)
	}
	for _, key := range []string{"gpu.intra_node_bandwidth", "cluster.gpu.intra_node_bandwidth"} {
		for _, cluster := range []string{"", "dgx-h100"} {
			if _, err := read("", cluster, key+"=1e9"); err == nil ||
				!strings.Contains(err.Error(), "use cluster.intra.bandwidth") {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
}

func TestBatchLines(t *testing.T) {
	for line, want := range map[string]string{
		"":               "empty line",
		" \t":            "empty line",
		"tp = 8":         "not JSON",
		"[model]":        "not JSON|given \"a list\"",
		"\ufeff{}":       "",
		`{"tp":8}`:       "",
		"\"tp\" = 8":     "",
		"# comment only": "not JSON",
	} {
		_, err := setupdoc.ParseLine([]byte(line))
		if line == `"tp" = 8` {
			if err == nil {
				t.Errorf("%q is taken", line)
			}
			continue
		}
		ok := want == "" && err == nil
		for w := range strings.SplitSeq(want, "|") {
			ok = ok || w != "" && err != nil && strings.Contains(err.Error(), w)
		}
		if !ok {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	for _, name := range []string{"a.json", "a.toml", ""} {
		if _, err := setupdoc.Parse(name,
			[]byte("\ufeff"+map[string]string{
				"a.json": "{}", "a.toml": "tp = 8",
				"": "{}",
			}[name])); err != nil {
			t.Errorf("%s with a byte order mark: %v", name, err)
		}
	}
}

// A file without an end in its name is taken for the format that it looks like.
func TestFormatOfTables(t *testing.T) {
	for _, text := range []string{"[[model]]\nlayers = 1\n", "[model]\nlayerz = 1\n"} {
		_, err := setupdoc.Parse("", []byte(text))
		if err != nil && strings.Contains(err.Error(), "JSON") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKnownWords(t *testing.T) {
	for _, text := range []string{"model.activation=nonsense", "model.pos_embedding=nonsense", "set=1"} {
		var d setupdoc.Document
		err := d.Assign(text)
		if err == nil {
			_, err = d.Setup(shelf{})
		}
		if err == nil || strings.Contains(err.Error(), "did you mean set") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A setup in another encoding is refused with what it is and what is allowed, in a
// file as in a line of a batch.
func TestOtherEncodings(t *testing.T) {
	const text = `{"model":"llama3.1-8b","gpus":8}`
	wide := "\xff\xfe"
	for _, b := range []byte(text) {
		wide += string(rune(b)) + "\x00"
	}
	for data, want := range map[string]string{
		wide:                                 "this is UTF-16 (little-endian); allowed is text in UTF-8",
		strings.TrimPrefix(wide, "\xff\xfe"): "this is UTF-16LE",
		"{\"model\":\"\xe9\"}":               "byte 0xE9 is no UTF-8",
		"\x1f\x8b\x08":                       "this is gzip",
	} {
		for _, name := range []string{"a.json", "a.toml", "", "a line"} {
			var err error
			if name == "a line" {
				_, err = setupdoc.ParseLine([]byte(data))
			} else {
				_, err = setupdoc.Parse(name, []byte(data))
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q as %q: %v, want %q", data, name, err, want)
			}
		}
	}
	_, err := setupdoc.Parse("a.toml", []byte("tp = 8\n# \xe9\n"))
	var placed *input.Error
	if !errors.As(err, &placed) || placed.Line != 2 || placed.Column != 3 {
		t.Errorf("%v at %+v", err, placed)
	}
}
