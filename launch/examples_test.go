package launch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine_test/shared"
	"meshscope/launch"
	"meshscope/presets"
)

// blocks returns the code blocks of one language of the reference material that contain a word.
func blocks(t *testing.T, language, word string) []string {
	t.Helper()
	text, err := os.ReadFile(shared.Path(t, "launchers.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```").FindAllStringSubmatch(string(text),
		-1) {
		if m[1] == language && strings.Contains(m[2], word) {
			out = append(out, m[2])
		}
	}
	return out
}

// leaves returns the values of a nested document by dotted keys.
func leaves(into map[string]any, prefix string, v any) map[string]any {
	switch t := v.(type) {
	case map[string]any:
		for k, v := range t {
			leaves(into, prefix+"."+k, v)
		}
	case []any:
		for i, v := range t {
			leaves(into, prefix+"."+strconv.Itoa(i), v)
		}
	default:
		into[strings.TrimPrefix(prefix, ".")] = v
	}
	return into
}

// assignments returns what a recipe function sets, products multiplied.
func assignments(text string) map[string]any {
	out := map[string]any{}
	for _, m := range regexp.MustCompile(`(?m)^    ([\w.]+) = ([^#\n]+?)(  #.*)?$`).FindAllStringSubmatch(
		text, -1,
	) {
		product := 1
		for _, f := range strings.Split(m[2], " * ") {
			n, err := strconv.Atoi(f)
			if err != nil {
				product = 0
				break
			}
			product *= n
		}
		if out[m[1]] = m[2]; product != 0 {
			out[m[1]] = product
		}
	}
	return out
}

// TestWorkedFiles: each worked example of a launcher's file is what is exported for its
// layout, key by key, but for what only the site knows, and reads back as that layout.
func TestWorkedFiles(t *testing.T) {
	decode := func(unmarshal func([]byte, any) error) func(string) map[string]any {
		return func(text string) map[string]any {
			var tree map[string]any
			if err := unmarshal([]byte(text), &tree); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			return leaves(map[string]any{}, "", tree)
		}
	}
	ofJSON := decode(json.Unmarshal)
	ofTOML := decode(func(data []byte, v any) error { return toml.Unmarshal(data, v) })
	ofYAML := decode(func(data []byte, v any) error { return yaml.Unmarshal(data, v) })
	all := samples(t)
	v3 := knob.Given{
		knob.DP: 64, knob.PP: 8, knob.VPP: 2, knob.EP: 64, knob.ZeRO: 3, knob.MBS: 1,
		knob.GBS: 4096, knob.Seq: 4096,
	}
	deepseek := setup(t, "deepseek-v3", v3)
	deepseek.Split = "3,4,4,4,4,4,4,4,4,4,4,4,4,4,4,2" // torchtitan's own: 61 + 2 layers on 16 stages
	autoEP := setup(t, "deepseek-v3", knob.Given{
		knob.DP: 1024, knob.EP: 64, knob.ZeRO: 3, knob.MBS: 1,
		knob.GBS: 4096, knob.Seq: 4096,
	})
	nano := all["nanotron"]
	nano.Model, _ = presets.Default().Model("llama3-70b")
	for name, c := range map[string]struct {
		launcher, language, word string
		number                   int
		setup                    engine.Setup
		parse                    func(string) map[string]any
	}{
		"torchtitan, Llama 3": {
			"torchtitan", "python", "llama3_70b()", 0, all["torchtitan"],
			assignments,
		},
		"torchtitan, DeepSeek-V3": {"torchtitan", "python", "deepseek_v3_671b()", 0, deepseek, assignments},
		"torchtitan 0.2.2": {
			"torchtitan-toml", "toml", "[parallelism]", 0, all["torchtitan-toml"],
			ofTOML,
		},
		"DeepSpeed, AutoTP":        {"deepspeed", "json", "autotp_size", 0, all["deepspeed"], ofJSON},
		"DeepSpeed, AutoEP, ZeRO3": {"deepspeed", "json", "autoep_size", 0, autoEP, ofJSON},
		"nanotron":                 {"nanotron", "yaml", "pp_engine", 0, nano, ofYAML},
		"accelerate":               {"accelerate", "yaml", "distributed_type", 0, all["accelerate"], ofYAML},
	} {
		examples := blocks(t, c.language, c.word)
		if len(examples) <= c.number {
			t.Fatalf("%s: %d examples", name, len(examples))
		}
		// The example means zero 3: under its pipeline default keeps weights gathered, always frees them.
		text := strings.Replace(examples[c.number], `fsdp_reshard_after_forward = "default"`,
			`fsdp_reshard_after_forward = "always"`, 1)
		l, _ := launch.Find(c.launcher)
		d, refused := l.Export(&c.setup, "")
		if len(refused) > 0 {
			t.Errorf("%s: %+v", name, refused)
			continue
		}
		site := func(key string) bool {
			return slices.ContainsFunc(d.Entries, func(e launch.Entry) bool { return e.Site && e.Key == key })
		}
		want, got := c.parse(text), c.parse(string(d.Text()))
		for key, v := range want {
			if g, ok := got[key]; !site(key) && (!ok || fmt.Sprint(g) != fmt.Sprint(v)) {
				t.Errorf("%s: %s is %v, exported is %v", name, key, v, g)
			}
		}
		a, _ := launch.Read(d.File, []byte(text))
		b, _ := launch.Read(d.File, d.Text())
		if len(a.Problems) > 0 || len(a.Setup) < 8 {
			t.Errorf("%s: %+v", name, a)
		}
		for key, v := range a.Setup {
			if fmt.Sprint(b.Setup[key]) != fmt.Sprint(v) {
				t.Errorf("%s: read as %s %v, the exported file as %v", name, key, v, b.Setup[key])
			}
		}
	}
	pipeline, _ := launch.Read("ds_config.json", []byte(blocks(t, "json", `"pipeline"`)[0]))
	if len(pipeline.Problems) > 0 || pipeline.Setup["pp"] != 1 ||
		!slices.ContainsFunc(pipeline.Ignored,
			func(i launch.Ignored) bool { return strings.HasPrefix(i.Key, "pipeline") && i.Why != "" }) {
		t.Errorf("DeepSpeed's pipeline block: %+v", pipeline)
	}
}
