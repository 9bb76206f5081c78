package engine_test

import (
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/recipe"
)

// otherGroups are the groups of figure 6: neither those of figures 1 to 4 nor
// rows whose recomputation is not stated.
func otherGroups(t testing.TB) map[string][]run {
	t.Helper()
	runs, _ := publishedRuns(t)
	out := map[string][]run{}
	for _, r := range runs {
		switch r.group {
		case "korthikanti-t5", "sc21-table1", "simumax-b200":
			continue
		}
		if r.stated && r.setup.Cluster.GPU.Vendor != "Google" && r.setup.Cluster.GPU.Vendor != "Intel" {
			out[r.group] = append(out[r.group], r)
		}
	}
	return out
}

func TestAccuracyOtherGroups(t *testing.T) {
	groups := otherGroups(t)
	var medians, pooled []float64
	for _, name := range slices.Sorted(mapsKeys(groups)) {
		j := errorsOf(groups[name])
		s := j.report(t, "6 "+name, "-")
		pooled = append(pooled, j.errs...)
		if s.n >= 4 {
			medians = append(medians, s.median)
		}
		j.list(t)
	}
	t.Logf("6 mean of the medians of groups of at least 4: %.1f %%; pooled median of %d rows: %.1f %%",
		100*average(medians), len(pooled), 100*scoreOf(pooled).median)
	limit(t, "mean of the medians", average(medians), 0.10)
	limit(t, "pooled median", scoreOf(pooled).median, 0.08)
	intervals(t)
}

// intervals counts the rows with unstated recomputation whose measured time
// lies between no and full recomputation.
func intervals(t *testing.T) {
	t.Helper()
	runs, _ := publishedRuns(t)
	var e engine.Evaluator
	inside, all := map[string]int{}, map[string]int{}
	var in, total int
	for _, r := range runs {
		if r.stated {
			continue
		}
		low := predict(&e, r.setup)
		full := r.setup
		full.Recompute.Mode = recipe.RecomputeFull
		high := predict(&e, full)
		all[r.group]++
		total++
		if r.step >= low && r.step <= high {
			inside[r.group]++
			in++
		}
	}
	for _, name := range slices.Sorted(mapsKeys(all)) {
		t.Logf("    unstated recomputation %-20s inside none..full: %d of %d", name, inside[name], all[name])
	}
	t.Logf("6 rows with unstated recomputation inside the interval: %d of %d = %.0f %%", in, total,
		100*float64(in)/float64(max(total, 1)))
}
