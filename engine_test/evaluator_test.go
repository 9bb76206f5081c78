package engine_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/engine_test/draws"
)

// TestReusedEvaluator: one Evaluator answers whatever comes as a new one does, with timelines and
// without, and a report that it has given out stays as it was.
func TestReusedEvaluator(t *testing.T) {
	w := newWorld(t)
	var e engine.Evaluator
	var given *schedule.Timeline
	var ops []schedule.Op
	var last engine.Setup
	draws.CheckFew(t, 60, func(t *rapid.T) {
		s := last
		if s == (engine.Setup{}) || rapid.Bool().Draw(t, "another") {
			s = w.pipelined(t)
		}
		last = s
		e.SkipTimeline = rapid.Bool().Draw(t, "sums only")
		got, want := e.Evaluate(s), engine.Evaluate(s)
		if given != nil && !slices.Equal(given.Order.Ops, ops) {
			t.Fatalf("the order of an earlier report has changed")
		}
		if line := got.Timeline; line != nil {
			if e.SkipTimeline || !slices.Equal(line.Order.Ops, want.Timeline.Order.Ops) ||
				!slices.Equal(line.Begin, want.Timeline.Begin) || !slices.Equal(line.End, want.Timeline.End) {
				t.Fatalf("another timeline")
			}
			given, ops = line, slices.Clone(line.Order.Ops)
		}
		got.Timeline, want.Timeline = nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("a reused evaluator answers differently")
		}
	})
}
