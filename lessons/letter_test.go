package lessons

import (
	"strings"
	"testing"

	"meshscope/presets"
)

// TestAskByLetter: no question that a class answers with letters speaks of a cursor.
func TestAskByLetter(t *testing.T) {
	all, errs := All("", presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	own := strings.NewReplacer(`kind = "choice"`, `kind = "point"`, `"memory.peak"`, `"memory.ranks.0.*"`,
		`ask = "Which?"`, "ask = \"Welcher?\"\npoint = \"Cursor auf {tp}.\"", "turn = { zero = 2 }\n",
		"no.other = \"No.\"\n")
	l, errs := Parse("x.toml", []byte(own.Replace(faulty)), presets.Default())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if act := l.Acts[0]; act.Ask != "Welcher? Cursor auf 1." || act.AskByLetter() != "Welcher?" {
		t.Errorf("with the cursor %q, with letters %q", act.Ask, act.AskByLetter())
	}
	points := 0
	for _, l := range all {
		for i := range l.Acts {
			act := &l.Acts[i]
			if act.Kind == Point {
				points++
			}
			if ask := act.AskByLetter(); strings.Contains(ask, "cursor") || ask == "" {
				t.Errorf("%s, act %d: %q", l.ID, i+1, ask)
			}
		}
	}
	if points == 0 {
		t.Error("no lesson has a point act")
	}
}
