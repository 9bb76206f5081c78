package search

import (
	"context"
	"maps"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// least returns the layout of a problem without one that fits that needs least memory, and notes how
// much it is over and on how many GPUs one would fit. Empty where none is legal.
func (q *Query) least(ctx context.Context, p Problem, c *Chosen) engine.Setup {
	p.AnyMemory, p.Headroom, p.Margin, p.Objective = true, 0, false, LeastMemory
	r := Run(ctx, p, nil)
	c.Layouts, c.Partial = max(c.Layouts, r.Legal), c.Partial || r.Partial
	if len(r.Best) == 0 {
		return engine.Setup{}
	}
	best := &r.Best[0]
	c.fill(q, &best.Setup)
	m := best.Report.Memory
	c.host = m.HostWords()
	if c.Over, c.HostOver = max(m.Peak-m.Usable, 0), m.HostOver(); m.Fits { // the search before was stopped
		c.Found, c.least = true, true
		return best.Setup
	}
	c.Smallest, c.unasked = q.smallest(ctx, p.Workers)
	c.Partial = c.Partial || c.Smallest == 0 && ctx.Err() != nil
	return best.Setup
}

// SmallestMachine returns the fewest GPUs on which a layout of the query fits, 0 where it is not known or
// none does, and says so in the words of Chosen.
func (q *Query) SmallestMachine(ctx context.Context, workers int, number func(int) string) (int, string) {
	c := Chosen{node: q.Setup.Cluster.Node()}
	c.Smallest, c.unasked = q.smallest(ctx, workers)
	c.Partial = ctx.Err() != nil
	return c.Smallest, c.smallestWords(number)
}

// smallest returns the smallest number of GPUs, in whole nodes above one, on which a layout of the query
// fits that its launcher runs, or else any, of those that Fewest tries beyond the number that there are; 0
// where none does, or the error of a query that cannot be asked of more. What is not given takes the values
// that need least memory, which leave one layout of fifty.
func (q *Query) smallest(ctx context.Context, workers int) (int, error) {
	of := *q
	of.Values = maps.Clone(q.Values)
	delete(of.Values, knob.GPUs)
	delete(of.Values, knob.Nodes)
	of.Objective, of.Margin = FewestGPUs, false
	p, err := of.Problem()
	if err != nil {
		return 0, err
	}
	of.lean(&p.Space)
	p.Top, p.Workers = 1, workers
	found := p.fewestBeyond(ctx, q.Setup.GPUs)
	if found == nil && p.Space.Accepts != nil {
		p.Space.Accepts, p.Space.Refused = nil, true
		found = p.fewestBeyond(ctx, q.Setup.GPUs)
	}
	if found == nil {
		return 0, nil
	}
	return found.GPUs, nil
}

// lean leaves of each knob that is not given the value that needs least memory.
func (q *Query) lean(sp *Space) {
	if !q.Given(knob.MBS) && !q.Given(knob.MicroBatches) {
		sp.MBS = []int{1}
	}
	if !q.Given(knob.VPP) {
		sp.VPP = []int{1}
	}
	if !q.Given(knob.Schedule) && !q.Given(knob.VPP) {
		sp.Schedules = []schedule.Kind{schedule.OneFOneB}
	}
	if !q.Given(knob.Recompute) {
		sp.Recompute = []recipe.Recompute{{Mode: recipe.RecomputeFull}}
	}
}

// fewestBeyond returns a layout on the fewest GPUs of the space that will do and are more than those that
// there are; nil where none will.
func (p *Problem) fewestBeyond(ctx context.Context, there int) *engine.Setup {
	for _, n := range p.Space.GPUs {
		if n <= there {
			continue
		}
		// One number at a time: the first that will do ends the search.
		one := *p
		one.Space.GPUs = []int{n}
		r := Run(ctx, one, nil)
		if len(r.Best) == 0 {
			if there = n; ctx.Err() != nil {
				return nil
			}
			continue
		}
		one.Space.GPUs = []int{there, n}
		if finer := Fewest(ctx, one, p.Setup.Cluster.Node(), nil); len(finer.Best) > 0 {
			r = finer
		}
		return &r.Best[0].Setup
	}
	return nil
}
