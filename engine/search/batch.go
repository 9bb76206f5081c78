package search

import (
	"slices"

	"meshscope/engine/layout"
)

// MostTokens is up to which global batch, in tokens, a search goes by itself: the
// largest of the published runs that the rules of advise know (DeepSeek, 15,360
// sequences of 4,096).
const MostTokens = 15360 * 4096

// Raised returns the global batch that is tried where nothing meets a deadline at another
// one that nobody gave: twice as large, as a larger one leaves less of a pipeline idle
// and has work for more copies. It is false beyond MostTokens, of which a tenth more
// is let in for batches that are no power of two.
func Raised(gbs, seq int) (int, bool) {
	next := 2 * gbs
	return next, next <= layout.MaxGBS && next*seq <= MostTokens+MostTokens/10
}

// Ladder returns the global batches that a search of so many GPUs takes, one after the
// other, where nobody gave one: DefaultGBS, then what it is raised to.
func Ladder(gpus, seq int) []int {
	out := []int{DefaultGBS([]int{gpus}, seq)}
	for {
		next, more := Raised(out[len(out)-1], seq)
		if !more {
			return out
		}
		out = append(out, next)
	}
}

// batches returns the global batches that are tried on so many GPUs.
func (p *Problem) batches(gpus int) []int {
	if !p.Space.FollowGBS {
		return or(p.Space.GBS, p.Setup.GBS)
	}
	lengths := or(p.Space.Seq, p.Setup.Seq)
	ladder := Ladder(gpus, slices.Max(lengths))
	if !p.Space.RaiseGBS || len(lengths) > 1 {
		return ladder[:1]
	}
	return ladder
}

// Batches returns the global batches that are tried, of all numbers of GPUs.
func (p *Problem) Batches() (out []int) {
	if !p.Space.FollowGBS {
		return or(p.Space.GBS, p.Setup.GBS)
	}
	for _, gpus := range or(p.Space.GPUs, p.Setup.GPUs) {
		out = append(out, p.batches(gpus)...)
	}
	return unique(out)
}
