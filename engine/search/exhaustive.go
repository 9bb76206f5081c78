package search

import (
	"context"

	"meshscope/engine"
)

// Exhaustive evaluates every legal layout of the space. It is what Run is held
// against by tests, and answers the same slowly.
func Exhaustive(p Problem) Result {
	r := newRun(context.Background(), &p, nil)
	k := keeper{problem: &p, top: p.top(), wantFront: p.Front}
	r.result.Share = 1
	var all []candidate
	rankers := r.rankers()
	for n := range r.planes {
		of := rankers.of(n)
		of.found, of.legal, of.everything = of.found[:0], 0, true
		of.rank(n)
		r.result.Legal += of.legal
		all = append(all, of.found...)
	}
	e := engine.Evaluator{SkipTimeline: true}
	seen := evaluated{}
	for i := range all {
		f, got := r.full(&e, &all[i], nil)
		r.result.Evaluated++
		if got == fits {
			r.result.Fitting++
			k.keep(&f)
			seen.fits(&f)
		}
	}
	r.result.Best, r.result.Front = k.best(), k.frontier()
	r.sure(&k, &seen, nil)
	return r.result
}

// Count returns the ranking pass alone, on one core: how many legal layouts there are.
func Count(p Problem) int {
	p.Workers = 1
	r := newRun(context.Background(), &p, nil)
	r.rank()
	return r.result.Legal
}
