package schedule

import "testing"

// What is said of a rank's first forwards and of what is alive holds for every
// order up to 10 ranks; automatic schedules promise nothing.
func TestWarmupIsWhatOrdersDo(t *testing.T) {
	orders := 0
	for _, info := range Kinds() {
		for p := 1; p <= 10; p++ {
			for v := 1; v <= 3; v++ {
				for m := 1; m <= 4*p+1; m++ {
					s := Spec{Kind: info.Kind, Ranks: p, VirtualStages: v, MicroBatches: m}
					if o, err := Build(s); err == nil {
						orders++
						warmupHolds(t, o)
					}
				}
			}
		}
	}
	if orders < 4000 {
		t.Errorf("only %d orders were looked at", orders)
	}
}

func warmupHolds(t *testing.T, o *Order) {
	t.Helper()
	for r := range o.Spec.Ranks {
		leading := 0
		for _, op := range o.Rank(r) {
			if op.Kind() != Forward {
				break
			}
			leading++
		}
		w, peaks := o.Spec.Warmup(r), o.plan.ranks[r]
		if leading < w.Least || leading > w.Most || peaks.untilInput > w.Most || peaks.inFlight < w.Alive {
			t.Fatalf("%+v rank %d: %d forwards first, %d until I, %d alive; said %+v", o.Spec, r, leading, peaks.untilInput, peaks.inFlight, w)
		}
	}
}
