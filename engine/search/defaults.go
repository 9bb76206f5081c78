package search

import (
	"fmt"
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/layout"
)

// TargetTokens is the global batch, in tokens, that is taken where nobody says
// one: large models of recent years start with about 4 million.
const TargetTokens = 1 << 22

// TunedSequences is the global batch of a fine-tune of adapters that nobody gave, in sequences: that of QLoRA
// for 7 to 33 billion parameters (arXiv 2305.14314, table 9).
const TunedSequences = 16

// UsualBatch returns what UnsetGBS takes without a published run, in words: what so many sequences are, or
// where those are 0 any of them.
func UsualBatch(s *engine.Setup, gbs, seq int) string {
	if s.Frozen() {
		return fmt.Sprintf("near %d sequences, QLoRA's batch", TunedSequences)
	}
	if odd := oddPart(gbs); odd > 1 {
		return fmt.Sprintf("%.3g M tokens, %d times the power of two that comes nearest to %d M",
			float64(gbs)*float64(seq)/1e6, odd, TargetTokens/1_000_000)
	}
	return fmt.Sprintf("near %d M tokens", TargetTokens/1_000_000)
}

// largestOdd is how large an odd part of several numbers of GPUs a default batch
// takes over.
const largestOdd = 15

// DefaultGBS returns a global batch near TargetTokens that divides well: a power of
// two sequences, times the odd part of the numbers of GPUs where that is small, so
// that every number of copies divides it that divides the GPUs and is no larger
// than it. Of one number of GPUs the odd part is taken over as far as the target
// goes. Over many numbers of GPUs the common odd part leaves no room for powers
// of two, which most layouts want: then it is a power of two alone.
func DefaultGBS(gpus []int, seq int) int {
	return dividing(gpus, max(TargetTokens/max(seq, 1), 1))
}

// dividing returns a global batch near a target that divides as DefaultGBS says.
func dividing(gpus []int, target int) int {
	odd, most := 1, min(largestOdd, target)
	if len(gpus) == 1 {
		most = target
	}
	for _, n := range gpus {
		part := oddPart(n)
		if odd = odd / layout.GCD(odd, part) * part; odd > most {
			odd = 1
			break
		}
	}
	gbs := odd
	// Of two neighbours the nearer by ratio: it doubles while gbs x sqrt(2), the
	// middle of the step, is not beyond the target.
	for 2*gbs*gbs <= target*target && 2*gbs <= layout.MaxGBS {
		gbs *= 2
	}
	return gbs
}

// UnsetGBS returns the global batch of a setup's model on so many GPUs where nobody gives one: that of
// the published run nearest in GPUs, in tokens where the sequence is another, else DefaultGBS; of adapters
// TunedSequences, or one a replica.
func UnsetGBS(s *engine.Setup, gpus []int, seq int) int {
	if s.Frozen() {
		return max(dividing(gpus, TunedSequences), slices.Max(gpus))
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
	return dividing(gpus, max(tokens/max(seq, 1), 1))
}

// Divides reports whether a global batch divides well over GPUs: over every odd number of copies.
func Divides(gpus, gbs int) bool { return gbs%oddPart(gpus) == 0 }

// oddPart returns a number without its factors of two.
func oddPart(n int) int {
	for n = max(n, 1); n%2 == 0; n /= 2 {
	}
	return n
}

// BatchNear returns the global batch nearest to so many tokens that divides well, in sequences: a
// multiple of a power of two and of the odd part of the numbers of GPUs, no coarser than a
// sixteenth of it where that is possible.
func BatchNear(tokens int, gpus []int, seq int) int {
	target := float64(tokens) / float64(max(seq, 1))
	unit := 1
	for _, n := range gpus {
		part := oddPart(n)
		if lcm := unit / layout.GCD(unit, part) * part; lcm <= largestOdd {
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
