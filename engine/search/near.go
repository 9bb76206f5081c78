package search

import (
	"cmp"
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
)

// NearShare is how close to the best a layout is for its place to say little: no
// model of a step is exact to one part in a hundred.
const NearShare = 0.01

// Near is how many layouts are as good as the best but for a share of what the
// objective ranks by, the best counted. Layouts whose bound left them without an
// evaluation may be among them: they are counted in Most alone. Of a search that was
// stopped nobody knows how many there are at most: Most is then 0.
type Near struct {
	Share float64 `json:"share"`
	Least int     `json:"at_least"`
	Most  int     `json:"at_most,omitempty"`
}

// Evidence returns what is known about the errors of the figure that decides between
// layouts: the memory where that leads, else the time of a step.
func (o Objective) Evidence(r *engine.Report) *engine.Evidence {
	if o == LeastMemory {
		return &r.Memory.Evidence
	}
	return &r.Time.Evidence
}

// sure counts what is near the best, once everything is evaluated that will be.
func (r *run) sure(k *keeper, seen *evaluated, all []candidate) {
	first := k.first()
	if first == nil {
		return
	}
	r.result.Near = r.near(first.exact, NearShare, seen, all)
	r.result.Band = r.near(first.exact, r.problem.Objective.Evidence(&first.Report).CloseMargin(), seen, all)
	if r.result.Partial {
		r.result.Near.Most, r.result.Band.Most = 0, 0
	}
}

// TooClose reports whether a layout is too close to the best to call: within a quarter of the best's
// error band of what the objective ranks by, with its margin, as Band counts them, and not behind in what it
// puts first.
func (p *Problem) TooClose(best, f *Found) bool {
	of := func(f *Found) score {
		return p.score(&f.Setup, bound.Bound{Step: f.PessimisticStep, Peak: f.Report.Memory.Needs()})
	}
	lead, rate := p.worst(of(best), p.Objective.Evidence(&best.Report).CloseMargin())
	s := of(f)
	return (best.tight || !f.tight) && s.lead <= lead && s.rate <= rate
}

// worst returns the worst score that is still within a share of another: of layouts with
// the same lead (GPUs, micro-batch, sequence) the GPU-seconds per token count, and
// where memory leads that alone.
func (p *Problem) worst(best score, share float64) (lead, rate float64) {
	if p.Objective == LeastMemory {
		return best.lead * (1 + share), math.Inf(1)
	}
	return best.lead, best.rate * (1 + share)
}

// evaluated are the scores of what a search has evaluated.
type evaluated struct {
	fit    map[identity]struct{} // what fits
	bounds []score               // of everything that was evaluated
}

// identity is what tells a layout from others: twins share it.
type identity struct {
	place candidate // without bounds
	exact score
	peak  units.Bytes
}

func (e *evaluated) fits(f *found) {
	id := identity{place: f.candidate, exact: f.exact, peak: f.peak}
	id.place.step, id.place.peak, id.place.key = 0, 0, score{}
	if f.Setup.PP == 1 {
		id.place.kind, id.place.chunks, id.place.split = 0, 0, 0 // the schedule is but a name
	}
	if e.fit == nil {
		e.fit = map[identity]struct{}{}
	}
	e.fit[id] = struct{}{}
}

// near counts what is within a share of the best: of what was evaluated, and of the
// other candidates by their bounds.
func (r *run) near(best score, share float64, seen *evaluated, all []candidate) Near {
	lead, rate := r.problem.worst(best, share)
	within := func(s score) bool { return (best.tight || !s.tight) && s.lead <= lead && s.rate <= rate }
	n := Near{Share: share}
	for id := range seen.fit {
		if within(id.exact) {
			n.Least++
		}
	}
	n.Most = n.Least + r.dropped
	for i := range all {
		if within(all[i].key) {
			n.Most++
		}
	}
	for _, s := range seen.bounds {
		if within(s) {
			n.Most--
		}
	}
	return n
}

// OverlapReliance is traffic that a report takes to overlap with computing: an assumption that
// a ranking rests on.
type OverlapReliance struct {
	Dimension string
	Hidden    units.Seconds
	Share     float64 // of the step
}

// OverlapReliances returns the dimensions of a layout of whose traffic so much is hidden that a
// near tie would be decided otherwise if it were not, the largest first.
func OverlapReliances(r *engine.Report) []OverlapReliance {
	var out []OverlapReliance
	for i := range r.Communication {
		c := &r.Communication[i]
		l := OverlapReliance{Dimension: c.Dimension, Hidden: c.Seconds - c.Exposed}
		if l.Share = float64(l.Hidden / r.Time.Step); l.Share >= NearShare {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b OverlapReliance) int { return cmp.Compare(b.Hidden, a.Hidden) })
	return out
}
