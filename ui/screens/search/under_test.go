package search

import (
	"testing"

	"meshscope/presets"
	"meshscope/ui/screen"
)

// TestUnder: the layout that is copied is the one under the cursor, and says which.
func TestUnder(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	if s, _ := v.SetupAtCursor(in); s != nil {
		t.Errorf("before a search it is %v", s)
	}
	v.Refresh(in).Work(t.Context())()
	rows := v.shown(in)
	for _, at := range []struct {
		key  string
		row  int
		name string
	}{{"home", 0, "rank 1 of the search"}, {"down", 1, "rank 2 of the search"}} {
		screen.Press(v, in.At(120, 32), at.key)
		s, name := v.SetupAtCursor(in)
		if s == nil || *s != rows[at.row].Setup || name != at.name {
			t.Errorf("%s: %q", at.key, name)
		}
	}
	screen.Press(v, in.At(120, 32), "n")
	if s, _ := v.SetupAtCursor(in); s == nil || !same(s, in.Setup) {
		t.Error("on the own row it must be the setup in force")
	}
	v.guide.open = true
	if s, _ := v.SetupAtCursor(in); s != nil {
		t.Error("a step of the guide that has no lines yet")
	}
	v.guide.rows[fitStage] = []option{{name: "TP", done: true, found: true, row: rows[1]}}
	if s, name := v.SetupAtCursor(in); s == nil || *s != rows[1].Setup || name != "TP of the three steps" {
		t.Errorf("in the guide: %q", name)
	}
}
