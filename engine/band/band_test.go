package band_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine/band"
	"meshscope/engine_test/draws"
)

func traits(t *rapid.T) band.Traits {
	x := band.Traits{
		GPU:        rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "gpu"),
		Generation: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "generation"),
		Stack:      rapid.SampledFrom([]string{"m-1", "m-2", "n"}).Draw(t, "stack"),
		Family:     rapid.SampledFrom([]string{"m", "n"}).Draw(t, "family"),
		Experts:    rapid.Bool().Draw(t, "experts"), Pipeline: rapid.Bool().Draw(t, "pp"),
		ZeRO3: rapid.Bool().Draw(t, "zero3"), PCIe: rapid.Bool().Draw(t, "pcie"),
		TP:           band.Reach(rapid.IntRange(0, 2).Draw(t, "tp")),
		CP:           band.Reach(rapid.IntRange(0, 2).Draw(t, "cp")),
		EP:           band.Reach(rapid.IntRange(0, 2).Draw(t, "ep")),
		Bits:         rapid.SampledFrom([]int{8, 16}).Draw(t, "bits"),
		GPUs:         band.LogOf(rapid.Float64Range(4, 4096).Draw(t, "gpus")),
		MicroBatches: band.LogOf(rapid.Float64Range(1, 64).Draw(t, "micro-batches")),
		Active:       band.LogOf(rapid.Float64Range(1e8, 1e12).Draw(t, "active")),
		Seq:          band.LogOf(rapid.Float64Range(512, 1<<18).Draw(t, "seq")),
		NonCompute:   rapid.Float64Range(0, 0.9).Draw(t, "wait"),
		Traffic:      rapid.Float64Range(0, 2).Draw(t, "traffic"),
	}
	x.Normalize()
	return x
}

func table(t *rapid.T) *band.Table {
	out := &band.Table{
		Factor: 1.4, Prior: 0.5, PriorWeight: 0.7, GPUs: band.Range{Least: 2, Most: 12},
		Seq: band.Range{Least: 9, Most: 18}, Active: band.Range{Least: 26, Most: 40},
		Scales: band.Scales{Unknown: 2, Generation: 0.09, Family: 0.15, EPAcross: 3, BeyondRange: 1},
	}
	for f := range band.Features {
		out.Scales.Of[f] = 0.3
	}
	out.Scales.Of[band.Same] = 0
	for i := range rapid.IntRange(1, 20).Draw(t, "cells") {
		out.Cells = append(out.Cells, band.Cell{
			Traits: traits(t), Group: "g", Release: string(rune('a' + i%5)), Source: i % 4, Runs: 1 + i,
			Weight: rapid.Float64Range(0.1, 8).Draw(t, "weight"),
			Error:  rapid.Float64Range(0, 0.5).Draw(t, "error"),
		})
	}
	out.BuildIndex()
	return out
}

// TestBandProperties: a band is positive and finite, never wider than the prior alone makes
// it where no run is worse than the prior, and what nobody has run widens it.
func TestBandProperties(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		known, x := table(t), traits(t)
		b := known.Of(&x)
		if !(b.Error > 0) || math.IsInf(b.Error, 0) || b.Typical >= b.Error || b.Nearest == nil {
			t.Fatalf("%+v", b)
		}
		alone := band.Table{Factor: known.Factor, Prior: known.Prior, PriorWeight: known.PriorWeight}
		alone.BuildIndex()
		prior := alone.Of(&x)
		if b.Error > prior.Error*(1+1e-12) || prior.Nearest != nil {
			t.Fatalf("%v, without a run %v", b.Error, prior.Error)
		}
		strange := x
		strange.Generation, strange.Stack = "unseen", "unseen"
		if far := known.Of(&strange); far.Error > prior.Error*(1+1e-12) || far.Similar > 0 {
			t.Fatalf("far %+v, prior %v", far, prior.Error)
		}
	})
}

// TestNoPublisherVouchesAlone: where one publisher's runs are far better predicted than the
// others', the band is that of the others: constants may have been fitted to the first.
func TestNoPublisherVouchesAlone(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		known, x := table(t), traits(t)
		others := *known
		others.Cells = nil
		for _, c := range known.Cells {
			if c.Source != 0 {
				others.Cells = append(others.Cells, c)
			}
		}
		others.BuildIndex()
		perfect := *known
		perfect.Cells = append([]band.Cell(nil), known.Cells...)
		for i := range perfect.Cells {
			if perfect.Cells[i].Source == 0 {
				perfect.Cells[i].Error, perfect.Cells[i].Weight = 0, 1e6
			}
		}
		perfect.BuildIndex()
		// The others' own maximum may leave out one more of them.
		if got, least := perfect.Log(&x, ""), plain(&others, &x); got < least*(1-1e-9) {
			t.Fatalf("%v, the others alone %v", got, least)
		}
	})
}

// plain is the mean over all cells, none left out: all of one source, but for the prior.
func plain(t *band.Table, x *band.Traits) float64 {
	high := *t
	high.Prior, high.PriorWeight = 0, 0.7 // so that leaving all out gives nothing
	one := append([]band.Cell(nil), t.Cells...)
	for i := range one {
		one[i].Source = 0
	}
	high.Cells = one
	high.BuildIndex()
	return high.Log(x, "")
}

// TestFurtherRunsCountLess: a run that differs more in any feature counts less.
func TestFurtherRunsCountLess(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		known := table(t)
		x := known.Cells[0].Traits
		known.Cells = []band.Cell{known.Cells[0], known.Cells[0]}
		for i := range known.Cells {
			known.Cells[i].Error, known.Cells[i].Source = 0, i // so that the band shows their weight
		}
		known.BuildIndex()
		same := known.Log(&x, "") / known.Rho(&x)
		for name, change := range map[string]func(*band.Traits){
			"GPU": func(x *band.Traits) { x.GPU = "z" }, "experts": func(x *band.Traits) {
				x.Experts = !x.Experts
			},
			"sequence": func(x *band.Traits) { x.Seq += 1 }, "stack": func(x *band.Traits) { x.Stack = "z" },
			"EP":   func(x *band.Traits) { x.EP = (x.EP + 1) % 3 },
			"TP":   func(x *band.Traits) { x.TP = (x.TP + 1) % 3 },
			"bits": func(x *band.Traits) { x.Bits = 24 - x.Bits },
		} {
			other := x
			change(&other)
			if far := known.Log(&other, "") / known.Rho(&other); far < same*(1-1e-12) ||
				name == "experts" && far <= same {
				t.Fatalf("%s: %v, alike %v", name, far, same)
			}
		}
	})
}

// TestDifferencesNameTheFurthest: the feature that was changed most is named first.
func TestDifferencesNameTheFurthest(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		known := table(t)
		c := &known.Cells[0]
		x := c.Traits
		x.GPUs += 3
		if got := known.Differences(&x, c); got[0] != band.GPUs {
			t.Fatalf("%v", got)
		}
		x.Custom = true
		known.Scales.Of[band.Custom] = 9
		if got := known.Differences(&x, c); got[0] != band.Custom || got[1] != band.GPUs {
			t.Fatalf("%v", got)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	known := rapid.Custom(table).Example(1)
	for len(known.Cells) < 160 {
		known.Cells = append(known.Cells, known.Cells...)
	}
	known.Cells = known.Cells[:160]
	known.BuildIndex()
	x := rapid.Custom(traits).Example(2)
	for b.Loop() {
		known.Of(&x)
	}
}
