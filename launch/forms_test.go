package launch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/presets/published"
)

// files lists the launchers whose files are read back here.
func files(t testing.TB) []*launch.Launcher {
	t.Helper()
	var out []*launch.Launcher
	for _, id := range []string{
		"torchtitan", "torchtitan-toml", "nanotron", "deepspeed", "accelerate",
		"accelerate-deepspeed", "axolotl", "llama-factory", "trl",
	} {
		l, ok := launch.Find(id)
		if !ok {
			t.Fatal(id)
		}
		out = append(out, l)
	}
	return out
}

// backOf reads an exported file and completes it with what it does not carry.
func backOf(t testing.TB, l *launch.Launcher, s *engine.Setup) (engine.Setup, *launch.Document,
	launch.Reading, error,
) {
	t.Helper()
	d, refused := l.Export(s, "test")
	if len(refused) > 0 {
		t.Fatalf("%s: %+v", l.ID, refused)
	}
	r, ok := launch.Read(d.File, d.Text())
	if !ok || r.Launcher != l.ID {
		t.Fatalf("%s: read by %q\n%s", l.ID, r.Launcher, d.Text())
	}
	if len(r.Problems) > 0 {
		t.Fatalf("%s: %+v\n%s", l.ID, r.Problems, d.Text())
	}
	keys := r.Flat(presets.Default())
	keys["cluster"] = s.Cluster.ID
	if _, err := presets.Default().Cluster(s.Cluster.ID); err != nil { // the node of a GPU
		delete(keys, "cluster")
		keys["gpu"] = s.Cluster.GPU.ID
	}
	for _, n := range d.NotCarried {
		if n.Key == "model" {
			keys["model"] = s.Model.ID
			continue
		}
		if k, ok := knob.Find(knob.ID(strings.ReplaceAll(n.Key, "_", "-"))); ok {
			keys[n.Key] = k.Value(s)
			if k.ID == knob.Nodes || k.Kind == knob.Figure && keys[n.Key] == 0.0 || k.ID == knob.Split &&
				s.Split == "" {
				delete(keys, n.Key)
			}
		}
	}
	r.Setup = keys
	doc, err := r.Document(presets.Default())
	if err != nil {
		return engine.Setup{}, d, r, err
	}
	got, err := doc.Setup(presets.Default())
	return got, d, r, err
}

// fileTrip tells in what a setup differs that was exported and read back.
func fileTrip(t testing.TB, l *launch.Launcher, s *engine.Setup) {
	t.Helper()
	got, d, r, err := backOf(t, l, s)
	if err != nil {
		t.Fatalf("%s: %v\n%v\n%s", l.ID, err, r.Setup, d.Text())
	}
	for _, k := range knob.All() {
		same := k.ID == knob.HSDP && s.Replicas() == got.Replicas() ||
			k.ID == knob.CPComm && s.Exchanges() == got.Exchanges()
		if a, b := k.Text(*s), k.Text(got); a != b && !same {
			t.Fatalf("%s: %s was %s, is %s\n%s", l.ID, k.ID, a, b, d.Text())
		}
	}
	named := func(n launch.NotCarried) bool { return n.Key == "model" }
	if bare(got.Model) != bare(s.Model) && !slices.ContainsFunc(d.NotCarried, named) {
		t.Fatalf("%s: model was %+v, is %+v", l.ID, s.Model, got.Model)
	}
}

// bare returns a model without labels.
func bare(m model.Model) model.Model {
	m.ID, m.Name, m.Family, m.Attention, m.ExtraParamsWhat = "", "", "", "", ""
	return m
}

// draw returns a random setup, which may be illegal or refused; a flat one has neither a pipeline
// nor sp, which some launchers lack.
func draw(r *rand.Rand, models []model.Model, c hardware.Cluster, flat bool) (engine.Setup, bool) {
	pick := func(n ...int) int { return n[r.IntN(len(n))] }
	m := models[r.IntN(len(models))]
	g := knob.Given{
		knob.TP: pick(1, 1, 2, 4, 8), knob.PP: pick(1, 1, 2, 3, 4, 8),
		knob.CP: pick(1, 1, 1, 2, 4), knob.MBS: pick(1, 1, 2, 3), knob.Seq: pick(2048, 4096, 8192, 12288),
	}
	dp := pick(1, 2, 3, 4, 8, 16, 64)
	g[knob.DP], g[knob.MicroBatches] = dp, pick(1, 2, 4, 7, 8, 12, 16, 24, 64)
	g[knob.ZeRO] = pick(0, 1, 2, 3, 3)
	g[knob.HSDP] = pick(1, 1, 1, 2, 4)
	g["recompute"] = []string{"none", "full", "selective"}[r.IntN(3)]
	g["precision"] = []string{"bf16", "bf16", "bf16", "fp8", "fp32", "fp16"}[r.IntN(6)]
	if r.IntN(4) == 0 {
		g["grad-dtype"] = "bf16"
	}
	if m.IsMoE() {
		g[knob.EP], g[knob.ETP] = pick(1, 2, 4, 8, 16, 64), pick(1, 1, 1, 2)
	}
	if flat {
		g[knob.PP] = 1
	}
	if g[knob.TP].(int) > 1 {
		g[knob.SP] = r.IntN(3) > 0 && !flat
	}
	if g[knob.PP].(int) > 1 {
		kinds := schedule.Kinds()
		g["schedule"] = string(kinds[r.IntN(len(kinds))].Kind)
		if r.IntN(2) == 0 {
			g["schedule"] = []string{"1f1b", "afab", "interleaved"}[r.IntN(3)]
		}
		if r.IntN(3) == 0 {
			g[knob.VPP] = pick(2, 3, 4)
		}
	}
	if r.IntN(3) == 0 {
		g["calibration"] = []string{"torchtitan", "nanotron"}[r.IntN(2)]
	}
	if r.IntN(8) == 0 {
		g["offload"] = "optimizer"
	}
	s, err := knob.DraftOf(m, c, g).Resolve()
	if err != nil {
		return s, false
	}
	if s.PP > 1 && r.IntN(4) == 0 { // another split
		stages, err := s.Partition(model.Lay(&s.Model, nil), nil)
		if err != nil || len(stages) < 2 || stages[0].Layers() < 2 {
			return s, false
		}
		words := make([]string, len(stages))
		for i := range stages {
			words[i] = fmt.Sprint(stages[i].Layers())
		}
		words[0], words[1] = fmt.Sprint(stages[0].Layers()-1), fmt.Sprint(stages[1].Layers()+1)
		s.Split = strings.Join(words, ",")
	}
	if s.Schedule == schedule.Interleaved && r.IntN(3) == 0 {
		s.GroupSize = s.MicroBatches / max(1, s.MicroBatches/s.PP)
	}
	return s, engine.Legal(s)
}

// TestRoundTrip: what is exported reads back as the setup that it was, in all that the file
// carries, for random setups and for every published layout that the launcher runs.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	groups, err := published.Groups(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	most := 60
	switch {
	case draws.Race:
		most = 20
	case draws.Deep():
		most = 100 // of each seed
	}
	for _, l := range files(t) {
		t.Run(l.ID, func(t *testing.T) {
			t.Parallel()
			runs := 0
			for g := range groups {
				for i := range groups[g].Runs {
					s := groups[g].Runs[i].Setup
					if !engine.Legal(s) || len(l.Refusals(&s)) > 0 {
						continue
					}
					if runs++; runs%10 == 1 || draws.Deep() && !draws.Race {
						fileTrip(t, l, &s)
					}
				}
			}
			models := modelsOf(l)
			done, tried := 0, 0
			for _, seed := range draws.Seeds() {
				r := rand.New(rand.NewPCG(seed, 0))
				for done = 0; done < most; tried++ {
					if tried > 2000*most {
						t.Fatalf("%d of %d drawn", done, tried)
					}
					if s, ok := draw(r, models, cluster, flat(l.ID)); ok && len(l.Refusals(&s)) == 0 {
						fileTrip(t, l, &s)
						done++
					}
				}
			}
			t.Logf("%d published layouts, %d random ones for each seed, of %d drawn; %d models", runs, done,
				tried, len(models))
			if runs == 0 && !flat(l.ID) {
				t.Error("no published layout")
			}
		})
	}
}

// flat reports whether a launcher has no pipeline.
func flat(id string) bool { return !strings.Contains("torchtitan-toml nanotron", id) }

// modelsOf returns the models that a launcher has.
func modelsOf(l *launch.Launcher) []model.Model {
	var out []model.Model
	for _, p := range presets.Default().Models() {
		s := presets.DefaultSetup()
		s.Model = p.Model
		if !slices.ContainsFunc(l.Refusals(&s), func(r launch.Refusal) bool { return r.Rule == "model" }) {
			out = append(out, p.Model)
		}
	}
	return out
}

// TestFilesParse: files parse with the parsers of their formats, with the value of each entry.
func TestFilesParse(t *testing.T) {
	for id, s := range samples(t) {
		l, _ := launch.Find(id)
		d, refused := l.Export(&s, "1.2.3")
		if len(refused) > 0 {
			t.Fatalf("%s: %+v", id, refused)
		}
		text := d.Text()
		var tree map[string]any
		var err error
		switch filepath.Ext(d.File) {
		case ".toml":
			err = toml.Unmarshal(text, &tree)
		case ".yaml":
			err = yaml.Unmarshal(text, &tree)
		case ".json":
			err = json.Unmarshal(text, &tree)
		case ".py":
			python, lacks := exec.LookPath("python3")
			if lacks != nil {
				t.Log("python3 is not here: the module is not compiled")
				continue
			}
			file := filepath.Join(t.TempDir(), d.File)
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), python, "-m", "py_compile",
				file).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", id, err, text)
			continue
		}
		for _, e := range d.Entries {
			if got, ok := lookUp(tree, e.Key); !ok || plainly(got) != plainly(e.Value) {
				t.Errorf("%s: %s is %v in the file, %v was meant", id, e.Key, got, e.Value)
			}
		}
		if d.File != "ds_config.json" && (!strings.Contains(string(text), "meshscope 1.2.3") ||
			!strings.Contains(string(text), l.Source)) {
			t.Errorf("%s: no stamp", id)
		}
	}
}

// lookUp returns the value of a dotted key.
func lookUp(tree any, key string) (any, bool) {
	for _, part := range strings.Split(key, ".") {
		switch t := tree.(type) {
		case map[string]any:
			v, ok := t[part]
			if !ok {
				return nil, false
			}
			tree = v
		case []any:
			if part != "0" || len(t) == 0 {
				return nil, false
			}
			tree = t[0]
		default:
			return nil, false
		}
	}
	return tree, true
}

// plainly returns a value as JSON, in which numbers of any type are alike.
func plainly(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// samples returns a setup that each launcher runs.
func samples(t testing.TB) map[string]engine.Setup {
	t.Helper()
	set := func(model string, g knob.Given, change func(*engine.Setup)) engine.Setup {
		m, err := presets.Default().Model(model)
		if err != nil {
			t.Fatal(err)
		}
		c, err := presets.Default().Cluster("dgx-h100")
		if err != nil {
			t.Fatal(err)
		}
		s, err := knob.DraftOf(m, c, g).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(&s)
		}
		if !engine.Legal(s) {
			t.Fatalf("%s %v is illegal", model, g)
		}
		return s
	}
	titan := knob.Given{knob.TP: 8, knob.PP: 2, knob.DP: 4, knob.ZeRO: 3, knob.GBS: 128, "recompute": "full"}
	return map[string]engine.Setup{
		"torchtitan":      set("llama3.1-70b", titan, nil),
		"torchtitan-toml": set("llama3.1-70b", titan, nil),
		"nanotron": set("llama3.1-70b", knob.Given{
			knob.TP: 8, knob.PP: 2, knob.DP: 4, knob.ZeRO: 1,
			knob.GBS: 128,
		}, nil),
		"deepspeed": set("llama3.1-70b", knob.Given{
			knob.TP: 8, knob.DP: 8, knob.ZeRO: 1, knob.GBS: 128,
			knob.SP: false,
		}, nil),
		"accelerate": set("llama3.1-70b", knob.Given{
			knob.TP: 8, knob.DP: 8, knob.ZeRO: 3, knob.GBS: 128,
			knob.SP: false, "recompute": "full",
		}, nil),

		"accelerate-deepspeed": set("llama3.1-70b", knob.Given{
			knob.DP: 64, knob.ZeRO: 2, knob.GBS: 128,
			knob.SP: false,
		}, nil),
		"axolotl": set("llama3.1-70b", knob.Given{
			knob.TP: 2, knob.DP: 32, knob.ZeRO: 3, knob.GBS: 128,
			knob.SP: false, "recompute": "full",
		}, nil),
		"llama-factory": set("llama3.1-70b", knob.Given{
			knob.DP: 64, knob.ZeRO: 3, knob.GBS: 128,
			knob.SP: false, "recompute": "full",
		}, nil),
		"trl": set("llama3.1-70b", knob.Given{knob.DP: 64, knob.ZeRO: 3, knob.GBS: 128, knob.SP: false}, nil),
	}
}

// TestEveryKnob: another value of any knob changes the file, is refused, or is listed as not
// carried with a reason.
func TestEveryKnob(t *testing.T) {
	for id, base := range samples(t) {
		l, _ := launch.Find(id)
		moe := base
		if id != "nanotron" {
			moe.Model, _ = presets.Default().Model("deepseek-v3")
			moe.TP, moe.SP, moe.PP, moe.EP, moe.Schedule = 1, false, 1, 1, schedule.OneFOneB
			moe.DP, moe.GPUs, moe.MicroBatches, moe.GBS, moe.Seq = 64, 64, 2, 128, 4096
		}
		for _, s := range []engine.Setup{base, moe} {
			if !engine.Legal(s) || len(l.Refusals(&s)) > 0 {
				t.Fatalf("%s: %+v", id, l.Refusals(&s))
			}
			doc, _ := l.Export(&s, "")
			for _, k := range knob.All() {
				for _, text := range values(&k) {
					everyValue(t, l, doc, &s, &k, text)
				}
			}
		}
	}
}

// values returns values of a knob to try.
func values(k *knob.Knob) []string {
	switch k.Kind {
	case knob.Number:
		return []string{"0", "1", "2", "3", "4", "8", "16", "4096"}
	case knob.List:
		return []string{"39,41", "80", "41,39"}
	case knob.Choice:
		return append(slices.Clone(k.Choices), "full:4", "modules:norm")
	case knob.Switch, knob.Figure, knob.Rate:
	}
	return k.Choices
}

func everyValue(t *testing.T, l *launch.Launcher, doc *launch.Document, s *engine.Setup, k *knob.Knob,
	text string,
) {
	t.Helper()
	for _, turned := range []func() (engine.Setup, error){
		func() (engine.Setup, error) { return k.Set(*s, text) },
		func() (engine.Setup, error) {
			return knob.Turn(*s, k.ID, text, knob.Locks{GPUs: true, Batch: true})
		},
		func() (engine.Setup, error) { return knob.Turn(*s, k.ID, text, knob.Locks{}) },
	} {
		other, err := turned()
		if err != nil || !engine.Legal(other) || k.Text(other) == k.Text(*s) || len(l.Refusals(&other)) > 0 {
			continue
		}
		d, _ := l.Export(&other, "")
		a, b := *doc, *d
		a.Stamp, b.Stamp = nil, nil
		listed := func(n launch.NotCarried) bool {
			return n.Key == strings.ReplaceAll(string(k.ID), "-", "_") && n.Why != ""
		}
		if string(a.Text()) == string(b.Text()) && !slices.ContainsFunc(b.NotCarried, listed) &&
			!slices.ContainsFunc(a.NotCarried, listed) {
			t.Errorf("%s: --%s %s in place of %s is neither in the file nor listed", l.ID, k.ID, text,
				k.Text(*s))
		}
	}
}
