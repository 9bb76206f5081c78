package plain

import (
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// waiting is a sentence for each pipeline rank: its work on a micro-batch, and why
// it waits.
func (t *text) waiting() {
	line := t.report.Timeline
	if line == nil || len(line.Ranks) < 2 || !(line.Makespan > 0) {
		return
	}
	line = line.OpTimes()
	t.heading("Waiting of each pipeline rank, as a share of the pipeline's time")
	hidden := 0
	for r := range line.Ranks {
		if !listed(r, len(line.Ranks), 0) {
			hidden++
			continue
		}
		forward, backward := line.PerMicroBatch(r)
		w := line.WaitsOf(r)
		var causes []string
		for _, c := range []struct {
			name  string
			share float64
		}{
			{"warm-up", w.WarmUp},
			{"ranks with more to do", w.Paced},
			{"the order of the operations", w.Between},
			{"drain", w.Drain},
			{"hand-overs", w.HandOver},
		} {
			if c.share/line.Makespan >= 0.0005 {
				causes = append(causes, c.name+" "+percent(c.share/line.Makespan))
			}
		}
		why := ""
		if len(causes) > 0 {
			why = ": " + strings.Join(causes, ", ")
		}
		t.sayf("Rank %d: %s forward and %s backward a micro-batch; it waits %s%s.", r,
			figure.Seconds(units.Seconds(forward)), figure.Seconds(units.Seconds(backward)), percent(line.Ranks[r].Idle/line.Makespan), why)
	}
	if hidden > 0 {
		t.sayf("%s between them are left out.", plural(hidden, "rank"))
	}
}

// ratio writes a ratio, a small one with two digits that count.
func ratio(v float64) string {
	if v > 0 && v < 0.1 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return figure.Three(v)
}

// hiding says of each traffic whether the work beside it is long enough to hide it.
func (t *text) hiding() {
	list := engine.Overlaps(t.setup, t.report)
	if len(list) == 0 {
		return
	}
	t.heading("Can it hide? Traffic over the work beside it, at peak rates; 1 or less hides")
	for i := range list {
		o := &list[i]
		word := "waits"
		if o.Ratio <= 1 {
			word = "hides"
		}
		t.sayf("%s, %s, under %s: %s, %s.", o.Dimension, o.Moves, o.Under, ratio(o.Ratio), word)
		if o.Exposed != nil {
			t.sayf("The step model leaves %s of its time exposed.", percent(*o.Exposed))
		}
	}
}
