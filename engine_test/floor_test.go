package engine_test

import (
	"testing"

	"meshscope/engine"

	"pgregory.net/rapid"
)

// A floor is under what an evaluation finds, for every schedule and stack: no
// layout that a search leaves out because of it could have won. The bound from
// the other side says how far below it can be.
func TestFloorsAreUnderEvaluations(t *testing.T) {
	w := newWorld(t)
	rapid.Check(t, func(t *rapid.T) {
		s := w.legalSetup(t)
		if s.Slow() {
			t.Skip("an automatic schedule of many operations")
		}
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Skip("illegal")
		}
		var f engine.Floors
		if !f.Lay(&s) {
			t.Fatalf("a legal setup cannot be laid out: %+v", s.Layout)
		}
		f.Shard(s.ZeRO)
		floor := f.Of(s.Spec())
		if floor.Step > r.Time.Step {
			t.Fatalf("floor %v s is over the step %v s: %s %+v", floor.Step, r.Time.Step, s.Schedule, s.Layout)
		}
		if floor.Peak > r.Memory.Peak {
			t.Fatalf("floor %v GiB is over the peak %v GiB: %s %+v", floor.Peak.GiB(), r.Memory.Peak.GiB(), s.Schedule, s.Layout)
		}
	})
}
