package published

import (
	"meshscope/engine"
	"meshscope/engine/band"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
)

// prediction is what the model says of one run.
type prediction struct {
	step       float64 // seconds
	memory     float64 // GiB, of the kind and rank that was measured
	peak       float64 // GiB, of the fullest rank
	work       float64 // operations of a step on one GPU, see work
	fits       bool
	fit        engine.Fit
	timeTraits band.Traits
	peakTraits band.Traits
}

// predict evaluates the run when it is called first: everything that compares runs asks
// for the same prediction. It returns nil for an illegal layout.
func (r *Run) predict(e *engine.Evaluator) *prediction {
	if r.predicted != nil {
		return r.predicted
	}
	report := e.Evaluate(r.Setup)
	if !report.Legal {
		return nil
	}
	r.predicted = &prediction{
		step: float64(report.Time.Step), memory: r.PredictedMemory(&report), peak: report.Memory.Peak.GiB(),
		fits: report.Memory.Fits, fit: report.Memory.Fit,
		timeTraits: engine.Traits(&r.Setup, &report, false),
		peakTraits: engine.Traits(&r.Setup, &report, true),
	}
	r.predicted.work = work(e, &r.Setup, &report)
	return r.predicted
}

// PredictedMemory returns the prediction of a report, in GiB, for the kind and rank of
// memory that was measured.
func (r *Run) PredictedMemory(report *engine.Report) float64 {
	of := func(rank *memory.Rank) float64 {
		switch r.Kind {
		case Reserved:
			return (rank.Allocated + rank.OverheadParts.Slack).GiB()
		case Device:
			return rank.Total.GiB()
		default:
			return rank.Allocated.GiB()
		}
	}
	ranks := report.Memory.Ranks
	switch r.Rank {
	case FirstRank:
		return of(&ranks[0])
	case LastRank:
		return of(&ranks[len(ranks)-1])
	case FullestRank:
	}
	most := 0.0
	for i := range ranks {
		most = max(most, of(&ranks[i]))
	}
	return most
}

// work returns what a single constant rate divides: the operations of a step on one
// GPU with recomputed work, scores over the whole square where the kernel
// computes them so.
func work(e *engine.Evaluator, s *engine.Setup, r *engine.Report) float64 {
	if s.Attention == recipe.Standard && s.MFU != recipe.MFUFull {
		full := *s
		full.MFU = recipe.MFUFull
		*r = e.Evaluate(full)
	}
	return r.Throughput.HFU * float64(s.Cluster.GPU.Peak(s.Precision)) * float64(r.Time.Step)
}
