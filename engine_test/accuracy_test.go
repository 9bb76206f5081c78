package engine_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/presets/published"
)

// The figures of accuracy, one test each. All of them by one command:
//
//	go test ./engine_test -run Accuracy -v

// rowErrors is a list of runs with what the model says.
type rowErrors struct {
	runs             []run
	errs, work, step []float64
}

func errorsOf(runs []run) rowErrors {
	var e engine.Evaluator
	j := rowErrors{runs: runs}
	for _, r := range runs {
		p := predict(&e, r.setup)
		j.errs = append(j.errs, p/r.step-1)
		j.work = append(j.work, hardwareWork(&e, r.setup))
		j.step = append(j.step, r.step)
	}
	return j
}

func (j *rowErrors) report(t *testing.T, name, peer string) score {
	t.Helper()
	s := scoreOf(j.errs)
	fitted, left := published.Constant(j.work, j.step)
	c, l := scoreOf(fitted), scoreOf(left)
	t.Logf("%-34s n %3d  mean %5.1f %%  median %5.1f %%  max %5.1f %%  bias %+5.1f %% | constant: mean "+
		"%4.1f median %4.1f, leave-one-out mean %4.1f median %4.1f | peer: %s",
		name, s.n, 100*s.mean, 100*s.median, 100*s.max, 100*average(j.errs), 100*c.mean, 100*c.median,
		100*l.mean, 100*l.median, peer)
	return s
}

func (j *rowErrors) list(t *testing.T) {
	t.Helper()
	for i, r := range j.runs {
		s := &r.setup
		t.Logf("    %-28s %-18s n%d tp%d pp%d v%d cp%d ep%d dp%d z%d mbs%d m%d seq%d %s %s: measured %.4g "+
			"predicted %.4g %+.1f %%", r.id, s.Model.ID,
			s.GPUs, s.TP, s.PP, s.VPP, s.CP, s.EP, s.DP, s.ZeRO, s.MBS, s.MicroBatches, s.Seq, s.Recompute,
			s.Precision, r.step, r.step*(1+j.errs[i]), 100*j.errs[i])
	}
}

// limit fails when a figure is worse than what this test holds.
func limit(t *testing.T, what string, got, most float64) {
	t.Helper()
	if !(got <= most) {
		t.Errorf("%s is %.4g, at most %.4g is held", what, got, most)
	}
}

func group(runs []run, name string) []run {
	var out []run
	for _, r := range runs {
		if r.group == name {
			out = append(out, r)
		}
	}
	return out
}

func TestAccuracyKorthikanti(t *testing.T) {
	runs, _ := publishedRuns(t)
	for why, n := range skippedRuns(t) {
		t.Logf("    left out %3d of %s", n, why)
	}
	j := errorsOf(group(runs, "korthikanti-t5"))
	s := j.report(t, "1 Korthikanti table 5", "Calculon 3.65 (max 8.9)")
	limit(t, "mean error", s.mean, 0.025)
	limit(t, "largest error", s.max, 0.06)
	j.list(t)
}

func TestAccuracySC21(t *testing.T) {
	runs, _ := publishedRuns(t)
	j := errorsOf(group(runs, "sc21-table1"))
	limit(t, "mean error", j.report(t, "2 Megatron SC21 table 1", "Calculon 13.4").mean, 0.04)
	j.list(t)
}

// perLayout averages the errors of runs that differ only in micro-batches.
func perLayout(j rowErrors) []float64 {
	sums := map[string][]float64{}
	for i, r := range j.runs {
		s := r.setup
		key := fmt.Sprint(s.Model.ID, s.TP, s.PP, s.CP, s.EP, s.Seq)
		sums[key] = append(sums[key], math.Abs(j.errs[i]))
	}
	var out []float64
	for _, key := range slices.Sorted(mapsKeys(sums)) {
		out = append(out, average(sums[key]))
	}
	return out
}

func mapsKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func TestAccuracySimuMaxB200(t *testing.T) {
	runs, _ := publishedRuns(t)
	j := errorsOf(group(runs, "simumax-b200"))
	j.report(t, "3 SimuMax B200, rows", "SimuMax 5.6; 2.8 after one scale")
	layouts := scoreOf(perLayout(j))
	limit(t, "mean error by layout", layouts.mean, 0.035)
	t.Logf("%-34s n %3d  mean %5.1f %%  max %5.1f %%", "3 SimuMax B200, layouts", layouts.n, 100*layouts.mean,
		100*layouts.max)
	j.list(t)
}

func TestAccuracySimuMaxA100(t *testing.T) {
	j := errorsOf(simumaxA100(t))
	limit(t, "mean error", j.report(t, "4 SimuMax A100-PCIe", "SimuMax 3.6 to 3.8 at worst").mean, 0.04)
	j.list(t)
}
