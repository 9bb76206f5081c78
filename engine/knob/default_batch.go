package knob

import (
	"slices"

	"meshscope/engine/layout"
)

// TunedSequences is the global batch of a fine-tune of adapters that nobody gave, in sequences: that of QLoRA
// for 7 to 33 billion parameters (arXiv 2305.14314, table 9).
const TunedSequences = 16

// TunedBatch returns the global batch of a fine-tune of adapters that nobody gave: near TunedSequences, or
// one a GPU.
func TunedBatch(gpus ...int) int {
	return max(DividingBatch(gpus, TunedSequences), slices.Max(gpus))
}

// LargestOdd is how large an odd part of several numbers of GPUs a default batch
// takes over.
const LargestOdd = 15

// DividingBatch returns a global batch near a target that divides, a power of two
// times the odd part of the numbers where that is small.
func DividingBatch(gpus []int, target int) int {
	odd, most := 1, min(LargestOdd, target)
	if len(gpus) == 1 {
		most = target
	}
	for _, n := range gpus {
		part := OddPart(n)
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

// OddPart returns a number without its factors of two.
func OddPart(n int) int {
	for n = max(n, 1); n%2 == 0; n /= 2 {
	}
	return n
}
