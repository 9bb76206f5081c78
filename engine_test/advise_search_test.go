package engine_test

import (
	"cmp"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/launch"

	"pgregory.net/rapid"
)

// turnsMore reports whether two setups differ in what advice turns and a search leaves as it is.
func turnsMore(a, b *engine.Setup) bool {
	return slices.ContainsFunc(knob.Advised(), func(id knob.ID) bool {
		k, _ := knob.Find(id)
		return !slices.Contains(search.Free(), id) && k.Text(*a) != k.Text(*b)
	})
}

// TestAdviceNeverBeatsSearch: of the same question no advice that does not come last is faster
// than rank 1 of a search by more than the model can tell, and some advice is as fast; the first advice and
// rank 1 are accepted by the launcher, and have the margin wherever any layout has it. The search leaves free
// what advice may turn: an offloaded optimizer is taken back by both, and from a setup that some launcher
// rejects both go to others.
func TestAdviceNeverBeatsSearch(t *testing.T) {
	w := newWorld(t)
	problems, compared := 0, 0
	draws.CheckFew(t, 4, func(t *rapid.T) {
		s := w.pipelined(t)
		if s.Slow() || !engine.Legal(s) {
			t.Skip("illegal, or an automatic schedule of many operations")
		}
		var accepts func(*engine.Setup) bool
		if l := launch.Of(s.Stack); l != nil {
			accepts = l.Accepts
		}
		a, ok := advise.For(s, advise.Options{Accepts: accepts})
		if !ok || len(a.Moves) == 0 {
			t.Skip("no advice")
		}
		p := search.Problem{Setup: s, Top: 1, Margin: true, Workers: 2}
		p.Setup.Split, p.Setup.HSDP, p.Setup.GroupSize = "", 1, 0
		p.Space.Accepts, p.Space.Refused = accepts, accepts != nil || knob.LauncherRejects(a.Report.Problems)
		p.Space.Others = []search.Other{{ID: knob.Offload, Values: []string{
			cmp.Or(string(s.Offload), "none"),
			"none",
		}}}
		best := search.Run(t.Context(), p, nil).Best
		problems++
		first := &a.Moves[0]
		if len(best) == 0 {
			if first.Last == "" && first.Fits && first.Report.Memory.HasMargin() &&
				!turnsMore(&s, &first.Setup) {
				t.Fatalf("search finds nothing, advice %s", first.Turns())
			}
			return
		}
		compared++
		if accepts != nil && (!accepts(&best[0].Setup) || !accepts(&first.Setup)) {
			t.Fatalf("refused by the launcher: %+v or %+v", best[0].Setup.Layout, first.Setup.Layout)
		}
		if !best[0].Report.Memory.HasMargin() {
			return
		}
		reached := a.Report.Memory.HasMargin() && a.PessimisticStep <= best[0].PessimisticStep*1.001
		for i := range a.Moves {
			m := &a.Moves[i]
			reached = reached || m.Report.Memory.HasMargin() &&
				m.PessimisticStep <= best[0].PessimisticStep*1.001
			if m.Last != "" {
				continue
			}
			if !m.Report.Memory.HasMargin() {
				t.Fatalf("%s has no margin", m.Turns())
			}
			if beats := m.PessimisticStep*
				units.Seconds(1+best[0].Report.Time.CloseMargin()) < best[0].PessimisticStep; beats &&
				!turnsMore(&s, &m.Setup) {
				t.Fatalf("%s takes %v, rank 1 of the search %v: %+v", m.Turns(), m.PessimisticStep,
					best[0].PessimisticStep, best[0].Setup.Layout)
			}
		}
		if !reached {
			t.Fatalf("no advice reaches rank 1 of the search, %v: %+v", best[0].PessimisticStep,
				best[0].Setup.Layout)
		}
	})
	if t.Logf("some layout fits in %d of %d problems", compared, problems); compared == 0 {
		t.Error("none was compared")
	}
}
