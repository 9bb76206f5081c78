package presets_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"meshscope/engine_test/shared"
	"meshscope/presets"
)

// TestPresetsOfFamilies: at least 30 models of the families of 2024 to 2026 have presets, each with exactly
// the parameters of its language model.
func TestPresetsOfFamilies(t *testing.T) {
	data, err := os.ReadFile(shared.Path(t, "families.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\S+/\S+) \([a-z0-9_]+\) \| ([0-9,]+) \|`).
		FindAllStringSubmatch(string(data), -1) {
		want[row[1]], _ = strconv.ParseInt(strings.ReplaceAll(row[2], ",", ""), 10, 64)
	}
	l, n := presets.Default(), 0
	for _, m := range l.Models() {
		p, err := l.ModelPreset(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		hub, _, _ := strings.Cut(p.Source, ":config.json")
		if of, ok := want[hub]; ok {
			if n++; p.Total() != of {
				t.Errorf("%s: %d parameters, want %d", m.ID, p.Total(), of)
			}
		}
	}
	if n < 30 {
		t.Errorf("%d presets of those models, want at least 30", n)
	}
}
