package search

import (
	"context"
	"slices"
)

// Conflict is why a search finds nothing: the shortest list of what was asked
// for that already excludes every layout, whatever the rest is. Nothing in it
// can be left out.
type Conflict struct {
	Fields []string // flags' names, and "memory", "headroom", "deadline" and "launchers"
	// Least is the layout with the least memory among those that meet everything
	// but memory and headroom; nil where neither is among the reasons.
	Least *Found
	// Partial says that there was no time to look for a shorter list.
	Partial bool
}

// constraint is one thing that was asked for, and how to give it up.
type constraint struct {
	field string
	relax func(*Problem)
}

// constraints are what a problem asks for beyond the model and the machine.
func (p *Problem) constraints() []constraint {
	var out []constraint
	add := func(field string, given bool, relax func(*Problem)) {
		if given {
			out = append(out, constraint{field, relax})
		}
	}
	sp := &p.Space
	add("dp", len(sp.DP) > 0, func(q *Problem) { q.Space.DP = nil })
	add("tp", len(sp.TP) > 0, func(q *Problem) { q.Space.TP = nil })
	add("pp", len(sp.PP) > 0, func(q *Problem) { q.Space.PP = nil })
	add("cp", len(sp.CP) > 0, func(q *Problem) { q.Space.CP = nil })
	add("ep", len(sp.EP) > 0, func(q *Problem) { q.Space.EP = nil })
	add("etp", len(sp.ETP) > 0, func(q *Problem) { q.Space.ETP = nil })
	add("vpp", len(sp.VPP) > 0, func(q *Problem) { q.Space.VPP = nil })
	add("mbs", len(sp.MBS) > 0, func(q *Problem) { q.Space.MBS = nil })
	add("microbatches", len(sp.MicroBatches) > 0, func(q *Problem) { q.Space.MicroBatches = nil })
	add("zero", len(sp.ZeRO) > 0, func(q *Problem) { q.Space.ZeRO = nil })
	add("sp", len(sp.SP) > 0, func(q *Problem) { q.Space.SP = nil })
	add("recompute", len(sp.Recompute) > 0, func(q *Problem) { q.Space.Recompute = nil })
	add("schedule", len(sp.Schedules) > 0, func(q *Problem) { q.Space.Schedules = nil })
	add("split", p.Setup.Split != "", func(q *Problem) { q.Setup.Split = "" })
	add("gbs", true, func(q *Problem) { q.Space.GBS = q.anyBatch() })
	add("launchers", !sp.Refused, func(q *Problem) { q.Space.Refused = true })
	add("deadline", p.Deadline > 0, func(q *Problem) { q.Deadline = 0 })
	add("headroom", p.Headroom > 0, func(q *Problem) { q.Headroom = 0 })
	add("memory", true, func(q *Problem) { q.AnyMemory = true })
	return out
}

// anyBatch are global batches that the usual cuts divide.
func (p *Problem) anyBatch() []int {
	out := or(p.Space.GBS, p.Setup.GBS)
	for _, gpus := range or(p.Space.GPUs, p.Setup.GPUs) {
		out = append(slices.Clone(out), gpus*MaxMBS)
		for _, m := range p.Space.MicroBatches {
			for _, dp := range divisors(gpus) {
				out = append(out, dp*m)
			}
		}
	}
	return out
}

// Explain says why a problem has no answer; nil where it has one.
func Explain(ctx context.Context, p Problem) *Conflict {
	all := p.constraints()
	if p.feasible(ctx, all, nil) {
		return nil
	}
	out := &Conflict{}
	keep := p.shortest(ctx, all)
	out.Partial = ctx.Err() != nil
	for _, c := range keep {
		out.Fields = append(out.Fields, c.field)
	}
	if slices.Contains(out.Fields, "memory") || slices.Contains(out.Fields, "headroom") {
		q := p
		q.AnyMemory, q.Headroom, q.Objective, q.Top, q.Front = true, 0, LeastMemory, 1, false
		if r := Run(ctx, q, nil); len(r.Best) > 0 {
			out.Least = &r.Best[0]
		}
	}
	return out
}

// shortest is the shortest list that excludes everything: one constraint, two,
// and where that is not enough one that cannot be made shorter.
func (p *Problem) shortest(ctx context.Context, all []constraint) []constraint {
	excludes := func(keep []constraint) bool {
		return ctx.Err() == nil && !p.feasible(ctx, all, keep)
	}
	if excludes([]constraint{}) {
		return nil // the model and the machine alone
	}
	for i := range all {
		if excludes(all[i : i+1]) {
			return all[i : i+1]
		}
	}
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			if pair := []constraint{all[i], all[j]}; excludes(pair) {
				return pair
			}
		}
	}
	keep := slices.Clone(all)
	for i := len(keep) - 1; i >= 0; i-- {
		if without := slices.Delete(slices.Clone(keep), i, i+1); excludes(without) {
			keep = without
		}
	}
	return keep
}

// feasible says whether any layout meets the constraints that are kept (nil:
// all of them).
func (p *Problem) feasible(ctx context.Context, all, keep []constraint) bool {
	q := *p
	for _, c := range all {
		if keep != nil && !slices.ContainsFunc(keep, func(k constraint) bool { return k.field == c.field }) {
			c.relax(&q)
		}
	}
	q.Top, q.Front, q.Workers = 1, false, max(p.Workers, 1)
	q.Objective = LeastMemory
	if q.Deadline > 0 {
		q.Objective = Throughput
	}
	return len(Run(ctx, q, nil).Best) > 0
}
