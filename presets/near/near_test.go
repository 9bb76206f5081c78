package near_test

import (
	"slices"
	"strings"
	"testing"

	"meshscope/presets/near"
)

func TestWords(t *testing.T) {
	known := []string{
		"tp", "pp", "cp", "vpp", "zero", "recompute", "cluster.gpus_per_node", "1f1b",
		"interleaved",
	}
	cases := map[string][]string{
		"recmpute":       {"recompute"},
		"Re-Compute":     {"recompute"},
		"gpus_pernode":   {"cluster.gpus_per_node"}, // the part after the dot
		"cluster.gpus":   {"cluster.gpus_per_node"}, // contained
		"1f1":            {"1f1b"},
		"pt":             {"tp", "pp"}, // exchanged letters are one slip
		"zer":            {"zero"},
		"leaved":         {"interleaved"},
		"":               {},
		"x":              {},
		"completely off": {},
	}
	for typed, want := range cases {
		if got := near.Words(typed, known, 3); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	if got := near.Words(strings.Repeat("é", 1<<20), known, 3); len(got) > 0 {
		t.Errorf("a paste is near %q", got)
	}
	if got := near.Question("vp", known) + near.Question("zzz", known); got != ": did you mean tp?" {
		t.Errorf("%q", got)
	}
}
