package published_test

import (
	"math"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/presets/published"
)

// TestRefitsLeaveTheirOwnSeriesOut: what a group measured does not decide the constants that it
// is then predicted with; if all others were as much slower, the refit follows them; and a
// stack that nobody else published has no refit.
func TestRefitsLeaveTheirOwnSeriesOut(t *testing.T) {
	e := engine.Evaluator{SkipTimeline: true}
	errorsOf := func(times map[string]float64, id string) []float64 {
		some := slices.DeleteFunc(groups(t), func(g published.Group) bool {
			return !slices.Contains([]string{"korthikanti-t5", "zero-bubble", "sc21-table1"}, g.ID)
		})
		for i := range some {
			for k := range some[i].Runs {
				some[i].Runs[k].Step *= 1 + times[some[i].ID]
			}
		}
		refits := published.NewRefits(&e, some)
		for i := range some {
			if some[i].ID == id {
				_, rows := published.Compare(&e, &some[i])
				return refits.Errors(rows)
			}
		}
		t.Fatalf("no group %s", id)
		return nil
	}
	const group, other = "korthikanti-t5", "zero-bubble"
	was := errorsOf(nil, group)
	if len(was) != 8 || len(errorsOf(nil, "sc21-table1")) != 0 {
		t.Fatalf("%v", was)
	}
	own := errorsOf(map[string]float64{group: 0.25}, group)
	both := errorsOf(map[string]float64{group: 0.1, other: 0.1}, group)
	for i, v := range was {
		if over, under := (1+v)/1.25-1, (1-v)/1.25-1; math.Min(math.Abs(own[i]-math.Abs(over)),
			math.Abs(own[i]-math.Abs(under))) > 1e-9 {
			t.Errorf("run %d: %.4f off, %.4f if its own steps are 25 %% slower: the constants moved", i, v,
				own[i])
		}
		if math.Abs(both[i]-v) > 0.02 {
			t.Errorf("run %d: %.4f off, %.4f if all steps are 10 %% slower", i, v, both[i])
		}
	}
}
