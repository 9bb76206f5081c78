package search

import (
	"slices"

	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/schedule"
)

// anyBatch returns the global batches that giving up the batch tries: some layout meets
// everything else at one of them, or none does at any. A layout of dp copies has
// dp x mbs x m sequences, where dp divides the GPUs. The fewest that a schedule can run
// on keep the least in memory: one micro-batch, a group of them, or as many or twice as
// many as there are pipeline ranks, and dp x pp divides the GPUs as well. The most,
// MaxMBS for each GPU, are the fastest: they matter to a deadline.
func (p *Problem) anyBatch() []int {
	out := slices.Clone(p.Batches())
	sizes, rounds := p.Space.MBS, p.Space.MicroBatches
	if len(sizes) == 0 {
		sizes = []int{1}
	}
	if len(rounds) == 0 {
		rounds = []int{1, 2}
		if g := p.Setup.GroupSize; g > 1 {
			rounds = append(rounds, g, 2*g)
		}
	}
	for _, gpus := range ends(or(p.Space.GPUs, p.Setup.GPUs)) {
		for _, mbs := range sizes {
			out = append(out, gpus*MaxMBS*mbs)
			for _, copies := range divisors(gpus) {
				for _, m := range rounds {
					out = append(out, copies*mbs*m)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(gbs int) bool { return gbs > layout.MaxGBS })
}

// ends returns the least and the most of a long list of numbers of GPUs.
func ends(list []int) []int {
	const most = 8 // of either end
	list = slices.Sorted(slices.Values(list))
	if len(list) <= 2*most {
		return list
	}
	return slices.Concat(list[:most], list[len(list)-most:])
}

// frees finds out which of the reasons is the only one of its kind: without it, and
// with everything else as asked, memory and time among it, there are layouts.
func (e *explainer) frees(c *Conflict, p *Problem) {
	all := p.constraints()
	for _, field := range c.Fields {
		keep := slices.DeleteFunc(slices.Clone(all), func(k constraint) bool { return k.field == field })
		switch e.excludes(p, all, keep) {
		case no:
			c.Frees = append(c.Frees, field)
		case unsure:
			c.Frees = nil
			return
		case yes:
		}
	}
	c.Tried = true
}

// helps finds what the search left out by itself and what would fit.
func (e *explainer) helps(c *Conflict, p *Problem) {
	try := func(name string, change func(*Problem)) {
		q := *p
		change(&q)
		if e.excludes(&q, nil, nil) == no {
			c.Helps = append(c.Helps, name)
		}
	}
	if len(p.Space.Schedules) == 0 {
		try("schedule all", func(q *Problem) {
			for _, k := range schedule.Kinds() {
				q.Space.Schedules = append(q.Space.Schedules, k.Kind)
			}
		})
	}
	for _, other := range p.Untried() {
		if other.ID == knob.Optimizer {
			continue // another one trains otherwise
		}
		for _, word := range other.Values {
			try(string(other.ID)+" "+word, func(q *Problem) {
				k, _ := knob.Find(other.ID)
				q.Setup, _ = k.Set(q.Setup, word) // as Untried has it
			})
		}
	}
}
