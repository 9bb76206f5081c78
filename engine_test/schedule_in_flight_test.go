package engine_test

import (
	"testing"

	"meshscope/engine/schedule"
)

// inFlightForm is the text of Info.Memory as formulas.
type inFlightForm struct {
	untilW func(p, m, v, r int) int
	untilI func(p, m, v, r int) int // nil: the text does not say
	worst  bool                     // the text is about the fullest rank only
}

func inFlightForms() map[schedule.Kind]inFlightForm {
	every := func(f func(p, m, v, r int) int) inFlightForm { return inFlightForm{untilW: f} }
	folded := func(f func(p int) int) inFlightForm { // of the V-shaped ones
		return inFlightForm{worst: true, untilW: func(p, m, _, _ int) int { return min(f(p), 2*m) }}
	}
	group := func(p, m int) int { return m / max(1, m/p) }
	return map[schedule.Kind]inFlightForm{
		schedule.Naive:     every(func(_, _, _, _ int) int { return 1 }),
		schedule.AFAB:      every(func(_, m, _, _ int) int { return m }),
		schedule.OneFOneB:  every(func(p, m, _, r int) int { return min(m, p-r) }),
		schedule.LoopedBFS: every(func(_, m, v, _ int) int { return v * m }),
		schedule.Interleaved: every(func(p, m, v, r int) int {
			return min(v*m, (v-1)*min(p, m)+2*(p-1-r)+1)
		}),
		schedule.ZBH1: {
			untilW: func(p, m, _, _ int) int { return min(m, p) },
			untilI: func(p, m, _, r int) int { return min(m, p-r) },
		},
		schedule.ZBH2: {
			untilW: func(p, m, _, _ int) int { return min(m, 2*p-1) },
			untilI: func(p, m, _, r int) int { return min(m, 2*(p-1-r)+1) },
		},
		schedule.InterleavedZB: {
			untilW: func(p, m, v, _ int) int { return min(v*m, (v-1)*group(p, m)+p) },
			untilI: func(p, m, v, r int) int { return min(v*m, (v-1)*group(p, m)+p-r) },
		},
		schedule.ZBV:       folded(func(p int) int { return 2 * p }),
		schedule.VHalf:     folded(func(p int) int { return p + 2 - p%2 }),
		schedule.VMin:      folded(func(p int) int { return 2 * ((p + 4) / 3) }),
		schedule.OneFOneBV: folded(func(p int) int { return 2 * ((2*p + 3) / 3) }),
		schedule.DualPipe:  every(func(p, _, _, _ int) int { return p + 1 }),
		schedule.DualPipeV: every(func(p, _, _, _ int) int { return 2*p + 1 }),
	}
}

// TestInFlightTexts: what Info.Memory says of each schedule is what its orders
// hold, for every small size.
func TestInFlightTexts(t *testing.T) {
	for _, info := range schedule.Kinds() {
		form, ok := inFlightForms()[info.Kind]
		if !ok {
			if !info.Automatic {
				t.Errorf("%s: %q is not tested", info.Kind, info.Memory)
			}
			continue
		}
		sizes := 0
		for p := 1; p <= 10; p++ {
			for m := 1; m <= 3*p+4; m++ {
				for v := 1; v <= 3; v++ {
					s := schedule.Spec{Kind: info.Kind, Ranks: p, VirtualStages: v, MicroBatches: m}
					if scheduleErrors(s) == 0 {
						sizes++
						checkInFlight(t, s, form)
					}
				}
			}
		}
		if sizes < 20 {
			t.Errorf("%s: %d sizes", info.Kind, sizes)
		}
	}
}

func checkInFlight(t *testing.T, s schedule.Spec, form inFlightForm) {
	t.Helper()
	o, err := schedule.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	tl, err := schedule.Simulate(o, schedule.UniformCosts(s, schedule.ChunkTimes{F: 1, B: 2, I: 1, W: 1}, 0))
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for r, st := range tl.Ranks {
		most = max(most, st.PeakInFlight)
		if form.worst {
			continue
		}
		if want := form.untilW(s.Ranks, s.MicroBatches, s.VirtualStages, r); st.PeakInFlight != want {
			t.Errorf("%+v rank %d holds %d, the text says %d", s, r, st.PeakInFlight, want)
		}
		if form.untilI == nil {
			continue
		}
		if want := form.untilI(s.Ranks, s.MicroBatches, s.VirtualStages, r); st.PeakUntilInput != want {
			t.Errorf("%+v rank %d holds %d until I, the text says %d", s, r, st.PeakUntilInput, want)
		}
	}
	if want := form.untilW(s.Ranks, s.MicroBatches, s.VirtualStages, 0); form.worst && most != want {
		t.Errorf("%+v holds %d, the text says %d", s, most, want)
	}
}
