package setupdoc_test

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/presets/setupdoc"
)

// Every model on every machine can be named, written down and read back.
func TestEveryPresetReadsBack(t *testing.T) {
	lib := presets.Default()
	check := func(t *testing.T, key, id string) {
		t.Helper()
		var d setupdoc.Document
		if err := d.Set(key, id); err != nil {
			t.Fatal(err)
		}
		s, err := d.Setup(lib)
		if err != nil {
			t.Fatalf("%s %s: %v", key, id, err)
		}
		for name, write := range map[string]func(engine.Setup) ([]byte, error){"s.json": setupdoc.JSON, "s.toml": setupdoc.TOML} {
			text, err := write(s)
			if err != nil {
				t.Fatal(err)
			}
			back, err := setupdoc.Parse(name, text)
			if err != nil {
				t.Fatalf("%s %s: %v", key, id, err)
			}
			if again, err := back.Setup(lib); err != nil || again != s {
				t.Errorf("%s %s: %s reads back as another setup (%v)", key, id, name, err)
			}
		}
	}
	for _, p := range lib.Models() {
		check(t, "model", p.ID)
	}
	for _, p := range lib.GPUs() {
		check(t, "gpu", p.ID)
	}
	for _, p := range lib.Clusters() {
		check(t, "cluster", p.ID)
	}
}

// TestFlags: the flags of a setup resolve to it again, on the built-in presets, for
// the setup that the program starts with in the words of the README, and for many
// others.
func TestFlags(t *testing.T) {
	lib := presets.Default()
	flags, ok := setupdoc.Flags(presets.DefaultSetup(), lib)
	if want := "--model llama3.1-70b --cluster dgx-h100 --gpus 64 --tp 8 --pp 2 --gbs 512"; !ok ||
		flags != want {
		t.Errorf("flags of the default setup: %q, want %q", flags, want)
	}
	draws.Check(t, func(t *rapid.T) {
		s := presets.DefaultSetup()
		params := knob.All()
		for range rapid.IntRange(0, 12).Draw(t, "turns") {
			p := rapid.SampledFrom(params).Draw(t, "param")
			steps := knob.Steps(s, p.ID, knob.Locks{})
			if len(steps) > 0 {
				s = rapid.SampledFrom(steps).Draw(t, "step").Setup
			}
		}
		flags, ok := setupdoc.Flags(s, lib)
		if !ok {
			t.Fatalf("no flags for %+v", s)
		}
		var d setupdoc.Document
		words := strings.Fields(strings.ReplaceAll(flags, "=", " "))
		for i := 0; i+1 < len(words); i += 2 {
			if err := d.Set(strings.TrimPrefix(words[i], "--"), words[i+1]); err != nil {
				t.Fatalf("%s: %v", flags, err)
			}
		}
		if got, err := d.Setup(lib); err != nil || got != s {
			t.Fatalf("%s resolves to another setup: %v", flags, err)
		}
	})

	unknown := presets.DefaultSetup()
	unknown.Model.ID = "nobody-knows"
	if flags, ok := setupdoc.Flags(unknown, lib); ok {
		t.Errorf("flags of a model that is no preset: %s", flags)
	}
}

// TestFlagsOfEdits: what --set has changed of a model, a GPU or a machine is part of
// the flags, and they resolve to the same setup.
func TestFlagsOfEdits(t *testing.T) {
	lib := presets.Default()
	for _, c := range []struct {
		words []string // of --set
		want  string   // part of the flags
	}{
		{[]string{"model.layers=40"}, "--set model.layers=40"},
		{
			[]string{"model.layers=40", "model.vocab=131072", "tp=8"},
			"--set model.layers=40 --set model.vocab=131072",
		},
		{[]string{"cluster.inter.bandwidth=25e9"}, "--set cluster.inter.bandwidth=2.5e+10"},
		{[]string{"gpu.memory_usable_bytes=6.5e10"}, "--set cluster.gpu.memory_usable_bytes=6.5e+10"},
		{[]string{"model.name=it's ours", "model.tied_embeddings=true"}, `--set 'model.name=it'\''s ours'`},
		{[]string{"gpu=a100-sxm-40g", "cluster.gpus_per_node=4"}, "--set cluster.gpus_per_node=4"},
	} {
		var d setupdoc.Document
		for _, word := range c.words {
			if err := d.Assign(word); err != nil {
				t.Fatal(err)
			}
		}
		s, err := d.Setup(lib)
		if err != nil {
			t.Fatalf("%v: %v", c.words, err)
		}
		flags, ok := setupdoc.Flags(s, lib)
		if !ok || !strings.Contains(flags, c.want) {
			t.Errorf("%v: flags %q (%v) lack %q", c.words, flags, ok, c.want)
		}
		if got := resolved(t, shellWords(t, flags), lib); got != s {
			t.Errorf("%v: %s resolves to another setup", c.words, flags)
		}
	}
}

// resolved returns the setup of the words of a command line.
func resolved(t *testing.T, words []string, lib setupdoc.Library) engine.Setup {
	t.Helper()
	var d setupdoc.Document
	for len(words) > 0 {
		key, value, joined := strings.Cut(strings.TrimPrefix(words[0], "--"), "=")
		words = words[1:]
		if !joined {
			value, words = words[0], words[1:]
		}
		err := d.Set(key, value)
		if key == "set" {
			err = d.Assign(value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := d.Setup(lib)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shellWords splits a command line as a shell does.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c",
		"for w in "+line+`; do printf '%s\n' "$w"; done`).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}
