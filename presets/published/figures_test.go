package published_test

import (
	"math"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
)

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
