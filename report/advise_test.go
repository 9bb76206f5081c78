package report

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/compare"
	"meshscope/engine/search"
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

// TestWholeRunAndItsDeadline: what the run takes and costs, whether that is in time, else the first move that
// is, else how far it is.
func TestWholeRunAndItsDeadline(t *testing.T) {
	cost := 1.5e6
	run := func(seconds units.Seconds) engine.Report {
		return engine.Report{
			Time: &engine.Time{Step: 2}, Memory: &engine.Memory{Fits: true},
			Run: &engine.Run{
				Tokens: 1e12, Seconds: seconds, Days: float64(seconds) / 86400, GPUHours: 5e5,
				Cost: &cost,
			},
		}
	}
	fast := advise.Move{Fits: true, PessimisticStep: 2, Report: run(2 * 86400)}
	fast.Changes = []compare.Change{{Field: "tp", A: "1", B: "2"}}
	for want, of := range map[string]Advice{
		"":                                 {},
		"It meets the deadline of 5 days.": {Deadline: 5 * 86400},
		"It misses the deadline of 3 days; the first move that meets it: tp 2.": {Deadline: 3 * 86400},
		"It misses the deadline of 1 day, and no move listed meets it.":         {Deadline: 86400},
		"It misses the deadline of 1 hour, and no move listed meets it: the search for what would meet it " +
			"was stopped.": {Deadline: 3600, Missed: &search.Missed{Stopped: true}},
	} {
		of.Advice = &advise.Advice{Report: run(4 * 86400), PessimisticStep: 2, Moves: []advise.Move{fast}}
		section, said := of.run(), ""
		for _, b := range section.Blocks {
			if line, ok := b.(Sentence); ok {
				said += string(line)
			}
		}
		if said != want || !strings.Contains(section.Lead, "1.00 T tokens in 4.0") ||
			!strings.Contains(section.Lead, "GPU-hours, $") {
			t.Errorf("%s: %q, not %q", section.Lead, said, want)
		}
		if got := of.InTime(); of.Deadline > 0 && got != (of.Deadline > 86400) {
			t.Errorf("%q: in time %v", want, got)
		}
	}
}
