package explain

import (
	"slices"
	"strings"

	"meshscope/engine/record"
)

// recorded is the explanation of a figure that the evaluation recorded; nil where
// it recorded none of that identifier.
func (b *Book) recorded(id string) *Explanation {
	if e, ok := b.known[id]; ok {
		return e
	}
	entry, ok := b.record.Entry(id)
	if !ok {
		return nil
	}
	x, err := b.record.Formula(id)
	if err != nil {
		return nil // a test reads every formula
	}
	e := &Explanation{
		Figure: id, Name: strings.ToUpper(entry.Name[:1]) + entry.Name[1:], Symbol: record.Words(entry.Symbol), Unit: entry.Unit,
		Formula: text(x, false), Numbers: text(x, true), Result: x.Result(), Value: entry.Value,
		Source: entry.Source, LeavesOut: entry.LeavesOut, Simulated: entry.Simulated,
	}
	if v, ok := b.values[id]; ok {
		e.Value, e.Reported = v, true
	}
	if of := b.evidence(id); of != nil {
		e.Band = of.Words()
	}
	b.known[id] = e
	x.Leaves(func(l *record.Expr) {
		if l.Of == nil {
			return
		}
		if part := b.recorded(l.Of.ID); part != nil && !slices.Contains(e.Parts, part) {
			e.Parts = append(e.Parts, part)
		}
	})
	return e
}
