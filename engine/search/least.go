package search

import (
	"context"
	"maps"

	"meshscope/engine"
	"meshscope/engine/knob"
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
	if c.Over = best.Report.Memory.Peak - best.Report.Memory.Usable; c.Over <= 0 { // the search before was stopped
		c.Found, c.least, c.Over = true, true, 0
		return best.Setup
	}
	c.Smallest = q.smallest(ctx, p.Workers)
	c.Partial = c.Partial || c.Smallest == 0 && ctx.Err() != nil
	return best.Setup
}

// smallest returns the smallest number of GPUs, in whole nodes, on which a layout of the query
// fits, of those that Fewest tries beyond the number that there are; 0 where none does.
func (q *Query) smallest(ctx context.Context, workers int) int {
	of := *q
	of.Values = maps.Clone(q.Values)
	delete(of.Values, knob.GPUs)
	delete(of.Values, knob.Nodes)
	of.Objective, of.Margin, of.Accepts, of.Refused = FewestGPUs, false, nil, true
	p, err := of.Problem()
	if err != nil {
		return 0
	}
	p.Top, p.Workers = 1, workers
	last := q.Setup.GPUs
	for _, n := range p.Space.GPUs {
		if n <= last {
			continue
		}
		// One number at a time: the first that will do ends the search.
		one := p
		if one.Space.GPUs = []int{n}; len(Run(ctx, one, nil).Best) > 0 {
			one.Space.GPUs = []int{last, n}
			if r := Fewest(ctx, one, q.Setup.Cluster.Node(), nil); len(r.Best) > 0 {
				return r.Best[0].Setup.GPUs
			}
			return n
		}
		if ctx.Err() != nil {
			return 0
		}
		last = n
	}
	return 0
}
