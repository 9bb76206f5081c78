package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"meshscope/engine"
	find "meshscope/engine/search"

	"meshscope/presets"
)

// TestFewestGPUs: the fewest GPUs that train the tokens before the deadline are those
// that the engine finds among 1, 2, 4 and more nodes and between them; what a run takes and costs
// stands next to each layout.
func TestFewestGPUs(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.refreshValues(&query{base: base(in.Setup)})
	v.set(objective, string(find.FewestGPUs))
	v.set(numbers, "to 64")
	v.set(budget, "1T")
	v.set(deadline, "60 days")
	v.set(tensor, "2")
	v.Refresh(in).Work(t.Context())()
	if v.ranked() == 0 {
		t.Fatal("nothing found")
	}
	best := v.answer.rows[0]
	if best.Days > 60 || best.Days <= 0 || best.Cost <= 0 {
		t.Errorf("the best takes %.1f days and %.0f $", best.Days, best.Cost)
	}
	want := find.Problem{
		Setup: base(in.Setup), Objective: find.FewestGPUs, Top: 1, Tokens: 1e12, Deadline: 60 * 86400,
		Margin: true,
		Space:  find.Space{GPUs: []int{8, 16, 32, 64}, TP: []int{2}, FollowGBS: true},
	}
	r := find.Fewest(t.Context(), want, 8, nil)
	if len(r.Best) != 1 || r.Best[0].Setup.GPUs != best.Setup.GPUs || best.Setup.GPUs == 8 {
		t.Errorf("%d GPUs, the engine finds %v", best.Setup.GPUs, r.Best)
	}
	if text := ansi.Strip(strings.Join(v.Render(in.At(140, 32)), "\n")); !strings.Contains(text, "days") ||
		!strings.Contains(text, "$") {
		t.Errorf("neither time nor cost:\n%s", text)
	}
}

// TestCostsNeedTokens: what an objective needs and nobody said is said.
func TestCostsNeedTokens(t *testing.T) {
	in := small(t)
	for _, c := range []struct {
		set  map[facet]string
		says string
	}{
		{map[facet]string{objective: string(find.Cost)}, "costs need tokens"},
		{map[facet]string{deadline: "7 days"}, "the deadline is ignored"},
		{map[facet]string{objective: string(find.FewestGPUs)}, ""},
		{map[facet]string{objective: string(find.Cost), budget: "1T", numbers: "to 16"}, ""},
		{map[facet]string{deadline: "7 days", budget: "1T"}, ""},
	} {
		v := New(presets.Default())
		v.refreshValues(&query{base: base(in.Setup)})
		for k, word := range c.set {
			v.set(k, word)
		}
		a := query{base: base(in.Setup), chosen: v.chosen}
		if got := a.lacking(); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%v says %q, want %q", c.set, got, c.says)
		}
		if p := a.problem(); c.set[numbers] != "" && !slices.Equal(p.Space.GPUs, []int{8, 16}) {
			t.Errorf("%v tries %v GPUs", c.set, p.Space.GPUs)
		}
	}
	// The search takes the goodput off the deadline.
	a := query{base: base(in.Setup)}
	a.base.Goodput, a.chosen[deadline], a.chosen[budget] = 50, "10 days", "1T"
	if p := a.problem(); p.Deadline != 10*86400 || p.Setup.Goodput != 50 || p.Tokens != 1e12 {
		t.Errorf("a deadline of %v s for %v tokens", p.Deadline, p.Tokens)
	}
}

// TestFewestHasTheBatchRule: where the fewest GPUs are looked for the screen takes the
// batches that the command line takes, and says so; a knob keeps that of the setup.
func TestFewestHasTheBatchRule(t *testing.T) {
	in := small(t)
	v := New(presets.Default())
	v.refreshValues(&query{base: base(in.Setup)})
	if slices.Contains(v.listed(in), batchRule) {
		t.Error("the knob is there where it does nothing")
	}
	v.set(objective, string(find.FewestGPUs))
	v.set(budget, "1T")
	v.set(deadline, "60 days")
	v.set(numbers, "to 128")
	v.set(tensor, "2")
	if !slices.Contains(v.listed(in), batchRule) {
		t.Error("no knob of the batch")
	}
	a := query{base: base(in.Setup), chosen: v.chosen}
	p := a.problem()
	want := find.UnsetGBS(&p.Setup, []int{64}, in.Setup.Seq)
	if got := (&find.Problem{
		Setup: p.Setup,
		Space: find.Space{GPUs: []int{64}, FollowGBS: p.Space.FollowGBS},
	}).Batches(); !slices.Equal(got,
		[]int{want}) {
		t.Errorf("batches %v, want %d: a deadline raises none that nobody gave", got, want)
	}
	v.Refresh(in).Work(t.Context())()
	if text := ansi.Strip(strings.Join(v.Render(in.At(160, 32)), "\n")); !strings.Contains(text,
		"batch of published runs") {
		t.Errorf("the batch is not said:\n%s", text)
	}
	// The current setup has days and price as all others.
	own := v.own(in)
	s := *in.Setup
	s.Budget = 1e12
	r := engine.Evaluate(s)
	if own == nil || own.Days == 0 || own.Days != r.Run.Days || own.Cost != *r.Run.Cost {
		t.Errorf("the setup in force: %+v", own)
	}
	v.set(batchRule, yourBatch)
	a.chosen = v.chosen
	if p = a.problem(); p.Space.FollowGBS || p.Setup.GBS != in.Setup.GBS {
		t.Errorf("the batch of the setup is not kept: %+v", p.Space)
	}
	v.Refresh(in).Work(t.Context())()
	for _, w := range []int{118, 160} {
		if text := ansi.Strip(strings.Join(v.Render(in.At(w, 32)), "\n")); !strings.Contains(text,
			"batch of 32") && !strings.Contains(text, "batch 32") {
			t.Errorf("%d columns: the batch is not said:\n%s", w, text)
		}
	}
	// Without tokens the number of layouts is said, as where there are some.
	v.set(budget, autoValue)
	v.set(deadline, noDeadline)
	v.Refresh(in).Work(t.Context())()
	if text := ansi.Strip(strings.Join(v.Render(in.At(118, 32)), "\n")); strings.Contains(text,
		"needs tokens") || !strings.Contains(text, " layouts") {
		t.Errorf("no count of layouts:\n%s", text)
	}
}
