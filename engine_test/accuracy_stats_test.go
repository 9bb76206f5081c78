package engine_test

import (
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/recipe"
)

// score is how far predictions are from measurements.
type score struct {
	n                 int
	mean, median, max float64
}

func scoreOf(errs []float64) score {
	if len(errs) == 0 {
		return score{}
	}
	list := make([]float64, len(errs))
	sum := 0.0
	for i, e := range errs {
		list[i] = math.Abs(e)
		sum += list[i]
	}
	return score{len(list), sum / float64(len(list)), middle(list), slices.Max(list)}
}

func middle(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(list))
	m := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[m]
	}
	return (sorted[m-1] + sorted[m]) / 2
}

// predict is the step time of a setup.
func predict(e *engine.Evaluator, s engine.Setup) float64 {
	r := e.Evaluate(s)
	if r.Time == nil {
		return math.NaN()
	}
	return float64(r.Time.Step)
}

// hardwareWork is what a single fitted constant divides by: the operations of
// a run's step on one GPU, recomputation included, scores over the whole
// square where the kernel computes them so.
func hardwareWork(e *engine.Evaluator, s engine.Setup) float64 {
	if s.Attention == recipe.Standard {
		s.MFU = recipe.MFUFull
	}
	r := e.Evaluate(s)
	if r.Throughput == nil {
		return math.NaN()
	}
	return r.Throughput.HFU * float64(s.Cluster.GPU.Peak(s.Precision)) * float64(r.Time.Step)
}

func average(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(len(list), 1))
}
