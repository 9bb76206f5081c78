package published

import (
	"math"
	"slices"

	"meshscope/engine"
)

// Row compares one figure of one run.
type Row struct {
	ID        string  `json:"id"`
	Group     string  `json:"group"`
	Source    string  `json:"source"`
	Metric    string  `json:"metric"` // step_seconds or memory_GiB
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
	Error     float64 `json:"error"` // predicted over measured, less 1
	Place     int     `json:"-"`     // of the run in its group; ids of the sweep's jobs are not unique
	Run       *Run    `json:"-"`
	work      float64
}

// Metrics of a Row.
const (
	StepSeconds = "step_seconds"
	MemoryGiB   = "memory_GiB" // of the kind that was published
)

// Result is how far the model is from one group in one metric.
type Result struct {
	Name   string  `json:"name"`
	Rows   int     `json:"rows"`
	Metric string  `json:"metric"`
	Mean   float64 `json:"mean_abs_error"`
	Median float64 `json:"median_abs_error"`
	P90    float64 `json:"p90_abs_error"`
	Max    float64 `json:"max_abs_error"`
	Fitted bool    `json:"fitted"`
	// the best single rate, fitted to the same rows
	Constant float64 `json:"constant_mean_abs_error,omitempty"`
	LeftOut  float64 `json:"constant_leave_one_out,omitempty"` // the same, each row left out of its fit
	// RefitMean and RefitMedian are the errors after a Refit without the group's series.
	RefitMean   *float64 `json:"left_out_mean_abs_error,omitempty"`
	RefitMedian *float64 `json:"left_out_median_abs_error,omitempty"`
	// ConstantsMean and ConstantsMedian are the errors after Refits without the group's series.
	ConstantsMean   *float64 `json:"refit_mean_abs_error,omitempty"`
	ConstantsMedian *float64 `json:"refit_median_abs_error,omitempty"`
	Peer            string   `json:"peer,omitempty"`
	PeerMean        float64  `json:"peer_mean_abs_error,omitempty"`
}

// Compare evaluates every run of a group.
func Compare(e *engine.Evaluator, g *Group) (results []Result, rows []Row) {
	var step, memory []Row
	for i := range g.Runs {
		r := &g.Runs[i]
		p := r.predict(e)
		if p == nil {
			continue
		}
		row := Row{ID: r.ID, Group: g.ID, Source: r.Source, Place: i, Run: r}
		if r.Step > 0 {
			row.Metric, row.Measured, row.Predicted = StepSeconds, r.Step, p.step
			row.Error = row.Predicted/row.Measured - 1
			row.work = p.work
			step = append(step, row)
		}
		if r.Memory > 0 {
			row.Metric, row.Measured, row.Predicted = MemoryGiB, r.Memory, p.memory
			row.Error = row.Predicted/row.Measured - 1
			memory = append(memory, row)
		}
	}
	for _, list := range [][]Row{step, memory} {
		if len(list) > 0 {
			results = append(results, summarise(g, list))
		}
	}
	return results, append(step, memory...)
}

func summarise(g *Group, rows []Row) Result {
	j := stepErrors{rows: rows}
	errs := j.errors()
	out := Result{Name: g.ID, Rows: len(rows), Metric: rows[0].Metric, Fitted: g.Fitted}
	out.Mean, out.Median, out.P90, out.Max = Mean(errs), Quantile(errs, 0.5), Quantile(errs, 0.9),
		slices.Max(errs)
	if out.Metric == StepSeconds {
		fitted, left := j.constants()
		out.Constant = Mean(fitted)
		if len(rows) > 1 {
			out.LeftOut = Mean(left)
		}
		out.Peer, out.PeerMean = g.Peer, g.PeerError
	}
	return out
}

// Constant returns the absolute errors of one constant rate: fitted to all rows,
// and leaving each row out of its own fit. The constant is the one with the
// least mean absolute error among the rows' own rates.
func Constant(work, step []float64) (fitted, left []float64) {
	rates := make([]float64, len(work))
	for i := range work {
		rates[i] = work[i] / step[i]
	}
	sums := make([]float64, len(rates)) // of the errors of each rate on all rows
	for j := range rates {
		for i := range rates {
			sums[j] += math.Abs(rates[i]/rates[j] - 1)
		}
	}
	best := func(skip int) float64 {
		rate, least := math.NaN(), math.Inf(1)
		for j := range rates {
			if j == skip {
				continue
			}
			sum := sums[j]
			if skip >= 0 {
				sum -= math.Abs(rates[skip]/rates[j] - 1)
			}
			if sum < least {
				rate, least = rates[j], sum
			}
		}
		return rate
	}
	all := best(-1)
	for i := range rates {
		fitted = append(fitted, math.Abs(rates[i]/all-1))
		if len(rates) > 1 {
			left = append(left, math.Abs(rates[i]/best(i)-1))
		}
	}
	return fitted, left
}

// Mean of a list; 0 of none.
func Mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(len(list), 1))
}

// Quantile of a list, between two values by their distance.
func Quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(list))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
