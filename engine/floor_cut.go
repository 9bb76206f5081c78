package engine

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// zeroStages is how many ZeRO stages there are.
const zeroStages = 4

// cut is which layers stand on which rank.
type cut struct {
	uneven  bool // equal stages may run different numbers of layers again
	kinds   []kindOfStage
	kindOf  []int  // by stage
	stageOf []int  // by rank and chunk: rank*chunks + chunk
	crosses []bool // by stage: whether it gets its input from another rank

	teams  []team       // ranks that differ in more than their place
	teamOf []int        // by rank
	chunks []int        // of all teams: the kind of each chunk
	times  []stageTimes // the same for their times

	shared   [zeroStages]bool // what ZeRO decides about the teams has been worked out
	buffered [zeroStages]bool // the same for what depends on the micro-batch too
}

// kindOfStage is what stages with equal layers have in common.
type kindOfStage struct {
	layers layout.Stage
	chunk  int // of its rank; 0 unless the cut is uneven
	stage  int // the first one of this kind

	live memory.Live
	once step.Cost // of a micro-batch, nothing run again, before the stack's factor
	cost step.Cost // in all
}

// team are the ranks that hold equal stages.
type team struct {
	low, high int   // the first and the last of them
	chunks    []int // kinds of the stages
	from      int   // where those start in the list of all teams
	layers    int
	params    memory.Parameters
	sharded   [zeroStages]sharded

	forward, backward units.Seconds // computing of one micro-batch, nothing run again

	// Of a micro-batch on the chunk where each is least: what it keeps until its
	// input gradient, from then on, and what a forward needs beside.
	kept, waiting, beside units.Bytes
	one                   units.Bytes // a single micro-batch on the chunk where it needs most
	first                 *memory.Live
}

// sharded is what the ZeRO stage decides about a team.
type sharded struct {
	data      step.DataParallel
	optimizer units.Seconds
	states    units.Bytes // weights, gradients and optimizer
	buffers   units.Bytes
	update    units.Bytes // temporaries of the update
}

// lay finds the stages that are equal, and the ranks that hold equal stages. Where
// the layers that a rank recomputes do not divide over its chunks, equal stages
// recompute different numbers of them.
func (f *Floors) lay(uneven bool) {
	c := &f.cut
	c.uneven = uneven
	c.kinds, c.kindOf, c.crosses = c.kinds[:0], c.kindOf[:0], c.crosses[:0]
	ranks := f.hosts.Spec.Ranks
	before := -1 // who hosts the stage before
	for n, st := range f.e.stages {
		chunk := 0
		if uneven {
			chunk = n / ranks
		}
		c.kindOf = append(c.kindOf, c.kind(n, st, chunk))
		host := f.hosts.Placement.Host(ranks, n, 0)
		c.crosses = append(c.crosses, n > 0 && host != before)
		before = host
	}
	f.gather()
	c.shared = [zeroStages]bool{}
	c.buffered = [zeroStages]bool{}
}

// kind is the number of a stage's kind.
func (c *cut) kind(n int, st layout.Stage, chunk int) int {
	for k := len(c.kinds) - 1; k >= 0; k-- {
		if c.kinds[k].layers == st && c.kinds[k].chunk == chunk {
			return k
		}
	}
	c.kinds = extend(c.kinds)
	k := &c.kinds[len(c.kinds)-1]
	k.layers, k.chunk, k.stage = st, chunk, n
	return len(c.kinds) - 1
}

// extend makes a list longer by one element, whose memory may have been used.
func extend[T any](list []T) []T {
	if len(list) < cap(list) {
		return list[:len(list)+1]
	}
	var zero T
	return append(list, zero)
}

// gather finds the ranks that hold equal stages and counts their parameters.
func (f *Floors) gather() {
	c := &f.cut
	params := f.stack.Cut(&f.e.memInput)
	chunks, ranks := f.hosts.Chunks(), f.hosts.Spec.Ranks
	c.stageOf, c.teams, c.teamOf = c.stageOf[:0], c.teams[:0], c.teamOf[:0]
	c.chunks = resize(c.chunks, ranks*chunks)[:0] // teams point into it
	for r := range ranks {
		for n := range chunks {
			c.stageOf = append(c.stageOf, f.hosts.StageOf(r, n))
		}
		held := c.stageOf[r*chunks:]
		n := c.team(held)
		c.teamOf = append(c.teamOf, n)
		if n < len(c.teams) {
			c.teams[n].high = r
			continue
		}
		c.teams = extend(c.teams)
		t := &c.teams[n]
		t.low, t.high, t.layers = r, r, 0
		t.params = memory.CountRank(&f.e.memInput, r, params)
		t.from = len(c.chunks)
		for _, stage := range held {
			c.chunks = append(c.chunks, c.kindOf[stage])
			t.layers += f.e.stages[stage].Layers()
		}
		t.chunks = c.chunks[t.from:]
	}
}

// team is the one that holds such stages; the number of teams where none does.
func (c *cut) team(stages []int) int {
next:
	for n := len(c.teams) - 1; n >= 0; n-- {
		for i, k := range c.teams[n].chunks {
			if k != c.kindOf[stages[i]] {
				continue next
			}
		}
		return n
	}
	return len(c.teams)
}

// share works out what a ZeRO stage decides about the teams.
func (f *Floors) share(zero int) {
	e, c := &f.e, &f.cut
	e.setup.ZeRO = zero
	in, mem := &e.timInput, &e.memInput
	if !c.shared[zero] {
		c.shared[zero] = true
		shard := f.stack.Shard(mem)
		for n := range c.teams {
			t := &c.teams[n]
			s := &t.sharded[zero]
			s.data = step.Data(in, t.params, t.layers)
			if f.hosts.Placement == schedule.Bidirectional {
				s.data.AddMirror(in, t.params)
			}
			s.optimizer = step.OptimizerTime(in, t.params)
			s.states = shard.Bytes(t.params, e.setup.Offload)
			s.update = f.stack.Update(mem, t.params)
		}
	}
	if !c.buffered[zero] {
		c.buffered[zero] = true
		for n := range c.teams {
			t := &c.teams[n]
			t.sharded[zero].buffers = f.stack.Buffers(mem, t.low, t.params)
		}
	}
}

// exposed is the rule of Evaluator.exposedData: what nothing hides of the
// data-parallel traffic where a rank waits for ever, and where it does not wait.
func (t *team) exposed(zero int, soft *hardware.Software) (waiting, busy units.Seconds) {
	d := &t.sharded[zero].data
	scatter := d.ScatterSeconds * units.Seconds(soft.DP)
	gather := d.GatherSeconds * units.Seconds(soft.Gather)
	return scatter + gather, max(scatter, d.ScatterSeconds-t.backward) + max(gather, d.GatherSeconds-t.forward)
}

// passes is what micro-batches on the team's chunks need.
func (t *team) passes(kinds []kindOfStage) {
	l := &kinds[t.chunks[0]].live
	t.first = l
	t.kept, t.beside, t.waiting = l.Activations, l.Logits+l.Forward, l.WeightInputs
	t.one = 0
	for _, k := range t.chunks {
		l := &kinds[k].live
		t.kept, t.beside = min(t.kept, l.Activations), min(t.beside, l.Logits+l.Forward)
		t.waiting = min(t.waiting, l.WeightInputs)
		t.one = max(t.one, l.Activations+l.Logits+max(l.Forward, l.Backward))
	}
}

// passing is what micro-batches need on a rank at the least; exactly that where
// the rank has one chunk and whole backwards, so that the warmup is the peak.
func (t *team) passing(w schedule.Warmup, exact bool) units.Bytes {
	if exact {
		return units.Bytes(w.Least)*t.first.Activations + t.first.Logits + max(t.first.Forward, t.first.Backward)
	}
	// Of those alive at most so many wait for their input gradient.
	whole := 0
	if t.kept < t.waiting {
		whole = min(w.Most, w.Alive)
	}
	waiting := units.Bytes(whole)*t.kept + units.Bytes(w.Alive-whole)*t.waiting
	return max(units.Bytes(w.Least)*t.kept+t.beside, waiting, t.one)
}
