package layout

import (
	"slices"
	"strings"
	"testing"
)

// Lighter ends are splits of all layers, each once, none of them the balanced one.
func TestLighterEnds(t *testing.T) {
	for _, c := range []struct {
		layers, stages int
		want           []string
	}{
		{80, 4, []string{"20,21,20,19", "19,21,21,19", "20,21,21,18"}},
		{61, 2, []string{"32,29"}}, // 31,30 is the balanced one
		{80, 1, nil},
		{80, MostWritten + 1, nil},
	} {
		if got := LighterEnds(c.layers, c.stages); !slices.Equal(got, c.want) {
			t.Errorf("%d layers on %d stages: %q, want %q", c.layers, c.stages, got, c.want)
		}
	}
	for layers := range 20 {
		for _, split := range LighterEnds(layers, MostWritten) {
			if strings.Contains(split, "-") {
				t.Errorf("%d layers: %s", layers, split)
			}
		}
	}
}
