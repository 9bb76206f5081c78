package published_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/presets/published"
)

// held is what each pool is at most today. validate shows the targets, two of which are
// missed: dense runs on every stack (0.03) and all groups (0.06).
func held() map[string]float64 {
	return map[string]float64{
		"Megatron-Bridge":                  0.05,
		"MLPerf":                           0.032, // 0.029 with assumed kernels of Hopper
		"DGX Cloud":                        0.04,
		"dense, H100, bf16, Megatron-Core": 0.03,
		"dense, H100, bf16, every stack, without the sweep": 0.035,
		"all groups without the sweep":                      0.04,
		"Megatron-Bridge, by release":                       0.06,
		"27 groups of 4 runs or more":                       0.05,
		"all 35 groups":                                     0.07,
	}
}

// TestPools: every pool is there, better than a constant rate and no worse than held.
func TestPools(t *testing.T) {
	e := engine.Evaluator{SkipTimeline: true}
	figures := published.Pools(&e, groups(t), published.NewRefit(&e, groups(t)))
	if len(figures) != len(held()) {
		t.Errorf("%d pools, want %d", len(figures), len(held()))
	}
	for i := range figures {
		f := &figures[i]
		t.Logf("%-50s %-20s %4d runs %.4f, target %.3f", f.Name, f.Measure, f.Rows, f.Value, f.Wanted)
		if f.Rows == 0 || math.IsNaN(f.Value) || f.Constant != nil && f.Value >= *f.Constant {
			t.Errorf("%+v", f)
		}
		if most := held()[f.Name]; !(f.Value <= most) {
			t.Errorf("%s: %.4f, at most %.3f is held", f.Name, f.Value, most)
		}
	}
	if got := published.Pools(&e, nil, published.NewRefit(&e, nil)); len(got) != 0 {
		t.Errorf("pools of nothing: %+v", got)
	}
}

// TestOmissions: no run is left out without a reason, and none that has a figure.
func TestOmissions(t *testing.T) {
	list := groups(t)
	figures := map[string]bool{}
	for i := range list {
		for k := range list[i].Runs {
			if r := &list[i].Runs[k]; r.Step+r.Memory > 0 {
				figures[r.ID] = true
			}
		}
	}
	for _, o := range published.Omissions(list) {
		if o.Reason == "" || len(o.Runs) == 0 {
			t.Errorf("%+v", o)
		}
		for _, id := range o.Runs {
			if figures[id] {
				t.Errorf("%s has a figure and is left out", id)
			}
		}
	}
}

// TestIntervals: some runs do not tell what they recomputed, and never more of them are
// inside the interval than there are.
func TestIntervals(t *testing.T) {
	var e engine.Evaluator
	list := published.Intervals(&e, groups(t))
	for _, x := range list {
		t.Logf("%+v", x)
		if x.Runs == 0 || x.Inside > x.Runs {
			t.Errorf("%+v", x)
		}
	}
	if len(list) == 0 {
		t.Error("no run of unknown recomputation")
	}
}
