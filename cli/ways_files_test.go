package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine_test/draws"
	"meshscope/launch"
)

// files are what people bring of other programs: the config.json that a model was published with, and
// scripts and files of launchers. They name the model and what is run in words of their own: alike, figure by
// figure, and not the same value.
func (w *ways) files() {
	w.t.Helper()
	given := flagsOf(without(w.words, "model"))
	alike := func(way string, text []byte) {
		w.t.Helper()
		var e evaluation
		w.read(text, &e)
		if e.Time == nil {
			w.t.Fatalf("%s: no figures: %.300s", way, text)
		}
		w.figures(way, &e)
	}
	config := configOf(w.t, w.want.Model.ID)
	if config != "" {
		file := w.file("config.json", config)
		alike("config.json as --model",
			w.run("", append([]string{"eval", "--json", "--model", file}, given...)...))
		alike("config.json in a setup file", w.run("", "eval", "--json", "--setup",
			w.file("own.toml", "model = "+strconv.Quote(file)+"\n"+textOf(without(w.words, "model"), true))))
		doc := w.run("", append([]string{"import", "--json", file}, given...)...)
		alike("the document of config.json", w.run(string(doc), "eval", "--json", "--setup", "-"))
	}
	// What a launcher's file does not hold: the machine, and which of the models of one shape it is. What it
	// states beyond the words gives the same step, summed in another order.
	s := &w.want
	missing := flagsOf("model=" + s.Model.ID + " cluster=" + s.Cluster.ID + " calibration=" + string(s.Stack))
	for _, id := range map[recipe.Stack][]string{
		recipe.MegatronCore: {"megatron", "bridge"}, recipe.TorchTitan: {"torchtitan-toml"},
	}[s.Stack.Resolve()] {
		if l, ok := launch.Find(id); !ok || !l.Accepts(s) {
			w.t.Errorf("%s refuses it", id)
			continue
		}
		text := w.run("", append([]string{"launch", "--for=" + id}, flagsOf(w.full)...)...)
		file := w.file("launch."+strings.ReplaceAll(id, "-", "."), string(text))
		doc := string(w.run("", append([]string{"import", "--json", file}, missing...)...))
		var e evaluation
		w.read(w.run(doc, "eval", "--json", "--setup", "-"), &e)
		step, peak := float64(w.report.Time.Step), float64(w.report.Memory.Peak)
		if e.Time == nil || math.Abs(e.Time.Step/step-1) > 1e-12 || e.Memory.Peak != peak {
			w.t.Errorf("the file of %s: %+v and %+v, not %v and %v", id, e.Time, e.Memory, step, peak)
		}
	}
	if config != "" && (w.want.GPUs == 64 || draws.Deep()) { // its search takes long
		seat := w.seat().paste(w.file("config.json", config)).typed("g", valueIn(w.full, "cluster"), "enter")
		dropped := seat.turn(w.full).copied()
		w.alike("a dropped config.json, g and typed knobs", &dropped)
	}
}

// alike holds the knobs and figures of a setup against the one that is meant, whatever its model is called.
func (w *ways) alike(way string, s *engine.Setup) {
	w.t.Helper()
	for _, k := range knob.All() {
		if got, want := k.Text(*s), k.Text(w.want); got != want {
			w.t.Errorf("%s: %s is %s, not %s", way, k.ID, got, want)
		}
	}
	if r := engine.Evaluate(*s); r.Legal {
		w.equal(way+": step", float64(r.Time.Step), float64(w.report.Time.Step))
		w.equal(way+": peak", float64(r.Memory.Peak), float64(w.report.Memory.Peak))
	} else {
		w.t.Errorf("%s: %v", way, r.Problems)
	}
}

// configOf is the public config.json of a model; empty where none is at hand.
func configOf(t *testing.T, id string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../presets/hfconfig/testdata/configs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c struct {
			Name   string
			Config json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Name == id {
			return string(c.Config)
		}
	}
	if known := []string{"gpt3-175b"}; !slices.Contains(known, id) { // OpenAI published none
		t.Errorf("no config.json of %s", id)
	}
	return ""
}
