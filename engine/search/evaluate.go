package search

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/units"
)

// How many layouts are evaluated before what they teach is used: few at first,
// because a handful often resolves the rest. It does not depend on the number of
// workers, nor does the answer.
const (
	firstBatch = 16
	batch      = 64
)

// When a search is stopped before it has an answer, so many are still evaluated
// at a time, so many times, until one fits: soon enough for who waits.
const (
	lastBatch  = 8
	lastRounds = 8
)

// evaluate works through the candidates in the order of their bounds until none
// that is left can be among the best, nor on the front.
func (r *run) evaluate(all []candidate) {
	k := keeper{problem: r.problem, top: r.problem.top(), wantFront: r.problem.Front}
	evaluators := make([]engine.Evaluator, r.workers)
	for w := range evaluators {
		evaluators[w].SkipTimeline = true // timelines of long pipelines are megabytes
	}
	var chosen []*candidate
	done, got := make([]found, batch), make([]state, batch)
	open := 0 // candidates that a stopped search has left open
	seen := evaluated{}
	for next, rounds := 0, 0; ; {
		late := r.stopped()
		if late && (r.discardOnStop || r.result.Fitting > 0 || rounds == lastRounds) {
			open += k.open(all[next:])
			break
		}
		most := min(firstBatch+r.result.Evaluated, batch)
		if late {
			most = lastBatch
			rounds++
		}
		skip := func(c *candidate) bool {
			if !late || !r.slow(c) {
				return false
			}
			open++
			return true
		}
		if chosen, next = k.choose(chosen[:0], all, next, most, skip); len(chosen) == 0 {
			break
		}
		r.each(len(chosen), func(worker, i int) {
			got[i] = unknown
			switch {
			case late: // it is stopped already, and these few are quick
				done[i], got[i] = r.full(&evaluators[worker], chosen[i], nil)
			case !r.stopped():
				done[i], got[i] = r.full(&evaluators[worker], chosen[i], r.stopped)
			}
		})
		for i := range chosen {
			if got[i] == unknown {
				open++
			} else {
				r.take(&k, &seen, chosen[i], &done[i], got[i] == fits)
			}
			done[i] = found{}
		}
		r.progress(Progress{Ranked: 1, Legal: r.result.Legal, Evaluated: r.result.Evaluated})
	}
	if r.dropped > 0 && k.missed(r.lowest) {
		open += r.dropped
	}
	r.finish(&k, open)
	r.sure(&k, &seen, all)
}

// take counts an evaluated candidate and keeps one that fits.
func (r *run) take(k *keeper, seen *evaluated, c *candidate, done *found, fits bool) {
	if fits {
		r.result.Fitting++
		k.keep(done)
		seen.fits(done)
	}
	r.result.Evaluated++
	seen.bounds = append(seen.bounds, c.key)
}

// finish writes what was found, with so many candidates open, into the result.
func (r *run) finish(k *keeper, open int) {
	if open > 0 {
		r.result.Share *= 1 - float64(open)/float64(max(r.result.Legal, open))
	}
	r.result.Partial = r.result.Share < 1
	r.result.Best, r.result.Front = k.best(), k.frontier()
}

// slow reports whether the evaluation of a candidate takes longer than somebody who
// has stopped a search wants to wait.
func (r *run) slow(c *candidate) bool {
	const most = 20_000 // operations: half a millisecond
	s := r.setup(c)
	return s.Spec().Work() > most
}

// choose takes up to so many candidates, from next on, that can still matter and
// are not to be skipped.
func (k *keeper) choose(into []*candidate, all []candidate, next, most int,
	skip func(*candidate) bool,
) ([]*candidate, int) {
	for next < len(all) && len(into) < most {
		c := &all[next]
		next++
		switch {
		case k.wants(c):
			if !skip(c) {
				into = append(into, c)
			}
		case !k.missed(c.key):
			return into, len(all) // the others are no better
		}
	}
	return into, next
}

// each runs a function for 0 to n-1 on all workers.
func (r *run) each(n int, do func(worker, i int)) {
	if r.workers == 1 {
		for i := range n {
			do(0, i)
		}
		return
	}
	crew(r.workers, r.problem.Stack, func(w int) {
		for i := w; i < n; i += r.workers {
			do(w, i)
		}
	})
}

// keeper keeps the best layouts and the front of memory and speed.
type keeper struct {
	problem   *Problem
	top       int
	wantFront bool
	ranked    []found // ascending
	front     []found // ascending in GPU-seconds per token, descending in memory
	ample     *found  // the best with an ample margin, where the objective does not put memory first
}

// wants reports whether a layout with that bound can still be among the best or on
// the front.
func (k *keeper) wants(c *candidate) bool {
	if k.ranks(c.key) || k.wantFront && !k.dominated(c.key.rate, c.peak) {
		return true
	}
	return c.peak <= k.problem.Setup.Cluster.GPU.MemoryUsable*(1-2*engine.DefaultHeadroom) && k.leads(c.key)
}

// ranks reports whether a layout with that bound can be among the best.
func (k *keeper) ranks(bound score) bool {
	return len(k.ranked) < k.top || !k.ranked[len(k.ranked)-1].exact.less(bound)
}

// missed reports whether candidates with no better bound than that can matter.
func (k *keeper) missed(lowest score) bool { return k.wantFront || k.ranks(lowest) || k.leads(lowest) }

// leads reports whether a layout with that score can take the first place from the fastest for its
// ample margin: the fastest has none, it is too close to call, and no faster one has one.
func (k *keeper) leads(s score) bool {
	if len(k.ranked) == 0 || k.ranked[0].ample || k.problem.fastestFirst || !k.problem.wantsMargin() ||
		k.ample != nil && k.ample.exact.less(s) {
		return false
	}
	best := &k.ranked[0]
	lead, rate := k.problem.worst(best.exact, k.problem.Objective.Evidence(&best.Report).CloseMargin())
	return !s.tight && s.lead <= lead && s.rate <= rate
}

// open counts the candidates that would still be looked at.
func (k *keeper) open(list []candidate) (n int) {
	for i := range list {
		if k.wants(&list[i]) {
			n++
		}
	}
	return n
}

// dominated reports whether the front has a layout that is no slower and takes no
// more memory, and is better in one of the two.
func (k *keeper) dominated(rate float64, peak units.Bytes) bool {
	n, _ := slices.BinarySearchFunc(k.front, rate, func(f found, rate float64) int {
		if f.exact.rate <= rate {
			return -1
		}
		return 1
	})
	if n == 0 {
		return false
	}
	f := &k.front[n-1] // of those as fast, the one with the least memory
	m := f.peak
	return m < peak || m == peak && f.exact.rate < rate
}

// keep takes what has been evaluated and fits.
func (k *keeper) keep(f *found) {
	twin := slices.IndexFunc(k.ranked, f.twin)
	if twin >= 0 && f.place(&k.ranked[twin].candidate) < 0 {
		k.ranked = slices.Delete(k.ranked, twin, twin+1) // this one comes before it
		twin = -1
	}
	if twin < 0 {
		at, _ := slices.BinarySearchFunc(k.ranked, f, func(a found, b *found) int { return a.better(b) })
		if at < k.top {
			k.ranked = slices.Insert(k.ranked, at, *f)
			k.ranked = k.ranked[:min(len(k.ranked), k.top)]
		}
	}
	if f.ample && !f.exact.tight && (k.ample == nil || f.better(k.ample) < 0) {
		k.ample = new(*f)
	}
	if k.wantFront {
		k.extend(f)
	}
}

// twin reports whether another layout is the same under another name: on one
// pipeline rank most schedules are.
func (f *found) twin(g found) bool {
	if f.Setup.PP > 1 || g.Setup.PP > 1 || f.exact != g.exact || f.peak != g.peak {
		return false
	}
	s := g.Setup
	s.Schedule, s.VPP = f.Setup.Schedule, f.Setup.VPP
	return s == f.Setup
}

// better orders evaluated layouts, equal ones as the space lists them.
func (f *found) better(g *found) int {
	switch {
	case f.exact.less(g.exact):
		return -1
	case g.exact.less(f.exact):
		return 1
	}
	return f.place(&g.candidate)
}

// extend puts a layout on the front and takes off what it dominates. Of equals
// the one that the space lists first stays.
func (k *keeper) extend(f *found) {
	peak := f.peak
	kept := k.front[:0]
	for i := range k.front {
		g := &k.front[i]
		m := g.peak
		switch {
		case m == peak && g.exact.rate == f.exact.rate:
			if g.place(&f.candidate) < 0 {
				return
			}
			continue
		case m <= peak && g.exact.rate <= f.exact.rate:
			return // nothing before it was taken off: it would dominate this one too
		case peak <= m && f.exact.rate <= g.exact.rate:
			continue
		}
		kept = append(kept, *g)
	}
	clear(k.front[len(kept):])
	at, _ := slices.BinarySearchFunc(kept, f, func(a found, b *found) int {
		if a.exact.rate < b.exact.rate {
			return -1
		}
		return 1
	})
	k.front = slices.Insert(kept, at, *f)
}

// best returns the ranked layouts, in front the one that leads for its margin.
func (k *keeper) best() []Found {
	out := make([]Found, 0, len(k.ranked)+1)
	if first := k.first(); first != nil {
		out = append(out, first.Found)
		out[0].ForMargin = k.ranked[0].exact.less(first.exact)
	}
	for i := range k.ranked {
		if k.ranked[i].Setup != out[0].Setup {
			out = append(out, k.ranked[i].Found)
		}
	}
	return out[:min(len(out), k.top)]
}

// first returns the layout that leads, for its margin or as the best; nil: nothing was found.
func (k *keeper) first() *found {
	switch {
	case k.ample != nil && k.leads(k.ample.exact):
		return k.ample
	case len(k.ranked) > 0:
		return &k.ranked[0]
	}
	return nil
}

func (k *keeper) frontier() []Found {
	if !k.wantFront {
		return nil
	}
	out := make([]Found, 0, len(k.front))
	for i := range k.front {
		out = append(out, k.front[i].Found)
	}
	return out
}
