package report

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
)

// TestDeadlineOfTheSlowEnd: advice asks of a deadline what a search does, the slow end of the step.
func TestDeadlineOfTheSlowEnd(t *testing.T) {
	r := engine.Report{Time: &engine.Time{Step: 2}, Run: &engine.Run{Seconds: 1000}}
	a := Advice{Advice: &advise.Advice{}, Deadline: 1200}
	if !a.meets(&r, 2) || !a.meets(&r, 2.4) || a.meets(&r, 2.5) {
		t.Error("1000 s at 2 s per step end within 1200 s up to 2.4 s")
	}
}
