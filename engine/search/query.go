package search

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// Query is what is asked of a search: a setup of everything that no layout changes, and
// values of the knobs.
type Query struct {
	Setup  engine.Setup
	Values map[knob.ID]knob.Values
	Texts  map[knob.ID]string // the values as they are shown again

	UnsetBatch bool // no global batch was given
	Counted    bool // it follows from dp, mbs and microbatches
	Cut        bool // one value of tp, pp, cp and the GPUs is given
	AsEval     bool // and no list of mbs or microbatches: eval's default batch is known
}

// NewQuery gives a query that leaves every knob free.
func NewQuery() *Query {
	return &Query{Values: map[knob.ID]knob.Values{}, Texts: map[knob.ID]string{}}
}

// Set gives a knob a value, a list of values or a range: "8", "2,4,8", "2..8", "1..16:x2".
func (q *Query) Set(id knob.ID, text string) error {
	p, _ := knob.Find(id)
	v, err := p.ParseValues(text)
	if err != nil {
		return err
	}
	q.Values[id], q.Texts[id] = v, v.Text()
	return nil
}

// Given says whether a knob has values.
func (q *Query) Given(id knob.ID) bool { _, given := q.Values[id]; return given }

// Single is the one value of a knob; false where there is none, or several.
func (q *Query) Single(id knob.ID) (string, bool) {
	v, given := q.Values[id]
	if !given {
		return "", false
	}
	_, one := v.Single()
	return q.Texts[id], one
}

// Several says whether a knob has a list or a range.
func (q *Query) Several(id knob.ID) bool {
	_, one := q.Single(id)
	return q.Given(id) && !one
}

// Text is the value of a knob, as it was given where the search goes over it.
func (q *Query) Text(id knob.ID, setup *engine.Setup) string {
	if text, ok := q.Texts[id]; ok {
		return text
	}
	p, ok := knob.Find(id)
	if !ok {
		return ""
	}
	return p.Text(*setup)
}

// AnyGPUs says whether no number of GPUs was given, nor a range.
func (q *Query) AnyGPUs() bool { return !q.Given(knob.GPUs) && !q.Given(knob.Nodes) }

// BatchesTried are the global batches that a problem with an answer was searched at.
func (p *Problem) BatchesTried(r *Result) []int {
	of := *p
	if len(r.GPUs) > 0 {
		of.Space.GPUs = r.GPUs
	}
	return slices.Sorted(slices.Values(of.Batches()))
}

// GPUsTried are the numbers of GPUs that a problem with an answer was searched for.
func (p *Problem) GPUsTried(r *Result) []int {
	if len(r.GPUs) > 0 {
		return r.GPUs
	}
	return p.Space.GPUs
}
