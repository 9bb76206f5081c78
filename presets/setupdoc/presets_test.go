package setupdoc_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
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

// TestFlags: the flags of a setup settle to it again, on the built-in presets, for
// the setup that the program starts with in the words of the README, and for many
// others.
func TestFlags(t *testing.T) {
	lib := presets.Default()
	flags, ok := setupdoc.Flags(presets.DefaultSetup(), lib)
	if want := "--model llama3.1-70b --cluster dgx-h100 --gpus 64 --tp 8 --pp 2 --gbs 512"; !ok || flags != want {
		t.Errorf("flags of the default setup: %q, want %q", flags, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := presets.DefaultSetup()
		params := engine.Params()
		for range rapid.IntRange(0, 12).Draw(t, "turns") {
			p := rapid.SampledFrom(params).Draw(t, "param")
			steps := engine.Steps(s, p.ID, engine.Locks{})
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
			t.Fatalf("%s settles to another setup: %v", flags, err)
		}
	})

	edited := presets.DefaultSetup()
	edited.Model.Layers--
	if flags, ok := setupdoc.Flags(edited, lib); ok {
		t.Errorf("flags of a model that is no preset: %s", flags)
	}
}
