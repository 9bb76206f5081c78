package engine_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
)

// TestAutomaticLimitInBytes: an automatic schedule that knows what a micro-batch
// holds never holds more than its limit of whole ones, or says that it finds no
// order.
func TestAutomaticLimitInBytes(t *testing.T) {
	found := map[schedule.Kind]int{}
	const largestHeld = 1e10 // bytes
	property := func(t *rapid.T) {
		s := schedule.Spec{
			Kind: rapid.SampledFrom([]schedule.Kind{
				schedule.ZB1P, schedule.ZB2P, schedule.ZBAuto,
				schedule.ZBVAuto,
			}).Draw(t, "kind"),
			Ranks: rapid.IntRange(1, 8).Draw(t, "p"), VirtualStages: 1,
			MicroBatches: rapid.IntRange(1, 24).Draw(t, "m"),
		}
		limit := s.Ranks
		switch s.Kind {
		case schedule.ZB2P:
			limit *= 2
		case schedule.ZBAuto:
			s.MaxInFlight = rapid.IntRange(1, 20).Draw(t, "limit")
			limit = s.MaxInFlight
		case schedule.ZBVAuto:
			s.VirtualStages = 2
		default:
		}
		costs := unevenCosts(t, s)
		bytes := rapid.SliceOfN(rapid.Float64Range(0, largestHeld), s.Stages(), s.Stages())
		costs.Held, costs.HeldForW = bytes.Draw(t, "held"), bytes.Draw(t, "for W")
		o, err := schedule.BuildFor(s, costs, nil)
		var none *schedule.SearchError
		if errors.As(err, &none) {
			t.Skip("no order")
		}
		if err != nil {
			t.Fatal(err)
		}
		if o.Handmade {
			return
		}
		found[s.Kind]++
		for r := range s.Ranks {
			var per []schedule.ChunkBytes
			most := 0.0
			for c := range o.Chunks() {
				stage := o.StageOf(r, c)
				b := schedule.ChunkBytes{Activation: costs.Held[stage], WeightInputs: costs.HeldForW[stage]}
				per = append(per, b)
				most += float64(limit) * max(b.Activation, b.WeightInputs)
			}
			// The bytes of each activation are rounded to a millionth of the largest.
			rounding := float64(s.MicroBatches*o.Chunks()) * largestHeld / (1 << 19)
			if peak := o.PeakBytes(r, per); peak.Bytes > most*(1+1e-4)+rounding {
				t.Fatalf("rank %d holds %v, allowed are %v", r, peak.Bytes, most)
			}
		}
	}
	draws.Check(t, property)
	draws.Until(t, func() bool { return len(found) == 4 }, property)
}

// TestAutomaticKeepsItsBytes: of a real model whose weight gradients need most of
// what a forward leaves, ZB-2P holds no more than twice the activations of ZB-H1.
func TestAutomaticKeepsItsBytes(t *testing.T) {
	most := func(k schedule.Kind) (bytes units.Bytes) {
		s := scheduleSetup(t, "deepseek-v3", k, func(d *knob.Draft) {
			d.With(knob.Given{knob.GPUs: 2048, knob.TP: 4, knob.EP: 64, knob.PP: 16, knob.MicroBatches: 64})
		})
		for _, r := range engine.Evaluate(s).Memory.Ranks {
			bytes = max(bytes, r.Activations)
		}
		return bytes
	}
	plain := most(schedule.ZBH1) // p activations on its fullest rank
	if got := most(schedule.ZB1P); got > plain*(1+1e-3) {
		t.Errorf("zb-1p holds %v, zb-h1 %v", got, plain)
	}
	if got := most(schedule.ZB2P); got > 2*plain*(1+0.05) || got < 1.5*plain {
		t.Errorf("zb-2p holds %v, zb-h1 %v", got, plain)
	}
}
