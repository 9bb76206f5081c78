package cli

import (
	"regexp"
	"strings"
	"testing"

	"meshscope/engine/schedule"
)

// TestNarrowText: where not even two stretches fit, columns that hold several operations do not pass for
// one: the legend says how many, and their letters are in turn by the time that each kind takes.
func TestNarrowText(t *testing.T) {
	spec := schedule.Spec{Kind: schedule.OneFOneB, Ranks: 4, VirtualStages: 1, MicroBatches: 500}
	order, err := schedule.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	d := drawing{unit: "1"}
	if d.timeline, err = schedule.Simulate(order, schedule.UniformCosts(spec, schedule.ChunkTimes{F: 1, B: 2},
		0)); err != nil {
		t.Fatal(err)
	}
	p := d.picture(16)
	if row := p.row(0); !regexp.MustCompile(`^[FB]*(BBF){3}`).MatchString(row) {
		t.Errorf("%q", row)
	}
	if words := p.legend(d.time); !strings.Contains(words,
		"operations of a rank: letters alternate by their share of the time, F forward, B backward") {
		t.Error(words)
	}
}
