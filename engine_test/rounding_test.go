package engine_test

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/explain"
	"meshscope/engine/units"
)

// TestNothingWaitsAlone: one pipeline rank waits for nobody. What rounding leaves
// of a difference is no bubble, neither in the report nor in its explanation.
func TestNothingWaitsAlone(t *testing.T) {
	for _, on := range []string{
		eight, single, eight + " zero=2", eight + " zero=3 mbs=2",
		"llama3.1-70b dgx-h100 gpus=64 tp=8 gbs=512", "gpt3-175b dgx-a100 gpus=128 tp=8 recompute=full",
	} {
		s := claimedSetup(t, on)
		book, ok := explain.Of(s)
		if !ok {
			t.Fatalf("%s is illegal", on)
		}
		r := book.Report()
		if r.Time.Bubble != 0 || r.Pipeline.BubbleOverIdeal != 0 || r.Pipeline.BubbleOverTotal != 0 {
			t.Errorf("%s: %g s of bubble, %g over ideal, %g over total", on, r.Time.Bubble,
				r.Pipeline.BubbleOverIdeal, r.Pipeline.BubbleOverTotal)
		}
		for _, id := range []string{
			"time.bubble", "pipeline.bubble-over-ideal",
			"pipeline.bubble-over-total",
		} {
			if e, ok := book.Explain(id); !ok || e.Result != 0 {
				t.Errorf("%s: %s is %v", on, id, e)
			}
		}
	}
	for _, c := range [][3]float64{
		{1, 1 + 1e-15, 0},
		{3, 2, 1},
		{1e-30, 0, 1e-30},
		{-1, -1 - 1e-16, 0},
		{0, 0, 0},
		{1, 1 - 1e-9, 1e-9},
	} {
		if got := units.Difference(c[0], c[1]); got < c[2]*(1-1e-6) || got > c[2]*(1+1e-6) {
			t.Errorf("%g - %g is %g, want %g", c[0], c[1], got, c[2])
		}
	}
}

// TestBuffersDownToTheirParts: what a ZeRO stage keeps in addition is explained down
// to a number of parameters and bytes of each.
func TestBuffersDownToTheirParts(t *testing.T) {
	for zero, want := range map[string][]string{
		"1": {"dummies"}, "2": {"dummies", "scattered"},
		"3": {"dummies", "gathered", "scattered"},
	} {
		s := claimedSetup(t, eight+" zero="+zero)
		book, _ := explain.Of(s)
		buffers, ok := book.Explain("memory.ranks.0.buffers.persistent")
		if zero == "1" { // one part: the term itself
			buffers, ok = book.Explain("memory.ranks.0.buffers")
		}
		if !ok {
			t.Fatal("no explanation of the buffers")
		}
		sum := 0.0
		var names []string
		var walk func(e *explain.Explanation)
		walk = func(e *explain.Explanation) {
			for _, part := range e.Parts {
				if name, found := strings.CutPrefix(part.Figure, "memory.ranks.0.buffers."); found &&
					name != "persistent" {
					names = append(names, name)
					sum += part.Result
				} else {
					walk(part)
				}
			}
		}
		walk(buffers)
		for _, name := range want {
			if !strings.Contains(strings.Join(names, " "), name) {
				t.Errorf("ZeRO-%s: parts %v, want %s", zero, names, name)
			}
		}
		if zero != "1" {
			near(t, "ZeRO-"+zero+" parts of the buffers", sum, buffers.Result, 1e-9)
		}
	}
	s := claimedSetup(t, eight+" zero=2")
	book, _ := explain.Of(s)
	e, _ := book.Explain("memory.ranks.0.buffers.scattered")
	near(t, "6 bytes per parameter of the embedding", e.Result,
		6*float64(s.Model.Vocab)*float64(s.Model.Hidden), 0.01)
	if !strings.Contains(e.Formula, "embedding or head") {
		t.Errorf("which matrix is not said: %s", e.Formula)
	}
}

// claimedSetup is a setup in the words of the claims.
func claimedSetup(t *testing.T, on string) engine.Setup {
	t.Helper()
	s, err := claimedDraft(t, on).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
