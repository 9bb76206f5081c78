package search

import (
	"testing"

	"meshscope/engine"
	"meshscope/presets"
)

// TestRival: the rival of a setup is rank 1, that of rank 1 the best of other degrees, and until a search of
// the same question has ended it is not known.
func TestRival(t *testing.T) {
	in, v := small(t), New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	first, _, known := v.Rival(in)
	if !known || first == nil || *first != v.answer.rows[0].setup {
		t.Fatalf("known %v: %+v", known, first)
	}
	own := *first
	in.Setup = &own
	second, name, _ := v.Rival(in)
	if second == nil || *second == own || name == "" {
		t.Fatalf("the rival of rank 1 is %v, %q", second, name)
	}
	for i := range v.answer.rows {
		r := &v.answer.rows[i]
		same := r.setup.TP == own.TP && r.setup.PP == own.PP && r.setup.CP == own.CP && r.setup.EP == own.EP
		if r.setup == *second {
			if same {
				t.Errorf("rank %d has the degrees of rank 1", r.rank)
			}
			break
		}
		if !same {
			t.Errorf("rank %d has other degrees too", r.rank)
		}
	}
	for _, other := range []func(*engine.Setup){func(s *engine.Setup) { s.GBS *= 2 }, func(s *engine.Setup) {
		s.GPUs *= 2
	}} {
		s := own
		other(&s)
		in.Setup = &s
		if _, _, known := v.Rival(in); known {
			t.Error("the search of another question is taken")
		}
	}
}
