package ui

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/ui/screen"
	"meshscope/ui/state"
)

// TestNoScreenOpensEmpty: from a fresh start every screen shows figures at once or as soon as it has
// computed them, and Compare stands against a layout of Search without a pin.
func TestNoScreenOpensEmpty(t *testing.T) {
	var evidence screen.Screen // compares the published runs once
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		m := sample(t, size[0], size[1], func(o *Options) { o.Evaluate = engine.Evaluate })
		if evidence == nil {
			evidence = m.screens.all[EvidenceTab]
		}
		m.screens.all[EvidenceTab] = evidence
		for tab := range int(tabs) {
			if tab == int(PipelineTab) {
				continue
			}
			finishAll(m, m.do(state.Action{Verb: state.GoTab, N: tab}))
			finishWork(m)
			text := screenText(m)
			blank := 0
			for _, line := range strings.Split(text, "\n") {
				if strings.TrimSpace(line) == "" {
					blank++
				}
			}
			if blank > size[1]/3 {
				t.Errorf("%s at %dx%d: %d of %d lines are blank:\n%s", tabName(state.Tab(tab)), size[0],
					size[1], blank, size[1], text)
			}
			if tab == int(CompareTab) &&
				(!strings.Contains(text, "rank ") || !strings.Contains(text, "TERM BY TERM")) {
				t.Errorf("Compare at %dx%d:\n%s", size[0], size[1], text)
			}
		}
	}
}
