package engine_test

import (
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/presets"
)

// TestEvaluatorKeepsNoAnswer checks that what an Evaluator was asked before does
// not change what it says of an illegal setup: here that the automatic schedule
// before it had found no order.
func TestEvaluatorKeepsNoAnswer(t *testing.T) {
	s := presets.DefaultSetup()
	s.Schedule, s.TP, s.PP, s.DP, s.VPP, s.CP = schedule.ZBVAuto, 8, 2, 4, 2, 1
	s.MicroBatches, s.GBS = 4, 4*s.MBS*s.DP
	var e engine.Evaluator
	before := e.Evaluate(s)
	if !before.Legal ||
		!slices.ContainsFunc(before.Assumptions,
			func(a string) bool { return strings.Contains(a, "finds no order") }) {
		t.Fatalf("legal %v, %q: this setup was chosen because its schedule finds no order", before.Legal,
			before.Assumptions)
	}
	s.DP++
	want, got := engine.Evaluate(s), e.Evaluate(s)
	if want.Legal || !slices.Equal(got.Assumptions, want.Assumptions) {
		t.Fatalf("legal %v, after another setup %q, by itself %q", want.Legal, got.Assumptions,
			want.Assumptions)
	}
}
