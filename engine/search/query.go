package search

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/units"
)

// Query is what is asked of a search: a setup of everything that no layout changes, and
// values of the knobs.
type Query struct {
	Setup  engine.Setup
	Values map[knob.ID]knob.Values
	Texts  map[knob.ID]string // the values as they are shown again

	Objective Objective
	Headroom  float64 // share of the usable memory that must stay free, 0 to 1
	// without one that is given: layouts with the default margin come first
	Margin   bool
	Deadline units.Seconds            // for the tokens of the setup; 0: any speed
	Refused  bool                     // also what some launcher rejects
	Accepts  func(*engine.Setup) bool // what the launcher named runs; nil: everything
	Launcher string
	// Refuses reports whether the launcher rejects the value of one knob with any ZeRO; nil: nothing.
	Refuses func(knob.ID, *engine.Setup) bool
	Unbuilt string // why it does not build the model; empty where it does
	// WriteSplit and Instead are those of Space.
	WriteSplit func(*engine.Setup)
	Instead    func(engine.Setup) (engine.Setup, bool)
	Collect    func() // that of Problem

	tokens []int // global batches that were given in tokens

	follows map[knob.ID]bool // precision and dispatcher, where nobody gave them

	UnsetBatch bool // no global batch was given
	Counted    bool // it follows from dp, mbs and microbatches
	Cut        bool // one value of tp, pp, cp and the GPUs is given
	AsEval     bool // and no list of mbs or microbatches: eval's default batch is known
}

// NewQuery returns a query that leaves every knob free and asks for the default margin.
func NewQuery() *Query {
	return &Query{Margin: true, Values: map[knob.ID]knob.Values{}, Texts: map[knob.ID]string{}}
}

// Set gives a knob a value, a list of values or a range: "8", "2,4,8", "2..8", "1..16:x2".
// What cannot be taken is a *knob.ValueError.
func (q *Query) Set(id knob.ID, text string) error {
	p, known := knob.Find(id)
	if !known {
		return knob.Unknown(id, text)
	}
	if id == knob.GBS {
		tokens, err := knob.BatchesInTokens(text)
		if err != nil {
			return err
		}
		if q.tokens = tokens; len(tokens) > 0 {
			delete(q.Values, id)
			q.Texts[id] = text
			return nil
		}
	}
	v, err := p.ParseValues(text)
	if err != nil {
		return err
	}
	q.Values[id], q.Texts[id] = v, v.Text()
	return nil
}

// Given reports whether a knob has values.
func (q *Query) Given(id knob.ID) bool {
	_, given := q.Values[id]
	return given || id == knob.GBS && len(q.tokens) > 0
}

// Single returns the one value of a knob, a number or a word; false where there is none, or
// several.
func (q *Query) Single(id knob.ID) (string, bool) {
	v, given := q.Values[id]
	if id == knob.GBS && len(q.tokens) > 0 {
		return q.Texts[id], len(q.tokens) == 1
	}
	if !given {
		return "", false
	}
	_, one := v.Single()
	return q.Texts[id], one || len(v.Words) == 1
}

// Several reports whether a knob has a list or a range.
func (q *Query) Several(id knob.ID) bool {
	_, one := q.Single(id)
	return q.Given(id) && !one
}

// Text returns the value of a knob, as it was given where the search goes over it.
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

// AnyGPUs reports whether no number of GPUs was given, nor a range.
func (q *Query) AnyGPUs() bool { return !q.Given(knob.GPUs) && !q.Given(knob.Nodes) }

// Problem returns what a search with the query goes through, everything but how many
// layouts it returns and on how many cores. A value that no list can be made of is a
// *knob.ValueError or *knob.ConflictError.
func (q *Query) Problem() (Problem, error) {
	space, err := q.Space()
	if err != nil {
		return Problem{}, err
	}
	p := Problem{
		Setup: q.Setup, Space: space, Objective: q.Objective, Headroom: q.Headroom, Margin: q.Margin,
		Deadline: q.Deadline, Tokens: q.Setup.Budget, Collect: q.Collect, refuses: q.Refuses,
	}
	p.Space.Refused, p.Space.Accepts, p.Space.Launcher = q.Refused || q.Accepts != nil, q.Accepts, q.Launcher
	p.Space.Unbuilt = q.Unbuilt
	p.Space.WriteSplit, p.Space.Instead = q.WriteSplit, q.Instead
	p.given = slices.DeleteFunc(Named(), func(id knob.ID) bool { return !q.Given(id) })
	p.Space.FollowGBS = p.Objective == FewestGPUs && q.UnsetBatch && !q.Cut
	s := &p.Setup
	s.GPUs, s.GBS, s.Seq = space.GPUs[0], space.GBS[0], space.Seq[0]
	s.DP = max(1, s.GPUs/max(1, s.TP*s.PP*s.CP))
	s.MicroBatches = max(1, s.GBS/max(1, s.MBS*s.DP))
	return p, nil
}

// BatchesTried returns the global batches that a problem with an answer was searched at.
func (p *Problem) BatchesTried(r *Result) []int {
	of := *p
	if len(r.GPUs) > 0 {
		of.Space.GPUs = r.GPUs
	}
	return slices.Sorted(slices.Values(of.Batches()))
}

// GPUsTried returns the numbers of GPUs that a problem with an answer was searched for.
func (p *Problem) GPUsTried(r *Result) []int {
	if len(r.GPUs) > 0 {
		return r.GPUs
	}
	return p.Space.GPUs
}
