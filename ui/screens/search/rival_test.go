package search

import (
	"strings"
	"testing"

	"meshscope/engine"
	find "meshscope/engine/search"
	"meshscope/presets"
)

// TestRival: the rival of a setup is rank 1, that of rank 1 the best of other degrees, and until a search of
// the same question has ended it is not known.
func TestRival(t *testing.T) {
	in, v := small(t), New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	first, _, known := v.Rival(in)
	if !known || first == nil || *first != v.answer.rows[0].Setup {
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
		same := r.Setup.TP == own.TP && r.Setup.PP == own.PP && r.Setup.CP == own.CP && r.Setup.EP == own.EP
		if r.Setup == *second {
			if same {
				t.Errorf("rank %d has the degrees of rank 1", r.Rank)
			}
			break
		}
		if !same {
			t.Errorf("rank %d has other degrees too", r.Rank)
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

// TestFirstForMargin: where rank 1 is not the fastest, every place that names it says why it is first.
func TestFirstForMargin(t *testing.T) {
	in, v := small(t), New(presets.Default())
	v.Refresh(in).Work(t.Context())()
	for _, first := range []bool{false, true} {
		v.answer.forMargin = first
		_, rival, _ := v.Rival(in)
		at := in.At(120, 32)
		for where, text := range map[string]string{
			"knobs": strings.Join(v.sureLines(at, knobWidth), "\n"), "rival": rival,
		} {
			if strings.Contains(text, find.MarginBrief) != first {
				t.Errorf("%s, first for its margin %v: %s", where, first, text)
			}
		}
		for where, text := range map[string]string{
			"status": v.rowStatus(at, &v.answer.rows[0], 400), "file": v.Tables(in)[0].Title,
		} {
			if strings.Contains(text, find.MarginRule) != first {
				t.Errorf("%s, first for its margin %v: %s", where, first, text)
			}
		}
		if text := v.rowStatus(at, &v.answer.rows[0], 80); strings.Contains(text,
			find.MarginBrief) != first {
			t.Errorf("where there is no room for the rule: %q", text)
		}
		if text := v.rowStatus(at, &v.answer.rows[1], 400); strings.Contains(text, find.MarginRule) {
			t.Error("of rank 2:", text)
		}
	}
}
