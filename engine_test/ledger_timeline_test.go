package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
)

// TestTimelineOfLedger: memory over a step of a stack with a ledger is the ledger's: its largest moments are
// the peaks that the report has, of the first step and of later ones, and a later step ends as it began.
func TestTimelineOfLedger(t *testing.T) {
	for _, given := range []knob.Given{
		{},
		{knob.GBS: 40},
		{knob.ZeRO: 3, knob.GPUs: 4, knob.GBS: 8, knob.Seq: 2048},
		{knob.Calibration: recipe.Transformers, knob.Optimizer: recipe.AdamNoMaster, knob.GBS: 3},
		{
			knob.Calibration: recipe.DeepSpeed, knob.ZeRO: 2, knob.GPUs: 2, knob.GBS: 6,
			knob.GradDtype: recipe.GradBF16,
		},
	} {
		s := onOneGPU(t, given)
		r := engine.Evaluate(s)
		over, ok := engine.MemoryOverStep(s)
		if !r.Legal || !ok {
			t.Fatalf("%v: %v", given, r.Problems)
		}
		rank := &r.Memory.Ranks[0]
		for i, want := range [2]float64{rank.FirstStepPeak.GiB(), rank.Allocated.GiB()} {
			p := &over.Ranks[0].Profiles[i]
			if got := p.Peak().Allocated().GiB(); math.Abs(got-want) > .001*want {
				t.Errorf("%v: at most %.3f GiB in step %d, the report has %.3f", given, got, i+1, want)
			}
			n, last, most := 0, memory.Sample{}, 0.0
			for sample := range p.All() {
				if sample.At < last.At {
					t.Fatalf("%v: %v behind %v", given, sample.At, last.At)
				}
				n, last, most = n+1, sample, max(most, sample.Allocated().GiB())
			}
			if n != p.Len() || last.At != p.Length() || math.Abs(most-want) > .001*want ||
				math.Abs(float64(p.Length()/r.Time.Step-1)) > .05 {
				t.Errorf("%v: %d samples of %d to %v of %v (step %v), at most %.3f GiB", given, n, p.Len(), last.At,
					p.Length(), r.Time.Step, most)
			}
			if all := p.Most(0, p.Length()+1).Allocated().GiB(); math.Abs(all-want) > .001*want {
				t.Errorf("%v: most of all is %.3f GiB", given, all)
			}
			// a buffer of the first step's last gather may still be there
			if ratio := last.Allocated() / p.Start().Allocated(); i == 1 && (ratio > 1.001 || ratio < .95) {
				t.Errorf("%v: begins with %v and ends with %v", given, p.Start().Allocated(),
					last.Allocated())
			}
		}
		if got, want := over.Ranks[0].Peaks[1].GiB(), rank.Total.GiB(); math.Abs(got-want) > .001*want {
			t.Errorf("%v: the chart's peak is %.3f GiB, the total %.3f", given, got, want)
		}
	}
}
