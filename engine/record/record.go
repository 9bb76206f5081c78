// Package record holds what an evaluation records of its arithmetic: every
// figure with the text of its formula, the operands and the source. The engine
// writes it next to the code that works the figure out, when somebody asks;
// engine/explain reads it out.
//
// A formula is text such as
//
//	max(2 * rows * inner * cols / R, touched / BW) + start
//
// with + - * / and brackets, max, min, ceil, log2 and pow, numbers, names, and
// figures by their identifier in braces: {layer.dense.forward}. A name is an
// operand of the figure itself, else what its scope or one around it knows by
// that name. So a text can be evaluated, and a test holds every one against the
// figure that it explains.
package record

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/units"
)

// Entry is one figure with its formula.
type Entry struct {
	ID   string // under the recorder's scope; empty: the scope's own
	Name string // in words
	// what formulas call it; where that is one word, a name that formulas of the scope can use
	Symbol    string
	Unit      Unit
	Formula   string
	Value     float64
	Source    string
	LeavesOut string
	Simulated bool // counted or timed by running the schedule: no formula gives it

	operands []Operand
	scope    *Recorder
}

// Operand is a number that a formula names. The words of a name are joined by
// underscores: share_of_the_peak; after one letter that is an index: K_half.
type Operand struct {
	Name  string
	Value float64
	Unit  Unit
	Shown string // instead of the name's words
}

// As returns the operand shown in other words than its name.
func (o Operand) As(words string) Operand {
	o.Shown = words
	return o
}

type number interface {
	~int | ~int64 | ~float64
}

// In returns an operand whose unit follows from its type; traffic is in bytes too, so
// it says so with InUnit.
func In[T number](name string, value T) Operand {
	unit := Count
	switch any(value).(type) {
	case units.Seconds:
		unit = Seconds
	case units.Bytes:
		unit = Memory
	case units.BytesPerSecond:
		unit = Bandwidth
	case units.FLOPs:
		unit = FLOPs
	case units.FLOPsPerSecond:
		unit = Rate
	}
	return Operand{Name: name, Value: float64(value), Unit: unit}
}

// InUnit returns an operand in a unit that its type does not say.
func InUnit[T number](unit Unit, name string, value T) Operand {
	return Operand{Name: name, Value: float64(value), Unit: unit}
}

// Record is what one evaluation recorded.
type Record struct {
	entries   map[string]*Entry
	order     []string
	conflicts []string
	scopes    map[string]*Recorder
}

// Recorder takes figures down in one scope: identifiers begin with that of the
// scope, and formulas use its names. A nil Recorder records nothing, and whoever
// makes texts for one asks On first. It is for one goroutine.
type Recorder struct {
	record   *Record
	outer    *Recorder
	id, what string
	names    map[string]meaning
	sums     map[string][]string
}

// meaning is what a name means: a figure, a formula in the words of another
// scope, or a number.
type meaning struct {
	figure  string
	formula string
	words   *Recorder
	given   Operand

	ambiguous bool // the name has several values
}

// New returns the recorder of an evaluation.
func New() *Recorder {
	return &Recorder{record: &Record{entries: map[string]*Entry{}, scopes: map[string]*Recorder{}}}
}

// On reports whether anything is recorded.
func (r *Recorder) On() bool { return r != nil }

// Record is everything that was recorded; nil where nothing was.
func (r *Recorder) Record() *Record {
	if r == nil {
		return nil
	}
	return r.record
}

// Scope returns the scope of that identifier within this one; what says in words of
// what its figures are. Asked for again it is the same.
func (r *Recorder) Scope(id, what string) *Recorder {
	if r == nil {
		return nil
	}
	return r.scope(id, what)
}

// At returns the scope of a numbered thing: a stage, a rank.
func (r *Recorder) At(id, what string, n int) *Recorder {
	if r == nil {
		return nil
	}
	return r.at(id, what, strconv.Itoa(n))
}

func (r *Recorder) at(id, what, number string) *Recorder {
	return r.scope(id+"."+number, what+" "+number)
}

// Part returns the scope of something of what this one is of: its words go on from there.
func (r *Recorder) Part(id, what string) *Recorder {
	if r == nil {
		return nil
	}
	return r.scope(id, r.what+" "+what)
}

func (r *Recorder) scope(id, what string) *Recorder {
	id = r.ID(id)
	s, ok := r.record.scopes[id]
	if !ok {
		s = &Recorder{record: r.record, outer: r, id: id, what: what}
		r.record.scopes[id] = s
	}
	return s
}

// ID returns the whole identifier of a figure of the scope.
func (r *Recorder) ID(id string) string {
	switch {
	case r == nil:
		return ""
	case id == "":
		return r.id
	case r.id == "":
		return id
	}
	return r.id + "." + id
}

// Ref returns a figure of the scope as formulas of any scope write it.
func (r *Recorder) Ref(id string) string { return Ref(r.ID(id)) }

// Ref returns a figure as formulas write it.
func Ref(id string) string { return "{" + id + "}" }

// What says in words of what the figures of the scope are.
func (r *Recorder) What() string {
	if r == nil {
		return ""
	}
	return r.what
}

// Given says what names of the scope are.
func (r *Recorder) Given(operands ...Operand) {
	if r == nil {
		return
	}
	for _, o := range operands {
		r.name(o.Name, meaning{given: o})
	}
}

// Let makes a name of the scope mean a formula in the words of the scope
// around it, as an argument of a function does for what the caller wrote. It is
// shown written out.
func (r *Recorder) Let(name, formula string) {
	if r != nil {
		r.let(name, formula)
	}
}

func (r *Recorder) let(name, formula string) {
	words := r.outer
	if words == nil {
		words = r
	}
	r.name(name, meaning{formula: formula, words: words})
}

// name gives a name of the scope its meaning; of several with the same value it keeps the
// first. A name with several values is ambiguous: no formula can use it.
func (r *Recorder) name(name string, m meaning) {
	if r.names == nil {
		r.names = map[string]meaning{}
	}
	first, ok := r.names[name]
	switch {
	case !ok:
		r.names[name] = m
	case first != m && r.record.value(&first) != r.record.value(&m):
		r.names[name] = meaning{ambiguous: true}
	}
}

// value returns the number that a name means; NaN for a formula.
func (r *Record) value(m *meaning) float64 {
	switch {
	case m.figure != "":
		return r.entries[m.figure].Value
	case m.formula != "":
		return math.NaN()
	}
	return m.given.Value
}

// Figure records a figure and the operands that its scope does not know. A figure
// that is computed again is recorded once. It returns the figure as other formulas name it.
func (r *Recorder) Figure(e Entry, operands ...Operand) Num {
	if r == nil {
		return Num{V: e.Value}
	}
	r.figure(e, operands)
	return r.Named(r.Ref(e.ID), e.Value)
}

func (r *Recorder) figure(e Entry, operands []Operand) {
	inside := r
	if e.ID == "" && r.outer != nil {
		inside = r.outer
	}
	e.ID, e.operands, e.scope = r.ID(e.ID), operands, r
	if first, ok := r.record.entries[e.ID]; ok {
		if first.Value != e.Value || first.Formula != e.Formula {
			r.record.conflicts = append(r.record.conflicts, e.ID)
		}
		return
	}
	r.record.entries[e.ID] = &e
	r.record.order = append(r.record.order, e.ID)
	if isName(e.Symbol) {
		inside.name(e.Symbol, meaning{figure: e.ID})
	}
}

// Term adds a term, in words of this scope, to one of its sums.
func (r *Recorder) Term(sum, formula string) {
	if r != nil {
		r.term(sum, formula)
	}
}

func (r *Recorder) term(sum, formula string) {
	if r.sums == nil {
		r.sums = map[string][]string{}
	}
	r.sums[sum] = append(r.sums[sum], formula)
}

// Sum returns the formula of a sum so far.
func (r *Recorder) Sum(sum string) string {
	if r == nil {
		return ""
	}
	return r.sum(sum)
}

func (r *Recorder) sum(sum string) string { return Sum(r.sums[sum]...) }

// Clear begins the sums of a scope again.
func (r *Recorder) Clear() {
	if r != nil {
		clear(r.sums)
	}
}

// Sum returns the formula of a sum; of nothing it is 0.
func Sum(terms ...string) string {
	if len(terms) == 0 {
		return "0"
	}
	return strings.Join(terms, " + ")
}

// Entry finds a figure by its identifier.
func (r *Record) Entry(id string) (*Entry, bool) {
	if r == nil {
		return nil, false
	}
	e, ok := r.entries[id]
	return e, ok
}

// IDs lists the figures in the order in which they were recorded.
func (r *Record) IDs() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.order)
}

// Conflicts returns the figures that were recorded twice and not alike: two things have
// one identifier.
func (r *Record) Conflicts() []string { return slices.Clone(r.conflicts) }

// From returns the source of constants that were fitted to something.
func From(what string) string {
	if what == "" {
		return "constants of the calibration"
	}
	if rest, ok := strings.CutPrefix(what, "nothing: "); ok {
		return "constants fitted to nothing: " + rest
	}
	return "fitted constants: " + what
}
