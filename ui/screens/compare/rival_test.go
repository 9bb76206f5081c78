package compare

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/ui/screen"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// ranking is a Search screen that has found a setup, or searches.
type ranking struct {
	found *engine.Setup
	ended bool
	asked int
}

func (r *ranking) Rival(*screen.Context) (*engine.Setup, string, bool) {
	return r.found, "rank 1 of Search", r.ended
}

func (r *ranking) Refresh(*screen.Context) screen.Request {
	r.asked++
	return screen.Request{}
}

func (r *ranking) Waiting(in *screen.Context, w int) []string {
	return []string{in.Note(w, "the gauge")}
}
func (r *ranking) Playing() bool { return !r.ended }

// TestOpensAgainstTheBest: with nothing pinned, or only the current setup, the screen compares that with the
// first rank of a search; while it searches it says so and shows how far it is, and where nothing is
// found too. A pin of another setup comes first.
func TestOpensAgainstTheBest(t *testing.T) {
	in := input(t, colorprofile.ASCII, true)
	r := engine.Evaluate(*in.Setup)
	in.Report = &r
	best := other(t)
	search := &ranking{}
	v := New()
	v.Ranking = func() Ranking { return search }
	text := func() string { return ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n")) }

	v.Refresh(in)
	if got := text(); search.asked != 1 || !v.Playing() ||
		!strings.Contains(got, "Searching for the best layout") || !strings.Contains(got, "the gauge") {
		t.Errorf("asked %d times, while it searches:\n%s", search.asked, got)
	}
	search.ended, search.found = true, &best
	for _, pins := range [][]engine.Setup{nil, {*in.Setup}} {
		v.Restore(pins)
		v.pair = nil
		v.Refresh(in).Work(t.Context())()
		if v.pair == nil || v.pair.of != (sides{*in.Setup, best}) {
			t.Fatalf("with %d pins the sides are %+v", len(pins), v.pair)
		}
		got := text()
		for _, want := range []string{
			"A  ● ", "B    rank 1 of Search · ", "CHANGE BY CHANGE",
			"TERM BY TERM",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("with %d pins no %q:\n%s", len(pins), want, got)
			}
		}
		if under, name := v.SetupAtCursor(in); under == nil || name == "" {
			t.Error("no setup is under the cursor")
		}
	}
	v.Restore(nil)
	if do := v.press(in, "end", "enter"); do.Setup == nil || *do.Setup != best {
		t.Error("enter does not take rank 1")
	}
	third := best
	third.ZeRO = 2
	v.Restore([]engine.Setup{best, third})
	if want, ok := v.sides(in); !ok || want != (sides{third, *in.Setup}) {
		t.Error("the pin that was made last is not compared with the current setup")
	}
	v.Restore(nil)
	v.rival, search.found = rival{}, nil
	v.Refresh(in)
	if got := text(); !strings.Contains(got, "Search finds no layout") || strings.Contains(got, "Nothing") {
		t.Errorf("nothing is found:\n%s", got)
	}
	if c := v.Copy().(*View); c.Ranking != nil {
		t.Error("a copy asks the search of another explorer")
	}
}
