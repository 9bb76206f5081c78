package report

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/units"
)

// TestDeadlineOfTheSlowEnd: advice asks of a deadline what a search does, the slow end of the step.
func TestDeadlineOfTheSlowEnd(t *testing.T) {
	r := engine.Report{Time: &engine.Time{Step: 2}, Run: &engine.Run{Seconds: 1000}}
	a := Advice{Advice: &advise.Advice{}, Deadline: 1200}
	if !a.meets(&r, 2) || !a.meets(&r, 2.4) || a.meets(&r, 2.5) {
		t.Error("1000 s at 2 s per step end within 1200 s up to 2.4 s")
	}
}

// TestKnobsHaveExpectedSteps: the table of knobs has the steps that the report has, orders by their slow ends
// and names those where they are others.
func TestKnobsHaveExpectedSteps(t *testing.T) {
	now := advise.Value{Text: "unfused", Step: 55, Expected: 49, Fits: true}
	better := advise.Value{Text: "liger", Step: 54, Expected: 50, Fits: true}
	knobs := []advise.Knob{{ID: "loss", Current: now.Text, Now: now, Values: []advise.Value{better}}}
	for slow, named := range map[units.Seconds]bool{55: true, 49: false} {
		a := Advice{Advice: &advise.Advice{
			Report: engine.Report{Time: &engine.Time{Step: 49}}, Knobs: knobs, PessimisticStep: slow,
		}}
		section := a.steps()
		cells := section.Blocks[0].(*Table).Rows[0]
		for i, want := range map[int]string{2: "now", 4: "50.000 s at liger", 5: "liger, 50.000 s"} {
			if got := cells[i].Text; got != want {
				t.Errorf("column %d: %q, want %q", i, got, want)
			}
		}
		var said string
		for _, b := range section.Blocks[1:] {
			if line, ok := b.(Sentence); ok {
				said += string(line) + "\n"
			}
		}
		if !strings.Contains(section.Lead, "now 49.00 s") || strings.Contains(said, "55.000 s now") != named {
			t.Errorf("slow end of %v: %s\n%s", slow, section.Lead, said)
		}
	}
}

// TestKnobsAreBrief: a long value that a knob has does not widen the table of knobs; one that it may take
// stands in full.
func TestKnobsAreBrief(t *testing.T) {
	knobs := []advise.Knob{
		{ID: "recompute", Current: "modules:norm,moe-act", Now: advise.Value{Text: "modules:norm,moe-act"}},
		{ID: "split", Current: strings.Repeat("2,", 30) + "1", Values: []advise.Value{
			{Text: strings.Repeat("2,", 29) + "3", Expected: 1, Fits: true},
		}},
	}
	knobs[0].Now.Fits = true
	a := Advice{Advice: &advise.Advice{Report: engine.Report{Time: &engine.Time{Step: 2}}, Knobs: knobs}}
	section := a.steps()
	rows := section.Blocks[0].(*Table).Rows
	for _, c := range []struct {
		row, column int
		want        string
	}{
		{0, 1, "norm+moe-act"},
		{0, 5, "norm+moe-act (now)"},
		{1, 1, "2,2,2,2,2,2,2..."},
		{1, 5, knobs[1].Values[0].Text + ", 1.000 s"},
	} {
		if got := rows[c.row][c.column].Text; got != c.want {
			t.Errorf("row %d, column %d: %q, want %q", c.row, c.column, got, c.want)
		}
	}
}
