package published_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/presets/published"
)

// TestRefitLeavesItsOwnSeriesOut: what a group measured does not move its own factor, and
// moves that of the others of its stack and generation of GPUs.
func TestRefitLeavesItsOwnSeriesOut(t *testing.T) {
	e := engine.Evaluator{SkipTimeline: true}
	all := groups(t)
	errorsOf := func(refit *published.Refit, id string) []float64 {
		for i := range all {
			if all[i].ID == id {
				_, rows := published.Compare(&e, &all[i])
				return refit.Errors(rows)
			}
		}
		t.Fatalf("no group %s", id)
		return nil
	}
	const changed, other = "dgxc-25.04", "nemo-24.07"
	before := published.NewRefit(&e, all)
	was, wasOther := errorsOf(before, changed), errorsOf(before, other)
	if len(was) == 0 || len(wasOther) == 0 {
		t.Fatal("nothing to leave out")
	}
	slower := groups(t)
	for i := range slower {
		if slower[i].ID == changed {
			for k := range slower[i].Runs {
				slower[i].Runs[k].Step *= 3
			}
		}
	}
	after := published.NewRefit(&e, slower)
	for i, v := range errorsOf(after, changed) {
		if v != was[i] {
			t.Fatalf("row %d: %v, before %v", i, v, was[i])
		}
	}
	moved := false
	for i, v := range errorsOf(after, other) {
		moved = moved || math.Abs(v-wasOther[i]) > 1e-6
	}
	if !moved {
		t.Error("a source that is three times slower changes nothing for the others")
	}
	if got := errorsOf(before, "llm-foundry"); len(got) != 0 {
		t.Errorf("%d rows of llm-foundry, whose stack nobody else published", len(got))
	}
}
