package search

import (
	"errors"
	"testing"

	"meshscope/engine/knob"
)

// TestQueryValues: what a query says about its values; an unknown knob has none.
func TestQueryValues(t *testing.T) {
	q := NewQuery()
	if wrong := (*knob.ValueError)(nil); !errors.As(q.Set("nonsense", "0"), &wrong) || q.Given("nonsense") {
		t.Errorf("an unknown knob: %v", wrong)
	}
	for _, c := range []struct {
		id              knob.ID
		text            string
		single, several bool
	}{
		{knob.Schedule, "1f1b", true, false},
		{knob.Schedule, "1f1b,zb-h1", false, true},
		{knob.Schedule, "all", false, true},
		{knob.SP, "on", true, false},
		{knob.SP, "both", false, true},
		{knob.Recompute, "modules:norm,act", true, false},
		{knob.TP, "8", true, false},
		{knob.TP, "2,4", false, true},
		{knob.TP, "2..8", false, true},
	} {
		if err := q.Set(c.id, c.text); err != nil {
			t.Fatal(err)
		}
		if _, single := q.Single(c.id); single != c.single || q.Several(c.id) != c.several {
			t.Errorf("%s %s: single %v, several %v", c.id, c.text, single, q.Several(c.id))
		}
	}
	if _, single := q.Single(knob.PP); single || q.Several(knob.PP) {
		t.Error("what is not given has a value")
	}
}
