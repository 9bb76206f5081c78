package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine_test/draws"
	"meshscope/launch"

	"pgregory.net/rapid"
)

// TestFirstAdviceIsTheCheapest: the first of the moves makes what is promised, the launcher runs it, and
// of all single-knob changes that were tried none that does the same is cheaper: with nothing against
// it, fewer changes and a shorter step. -rapid.checks=500 tries 500 answers.
func TestFirstAdviceIsTheCheapest(t *testing.T) {
	w := newWorld(t)
	answers := 0
	draws.CheckFew(t, 4, func(t *rapid.T) {
		s := w.pipelined(t)
		if s.Slow() || !engine.Legal(s) {
			t.Skip("illegal, or an automatic schedule of many operations")
		}
		accepts := func(*engine.Setup) bool { return true }
		if l := launch.Of(s.Stack); l != nil {
			accepts = l.AcceptsFrom(&s)
		}
		a, ok := advise.For(s, advise.Options{Accepts: accepts})
		if !ok || len(a.Moves) == 0 {
			t.Skip("no advice")
		}
		answers++
		first := &a.Moves[0]
		r := engine.Evaluate(first.Setup)
		fix := !a.Report.Memory.Fits || !a.Report.Memory.HasMargin() && first.Roomy
		switch {
		case !accepts(&first.Setup):
			t.Fatalf("%s: the launcher refuses %s", a.Promise(), first.Turns())
		case first.Setup.GPUs != s.GPUs || first.Setup.GBS != s.GBS || first.Setup.Seq != s.Seq:
			t.Fatalf("%s changes the question", first.Turns())
		case !first.Fits && r.Memory.Peak >= a.Report.Memory.Peak, first.Fits && !r.Memory.Fits,
			first.Roomy && !r.Memory.HasMargin():
			t.Fatalf("%s: %s holds %v of %v", a.Promise(), first.Turns(), r.Memory.Peak, r.Memory.Usable)
		case !fix && first.PessimisticStep >= a.PessimisticStep:
			t.Fatalf("%s: %s takes %v, now it is %v", a.Promise(), first.Turns(), first.PessimisticStep,
				a.PessimisticStep)
		}
		// sharded data parallelism
		alone := func(s *engine.Setup) bool { return s.ZeRO >= 2 && s.TP*s.PP*s.CP == 1 }
		for i := range a.Knobs {
			k := &a.Knobs[i]
			for _, v := range k.Values {
				does := v.Fits && !v.Refused && v.Last == "" &&
					(fix || float64(a.PessimisticStep/v.Step) > 1.001)
				if does && !alone(&s) &&
					(first.Last != "" || first.Turned > 1 || v.Step < first.PessimisticStep) {
					t.Fatalf("%s: %s (%v, %s) comes before %s %s (%v)", a.Promise(), first.Turns(),
						first.PessimisticStep, first.Last, k.ID, v.Text, v.Step)
				}
			}
		}
	})
	if t.Logf("%d answers", answers); answers == 0 {
		t.Error("none had advice")
	}
}
