package search

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
)

// Run searches. It calls progress (nil: nobody wants to know) from one goroutine
// at a time. When the context ends it returns soon with what it has, marked
// partial: the best of the layouts that were ranked by then.
func Run(ctx context.Context, p Problem, progress func(Progress)) Result {
	r := newRun(ctx, &p, progress)
	all, share := r.rank()
	r.result.Share = share
	r.evaluate(all)
	return r.result
}

// run is one search.
type run struct {
	ctx      context.Context
	problem  *Problem
	variants []variant
	planes   []plane // of all variants
	workers  int
	progress func(Progress)
	result   Result
	room     *room

	// of the setup that was given; the problem's is pessimistic where that leaves it open
	overlap       recipe.Overlap
	discardOnStop bool // a stopped search needs no answer

	dropped int   // candidates that there was no room for
	lowest  score // the best bound of these
}

func newRun(ctx context.Context, p *Problem, progress func(Progress)) *run {
	if progress == nil {
		progress = func(Progress) {}
	}
	given := p.Setup.Overlap
	p.Setup, _ = engine.Pessimistic(p.Setup)
	r := &run{
		ctx: ctx, problem: p, overlap: given, variants: p.variants(), workers: max(p.Workers, 1),
		progress: progress, room: newRoom(p.Collect),
	}
	for i := range r.variants {
		r.planes = append(r.planes, r.variants[i].problem.planes(i)...)
	}
	return r
}

// rankers are what one goroutine goes through the planes with: one ranker per variant.
type rankers []ranker

func (r *run) rankers() rankers {
	out := make(rankers, len(r.variants))
	for i := range out {
		out[i] = ranker{
			variant: r.variants[i], planes: r.planes, stop: r.stopped,
			kept: mostKept / len(r.variants),
		}
	}
	return out
}

// of returns the ranker of a plane.
func (k rankers) of(index int) *ranker { return &k[k[0].planes[index].variant] }

// setup returns the layout of a candidate.
func (r *run) setup(c *candidate) engine.Setup {
	p := &r.planes[c.plane]
	return r.variants[p.variant].setup(p, c)
}

// stopped reports whether nobody waits any more.
func (r *run) stopped() bool {
	return r.ctx.Err() != nil || r.problem.Stop != nil && r.problem.Stop()
}

// rank bounds every layout. Planes are visited in strides, so that a search that
// is stopped has seen some of everything; share is how many it has seen. The
// candidates come sorted by their bound, or, when the search was stopped, those
// that are still looked at.
func (r *run) rank() (all []candidate, share float64) {
	var next, done, legal atomic.Int64
	var lock sync.Mutex // of progress
	report := func(at Progress) {
		lock.Lock()
		defer lock.Unlock()
		r.progress(at)
	}
	workers := make([]rankers, r.workers)
	stride := coprime(len(r.planes))
	for w := range workers {
		workers[w] = r.rankers()
	}
	crew(r.workers, r.problem.Stack, func(w int) {
		for !r.stopped() {
			n := next.Add(1) - 1
			if n >= int64(len(r.planes)) {
				return
			}
			index := int(n * int64(stride) % int64(len(r.planes)))
			k := workers[w].of(index)
			before := k.legal
			if !k.rank(index) {
				return
			}
			sum := legal.Add(int64(k.legal - before))
			if d := done.Add(1); d%reportEvery == 0 {
				report(Progress{Ranked: float64(d) / float64(len(r.planes)), Legal: int(sum)})
			}
		}
	})
	for _, list := range workers {
		for i := range list {
			k := &list[i]
			all = append(all, k.found...)
			r.result.Legal += k.legal
			r.result.Excluded += k.excluded
			r.drop(k)
		}
	}
	if r.stopped() || !r.sort(all) {
		first(all, lastSorted)
	}
	if len(r.planes) == 0 {
		return all, 1
	}
	return all, float64(done.Load()) / float64(len(r.planes))
}

// drop counts the candidates that a ranker had no room for.
func (r *run) drop(k *ranker) {
	if k.dropped == 0 {
		return
	}
	if r.dropped == 0 || k.lowest.less(r.lowest) {
		r.lowest = k.lowest
	}
	r.dropped += k.dropped
}

// sort puts candidates in the order of their bounds; false where it was stopped on the
// way: they are then all there, in any order.
func (r *run) sort(all []candidate) bool {
	const often = 1 << 12 // comparisons between two looks at who waits
	n, halted := 0, false
	slices.SortFunc(all, func(a, b candidate) int {
		if n++; n%often == 0 {
			halted = halted || r.stopped()
		}
		if halted {
			return 0 // all alike: nothing more is moved
		}
		return a.compare(&b)
	})
	return !halted
}

// reportEvery is how many planes pass between two reports of progress.
const reportEvery = 64

// coprime returns a stride that visits n places each once, far apart: near the golden
// section of n.
func coprime(n int) int {
	stride := max(int(float64(n)*0.6180339887), 1)
	for layout.GCD(stride, max(n, 1)) != 1 {
		stride++
	}
	return stride
}

// compare orders candidates by their bound, equal ones by their place in the
// space: the same order whoever found them.
func (c *candidate) compare(d *candidate) int {
	switch {
	case c.key.less(d.key):
		return -1
	case d.key.less(c.key):
		return 1
	}
	return c.place(d)
}

// place orders candidates as the space lists them.
func (c *candidate) place(d *candidate) int {
	for _, pair := range [...][2]int{
		{int(c.plane), int(d.plane)},
		{int(c.mbs), int(d.mbs)},
		{int(c.sp), int(d.sp)},
		{int(c.recompute), int(d.recompute)},
		{int(c.kind), int(d.kind)},
		{int(c.chunks), int(d.chunks)},
		{int(c.split), int(d.split)},
		{int(c.zero), int(d.zero)},
	} {
		if pair[0] != pair[1] {
			return pair[0] - pair[1]
		}
	}
	return 0
}

// found is a candidate that was evaluated.
type found struct {
	candidate
	Found
	exact score
	peak  units.Bytes // the larger one of both ends of the step
	ample bool        // it leaves an ample margin (engine.Memory.HasAmpleMargin)
}

// state of a candidate after its evaluation.
type state uint8

const (
	unknown state = iota // the search was stopped before
	misses               // illegal after all, too large or too slow
	fits
)

// full evaluates a candidate, unless stop says true: the report is that of eval, the score is
// of the slow end of the step. Both ends must fit, for the order of an automatic schedule, and
// so its memory, follows from the times.
func (r *run) full(e *engine.Evaluator, c *candidate, stop func() bool) (found, state) {
	f := found{candidate: *c}
	f.Setup = r.setup(c)
	p := r.variants[r.planes[c.plane].variant].problem
	if p.Space.WriteSplit != nil {
		p.Space.WriteSplit(&f.Setup)
	}
	if ops := f.Setup.Spec().Work(); ops*float64(r.workers) > roomOps {
		r.room.enter(ops)
		defer func() { r.room.leave(e, ops) }()
	}
	slow, done := e.EvaluateUntil(f.Setup, stop)
	if !done {
		return f, unknown
	}
	f.Report = slow
	if !slow.Legal {
		return f, misses
	}
	if f.Setup.Overlap = r.overlap; r.overlap != p.Setup.Overlap && engine.UnprovenOverlap(&f.Setup) {
		if f.Report, done = e.EvaluateUntil(f.Setup, stop); !done {
			return f, unknown
		}
	}
	m := f.Report.Memory
	f.Free, f.PessimisticStep, f.peak = m.Usable-m.Peak, slow.Time.Step, max(m.Peak, slow.Memory.Peak)
	f.exact = p.score(&f.Setup, bound.Bound{Step: f.PessimisticStep, Peak: max(m.Needs(), f.peak)})
	margin := m.HasMargin() && slow.Memory.HasMargin()
	f.exact.tight = p.wantsMargin() && !margin
	f.tight = f.exact.tight
	f.ample = m.HasAmpleMargin() && slow.Memory.HasAmpleMargin()
	if p.marginOnly && !margin || !p.fits(m, f.peak) || !p.inTime(f.Report.Time.SlowEnd(f.PessimisticStep),
		f.Setup.Tokens()) {
		return f, misses
	}
	return f, fits
}
