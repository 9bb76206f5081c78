package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/fit"
)

// TestStopsAddUp: what the largest value needs and what the next one adds give
// what the next one needs, where the same rank is the fullest; the term that is
// named is a part of what is added.
func TestStopsAddUp(t *testing.T) {
	for _, on := range []string{eight + " zero=2", large, "llama3.1-8b dgx-h100 gpus=8 tp=1 pp=4 zero=2"} {
		s := claimedSetup(t, on)
		limits, ok := fit.Find(new(engine.Evaluator), s)
		if !ok {
			t.Fatalf("%s is illegal", on)
		}
		seq, mbs := fit.Stops(new(engine.Evaluator), s, limits)
		for name, c := range map[string]struct {
			stop *fit.Stop
			peak float64
		}{"sequence": {seq, float64(limits.SeqPeak)}, "micro-batch": {mbs, float64(limits.MBSPeak)}} {
			if c.stop == nil {
				t.Errorf("%s: nothing ends the %s", on, name)
				continue
			}
			near(t, on+" "+name, c.peak+float64(c.stop.Grows), float64(c.stop.Total), 1e-9)
			if c.stop.More <= 0 || c.stop.More > c.stop.Grows {
				t.Errorf("%s: %s grows by %v, of it %s %v", on, name, c.stop.Grows, c.stop.Term, c.stop.More)
			}
		}
		over, _ := engine.MemoryOverStep(s)
		if over.Milestones != over.Ranks[over.PeakRank].Milestones {
			t.Errorf("%s: the fullest rank's levels are not its own", on)
		}
		for i := range over.Ranks { // no overhead in the levels, overhead in the peaks
			if m := &over.Ranks[i]; m.Milestones.FirstPeak >= m.Peaks[0] ||
				m.Milestones.LaterPeak >= m.Peaks[1] || m.Milestones.Model <= 0 {
				t.Errorf("%s rank %d: %+v beside peaks %v", on, i, m.Milestones, m.Peaks)
			}
		}
	}
}
