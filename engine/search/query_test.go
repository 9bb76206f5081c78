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

// A batch in tokens has another number of sequences at each length: it goes with one length.
func TestTokensGoWithOneLength(t *testing.T) {
	for seq, taken := range map[string]bool{"8192": true, "4096,8192": false, "4096..16384": false} {
		q := NewQuery()
		q.Setup.GPUs = 8
		for id, text := range map[knob.ID]string{knob.GBS: "4Mtok", knob.Seq: seq} {
			if err := q.Set(id, text); err != nil {
				t.Fatal(err)
			}
		}
		conflict := (*knob.ConflictError)(nil)
		switch space, err := q.Space(); {
		case taken && (err != nil || len(space.GBS) != 1 || space.GBS[0] != 512):
			t.Errorf("seq %s: %v, batches %v", seq, err, space.GBS)
		case !taken && !errors.As(err, &conflict):
			t.Errorf("seq %s: %v, batches %v", seq, err, space.GBS)
		}
	}
}
