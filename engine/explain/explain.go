// Package explain renders what an evaluation recorded of its arithmetic: for
// every figure its formula, the same with the numbers of this setup, the result,
// the source, what it leaves out, and the figures that it is made of, down to the
// single matrix product. A result is computed from the numbers that are shown;
// the tests compare it with the engine's figure.
package explain

import (
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/record"
)

// Unit is what a figure is measured in.
type Unit = record.Unit

// Explanation is one figure with its formula.
type Explanation struct {
	Figure  string  `json:"figure"`  // its id, "time.compute"
	Name    string  `json:"name"`    // in words
	Symbol  string  `json:"symbol"`  // what formulas call it
	Unit    Unit    `json:"unit"`    // of Value and Result
	Formula string  `json:"formula"` // with symbols
	Numbers string  `json:"numbers"` // the same with the numbers of this setup
	Result  float64 `json:"result"`  // of the formula, worked out here
	Value   float64 `json:"value"`   // the engine's figure

	Reported bool `json:"reported"` // stands in the report
	// counted or timed by running the schedule: no formula gives it
	Simulated bool   `json:"simulated,omitempty"`
	Source    string `json:"source"`
	LeavesOut string `json:"leaves_out,omitempty"`
	Band      string `json:"band,omitempty"` // how far such predictions were from published runs

	Parts []*Explanation `json:"-"` // the figures in its formula that have one of their own
}

// Text returns the result with its unit.
func (e *Explanation) Text() string { return e.Unit.Text(e.Result) }

// Book explains the figures of one setup. It is for one goroutine.
type Book struct {
	setup   engine.Setup
	report  *engine.Report
	record  *record.Record
	figures []figures.Figure
	values  map[string]float64 // of the figures
	known   map[string]*Explanation
}

// Of evaluates a setup; the second value is false when it has no figures.
func Of(s engine.Setup) (*Book, bool) {
	r, rec := engine.EvaluateRecorded(s)
	if !r.Legal {
		return nil, false
	}
	b := &Book{
		setup: s, report: &r, record: rec, figures: figures.List(&r), values: make(map[string]float64),
		known: make(map[string]*Explanation),
	}
	for _, f := range b.figures {
		b.values[f.ID] = f.Value
	}
	return b, true
}

// Report returns the report whose figures are explained.
func (b *Book) Report() *engine.Report { return b.report }

// Figures lists the figures of the report, in its order.
func (b *Book) Figures() []figures.Figure { return slices.Clone(b.figures) }

// IDs lists everything that can be explained: the figures of the report, then
// what they are made of.
func (b *Book) IDs() []string {
	ids := make([]string, 0, len(b.values))
	for _, f := range b.figures {
		ids = append(ids, f.ID)
	}
	inner := slices.DeleteFunc(b.record.IDs(), func(id string) bool {
		_, reported := b.values[id]
		return reported
	})
	slices.Sort(inner)
	return append(ids, inner...)
}

// Explain explains a figure of the report, or one of those that they are made
// of; false when there is no such figure.
func (b *Book) Explain(id string) (*Explanation, bool) {
	if e, ok := b.known[id]; ok {
		return e, true
	}
	if slices.Contains(Limits(), id) {
		e, ok := b.limit(id)
		if ok {
			b.known[id] = e
		}
		return e, ok
	}
	entry, ok := b.record.Entry(id)
	if !ok {
		return nil, false
	}
	formula, err := b.record.Formula(id)
	if err != nil {
		return nil, false // a test reads every formula
	}
	e := &Explanation{
		Figure: id, Name: strings.ToUpper(entry.Name[:1]) + entry.Name[1:],
		Symbol: record.Words(entry.Symbol), Unit: entry.Unit,
		Formula: text(formula, false), Numbers: text(formula, true), Result: formula.Result(),
		Value:  entry.Value,
		Source: entry.Source, LeavesOut: entry.LeavesOut, Simulated: entry.Simulated,
	}
	if v, ok := b.values[id]; ok {
		e.Value, e.Reported = v, true
	}
	if of := figures.Evidence(b.report, id); of != nil {
		e.Band = of.Words()
		if !strings.HasSuffix(id, "-error") && !strings.HasSuffix(id, "-runs") &&
			!strings.HasSuffix(id, "-band") {
			low, high := e.Value/(1+of.ErrorBand), e.Value*(1+of.ErrorBand)
			e.Band = "expected between " + entry.Unit.Text(low) + " and " + entry.Unit.Text(high) + "; " +
				e.Band
		}
	}
	b.known[id] = e
	formula.Leaves(func(l *record.Expr) {
		if l.Of == nil {
			return
		}
		if part, ok := b.Explain(l.Of.ID); ok && !slices.Contains(e.Parts, part) {
			e.Parts = append(e.Parts, part)
		}
	})
	return e, true
}

// String returns the explanation on one line.
func (e *Explanation) String() string {
	return e.Symbol + " = " + e.Formula + " = " + e.Numbers + " = " + e.Text()
}
