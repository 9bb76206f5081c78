package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	find "meshscope/engine/search"

	"meshscope/presets"
)

// TestFewestGPUs: the fewest GPUs that train the tokens before the deadline are those
// that the engine finds among 1, 2, 4 and more nodes and between them; what a run takes and costs
// stands beside each layout.
func TestFewestGPUs(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.refreshValues(&asked{base: base(in.Setup)})
	v.set(objective, string(find.FewestGPUs))
	v.set(numbers, "to 64")
	v.set(budget, "1T")
	v.set(deadline, "60 days")
	v.Refresh(in).Work(t.Context())()
	if v.ranked() == 0 {
		t.Fatal("nothing found")
	}
	best := v.answer.rows[0]
	if best.days > 60 || best.days <= 0 || best.cost <= 0 {
		t.Errorf("the best takes %.1f days and %.0f $", best.days, best.cost)
	}
	want := find.Problem{
		Setup: base(in.Setup), Objective: find.FewestGPUs, Top: 1, Tokens: 1e12, Deadline: 60 * 86400,
		Space: find.Space{GPUs: []int{8, 16, 32, 64}},
	}
	r := find.Fewest(t.Context(), want, 8, nil)
	if len(r.Best) != 1 || r.Best[0].Setup.GPUs != best.setup.GPUs || best.setup.GPUs == 8 {
		t.Errorf("%d GPUs, the engine finds %v", best.setup.GPUs, r.Best)
	}
	if text := ansi.Strip(strings.Join(v.Render(in, 140, 32), "\n")); !strings.Contains(text, "days") || !strings.Contains(text, "$") {
		t.Errorf("neither time nor cost:\n%s", text)
	}
}

// TestCostsNeedTokens: what an objective needs and nobody said is said.
func TestCostsNeedTokens(t *testing.T) {
	in := small(t)
	for _, c := range []struct {
		set  map[knob]string
		says string
	}{
		{map[knob]string{objective: string(find.Cost)}, "costs need tokens"},
		{map[knob]string{deadline: "7 days"}, "the deadline counts for nothing"},
		{map[knob]string{objective: string(find.FewestGPUs)}, "fewest GPUs that hold the model"},
		{map[knob]string{objective: string(find.Cost), budget: "1T", numbers: "to 16"}, ""},
		{map[knob]string{deadline: "7 days", budget: "1T"}, ""},
	} {
		v := New(presets.Default())
		v.refreshValues(&asked{base: base(in.Setup)})
		for k, word := range c.set {
			v.set(k, word)
		}
		a := asked{base: base(in.Setup), wish: v.wish}
		if got := a.lacking(); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%v says %q, want %q", c.set, got, c.says)
		}
		if p := a.problem(); c.set[numbers] != "" && !slices.Equal(p.Space.GPUs, []int{8, 16}) {
			t.Errorf("%v tries %v GPUs", c.set, p.Space.GPUs)
		}
	}
	// The search takes the goodput off the deadline.
	a := asked{base: base(in.Setup)}
	a.base.Goodput, a.wish[deadline], a.wish[budget] = 50, "10 days", "1T"
	if p := a.problem(); p.Deadline != 10*86400 || p.Setup.Goodput != 50 || p.Tokens != 1e12 {
		t.Errorf("a deadline of %v s for %v tokens", p.Deadline, p.Tokens)
	}
}
