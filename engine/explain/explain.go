// Package explain says where every figure of a report comes from: its formula,
// the same with the numbers of this setup, the result, the source, what it
// leaves out, and the figures that it is made of, down to the single matrix
// product. An explanation works its result out from the numbers it shows; the
// tests compare that with the engine's figure. It is built on demand.
package explain

import (
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/record"
)

// Explanation is one figure with its formula.
type Explanation struct {
	Figure  string  `json:"figure"`  // its id, "time.compute"
	Name    string  `json:"name"`    // in words
	Symbol  string  `json:"symbol"`  // what formulas call it
	Unit    Unit    `json:"unit"`    // of Value and Result
	Formula string  `json:"formula"` // with symbols
	Numbers string  `json:"numbers"` // the same with the numbers of this setup
	Result  float64 `json:"result"`  // of the formula, worked out here
	Value   float64 `json:"value"`   // the engine's figure; Result where the report does not hold it

	Reported  bool   `json:"reported"`            // stands in the report
	Simulated bool   `json:"simulated,omitempty"` // counted or timed by running the schedule: no formula gives it
	Source    string `json:"source"`
	LeavesOut string `json:"leaves_out,omitempty"`
	Band      string `json:"band,omitempty"` // how far such predictions were from published runs

	Parts []*Explanation `json:"-"` // the figures in its formula that have one of their own
}

// Text is the result with its unit.
func (e *Explanation) Text() string { return e.Unit.Text(e.Result) }

// Book explains the figures of one setup. It is for one goroutine.
type Book struct {
	w       *engine.Workings
	r       *engine.Report
	record  *record.Record
	figures []Figure
	values  map[string]float64
	known   map[string]*Explanation
	layers  map[string]*layer // costs of the kinds of layers
	built   bool
}

// Of evaluates a setup; the second value is false when it has no figures.
func Of(s engine.Setup) (*Book, bool) {
	r, w, rec := engine.Work(s)
	if w == nil {
		return nil, false
	}
	b := &Book{
		w: w, r: &r, record: rec, figures: engine.Figures(&r),
		values: make(map[string]float64), known: make(map[string]*Explanation), layers: make(map[string]*layer),
	}
	for _, f := range b.figures {
		b.values[f.ID] = f.Value
	}
	return b, true
}

// Report is the report whose figures are explained.
func (b *Book) Report() *engine.Report { return b.r }

// Figures lists the figures of the report, in its order.
func (b *Book) Figures() []Figure { return slices.Clone(b.figures) }

// Explain explains a figure of the report, or one of those that they are made
// of; false when there is no such figure.
func (b *Book) Explain(id string) (*Explanation, bool) {
	if e, ok := b.known[id]; ok {
		return e, true
	}
	if e := b.recorded(id); e != nil {
		return e, true
	}
	if _, ok := b.values[id]; ok {
		e := b.build(id)
		return e, e != nil
	}
	b.all()
	e, ok := b.known[id]
	return e, ok
}

// IDs lists everything that can be explained: the figures of the report, then
// what they are made of.
func (b *Book) IDs() []string {
	b.all()
	var inner []string
	ids := make([]string, 0, len(b.known))
	for id := range b.known {
		if _, ok := b.values[id]; !ok {
			inner = append(inner, id)
		}
	}
	for _, f := range b.figures {
		ids = append(ids, f.ID)
	}
	slices.Sort(inner)
	return append(ids, inner...)
}

func (b *Book) all() {
	if b.built {
		return
	}
	b.built = true
	for _, id := range b.record.IDs() {
		b.recorded(id)
	}
	for _, f := range b.figures {
		b.Explain(f.ID)
	}
}

// build makes the explanation of a figure of the report.
func (b *Book) build(id string) *Explanation {
	part, rest, _ := strings.Cut(id, ".")
	switch part {
	case "pipeline":
		return b.pipelineFigure(rest)
	case "communication":
		dimension, what, _ := strings.Cut(rest, ".")
		return b.communication(dimension, what)
	case "time":
		return b.timeFigure(rest)
	case "throughput":
		return b.throughputFigure(rest)
	}
	return nil
}

// about is what an explanation says besides its formula.
type about struct {
	name, symbol string
	unit         Unit
	source       string
	omits        string
	simulated    bool
}

// explain makes the explanation of a figure once.
func (b *Book) explain(id string, a about, formula func() *Expr) *Explanation {
	if e := b.recorded(id); e != nil {
		return e
	}
	if e, ok := b.known[id]; ok {
		return e
	}
	x := formula()
	e := &Explanation{
		Figure: id, Name: strings.ToUpper(a.name[:1]) + a.name[1:], Symbol: a.symbol, Unit: a.unit, Source: a.source, LeavesOut: a.omits, Simulated: a.simulated,
		Formula: x.text(false), Numbers: x.text(true), Result: x.Value(),
	}
	e.Value = e.Result
	if v, ok := b.values[id]; ok {
		e.Value, e.Reported = v, true
	}
	if of := b.evidence(id); of != nil {
		e.Band = of.Words()
	}
	x.leaves(func(l *Expr) {
		if l.of != nil && !slices.Contains(e.Parts, l.of) {
			e.Parts = append(e.Parts, l.of)
		}
	})
	b.known[id] = e
	return e
}

// term is ref of explain.
func (b *Book) term(id string, a about, formula func() *Expr) *Expr {
	return ref(b.explain(id, a, formula))
}
