package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/lanes"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

// TestLanesAddUp: what the picture calls exposed adds up, for each dimension, to the report's
// exposed time, and with computing, recomputation, waiting and update to the step, at any detail.
// 2,000 legal setups in a deep run.
func TestLanesAddUp(t *testing.T) {
	w, cases, drawn, legal, folded := newWorld(t), 60, 0, 0, 0
	if draws.Deep() {
		cases = 2000/len(draws.Seeds()) + 1
	}
	draws.CheckFew(t, cases, func(t *rapid.T) {
		drawn++
		s := w.legalSetup(t)
		d := lanes.Detail{
			Ends:   rapid.IntRange(0, 4).Draw(t, "ends"),
			Pieces: rapid.IntRange(1, 12).Draw(t, "pieces"),
		}
		l, ok := lanes.Of(&s, d, nil)
		if !ok {
			return
		}
		legal++
		if l.Folded > 0 {
			folded++
		}
		r := engine.Evaluate(s)
		checkLanes(t, l, &r)
		checkChoices(t, &s)
	})
	if legal < drawn || draws.Deep() && legal < 2000 || folded == 0 {
		t.Errorf("%d legal setups of %d, %d folded", legal, drawn, folded)
	}
}

// checkLanes compares the lanes with the report, segment by segment.
func checkLanes(t failer, l *lanes.Step, r *engine.Report) {
	step := r.Time.Step
	near := func(what string, got, want units.Seconds) {
		if math.Abs(float64(got-want)) > 1e-9*float64(step) {
			t.Fatalf("%s is %v, want %v of a step of %v", what, got, want, step)
		}
	}
	sum := map[lanes.Kind]units.Seconds{}
	var last units.Seconds
	for _, g := range l.Lanes[0].Segments {
		sum[g.Kind] += g.Length
		if g.Length < 0 || g.Start < last-1e-9*step {
			t.Fatalf("compute overlaps at %v: %+v", last, g)
		}
		last = g.End()
	}
	near("the axis", l.Length, step)
	end := step
	if r.Time.Optimizer == 0 { // gradients that are waited for come last
		for _, lane := range l.Lanes[1:] {
			for _, g := range lane.Segments {
				if g.Kind == lanes.Exposed && g.Micro < 0 && !g.Before && lane.Dimension != "pp" {
					end -= g.Length
				}
			}
		}
	}
	near("the end of the last segment", last, end)
	near("the update", sum[lanes.Update], r.Time.Optimizer)
	if l.Folded == 0 {
		near("computing",
			sum[lanes.Forward]+sum[lanes.Backward]+sum[lanes.InputGradient]+sum[lanes.WeightGradient]+
				sum[lanes.Pair], r.Time.Compute)
		near("recomputation", sum[lanes.Recompute], r.Time.Recompute)
		near("waiting", sum[lanes.Bubble], r.Time.Bubble)
	}
	exposed := units.Seconds(0)
	if len(l.Lanes) != len(r.Communication)+1 {
		t.Fatalf("%d lanes for %d rows", len(l.Lanes), len(r.Communication))
	}
	for i := range r.Communication {
		row, lane := &r.Communication[i], &l.Lanes[i+1]
		own, hidden, bytes, before := units.Seconds(0), units.Seconds(0), units.Bytes(0), units.Seconds(0)
		for _, g := range lane.Segments {
			own += g.Exposed
			hidden += g.Hidden
			bytes += g.Bytes
			if g.Kind == lanes.Exposed {
				near("an exposed segment of "+row.Dimension, g.Length, g.Exposed)
			}
			if g.Start < before-1e-9*step || g.Length < -1e-9*step {
				t.Fatalf("%s: segments overlap at %v: %+v", row.Dimension, before, g)
			}
			before = g.End()
		}
		near("exposed "+row.Dimension, own+lane.Elsewhere, row.Exposed)
		near("the sum of lane "+row.Dimension, lane.Exposed, own)
		data := row.Dimension == "dp" || row.Dimension == "expert-dp" || row.Dimension == "mirror"
		// Messages of pp travel beside the waits; what comes once a step is another rank's than the rest
		// where the ranks have different layers.
		if row.Dimension != "pp" && (!data || l.Rank == l.DataRank && l.Rank == row.Rank) {
			near("hidden and exposed of "+row.Dimension, lane.Hidden+own, row.Seconds)
			near("the hidden of lane "+row.Dimension, lane.Hidden, hidden)
			// what takes too little of a step for its places on the axis sends nothing there
			rounds := 1e-9 + 1e-12*float64(step/row.Seconds)
			if math.Abs(float64(bytes-row.Bytes)) > rounds*float64(row.Bytes) {
				t.Fatalf("%s sends %v, want %v", row.Dimension, bytes, row.Bytes)
			}
		}
		if row.Dimension != "pp" { // whose waiting is in the bubble
			exposed += own
			near("elsewhere of "+row.Dimension, lane.Elsewhere, 0)
		}
	}
	near("exposed time and offload", exposed, r.Time.Exposed+r.Time.Offload)
	near("the step", r.Time.Compute+r.Time.Recompute+r.Time.Bubble+exposed+r.Time.Optimizer, step)
}

// checkChoices: what the picture can be turned to is legal, and one choice of each list is the
// setup itself.
func checkChoices(t failer, s *engine.Setup) {
	c := lanes.ChoicesOf(s)
	for i, list := range c.Lists() {
		current := 0
		for j := range list {
			if list[j].Current {
				current++
				if list[j].Setup != *s {
					t.Fatalf("list %d: %q %v is not the setup", i, list[j].Name, list[j].Value)
				}
			}
			if !engine.Legal(list[j].Setup) {
				t.Fatalf("list %d: %q %v is illegal", i, list[j].Name, list[j].Value)
			}
		}
		if len(list) > 0 && current != 1 {
			t.Fatalf("list %d has %d current choices of %d", i, current, len(list))
		}
	}
	if len(c.Variants) == 0 {
		t.Fatalf("no variants")
	}
}

// TestMirroredScatters: in a bidirectional pipeline each micro-batch goes through half of what a
// rank holds, so that ZeRO-2 scatters half of its gradients after each; random setups draw this
// once in thousands.
func TestMirroredScatters(t *testing.T) {
	for _, kind := range []schedule.Kind{schedule.OneFOneB, schedule.DualPipe} {
		s := setupOf(t, knob.Given{
			knob.PP: 2, knob.DP: 2, knob.ZeRO: 2, knob.MicroBatches: 4,
			knob.Schedule: kind,
		})
		l, ok := lanes.Of(&s, lanes.Detail{}, nil)
		if !ok {
			t.Fatalf("%s has no lanes", kind)
		}
		r := engine.Evaluate(s)
		checkLanes(t, l, &r)
	}
}
