package search

import (
	"cmp"
	"slices"

	"meshscope/engine"
	"meshscope/engine/units"
)

// NearShare is how close to the best a layout is for its place to say little: no
// model of a step is exact to one part in a hundred.
const NearShare = 0.01

// Near is how many layouts are as good as the best but for a share of what the
// objective ranks by, the best counted. Layouts whose bound left them without an
// evaluation may be among them: they are counted in Most alone.
type Near struct {
	Share       float64
	Least, Most int
}

// worst is the worst score that is still within a share of another: of layouts with
// the same lead (GPUs, micro-batch, sequence) the GPU-seconds per token count, and
// where memory leads that alone.
func (p *Problem) worst(best score, share float64) (lead, rate float64) {
	if p.Objective == LeastMemory {
		return best.lead * (1 + share), 0
	}
	return best.lead, best.rate * (1 + share)
}

// near counts what is within a share of the best: of those evaluated, and of the
// candidates that were not, by their bounds.
func (r *run) near(best score, share float64, evaluated []score, open []candidate) Near {
	lead, rate := r.problem.worst(best, share)
	within := func(s score) bool { return s.lead <= lead && (rate == 0 || s.rate <= rate) }
	n := Near{Share: share}
	for _, s := range evaluated {
		if within(s) {
			n.Least++
		}
	}
	n.Most = n.Least + r.dropped
	for i := range open {
		if within(open[i].key) {
			n.Most++
		}
	}
	return n
}

// Lean is traffic that a report takes to hide behind computing: an assumption that
// a ranking rests on.
type Lean struct {
	Dimension string
	Hidden    units.Seconds
	Share     float64 // of the step
}

// Leans are the dimensions of a layout of whose traffic so much is hidden that a
// near tie would be decided otherwise if it were not, the largest first.
func Leans(r *engine.Report) []Lean {
	var out []Lean
	for i := range r.Communication {
		c := &r.Communication[i]
		l := Lean{Dimension: c.Dimension, Hidden: c.Seconds - c.Exposed}
		if l.Share = float64(l.Hidden / r.Time.Step); l.Share >= NearShare {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b Lean) int { return cmp.Compare(b.Hidden, a.Hidden) })
	return out
}
