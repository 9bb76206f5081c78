package measured_test

import (
	"fmt"
	"testing"

	"meshscope/engine"
	"meshscope/presets"
	"meshscope/presets/measured"
	"meshscope/presets/published"
)

func TestPub(t *testing.T) {
	groups, err := published.Groups(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	e := &engine.Evaluator{SkipTimeline: true}
	for i := range groups {
		g := &groups[i]
		if g.Fitted {
			continue
		}
		var runs []measured.Run
		for k := range g.Runs {
			if r := &g.Runs[k]; r.Step > 0 && !r.AnyRecompute {
				runs = append(runs, measured.Run{Name: r.ID, Setup: r.Setup, Seconds: r.Step})
			}
		}
		if len(runs) < 4 {
			continue
		}
		f, err := measured.Do(e, runs, func(*engine.Setup) string { return "" })
		if err != nil {
			fmt.Println(g.ID, err)
			continue
		}
		fmt.Printf("%-20s %s %s %d of %d runs: %.3f -> %.3f left out %.3f:", g.ID, f.Machine, f.Stack, f.Fitted, len(runs), f.Before, f.After, f.LeftOut)
		for _, c := range f.Constants {
			if c.Fitted {
				fmt.Printf(" %s %.3g->%.3g±%.2g", c.ID, c.Before, c.After, c.Error)
			}
		}
		fmt.Println()
	}
}
