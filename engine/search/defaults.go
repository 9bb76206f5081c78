package search

import (
	"fmt"
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
)

// TargetTokens is the global batch, in tokens, that is taken where nobody says
// one: large models of recent years start with about 4 million.
const TargetTokens = 1 << 22

// UsualBatch returns what UnsetGBS takes without a published run, in words: what so many sequences are, or
// where those are 0 any of them.
func UsualBatch(s *engine.Setup, gbs, seq int) string {
	if s.Frozen() {
		return fmt.Sprintf("near %d sequences, QLoRA's batch", knob.TunedSequences)
	}
	if odd := knob.OddPart(gbs); odd > 1 {
		return fmt.Sprintf("%.3g M tokens, %d times the power of two that comes nearest to %d M",
			float64(gbs)*float64(seq)/1e6, odd, TargetTokens/1_000_000)
	}
	return fmt.Sprintf("near %d M tokens", TargetTokens/1_000_000)
}

// DefaultGBS returns a global batch near TargetTokens that divides well: a power of
// two sequences, times the odd part of the numbers of GPUs where that is small, so
// that every number of copies divides it that divides the GPUs and is no larger
// than it. Of one number of GPUs the odd part is taken over as far as the target
// goes. Over many numbers of GPUs the common odd part leaves no room for powers
// of two, which most layouts want: then it is a power of two alone.
func DefaultGBS(gpus []int, seq int) int {
	return knob.DividingBatch(gpus, max(TargetTokens/max(seq, 1), 1))
}

// UnsetGBS returns the global batch of a setup's model on so many GPUs where nobody gives one: that of
// the published run nearest in GPUs, in tokens where the sequence is another, else DefaultGBS; of adapters
// knob.TunedBatch.
func UnsetGBS(s *engine.Setup, gpus []int, seq int) int {
	if s.Frozen() {
		return knob.TunedBatch(gpus...)
	}
	tokens, r := s.PublishedTokens(slices.Max(gpus))
	if tokens == 0 {
		return DefaultGBS(gpus, seq)
	}
	near := BatchNear(tokens, gpus, seq)
	if seq == r.Seq {
		near = r.GBS
	}
	if !slices.ContainsFunc(gpus, func(n int) bool { return !Divides(n, near) }) {
		return near
	}
	return knob.DividingBatch(gpus, max(tokens/max(seq, 1), 1))
}

// Divides reports whether a global batch divides well over GPUs: over every odd number of copies.
func Divides(gpus, gbs int) bool { return gbs%knob.OddPart(gpus) == 0 }

// BatchNear returns the global batch nearest to so many tokens that divides well, in sequences: a
// multiple of a power of two and of the odd part of the numbers of GPUs, no coarser than a
// sixteenth of it where that is possible.
func BatchNear(tokens int, gpus []int, seq int) int {
	target := float64(tokens) / float64(max(seq, 1))
	unit := 1
	for _, n := range gpus {
		part := knob.OddPart(n)
		if lcm := unit / layout.GCD(unit, part) * part; lcm <= knob.LargestOdd {
			unit = lcm
		}
	}
	if float64(unit) > target {
		unit = 1
	}
	for float64(2*unit) <= target/16 {
		unit *= 2
	}
	return min(max(1, int(math.Round(target/float64(unit))))*unit, layout.MaxGBS)
}
