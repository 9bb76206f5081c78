package themes

import (
	"slices"
	"strings"
	"testing"
)

// TestNames: a file in palettes is a theme, and every theme has one.
func TestNames(t *testing.T) {
	entries, err := files.ReadDir("palettes")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".toml"); !slices.Contains(Names(), name) {
			t.Errorf("%s is no theme", e.Name())
		}
	}
	if names := Names(); len(names) != len(entries) ||
		len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("themes %v of %d files", names, len(entries))
	}
}
