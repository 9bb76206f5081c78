package schedule

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
)

// What is planned by number is what the table of results gives: the same input and cost of
// every operation, the same counts and peaks.
func TestWarmPlan(t *testing.T) {
	kinds := []Kind{Naive, AFAB, OneFOneB, Interleaved}
	tried := map[Kind]int{}
	draws.Check(t, func(t *rapid.T) {
		s := Spec{
			Kind:  rapid.SampledFrom(kinds).Draw(t, "kind"),
			Ranks: rapid.IntRange(1, 9).Draw(t, "ranks"), VirtualStages: 1,
			MicroBatches: rapid.IntRange(1, 40).Draw(t, "micro-batches"),
		}
		if s.Kind == Interleaved {
			s.VirtualStages = rapid.IntRange(1, 5).Draw(t, "chunks")
			s.GroupSize = rapid.IntRange(0, s.MicroBatches).Draw(t, "group")
			s.ExtraWarmup = rapid.IntRange(0, 2).Draw(t, "extra")
		}
		o, err := Build(s)
		if err != nil {
			t.Skip("not a schedule")
		}
		tried[s.Kind]++
		var table plan
		if err := table.build(o); err != nil {
			t.Fatal(err)
		}
		byOp := func(a, b step) int { return int(a.op&stepIndex) - int(b.op&stepIndex) }
		slices.SortFunc(o.plan.steps, byOp)
		slices.SortFunc(table.steps, byOp)
		if !slices.Equal(o.plan.steps, table.steps) {
			t.Fatalf("%+v: other steps:\n%v\n%v", s, o.plan.steps, table.steps)
		}
		if !slices.Equal(o.plan.counts, table.counts) || !slices.Equal(o.plan.ranks, table.ranks) {
			t.Fatalf("%+v: counts %v peaks %v, not %v %v", s, o.plan.counts, o.plan.ranks, table.counts,
				table.ranks)
		}
	})
	for _, kind := range kinds {
		if tried[kind] == 0 {
			t.Errorf("no order of %s was looked at", kind)
		}
	}
}

// TestManyMicroBatchesOfOneChunk: an interleaved pipeline of one chunk, of the most operations that
// a schedule may have, is planned in the time of 1F1B. It took hours: each turn looked through all
// groups for an operation that needs the other end of the pipeline, and there is none.
func TestManyMicroBatchesOfOneChunk(t *testing.T) {
	s := Spec{Kind: Interleaved, Ranks: 2, VirtualStages: 1, MicroBatches: MaxMicroBatches}
	o, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(o.plan.steps), 4*s.MicroBatches; got != want {
		t.Errorf("%d operations are planned of %d", got, want)
	}
}
