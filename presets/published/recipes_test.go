package published_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"meshscope/engine/hardware"
	"meshscope/engine/model"
	"meshscope/presets"
	"meshscope/presets/published"
)

const recipesFile = "../recipes.csv"

// TestRecipesAreWhatTheRunsState holds the lines of presets/recipes.csv that name a run against it, and
// the shape of each against its model. With MESHSCOPE_UPDATE=1 it fills them.
func TestRecipesAreWhatTheRunsState(t *testing.T) {
	text, err := os.ReadFile(recipesFile)
	if err != nil {
		t.Fatal(err)
	}
	runs, titles := map[string]*published.Run{}, map[string]string{}
	for _, g := range groups(t) {
		for i := range g.Runs {
			runs[g.Runs[i].ID], titles[g.Runs[i].ID] = &g.Runs[i], g.Title
		}
	}
	var want strings.Builder
	seen := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\n"); line == "" || line[0] == '#' {
			want.WriteString(line + "\n")
			continue
		}
		v := strings.Split(line, ",")
		if n := strings.Count(presets.RecipeColumns, ",") + 1; len(v) != n {
			t.Fatalf("%s: %d values, not %d", line, len(v), n)
		}
		m, err := presets.Default().Model(v[0])
		if err != nil {
			t.Fatal(err)
		}
		v[2] = hardware.Shape(&m)
		if id := v[1]; id != "" {
			r := runs[id]
			if r == nil {
				t.Fatalf("%s: no such run", id)
			}
			stated(v, r, titles[id])
			if hardware.Shape(&r.Setup.Model) != v[2] {
				t.Errorf("%s is of another model than %s", id, v[0])
			}
		}
		key := strings.Join([]string{v[2], v[3], v[5]}, " ")
		if twice := seen[key]; twice != "" {
			t.Errorf("%s and %s are of the same model, generation and number of GPUs", twice, line)
		}
		seen[key] = line
		want.WriteString(strings.Join(v, ",") + "\n")
	}
	if os.Getenv("MESHSCOPE_UPDATE") == "1" {
		if err := os.WriteFile(recipesFile, []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want.String() != string(text) {
		t.Error("recipes.csv is not what the runs state; MESHSCOPE_UPDATE=1 go test ./presets/published " +
			"-run Recipes fills it")
	}
}

// stated puts what a run states into the values of a line.
func stated(v []string, r *published.Run, title string) {
	s := &r.Setup
	v[3], v[4] = s.Cluster.GPU.Architecture, published.GPUWords(s)
	v[5], v[6], v[7], v[8] = fmt.Sprint(s.GPUs), fmt.Sprint(s.GBS), fmt.Sprint(s.Seq), string(s.Precision)
	if s.Model.IsMoE() && v[9] == "" {
		v[9] = string(s.Cluster.Calibration.For(s.Stack).Run(&s.Software).Dispatcher)
	}
	v[10], v[11] = strings.ReplaceAll(title, ",", ":"), strings.ReplaceAll(cmp.Or(r.Source, title), ",", ";")
}

// TestShapeTellsModelsApart: a model whose heads or latent ranks have another width is not the one whose run
// was published.
func TestShapeTellsModelsApart(t *testing.T) {
	of, err := presets.Default().Model("deepseek-v3")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*model.Model){
		"head_dim":         func(m *model.Model) { m.HeadDim /= 2 },
		"q_lora_rank":      func(m *model.Model) { m.QLoraRank = 0 },
		"kv_lora_rank":     func(m *model.Model) { m.KVLoraRank /= 2 },
		"no latent ranks":  func(m *model.Model) { m.KVLoraRank = 0 },
		"qk_nope_head_dim": func(m *model.Model) { m.QKNopeDim /= 2 },
		"qk_rope_head_dim": func(m *model.Model) { m.QKRopeDim /= 2 },
		"v_head_dim":       func(m *model.Model) { m.VHeadDim /= 2 },
	} {
		other := of
		if change(&other); hardware.Shape(&other) == hardware.Shape(&of) {
			t.Errorf("%s: the same shape %s", name, hardware.Shape(&of))
		}
	}
	hybrid, err := presets.Default().Model("nemotron-nano-9b-v2")
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string]string{hardware.Shape(&hybrid): hybrid.Pattern}
	for i := range len(hybrid.Pattern) - 1 { // two layers change places
		other, letters := hybrid, []byte(hybrid.Pattern)
		letters[i], letters[i+1] = letters[i+1], letters[i]
		other.Pattern = string(letters)
		shape := hardware.Shape(&other)
		if of, known := shapes[shape]; known && of != other.Pattern {
			t.Errorf("patterns %s and %s have the same shape", other.Pattern, of)
		}
		shapes[shape] = other.Pattern
	}
	renamed := of
	if renamed.Name = "another"; hardware.Shape(&renamed) != hardware.Shape(&of) {
		t.Error("a name makes another shape")
	}
}
