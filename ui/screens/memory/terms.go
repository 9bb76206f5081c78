package memory

import (
	"math"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
)

// Terms in the order of the bars; totalTerm represents their sum.
const (
	weightsTerm = iota
	gradientsTerm
	optimizerTerm
	activationsTerm
	logitsTerm
	buffersTerm
	overheadTerm
	totalTerm
)

// termName returns the name of a term in full, and two shorter ones.
func termName(term int) [3]string {
	if term == totalTerm {
		return [3]string{"total", "total", "all"}
	}
	return screen.MemoryParts(new(engine.RankMemory))[term].Names
}

// termFill returns the fill of a term.
func termFill(term int) themes.Fill { return screen.MemoryParts(new(engine.RankMemory))[term].Fill }

// values returns the terms of a rank and their sum.
func values(r *engine.RankMemory) [totalTerm + 1]units.Bytes {
	return [...]units.Bytes{
		r.Weights, r.Gradients, r.Optimizer, r.Activations, r.Logits, r.Buffers,
		r.Overhead, r.Total,
	}
}

// sampleValues returns the terms at a moment of a step.
func sampleValues(s *memory.Sample, overhead units.Bytes) [totalTerm + 1]units.Bytes {
	return [...]units.Bytes{
		s.Weights, s.Gradients, s.Optimizer, s.Activations, s.Logits, s.Buffers, overhead,
		s.Allocated() + overhead,
	}
}

// largestTerm returns the term of a rank that takes most.
func largestTerm(r *engine.RankMemory) int {
	all, best := values(r), 0
	for i := range totalTerm {
		if all[i] > all[best] {
			best = i
		}
	}
	return best
}

// sharded says by what ZeRO divides a term of a rank, and what it would be
// undivided; 1 when it does not.
func (v *View) sharded(in *screen.Context, rank, term int) (by float64, whole units.Bytes) {
	m := memoryOf(in)
	if term > optimizerTerm || !v.fresh(in) || rank >= len(v.answers.shards.Whole) || rank >= len(m.Ranks) {
		return 1, 0
	}
	now := values(&m.Ranks[rank])[term]
	whole = values(&v.answers.shards.Whole[rank])[term]
	if now <= 0 || whole <= now*1.001 {
		return 1, whole
	}
	return float64(whole / now), whole
}

// part writes what 1/n of something is: 1/16, or ~1/14 where the experts are
// divided otherwise than the rest, or shards carry something in addition.
func part(by float64) string {
	n := math.Round(by)
	if math.Abs(by-n) <= 0.005*n {
		return "1/" + figure.Comma(int(n))
	}
	if by < 10 {
		return "~1/" + strconv.FormatFloat(by, 'f', 1, 64)
	}
	return "~1/" + figure.Comma(int(n))
}

// gib returns a figure with its unit.
func gib(b units.Bytes) string { return figure.GiB(b) + " GiB" }

// peakWords returns the verdict in a few words.
func peakWords(in *screen.Context, m *engine.Memory) string {
	return m.FitWord() + ": " + bandOf(in, m).Of(gib(m.Peak)) + " of " + figure.GiB(m.Usable)
}
