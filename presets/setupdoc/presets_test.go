package setupdoc_test

import (
	"testing"

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
