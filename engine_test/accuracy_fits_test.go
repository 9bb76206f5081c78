package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/published"
)

// What is said of the memory of every published run that states its whole layout, and of
// the playbook's sweep.
const (
	falseOverMost = 0.03 // of runs that ran, said not to fit
	caughtLeast   = 0.97 // of runs out of memory
	tightMost     = 0.15 // of all runs
)

func TestAccuracyFits(t *testing.T) {
	lib := presets.Default()
	groups, err := published.Groups(lib)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.Evaluator{SkipTimeline: true}
	all := published.Confusion{Group: "all"}
	for i := range groups {
		c, err := published.Confuse(&e, &groups[i], lib)
		if err != nil {
			t.Fatal(err)
		}
		all.Add(c)
		if c.FalseOver() > 0 || c.OutOfMemory.Sum() > 0 {
			t.Logf("%-20s ran %+v, out of memory %+v", c.Group, c.Ran, c.OutOfMemory)
		}
	}
	t.Logf("%-20s ran %+v, out of memory %+v: %.2f %% of runs that ran are said not to fit, %.2f %% of the others are caught, %.1f %% are tight",
		all.Group, all.Ran, all.OutOfMemory, 100*all.FalseOver(), 100*all.Caught(), 100*all.Tight())
	if all.Ran.Sum() < 1300 || all.OutOfMemory.Sum() < 370 {
		t.Errorf("only %d runs that ran and %d out of memory", all.Ran.Sum(), all.OutOfMemory.Sum())
	}
	if all.FalseOver() > falseOverMost || all.Caught() < caughtLeast || all.Tight() > tightMost {
		t.Errorf("false over %.4f (at most %.2f), caught %.4f (at least %.2f), tight %.4f (at most %.2f)",
			all.FalseOver(), falseOverMost, all.Caught(), caughtLeast, all.Tight(), tightMost)
	}
}
