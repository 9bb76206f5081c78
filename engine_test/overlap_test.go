package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/overlap"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"

	"pgregory.net/rapid"
)

// The samples follow from the formulas of the Ultra-Scale Playbook's appendix
// on overlap at 989 TFLOP/s (H100, bf16); O2, O3 and O4 as printed count
// elements of one byte, which is half of a bf16 element.
func TestOverlapSamples(t *testing.T) {
	const peak = 989e12
	in := func(members, tokens, hidden, layers, bytes, gbps float64) *overlap.Input {
		return &overlap.Input{
			Members: members, Tokens: tokens, Hidden: hidden, Layers: layers, Element: bytes, Passes: 2,
			Whole: 1,
			Rate:  peak, Bandwidth: units.BytesPerSecond(gbps * 1e9),
		}
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"O3 printed, hidden 4096", in(8, 0, 4096, 0, 1, 450).Linear() * 1, 1.878},
		{"O3 printed, hidden 8192", in(8, 0, 8192, 0, 1, 450).Linear() * 1, 0.939},
		{"O3 whole region of the sheet", in(8, 0, 4096, 0, 1, 450).Linear() / 12, 0.1565},
		{"O2 printed, d 8", in(8, 4096, 0, 0, 1, 450).Weights(), 0.235},
		{"O2 printed, d 64", in(64, 4096, 0, 0, 1, 69).Weights(), 1.722},
		{"O2 printed, d 512", in(512, 4096, 0, 0, 1, 11.04).Weights(), 10.92},
		{"O1 corrected, d 8", in(8, 4096, 0, 0, 2, 436).Gradients(), 0.485},
		{"O1 corrected, d 64", in(64, 4096, 0, 0, 2, 99.6).Gradients(), 2.387},
		{"O1 corrected, d 512", in(512, 4096, 0, 0, 2, 32.94).Gradients(), 7.316},
		{"O4 printed", in(0, 0, 8192, 10, 1, 50).Stage(), 0.00755},
		{"O3 corrected is twice the printed", in(8, 0, 4096, 0, 2, 450).Linear(), 2 * 1.878},
	} {
		if math.Abs(c.got/c.want-1) > 2e-3 {
			t.Errorf("%s: %.4f, want %.4f", c.name, c.got, c.want)
		}
	}
}

// again evaluates a ratio with other input.
func again(o *overlap.Overlap, in overlap.Input) float64 {
	switch o.ID {
	case "O1":
		return in.Gradients()
	case "O2":
		return in.Weights()
	case "O3":
		return in.Linear()
	default:
		return in.Stage()
	}
}

// TestOverlapsOfAnySetup: every ratio is positive and finite; with any one need
// met it is 1; O3 and O4 know neither sequence nor micro-batch; the others fall
// with the tokens.
func TestOverlapsOfAnySetup(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 8, func(r *rapid.T) {
		s := w.legalSetup(r)
		report := engine.Evaluate(s)
		if !report.Legal {
			return
		}
		for _, o := range overlap.Ratios(&s, &report) {
			if !(o.Ratio > 0) || math.IsInf(o.Ratio, 0) || o.Formula == "" || o.Erratum == "" {
				r.Fatalf("%+v", o)
			}
			for _, n := range o.Needs {
				in := o.Input
				switch n.Quantity {
				case "tokens":
					in.Tokens = n.Needed
				case "bandwidth":
					in.Bandwidth = units.BytesPerSecond(n.Needed) * units.GBps
				case "hidden":
					in.Hidden = n.Needed
				case "layers":
					in.Layers = n.Needed
				case "tp":
					in.Members = n.Needed
				}
				if got := again(&o, in); math.Abs(got-1) > 1e-9 {
					r.Fatalf("%s with %s %g: ratio %g", o.ID, n.Quantity, n.Needed, got)
				}
			}
			more := o.Input
			more.Tokens *= 2
			want := o.Ratio
			if o.ID == "O1" || o.ID == "O2" {
				want /= 2
			}
			if got := again(&o, more); math.Abs(got/want-1) > 1e-9 {
				r.Fatalf("%s with twice the tokens: %g, want %g", o.ID, got, want)
			}
		}
	})
}

// TestRingsTileTheRanks: every rank is in its own group at its own coordinate,
// and all members agree on who is in it.
func TestRingsTileTheRanks(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 8, func(r *rapid.T) {
		s := w.legalSetup(r)
		if s.GPUs <= 0 || s.GPUs > 1<<20 || !engine.Legal(s) {
			return
		}
		rank := rapid.IntRange(0, s.GPUs-1).Draw(r, "rank")
		c := s.Coordinates(rank)
		if back := c.TP + s.TP*(c.CP+s.CP*(c.DP+s.DP*c.PP)); back != rank {
			r.Fatalf("rank %d has coordinates %+v", rank, c)
		}
		if back := c.ETP + s.ETP*(c.EP+s.EP*c.ExpertDP) + s.TP*s.CP*s.DP*c.PP; back != rank {
			r.Fatalf("rank %d has expert coordinates %+v", rank, c)
		}
		for dimension, want := range map[string]int{
			"tp": c.TP, "cp": c.CP, "pp": c.PP, "ep": c.EP,
			"etp": c.ETP, "expert-dp": c.ExpertDP, "dp": c.CP + s.CP*c.DP,
		} {
			ring := s.Ring(dimension, rank)
			if place, ok := ring.Place(rank); !ok || place != want || ring.At(place) != rank {
				r.Fatalf("%s: rank %d at %d of %+v, want %d", dimension, rank, place, ring, want)
			}
			other := ring.At(rapid.IntRange(0, ring.Size-1).Draw(r, "member"))
			if other < 0 || other >= s.GPUs || s.Ring(dimension, other) != ring {
				r.Fatalf("%s: %d and %d disagree: %+v", dimension, rank, other, ring)
			}
		}
		if m := s.Ring("mirror", rank); m.Size == 2 &&
			s.Ring("mirror", m.At(1)) != s.Ring("mirror", m.At(0)) {
			r.Fatalf("mirror of %d: %+v", rank, m)
		}
	})
}

// TestScaledBandwidth: a step never gets longer on faster links, is the same at
// factor 1, and measured curves do not hold a faster link back.
func TestScaledBandwidth(t *testing.T) {
	s := presets.DefaultSetup()
	s.PP, s.DP = 1, 8
	s.MicroBatches = s.GBS / s.DP / s.MBS
	base := engine.Evaluate(s)
	if same := engine.Evaluate(overlap.ScaleBandwidth(s, 1, 1)); same.Time.Step != base.Time.Step {
		t.Errorf("factor 1 changes the step from %v to %v", base.Time.Step, same.Time.Step)
	}
	seconds := func(r engine.Report, dimension string) units.Seconds {
		for _, c := range r.Communication {
			if c.Dimension == dimension {
				return c.Seconds
			}
		}
		t.Fatalf("no %s traffic", dimension)
		return 0
	}
	fast := engine.Evaluate(overlap.ScaleBandwidth(s, 1, 4))
	if got := float64(seconds(fast, "dp") / seconds(base, "dp")); got > 0.35 {
		t.Errorf("four times the bandwidth leaves %.2f of the time", got)
	}
	if seconds(fast, "tp") != seconds(base, "tp") {
		t.Error("the link between nodes changes traffic inside a node")
	}
	// Links that are set by hand are scaled in the same way, also where a curve over
	// nodes was measured.
	c, err := presets.Default().Cluster("hf-p5-playbook")
	if err != nil {
		t.Fatal(err)
	}
	s.Cluster = c
	byHand := s
	byHand.Cluster.Inter.Bandwidth *= 4
	scaled, set := engine.Evaluate(overlap.ScaleBandwidth(s, 1, 4)), engine.Evaluate(byHand)
	if before := engine.Evaluate(s); scaled.Time.Step != set.Time.Step ||
		!(set.Time.Step < before.Time.Step) {
		t.Errorf("four times the bandwidth: %v scaled, %v set, %v before", scaled.Time.Step, set.Time.Step,
			before.Time.Step)
	}
	var none layout.Ring
	if _, ok := none.Place(0); ok {
		t.Error("an empty ring has no members")
	}
}

// TestDoubtMakesNoStepShorter: a step with unproven overlap exposed is no shorter, and with all
// overlap exposed no shorter than that; where nothing is unproven the first two are one.
func TestDoubtMakesNoStepShorter(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 15, func(r *rapid.T) {
		s := w.legalSetup(r)
		report := engine.Evaluate(s)
		info, _ := s.Schedule.Info()
		if !report.Legal || info.Automatic { // those choose another order
			return
		}
		slow := engine.PessimisticStep(&s, &report)
		if !engine.UnprovenOverlap(&s) && slow != report.Time.Step || slow < report.Time.Step*(1-1e-9) {
			r.Fatalf("%v, without unproven overlap %v: %+v", report.Time.Step, slow, s.Layout)
		}
		s.Overlap = recipe.OverlapNone
		none := engine.Evaluate(s)
		most := none.Time.Step
		if info.SplitsBackward {
			// Known: what a split backward hides no more of its TP traffic is added to a layer that waits for
			// the host, and does not shorten that wait, as exposed traffic does.
			for _, c := range report.Communication {
				if c.Dimension == "tp" {
					most += c.Exposed
				}
			}
		}
		if most < slow*(1-1e-9) {
			r.Fatalf("without unproven overlap %v, without any %v: %+v", slow, none.Time.Step, s.Layout)
		}
		s.Overlap = recipe.OverlapAssumed
		if same := engine.Evaluate(s); same.Time.Step != report.Time.Step ||
			engine.PessimisticStep(&s, &same) != same.Time.Step {
			r.Fatalf("assumed overlap gives %v, not %v", same.Time.Step, report.Time.Step)
		}
	})
}
