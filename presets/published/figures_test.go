package published_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
)

// TestDocumentedPools: README.md and docs/accuracy.md say the errors and the numbers of runs of the pools as they are.
func TestDocumentedPools(t *testing.T) {
	var e engine.Evaluator
	pools := map[string]published.Figure{}
	for _, f := range published.Pools(&e, groups(t), published.NewRefit(&e, groups(t))) {
		pools[f.Name] = f
	}
	percent := func(name string) string { return fmt.Sprintf("%.1f %%", 100*pools[name].Value) }
	all, bridge, mlperf, cloud := pools["all groups without the sweep"], pools["Megatron-Bridge"], pools["MLPerf"], pools["DGX Cloud"]
	both := []string{
		fmt.Sprintf("%s off (median of %d runs)", percent("Megatron-Bridge"), bridge.Rows),
		fmt.Sprintf("%s and %s off (medians of %d and %d runs)", percent("DGX Cloud"), percent("MLPerf"), cloud.Rows, mlperf.Rows),
	}
	for file, texts := range map[string][]string{
		"../../docs/accuracy.md": both,
		"../../README.md":        append(both, fmt.Sprintf("%d runs of 31 groups | %s off (median)", all.Rows, percent("all groups without the sweep"))),
	} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !strings.Contains(string(page), text) {
				t.Errorf("%s does not say %q", file, text)
			}
		}
	}
}

// TestFigures: all nine are there, each better than what a constant scores on the
// same rows, where a constant can answer, and as good as wanted.
func TestFigures(t *testing.T) {
	var e engine.Evaluator
	figures, err := published.Figures(&e, presets.Default(), groups(t), published.NewRefit(&e, groups(t)))
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for i := range figures {
		f := &figures[i]
		numbers = append(numbers, f.Number)
		if f.Rows == 0 || math.IsNaN(f.Value) || f.Peer != "" && f.PeerAt == nil {
			t.Errorf("%+v", f)
			continue
		}
		if f.Constant != nil && (f.Value < *f.Constant) == f.AtLeast {
			t.Errorf("%d %s: %v, a constant scores %v", f.Number, f.Measure, f.Value, *f.Constant)
		}
		if !f.Met() {
			t.Errorf("%d %s is %v, wanted %v", f.Number, f.Measure, f.Value, f.Wanted)
		}
	}
	if !slices.IsSorted(numbers) || !slices.Equal(slices.Compact(numbers), []int{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("figures %v", numbers)
	}
	if got, err := published.Figures(&e, presets.Default(), nil, published.NewRefit(&e, nil)); err != nil || len(got) != 0 {
		t.Errorf("figures of nothing: %+v, %v", got, err)
	}
}
