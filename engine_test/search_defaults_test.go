package engine_test

import (
	"testing"

	"meshscope/engine/search"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

func TestDefaultGBS(t *testing.T) {
	for _, c := range []struct {
		gpus []int
		seq  int
		want int
	}{
		{[]int{64}, 8192, 512},
		{[]int{64}, 2048, 2048},
		{[]int{24}, 8192, 384},
		{[]int{3072}, 2048, 1536}, // 3 x 512: nearer by ratio than 3 x 1024
		{[]int{64, 96, 128}, 8192, 384},
		{[]int{16384}, 131072, 32},
		{[]int{7 * 11 * 13}, 8192, 512}, // 1001 alone is more than the target
		{[]int{64}, 1 << 30, 1},
		{[]int{85 * 32}, 8192, 680}, // of one number the odd part goes in where it can
		{[]int{85 * 32, 64}, 8192, 512},
		{nil, 8192, 512},
	} {
		if got := search.DefaultGBS(c.gpus, c.seq); got != c.want {
			t.Errorf("%v GPUs, sequences of %d: %d, want %d", c.gpus, c.seq, got, c.want)
		}
	}
}

// The default is within a factor of two of the target where a sequence is no
// longer than that, and every number of copies that divides the GPUs and a power
// of two times their odd part divides it.
func TestDefaultGBSIsNear(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		gpus := rapid.IntRange(1, 1<<20).Draw(t, "gpus")
		seq := rapid.IntRange(1, 1<<22).Draw(t, "seq")
		got := search.DefaultGBS([]int{gpus}, seq)
		target := search.TargetTokens / seq
		if got > 2*target || 2*got < target {
			t.Fatalf("%d sequences of %d tokens, the target is %d", got, seq, target)
		}
	})
}
