package published

import (
	"math"

	"meshscope/engine"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// fittedKeys lists the constants of a software stack, and of the kernels under it, that were
// fitted to step times of published runs, as calibration files say.
func fittedKeys(stack recipe.Stack) []string {
	switch stack {
	case recipe.MegatronCore:
		return []string{
			"factor", "memory_passes", "dp_exposed", "gather_exposed", "tp_chunked_forward_exposed",
			"tp_chunked_backward_exposed",
			"expert_product_us", "host_moe_layer_fp8_us", "biased_experts_passes", "gemm_fp8_efficiency",
			"scan_efficiency",
		}
	case recipe.Megatron2022:
		return []string{"factor", "memory_passes", "tp_forward_exposed", "tp_backward_exposed"}
	case recipe.Megatron2021:
		return []string{"factor", "memory_passes", "tp_backward_exposed", "shard_exposed", "shard_slowdown"}
	case recipe.Nanotron:
		return []string{
			"memory_passes", "optimizer_bytes", "tp_forward_exposed", "tp_backward_exposed", "dp_exposed",
			"gather_exposed", "host_tp_layer_us",
			"host_tp_rank_us", "host_tp_rank_crossing_us", "host_tp_layer_many_nodes_us",
			"host_tp_rank_many_nodes_us", "host_tp_rank_crossing_many_nodes_us",
		}
	case recipe.TorchTitan, recipe.LLMFoundry:
		return []string{
			"factor", "memory_passes", "attention_slowdown", "tp_forward_exposed",
			"tp_backward_exposed", "fp8_slowdown",
		}
	default: // formulas alone
		return nil
	}
}

// constant is a fitted figure: machines that give it the same value share it.
type constant struct {
	stack recipe.Stack
	key   string
	value float64
}

// slope is by how much the log of a predicted step time changes with a constant, relative to
// its value.
type slope struct {
	of    int // in Refits.constants
	value float64
}

// residual is a run with its error.
type residual struct {
	series string
	log    float64 // ln(predicted / measured)
	slopes []slope
}

// Refits fits the constants again without one series of groups after the other: those that
// were fitted to step times, all together, by least absolute error of the log, each series
// counting once. Predictions are taken to change in proportion to the constants, as
// they do near their values.
type Refits struct {
	runs      map[*Run]*residual
	list      []*residual
	constants []constant
	without   map[string]refitted // by series
}

// refitted is what a fit gives: relative changes of the constants, and which of them enough
// runs decide.
type refitted struct {
	change  []float64
	decided []bool
}

// slopeStep is the relative change of a constant that its slope is found with.
const slopeStep = 0.05

// leastSlope is the slope below which a constant does not matter to a run.
const leastSlope = 0.005

// NewRefits evaluates every run with each of its constants changed.
func NewRefits(e *engine.Evaluator, groups []Group) *Refits {
	f := &Refits{runs: map[*Run]*residual{}, without: map[string]refitted{}}
	at := map[constant]int{}
	for i := range groups {
		g := &groups[i]
		for k := range g.Runs {
			run := &g.Runs[k]
			p := run.predict(e)
			if g.Repeats || run.Step <= 0 || p == nil {
				continue
			}
			r := &residual{series: g.Series, log: math.Log(p.step / run.Step)}
			for _, key := range fittedKeys(run.Setup.Stack.Resolve()) {
				s := run.Setup
				c, was, err := presets.WithFigureTimes(s.Cluster, s.Stack, key, 1-slopeStep)
				if err != nil || was == 0 || was == 1 { // absent, or stated and not fitted
					continue
				}
				s.Cluster = c
				report := e.Evaluate(s)
				if report.Time == nil {
					continue
				}
				v := math.Log(p.step/float64(report.Time.Step)) / slopeStep
				if math.Abs(v) < leastSlope {
					continue
				}
				id := constant{s.Stack.Resolve(), key, was}
				n, known := at[id]
				if !known {
					n = len(f.constants)
					at[id], f.constants = n, append(f.constants, id)
				}
				r.slopes = append(r.slopes, slope{n, v})
			}
			f.runs[run], f.list = r, append(f.list, r)
		}
	}
	for _, r := range f.list {
		if _, done := f.without[r.series]; !done {
			f.without[r.series] = f.fit(r.series)
		}
	}
	return f
}

// A constant is decided by runs of at least so many of the other series' runs. A refit moves
// it to between a tenth of its value and twice it.
const (
	leastDeciding = 5
	mostDown      = -0.9
	mostUp        = 1
)

// fit finds the changes of the constants with the least absolute error without a series: one
// constant after the other, which for each is a weighted median, until none moves.
func (f *Refits) fit(without string) refitted {
	out := refitted{make([]float64, len(f.constants)), make([]bool, len(f.constants))}
	per := map[string]float64{}
	for _, r := range f.list {
		per[r.series]++
	}
	type pull struct {
		run    int
		slope  float64
		weight float64
	}
	pulls := make([][]pull, len(f.constants))
	left := make([]float64, len(f.list))
	for i, r := range f.list {
		left[i] = r.log
		for _, s := range r.slopes {
			if r.series != without {
				pulls[s.of] = append(pulls[s.of], pull{i, s.value, math.Abs(s.value) / per[r.series]})
			}
		}
	}
	const sweeps, converged = 30, 1e-4
	var values, weights []float64
	for range sweeps {
		moved := 0.0
		for k, list := range pulls {
			if out.decided[k] = len(list) >= leastDeciding; !out.decided[k] {
				continue
			}
			values, weights = values[:0], weights[:0]
			for _, p := range list {
				values, weights = append(values, out.change[k]-left[p.run]/p.slope), append(weights, p.weight)
			}
			to := min(max(weighted(values, weights, 0.5), mostDown), mostUp)
			by := to - out.change[k]
			for _, p := range list {
				left[p.run] += p.slope * by
			}
			out.change[k], moved = to, max(moved, math.Abs(by))
		}
		if moved < converged {
			break
		}
	}
	return out
}

// Errors returns the absolute errors of step times after a refit without the series of each
// row; rows with a constant that no other series decides are left out.
func (f *Refits) Errors(rows []Row) (out []float64) {
	for i := range rows {
		r := f.runs[rows[i].Run]
		if r == nil || rows[i].Metric != StepSeconds {
			continue
		}
		fit := f.without[r.series]
		log, decided := r.log, true
		for _, s := range r.slopes {
			log, decided = log+s.value*fit.change[s.of], decided && fit.decided[s.of]
		}
		if decided {
			out = append(out, math.Abs(math.Expm1(log)))
		}
	}
	return out
}

// Fill adds the errors after a refit without their own series to the step times of groups of
// which at least half of the runs have one.
func (f *Refits) Fill(results []Result, rows []Row) {
	fill(results, rows, f.Errors, func(of *Result, mean, median *float64, n int) {
		if 2*n >= of.Rows {
			of.ConstantsMean, of.ConstantsMedian = mean, median
		}
	})
}
