package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
)

// TestTypedSetupsAreTheirRows compares every typed run of the two tables that
// presets/published cannot read (SimuMax's A100 and Zero Bubble) with the setup and the
// step time that its row gives, whole: nothing of a setup may differ.
func TestTypedSetupsAreTheirRows(t *testing.T) {
	rows := map[string]map[string]run{"simumax-a100-pcie": {}, "zero-bubble": {}}
	for _, r := range append(simumaxA100(t), zeroBubble(t)...) {
		rows[r.group][r.id] = r
	}
	groups, err := published.Groups(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	for i := range groups {
		g := &groups[i]
		left := rows[g.ID]
		if left == nil {
			continue
		}
		for k := range g.Runs {
			typed := &g.Runs[k]
			if typed.Step == 0 {
				continue // of its memory alone
			}
			row, ok := left[typed.ID]
			if !ok {
				t.Errorf("%s: no such row, or typed twice", typed.ID)
				continue
			}
			delete(left, typed.ID)
			if got, want := comparable(typed.Setup), comparable(row.setup); got != want {
				t.Errorf("%s: typed\n%+v\nthe row gives\n%+v", typed.ID, got, want)
			}
			if math.Abs(typed.Step/row.step-1) > 1e-5 {
				t.Errorf("%s: typed %v s, the row gives %v", typed.ID, typed.Step, row.step)
			}
		}
		for id := range left {
			t.Errorf("%s %s is not typed", g.ID, id)
		}
	}
}

// comparable returns a setup without what is a name or a convention of reports.
func comparable(s engine.Setup) engine.Setup {
	s.Model.ID, s.Model.Name, s.MFU = "", "", ""
	return s
}
