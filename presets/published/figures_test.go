package published_test

import (
	"math"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/presets/published"
)

// TestFigures: all eight are there, each with what a constant scores on the same
// rows, and better than that; the first six are as good as wanted. The built-in
// rows of the sweep are a sixth of it: engine_test holds the whole one.
func TestFigures(t *testing.T) {
	var e engine.Evaluator
	figures := published.Figures(&e, groups(t))
	var numbers []int
	for i := range figures {
		f := &figures[i]
		numbers = append(numbers, f.Number)
		if f.Rows == 0 || f.Constant == nil || math.IsNaN(f.Value) || f.Peer != "" && f.PeerAt == nil {
			t.Errorf("%+v", f)
			continue
		}
		if better := f.Value < *f.Constant; better == f.AtLeast {
			t.Errorf("%d %s: %v, a constant scores %v", f.Number, f.Measure, f.Value, *f.Constant)
		}
		if f.Number <= 6 && !f.Met() {
			t.Errorf("%d %s is %v, wanted %v", f.Number, f.Measure, f.Value, f.Wanted)
		}
	}
	if !slices.IsSorted(numbers) || !slices.Equal(slices.Compact(numbers), []int{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("figures %v", numbers)
	}
	if got := published.Figures(&e, nil); len(got) != 0 {
		t.Errorf("figures of nothing: %+v", got)
	}
}
