package search

import (
	"context"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// Conflict is why a search finds nothing: the shortest list of what was asked
// for that already excludes every layout, whatever the rest is. Nothing in it
// can be left out.
type Conflict struct {
	Fields []string `json:"fields"` // flags' names, and "memory", "headroom", "deadline" and "launchers"
	// Least is the layout with the least memory among those that meet everything
	// but memory and headroom; nil where neither is among the reasons. LeastSoFar says
	// that the time ended before all were looked at: some may need less.
	Least      *Found `json:"-"`
	LeastSoFar bool   `json:"least_memory_so_far,omitempty"`
	// Frees are those of Fields of which giving up that one, and nothing else, leaves
	// layouts; a second reason next to the list may leave it empty. Tried says that
	// there was time to find out.
	Frees []string `json:"enough_to_give_up,omitempty"`
	Tried bool     `json:"-"`
	// Nearest are, of those of Fields that are one number and make every layout illegal, the nearest
	// numbers that do not.
	Nearest map[string]int `json:"nearest,omitempty"`
	// Helps are what nobody spoke against and the search did not look at by itself,
	// of which each lets in layouts that fit: "schedule all", "grad-dtype bf16".
	Helps []string `json:"would_fit_with,omitempty"`
	// Partial says that there was no time to prove the list, or to look for a
	// shorter one.
	Partial bool `json:"partial,omitempty"`
	// Given are the errors of what no layout changes, such as a precision that the GPU does not
	// have; Fields are theirs.
	Given []engine.Problem `json:"-"`
	batch int              // that was searched, where there is one
}

// constraint is one thing that was requested, and how to give it up.
type constraint struct {
	field string
	relax func(*Problem)
}

// constraints returns what a problem asks for beyond the model and the machine.
func (p *Problem) constraints() []constraint {
	var out []constraint
	add := func(field knob.ID, given bool, relax func(*Problem)) {
		if given {
			out = append(out, constraint{string(field), relax})
		}
	}
	sp := &p.Space
	add(knob.DP, len(sp.DP) > 0, func(q *Problem) { q.Space.DP = nil })
	add(knob.TP, len(sp.TP) > 0, func(q *Problem) { q.Space.TP = nil })
	add(knob.PP, len(sp.PP) > 0, func(q *Problem) { q.Space.PP = nil })
	add(knob.CP, len(sp.CP) > 0, func(q *Problem) { q.Space.CP = nil })
	add(knob.EP, len(sp.EP) > 0, func(q *Problem) { q.Space.EP = nil })
	add(knob.ETP, len(sp.ETP) > 0, func(q *Problem) { q.Space.ETP = nil })
	add(knob.VPP, len(sp.VPP) > 0, func(q *Problem) { q.Space.VPP = nil })
	add(knob.MBS, len(sp.MBS) > 0, func(q *Problem) { q.Space.MBS = nil })
	add(knob.MicroBatches, len(sp.MicroBatches) > 0, func(q *Problem) { q.Space.MicroBatches = nil })
	add(knob.ZeRO, len(sp.ZeRO) > 0, func(q *Problem) { q.Space.ZeRO = nil })
	add(knob.SP, len(sp.SP) > 0, func(q *Problem) { q.Space.SP = nil })
	add(knob.Recompute, len(sp.Recompute) > 0, func(q *Problem) { q.Space.Recompute = nil })
	add(knob.Schedule, len(sp.Schedules) > 0, func(q *Problem) { q.Space.Schedules = nil })
	for i, other := range sp.Others {
		k, _ := knob.Find(other.ID)
		add(other.ID, len(k.Choices) > 0, func(q *Problem) {
			q.Space.Others = slices.Clone(q.Space.Others)
			q.Space.Others[i].Values = slices.Concat(other.Values, k.Choices)
		})
	}
	add(knob.Split, p.Setup.Split != "", func(q *Problem) { q.Setup.Split = "" })
	add(knob.HSDP, p.Setup.HSDP > 1, func(q *Problem) { q.Setup.HSDP = 0 })
	add(knob.GroupSize, p.Setup.GroupSize > 0, func(q *Problem) { q.Setup.GroupSize = 0 })
	add(knob.MaxInFlight, p.Setup.MaxInFlight > 0, func(q *Problem) { q.Setup.MaxInFlight = 0 })
	add(knob.GBS, true, func(q *Problem) { q.Space.GBS, q.Space.FollowGBS = q.anyBatch(), false })
	add("launchers", !sp.Refused || sp.Accepts != nil,
		func(q *Problem) { q.Space.Refused, q.Space.Accepts = true, nil })
	if p.legalOnly {
		return out
	}
	add("memory", true, func(q *Problem) { q.AnyMemory = true })
	add("headroom", p.Headroom > 0, func(q *Problem) { q.Headroom = 0 })
	add("deadline", p.Deadline > 0, func(q *Problem) { q.Deadline = 0 })
	return out
}

// Asking is how far Explain is. It asks whether anything is left when some of what
// was requested is given up, and cannot know how often it will have to.
type Asking struct {
	Questions int     // answered or open
	Share     float64 // of the space that the one that is open has gone through
}

// Explain says why a problem has no answer; nil where it has one, or where the
// context ended before anything was known. It calls progress (nil: nobody wants to
// know) while it works. When the context ends it returns what it has by then: a list
// that excludes everything, marked partial.
func Explain(ctx context.Context, p Problem, progress func(Asking)) *Conflict {
	if progress == nil {
		progress = func(Asking) {}
	}
	e := explainer{ctx: ctx, problem: p, progress: progress}
	// A setup that cannot run at all is blamed on neither memory nor time.
	legal := p
	legal.legalOnly, legal.AnyMemory, legal.Headroom, legal.Deadline = true, true, 0, 0
	all := legal.constraints()
	switch e.excludes(&legal, all, all) {
	case yes:
		e.problem = legal
	case no:
		all = p.constraints()
		if e.excludes(&p, all, all) == no {
			return nil
		}
	case unsure:
		return nil
	}
	out := &Conflict{}
	for _, c := range e.shortest(all) {
		out.Fields = append(out.Fields, c.field)
	}
	if out.Partial = e.partial; len(out.Fields) == 0 {
		out.Given = knob.CheckGiven(p.Setup)
		for i := range out.Given {
			out.Fields = append(out.Fields, out.Given[i].Field)
		}
		return out
	}
	out.batch = or(p.Space.GBS, p.Setup.GBS)[0]
	if !out.Partial {
		e.frees(out, &p)
	}
	if e.problem.legalOnly && !out.Partial {
		e.nearest(out, &legal)
	}
	if slices.Contains(out.Fields, "memory") || slices.Contains(out.Fields, "headroom") {
		q := p
		q.AnyMemory, q.Headroom, q.Objective, q.Top, q.Front = true, 0, LeastMemory, 1, false
		if ctx.Err() != nil {
			return out
		}
		if r := Run(ctx, q, nil); len(r.Best) > 0 {
			out.Least, out.LeastSoFar = &r.Best[0], r.Partial
		}
		e.helps(out, &p)
	}
	return out
}

// answer is what is known of a question when the time may end.
type answer uint8

const (
	unsure answer = iota
	no
	yes
)

// explainer looks for the shortest reason.
type explainer struct {
	ctx       context.Context
	problem   Problem
	progress  func(Asking)
	questions int  // that were asked so far
	partial   bool // a question could not be resolved in time
}

// shortest returns the shortest list that excludes everything: none, one constraint,
// two, and if two do not suffice one that cannot be made shorter.
func (e *explainer) shortest(all []constraint) []constraint {
	only := func(keep ...constraint) bool { return e.excludes(&e.problem, all, keep) == yes }
	if only() {
		return nil // the model and the machine alone
	}
	likely := likelyFirst(all)
	for i := range likely {
		if only(likely[i]) {
			return likely[i : i+1]
		}
	}
	for i := range likely {
		for j := i + 1; j < len(likely); j++ {
			if only(likely[i], likely[j]) {
				return []constraint{likely[i], likely[j]}
			}
		}
	}
	keep := slices.Clone(all)
	for i := len(keep) - 1; i >= 0; i-- {
		if without := slices.Delete(slices.Clone(keep), i, i+1); only(without...) {
			keep = without
		}
	}
	return keep
}

// likelyFirst puts what most often excludes everything in front: a question that
// resolves it saves all that would come after it.
func likelyFirst(all []constraint) []constraint {
	usual := []string{"memory", "headroom", "deadline"}
	out := make([]constraint, 0, len(all))
	for _, first := range []bool{true, false} {
		for _, c := range all {
			if slices.Contains(usual, c.field) == first {
				out = append(out, c)
			}
		}
	}
	return out
}

// excludes reports whether no layout meets the constraints that are kept.
func (e *explainer) excludes(p *Problem, all, keep []constraint) answer {
	if e.ctx.Err() != nil { // even the list of cuts of a question takes time
		e.partial = true
		return unsure
	}
	q := *p
	for _, c := range all {
		if !slices.ContainsFunc(keep, func(k constraint) bool { return k.field == c.field }) {
			c.relax(&q)
		}
	}
	q.Top, q.Front, q.Objective = 1, false, LeastMemory
	if q.Deadline > 0 {
		q.Objective = Throughput
	}
	e.questions++
	e.progress(Asking{Questions: e.questions})
	r := newRun(e.ctx, &q, func(at Progress) { e.progress(Asking{e.questions, at.Ranked}) })
	switch found, all := r.any(); {
	case found:
		return no
	case !all:
		e.partial = true
		return unsure
	}
	return yes
}

// any reports whether any layout will do, and whether all were looked at: it ends at
// the first. Of each plane the candidate with the best bound is evaluated at
// once, the others only where none of these will do.
func (r *run) any() (found, whole bool) {
	rankers := r.rankers()
	e := engine.Evaluator{SkipTimeline: true}
	stride := coprime(len(r.planes))
	var all []candidate
	for n := range r.planes {
		index := n * stride % len(r.planes)
		k := rankers.of(index)
		k.found = k.found[:0]
		done := k.rank(index)
		if len(k.found) > 0 {
			best := 0
			for i := range k.found {
				if k.found[i].compare(&k.found[best]) < 0 {
					best = i
				}
			}
			if _, got := r.full(&e, &k.found[best], r.stopped); got == fits {
				return true, false
			}
			all = append(all, k.found...)
		}
		if n%reportEvery == 0 {
			r.progress(Progress{Ranked: float64(n) / float64(len(r.planes))})
		}
		if !done {
			return false, false
		}
	}
	r.discardOnStop = true
	if !r.sort(all) {
		return false, false
	}
	r.result.Share = 1
	for i := range rankers {
		r.drop(&rankers[i])
	}
	r.evaluate(all)
	return len(r.result.Best) > 0, r.result.Share >= 1
}
