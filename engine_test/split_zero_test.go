package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
)

// Gradients that ZeRO-2 scatters in every micro-batch travel beside the weight
// gradient that makes them. Counted beside the input gradient, they were hidden by
// a longer weight gradient that had not run yet: twice the routed tokens on the
// busiest rank ended the pipeline sooner.
func TestSplitBackwardScattersWithTheWeightGradient(t *testing.T) {
	d := textbookDraft(t, "mixtral-8x22b", 512)
	leaveOut(&d, knob.Calibration, knob.GradDtype, knob.Optimizer, knob.Recompute)
	d.With(knob.Given{knob.PP: 2, knob.DP: 2, knob.ZeRO: 2, knob.Schedule: schedule.ZBH1})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	var ends, steps []float64
	for _, imbalance := range []int{100, 150, 200, 400} {
		s.Imbalance = imbalance
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		ends, steps = append(ends, float64(r.Pipeline.Makespan)), append(steps, float64(r.Time.Step))
		o, line := r.Timeline.Order, r.Timeline.OpTimes()
		lasts := func(rank, op int) float64 {
			return line.End[o.Start[rank]+op] - line.Begin[o.Start[rank]+op]
		}
		// Rank 1 runs F, I, W: what travels is in W.
		if input, weight := lasts(1, 1), lasts(1, 2); weight <= input {
			t.Errorf("imbalance %d: the input gradient lasts %g s, the weight gradient with its traffic %g",
				imbalance, input, weight)
		}
	}
	for i := 1; i < len(ends); i++ {
		if ends[i] < ends[i-1] || steps[i] < steps[i-1] {
			t.Errorf("more work: the pipeline ends after %v, a step after %v", ends, steps)
		}
	}
}
