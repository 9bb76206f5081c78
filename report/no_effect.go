package report

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/search"
)

// noEffects says which values of a setup change nothing, each after a prefix; values that nobody gave are
// left out. Empty where there is none.
func noEffects(prefix string, s *engine.Setup, r *engine.Report, given func(knob.ID) bool) (out []string) {
	for _, n := range engine.NoEffects(s, r) {
		if given(n.Field) {
			out = append(out, prefix+n.Message)
		}
	}
	return out
}

// sayNoEffects adds a section of what changes nothing to a document, where there is any.
func (d *Document) sayNoEffects(list []string) {
	if len(list) > 0 {
		d.Sections = append(d.Sections, Section{Heading: "Without effect", Blocks: items(list)})
	}
}

// unchosen returns which knobs of a setup its search did not fill in; all where nothing was searched.
func unchosen(c *search.Chosen) func(knob.ID) bool {
	return func(id knob.ID) bool {
		if c == nil {
			return true
		}
		_, filled := c.Knobs[id]
		return !filled
	}
}

// given reports whether a knob of the layouts has its value from the query.
func (o *Search) given(id knob.ID) bool {
	return o.Query.Given(id) || !slices.Contains(knob.Searched(), id)
}
