package engine_test

import (
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/presets"
)

// TestKnobEnds: what a tornado chart draws of a knob is that of its values: no step is
// shorter or longer than its ends, none that fits is outside of its reach, and none that
// fits and that nobody refuses is faster than its best.
func TestKnobEnds(t *testing.T) {
	start := presets.DefaultSetup()
	unfit := start
	unfit.PP, unfit.DP, unfit.MicroBatches = 1, 8, 64
	e := engine.Evaluator{SkipTimeline: true}
	for name, s := range map[string]engine.Setup{"fits": start, "does not": unfit} {
		a, ok := advise.For(s, advise.Options{Alone: true, Moves: 1})
		if !ok || a.Report.Memory.Fits != (name == "fits") {
			t.Fatalf("%s: %v, fits %v", name, ok, a.Report.Memory != nil && a.Report.Memory.Fits)
		}
		for i := range a.Knobs {
			k := &a.Knobs[i]
			if k.Now.Step != a.PessimisticStep || k.Now.Fits != a.Report.Memory.Fits ||
				k.Now.Text != k.Current {
				t.Errorf("%s, %s: now is %+v", name, k.ID, k.Now)
			}
			fastest, slowest := k.Ends()
			shortest, longest, any := k.Reach()
			best := k.Best()
			fitting := k.Now.Fits
			for _, v := range append([]advise.Value{k.Now}, k.Values...) {
				if v.Step < fastest.Step || v.Step > slowest.Step {
					t.Errorf("%s, %s: %s is outside of its ends", name, k.ID, v.Text)
				}
				if v.Fits && (v.Step < shortest || v.Step > longest) {
					t.Errorf("%s, %s: %s fits and is outside of its reach", name, k.ID, v.Text)
				}
				if v.Fits && !v.Refused &&
					(best == nil || (v.Last == "") == (best.Last == "") && v.Step < best.Step ||
						v.Last == "" && best.Last != "") {
					t.Errorf("%s, %s: %s is better than %+v", name, k.ID, v.Text, best)
				}
				fitting = fitting || v.Fits
				if x, err := knob.Turn(s, k.ID, v.Text, knob.Locks{GPUs: true, Batch: true}); err == nil {
					got := e.Evaluate(x)
					if slow, fuller, _ := e.PessimisticStep(&x, &got, nil); slow != v.Step ||
						fuller.Fits != v.Fits {
						t.Errorf("%s, %s: at %s an evaluation says %v, %v", name, k.ID, v.Text, slow,
							fuller.Fits)
					}
				}
			}
			if any != fitting || best != nil && (!best.Fits || best.Refused) {
				t.Errorf("%s, %s: fits somewhere %v, best %+v", name, k.ID, fitting, best)
			}
		}
	}
}

// TestFixes: what makes a setup fit is of each knob the fastest value that does, by all
// its values, and is among the advice on the setup, which begins with nothing slower.
func TestFixes(t *testing.T) {
	wide, deep := presets.DefaultSetup(), presets.DefaultSetup()
	wide.PP, wide.DP, wide.MicroBatches = 1, 8, 64
	deep.TP, deep.DP, deep.MicroBatches = 4, 8, 64
	for name, s := range map[string]engine.Setup{"tp 8": wide, "tp 4, pp 2": deep} {
		fixes := advise.Fixes(s, nil)
		if len(fixes) < 3 {
			t.Fatalf("%s: %d fixes", name, len(fixes))
		}
		for i := range fixes {
			r := engine.Evaluate(fixes[i].Setup)
			if !r.Legal || !r.Memory.Fits || r.Time.Step != fixes[i].Report.Time.Step {
				t.Errorf("%s: %s does not fit, or in another step", name, fixes[i].Turns())
			}
			if i > 0 && fixes[i].Speed > fixes[i-1].Speed &&
				(fixes[i].Last == "") == (fixes[i-1].Last == "") && fixes[i].Roomy == fixes[i-1].Roomy {
				t.Errorf("%s: %s is faster than what stands before it", name, fixes[i].Turns())
			}
		}
		a, ok := advise.For(s, advise.Options{Moves: 100})
		if !ok {
			t.Fatal(name)
		}
		var best, last []float64
		for i := range a.Knobs {
			if v := a.Knobs[i].Best(); v != nil && v.Refused {
				continue // what a launcher refuses is no fix
			} else if v != nil && v.Last == "" {
				best = append(best, float64(v.Step))
			} else if v != nil {
				last = append(last, float64(v.Step))
			}
		}
		steps := func(last bool) (out []float64) { // of those that come last the tight ones are last
			for i := range fixes {
				if (fixes[i].Last != "") == last {
					out = append(out, float64(fixes[i].PessimisticStep))
				}
			}
			slices.Sort(out)
			return out
		}
		sorted := append(steps(false), steps(true)...)
		slices.Sort(best)
		slices.Sort(last)
		best = append(best, last...)
		if len(best) != len(fixes) {
			t.Errorf("%s: %d knobs make it fit, %d are among the fixes", name, len(best), len(fixes))
			continue
		}
		for i, step := range best {
			if sorted[i] != step {
				t.Errorf("%s: number %d takes %v, not %v", name, i, sorted[i], step)
			}
		}
		for i := range fixes {
			if !slices.ContainsFunc(a.Moves, func(m advise.Move) bool { return m.Setup == fixes[i].Setup }) {
				t.Errorf("%s: advice does not know %s", name, fixes[i].Turns())
			}
		}
		if a.Moves[0].Last != "" || fixes[0].Last == "" && a.Moves[0].Speed < fixes[0].Speed {
			t.Errorf("%s: advice begins with %s, the fixes with %s", name, a.Moves[0].Turns(),
				fixes[0].Turns())
		}
	}
	if fixes := advise.Fixes(presets.DefaultSetup(), nil); fixes != nil {
		t.Errorf("a setup that fits is fixed: %d", len(fixes))
	}
	if fixes := advise.Fixes(wide, func() bool { return true }); fixes != nil {
		t.Errorf("stopped, it still says %d", len(fixes))
	}
}
