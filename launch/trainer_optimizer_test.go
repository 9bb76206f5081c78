package launch_test

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/launch"
)

// TestOptimizerRoundTrip: Muon comes back from the programs that have it, by a word or by a switch; others
// refuse it with what they have.
func TestOptimizerRoundTrip(t *testing.T) {
	of := func(optimizer recipe.Optimizer, zero int) engine.Setup {
		s := setup(t, "qwen2.5-7b", knob.Given{
			"calibration": "transformers", knob.GPUs: 8, knob.ZeRO: zero, knob.GBS: 64, knob.Seq: 2048,
			knob.SP: false, knob.Recompute: "full", knob.Optimizer: string(optimizer),
		})
		if !engine.Legal(s) {
			t.Fatalf("%s: %+v", optimizer, knob.Check(&s))
		}
		return s
	}
	for _, c := range []struct {
		launcher  string
		optimizer recipe.Optimizer
		zero      int
	}{
		{"axolotl", recipe.Muon, 3},
		{"llama-factory", recipe.Muon, 0},
		{"llama-factory", recipe.Adafactor, 0},
		{"trl", recipe.Adafactor, 0},
	} {
		l, _ := launch.Find(c.launcher)
		s := of(c.optimizer, c.zero)
		got, _, r, err := backOf(t, l, &s)
		if err != nil {
			t.Fatalf("%s: %v", c.launcher, err)
		}
		if got.Optimizer != c.optimizer || got.Stack != s.Stack {
			t.Errorf("%s: %s on %s: %v", c.launcher, got.Optimizer, got.Stack, r.Setup)
		}
	}
	l, _ := launch.Find("trl")
	s := of(recipe.Muon, 0)
	_, refused := l.Export(&s, "test")
	if len(refused) != 1 || refused[0].Field != "optimizer" ||
		!strings.HasSuffix(refused[0].Because, "lion-8bit, sgd-plain, adafactor)") {
		t.Errorf("muon under TRL: %+v", refused)
	}
}
