package engine_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine"
	"meshscope/engine/cards"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"
	"meshscope/presets"
)

// TestFormats: ranges and steps follow from the bits as the formats' definitions print them.
func TestFormats(t *testing.T) {
	for name, want := range map[string]struct{ bits, most, least, smallest float64 }{
		"fp32":       {32, math.MaxFloat32, 0x1p-126, math.SmallestNonzeroFloat32},
		"bf16":       {16, 0x1.fep127, 0x1p-126, 0x1p-133},
		"fp16":       {16, 65504, 0x1p-14, 0x1p-24},
		"fp8 e4m3":   {8, 448, 0x1p-6, 0x1p-9},
		"fp8 e5m2":   {8, 57344, 0x1p-14, 0x1p-16},
		"mxfp8 e4m3": {8.25, 448, 0x1p-6, 0x1p-9},
		"mxfp6 e3m2": {6.25, 28, 0.25, 0.0625},
		"mxfp6 e2m3": {6.25, 7.5, 1, 0.125},
		"mxfp4 e2m1": {4.25, 6, 1, 0.5},
		"nvfp4 e2m1": {8 * recipe.NVFP4Bytes, 6, 1, 0.5},
	} {
		found := false
		for _, f := range recipe.Formats() {
			if f.Name == name {
				found = true
				if f.Bits() != want.bits || f.Max() != want.most || f.Min() != want.least ||
					f.Least() != want.smallest || f.Min()*f.Step() != f.Least() {
					t.Errorf("%s: %g bits, largest %g, smallest %g and %g, want %v", name, f.Bits(), f.Max(),
						f.Min(), f.Least(), want)
				}
			}
		}
		if !found {
			t.Errorf("no %s", name)
		}
	}
}

// waitForHost is the one part of a forward that takes time without work in the calibrations of the
// program (one with a wait for token counts would add another): the host launches no faster.
const waitForHost = "waiting for the host"

// TestCardsAreTheReports: the parts of a dense layer take as long as its forward and only the wait for
// the host is without work, parts of matrices make the whole, and expert ranks share all tokens with the
// busiest at its load.
func TestCardsAreTheReports(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 13, func(r *rapid.T) {
		s := w.legalSetup(r)
		parts, ok := cards.Layer(&s)
		if ok != engine.Legal(s) {
			r.Fatalf("a card of a setup that is legal: %v", !ok)
		}
		if !ok {
			return
		}
		sum := units.Seconds(0)
		for _, p := range parts {
			idle := p.FLOPs+units.FLOPs(p.Bytes) <= 0
			if sum += p.Seconds; p.Name == "" || p.Seconds < 0 ||
				p.Seconds > 0 && idle != (p.Name == waitForHost) {
				r.Fatalf("part %+v", p)
			}
		}
		checkRoofline(r, parts)
		_, rec := engine.EvaluateRecorded(s)
		if e, dense := rec.Entry("layer.dense.forward"); dense && !s.Model.IsMoE() &&
			math.Abs(float64(sum)/e.Value-1) > 1e-9 {
			r.Fatalf("parts take %g, the layer %g", sum, e.Value)
		}
		for _, p := range cards.Splits(&s) {
			if p.OnRows*p.OnCols*s.TP != p.Rows*p.Cols || (p.Forward == p.Backward) {
				r.Fatalf("split %+v over %d", p, s.TP)
			}
		}
		all, tokens := cards.Loads(&s), 0.0
		if (len(all) == s.EP) != s.Model.IsMoE() {
			r.Fatalf("%d loads of %d ranks", len(all), s.EP)
		}
		for _, l := range all {
			tokens += l.Tokens
		}
		if n := float64(s.EP); len(all) > 0 &&
			math.Abs(all[0].Tokens*n/tokens/min(s.ExpertLoad(), n)-1) > 1e-9 {
			r.Fatalf("busiest %g of %g, load %g", all[0].Tokens, tokens, s.ExpertLoad())
		}
	})
}

// checkRoofline: a part below the balance is bound by memory, or by the shape of its tiles; from it on by
// arithmetic.
func checkRoofline(r *rapid.T, parts []cards.Part) {
	for _, p := range parts {
		if p.FLOPs == 0 || p.Bytes == 0 {
			continue
		}
		below := float64(p.FLOPs)/float64(p.Bytes) < p.Balance*(1-1e-9)
		if p.Balance <= 0 || below && p.Arithmetic != p.Tiles || !below && (!p.Arithmetic || p.Tiles) {
			r.Fatalf("%g FLOP/byte of %g: %+v", float64(p.FLOPs)/float64(p.Bytes), p.Balance, p)
		}
	}
}

// TestRouterIsBoundByTiles: the few columns of a router fill no tile, and it has few FLOPs per byte. So on
// A100; of Hopper's products waves of tiles are hardly felt.
func TestRouterIsBoundByTiles(t *testing.T) {
	s := claimedSetup(t, "mixtral-8x7b dgx-a100 gpus=64 ep=8 gbs=256")
	parts, ok := cards.Layer(&s)
	i := slices.IndexFunc(parts, func(p cards.Part) bool { return strings.Contains(p.Name, "router") })
	if !ok || i < 0 || !parts[i].Tiles {
		t.Errorf("%v: %+v", ok, parts)
	}
}

// TestWaitMovesNothing: a wait for the host has no bytes, whatever ratios stand in what it is left over from.
func TestWaitMovesNothing(t *testing.T) {
	cluster, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(presetModel(t, "mixtral-8x22b"), cluster, knob.Given{
		knob.DP: 2, knob.ETP: 2, knob.TP: 1, knob.Seq: 512, knob.MBS: 1, knob.MicroBatches: 1,
		knob.Calibration: recipe.DefaultStack, knob.Precision: recipe.FP8,
	})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	parts, ok := cards.Layer(&s)
	i := slices.IndexFunc(parts, func(p cards.Part) bool { return p.Name == waitForHost })
	if !ok || i < 0 || parts[i].Seconds <= 0 || parts[i].Bytes != 0 {
		t.Errorf("%v: %+v", ok, parts)
	}
}
