package ui

import (
	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/ui/export"
)

// adviceTables are what the card says, with all digits: what the fullest rank holds or
// the step is spent on, the moves, every value of every knob, and the rules.
func adviceTables(a *advise.Advice) []export.Table {
	seconds := func(v float64) export.Cell { return export.Figure(engine.UnitSeconds, v) }
	bytes := func(v float64) export.Cell { return export.Figure(engine.UnitMemory, v) }
	yes := func(v bool) export.Cell {
		if v {
			return export.Word("yes")
		}
		return export.Word("no")
	}
	terms := export.Table{Title: "advice: what the fullest rank holds", Head: []string{"term", "holds", "of the total"}}
	for _, t := range a.Terms {
		terms.Rows = append(terms.Rows, []export.Cell{export.Word(t.Name), bytes(float64(t.Bytes)), export.Figure(engine.UnitShare, t.Share)})
	}
	limits := export.Table{Title: "advice: what a step is spent on", Head: []string{"part", "takes", "of the step"}}
	for _, l := range a.Limits {
		limits.Rows = append(limits.Rows, []export.Cell{export.Word(l.Name), seconds(float64(l.Seconds)), export.Figure(engine.UnitShare, l.Share)})
	}
	moves := export.Table{Title: "advice: moves " + a.Promise(), Head: []string{"turn", "what follows", "step", "speed", "peak", "saved", "fits"}}
	for i := range a.Moves {
		m := &a.Moves[i]
		moves.Rows = append(moves.Rows, []export.Cell{
			export.Word(m.Turns()), export.Word(m.Follows()), seconds(float64(m.Report.Time.Step)), export.Ratio(m.Speed),
			bytes(float64(m.Report.Memory.Peak)), bytes(float64(m.Saved)), yes(m.Fits),
		})
	}
	knobs := export.Table{Title: "advice: each knob alone", Head: []string{"knob", "value", "now", "step", "peak", "fits", "a launcher refuses it"}}
	for i := range a.Knobs {
		k := &a.Knobs[i]
		add := func(v *advise.Value, now bool) {
			knobs.Rows = append(knobs.Rows, []export.Cell{
				export.Word(string(k.ID)), export.Word(v.Text), yes(now), seconds(float64(v.Step)), bytes(float64(v.Peak)), yes(v.Fits), yes(v.Refused),
			})
		}
		add(&k.Now, true)
		for j := range k.Values {
			add(&k.Values[j], false)
		}
	}
	rules := export.Table{Title: "advice: rules of thumb", Head: []string{"rule", "verdict", "why", "text", "source"}}
	for i := range a.Rules {
		r := &a.Rules[i]
		rules.Rows = append(rules.Rows, []export.Cell{
			export.Word(r.ID), export.Word(r.Verdict.Words()), export.Word(r.Reason()), export.Word(r.Text), export.Word(r.Source),
		})
	}
	return []export.Table{terms, limits, moves, knobs, rules}
}
