package scan

import (
	"context"
	"math"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/units"
)

// locks hold the machine and the batch while a knob turns.
func locks() knob.Locks { return knob.Locks{GPUs: true, Batch: true, Tokens: true} }

// leastPoints make a curve.
const leastPoints = 3

// pick returns the knob of the layout that trades most memory for step time here: over its legal values
// the ratios of both, longest to shortest and largest to smallest, make the largest product in
// logarithms. The knob that gives a row for each value is no candidate. Where no layout knob has enough
// values it is the sequence length.
func pick(ctx context.Context, s *engine.Setup, by knob.ID) knob.ID {
	best, most := knob.Seq, 0.0
	e := engine.Evaluator{SkipTimeline: true}
	for _, id := range [...]knob.ID{knob.TP, knob.PP, knob.EP, knob.CP, knob.VPP, knob.ZeRO, knob.MBS} {
		steps := knob.Steps(*s, id, locks())
		if id == by || len(steps) < leastPoints {
			continue
		}
		points := 0
		var step, peak extent
		for i := range steps {
			if steps[i].Setup.Slow() {
				continue
			}
			r, done := e.EvaluateUntil(steps[i].Setup, func() bool { return ctx.Err() != nil })
			if !done {
				return best
			}
			if r.Legal && r.Time != nil && r.Memory != nil {
				points++
				step.add(float64(r.Time.Step))
				peak.add(float64(r.Memory.Peak / units.GiB))
			}
		}
		if trade := step.ratio() * peak.ratio(); points >= leastPoints && trade > most {
			best, most = id, trade
		}
	}
	return best
}

// extent is the least and the largest of some figures, both above zero.
type extent struct{ low, high float64 }

func (x *extent) add(v float64) {
	if x.low == 0 || v < x.low {
		x.low = v
	}
	x.high = max(x.high, v)
}

// ratio returns the logarithm of the largest over the least.
func (x *extent) ratio() float64 {
	if x.low <= 0 {
		return 0
	}
	return math.Log(x.high / x.low)
}
