package published

import (
	"math"

	"meshscope/engine"
)

// Refit holds a factor of step times for each software stack on each generation of GPUs,
// with each series of groups left out. It is no refit of the constants: those are data,
// and fitting them takes minutes. It asks what a user of the same software on the same
// kind of machine would learn from all other published runs: predictions are multiplied
// by the factor with the least median error on those, each series counting once.
type Refit struct {
	series  map[string]string // of a group
	medians map[machine]map[string]float64
}

// machine is what a factor is for.
type machine struct{ stack, generation string }

func machineOf(s *engine.Setup) machine {
	return machine{string(s.Stack.Resolve()), s.Cluster.GPU.Architecture}
}

// NewRefit compares the step times of all groups.
func NewRefit(e *engine.Evaluator, groups []Group) *Refit {
	r := &Refit{series: map[string]string{}, medians: map[machine]map[string]float64{}}
	logs := map[machine]map[string][]float64{}
	for i := range groups {
		g := &groups[i]
		r.series[g.ID] = g.Series
		if g.Repeats {
			continue
		}
		for k := range g.Runs {
			run := &g.Runs[k]
			if run.Step <= 0 {
				continue
			}
			p := run.predict(e)
			if p == nil {
				continue
			}
			m := machineOf(&run.Setup)
			if logs[m] == nil {
				logs[m] = map[string][]float64{}
			}
			logs[m][g.Series] = append(logs[m][g.Series], math.Log(run.Step/p.step))
		}
	}
	for m, bySeries := range logs {
		r.medians[m] = map[string]float64{}
		for series, list := range bySeries {
			r.medians[m][series] = Quantile(list, 0.5)
		}
	}
	return r
}

// factor returns measured over predicted of the other series on the same stack and
// generation of GPUs; false: there is none.
func (r *Refit) factor(group string, s *engine.Setup) (float64, bool) {
	var others []float64
	for series, v := range r.medians[machineOf(s)] {
		if series != r.series[group] {
			others = append(others, v)
		}
	}
	if len(others) == 0 {
		return 0, false
	}
	return math.Exp(Quantile(others, 0.5)), true
}

// Errors returns the absolute errors of step times with the series of each row left out;
// rows that no other series vouches for are left out.
func (r *Refit) Errors(rows []Row) []float64 {
	var out []float64
	for i := range rows {
		row := &rows[i]
		if row.Metric != StepSeconds {
			continue
		}
		if f, ok := r.factor(row.Group, &row.Run.Setup); ok {
			out = append(out, math.Abs(f*row.Predicted/row.Measured-1))
		}
	}
	return out
}

// Fill adds the errors with their own series left out to the step times of groups.
func (r *Refit) Fill(results []Result, rows []Row) {
	fill(results, rows, r.Errors, func(of *Result, mean, median *float64, _ int) {
		of.RefitMean, of.RefitMedian = mean, median
	})
}

// fill gives the step times of groups the mean and the median of so many errors of their rows,
// where they have any.
func fill(results []Result, rows []Row, errors func([]Row) []float64,
	put func(of *Result, mean, median *float64, n int),
) {
	byGroup := map[string][]Row{}
	for i := range rows {
		byGroup[rows[i].Group] = append(byGroup[rows[i].Group], rows[i])
	}
	for i := range results {
		if errs := errors(byGroup[results[i].Name]); results[i].Metric == StepSeconds && len(errs) > 0 {
			put(&results[i], errorOf(errs, Mean), errorOf(errs, median), len(errs))
		}
	}
}
