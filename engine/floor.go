package engine

import (
	"slices"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// Floor is what an evaluation cannot undercut: the shortest step and the least
// memory of the fullest rank (overhead included) that a setup can have, found
// without ordering or simulating the pipeline. A search ranks by it before it
// evaluates; tests hold it under Evaluate and bound how far it falls short.
type Floor struct {
	Step units.Seconds
	Peak units.Bytes
}

// Floors bounds many setups that differ in little. Lay takes a setup to pieces,
// Shard takes another ZeRO stage of the same, Of gives the floor under one of
// the schedules with the placement that was laid out. It reuses memory and is
// not for use by several goroutines at once.
type Floors struct {
	e     Evaluator // its setup, inputs, stages, costs, data and timing
	stack memory.Stack
	infos map[schedule.Kind]schedule.Info
	hosts schedule.Order // without operations: who has which stages

	kind   []int          // by stage: its kind, index into the three below
	kinds  []layout.Stage // stages that differ
	cost   []step.Cost    // of each kind
	live   []memory.Live  // of each kind
	teams  []team         // ranks that differ in more than their place
	chunks []int          // of all teams: the kind of each chunk
	teamOf []int          // by rank
	hop    units.Seconds  // of a message to the next stage
	path   path
	zero   int // the ZeRO stage that path is of; -1: none yet

	model    model.Model // that Judge has found sound, or not
	cluster  hardware.Cluster
	sound    bool
	problems []Problem
}

// team are the ranks that hold equal stages.
type team struct {
	low, high int // the first and the last of them
	chunks    []int
	layers    int
	params    memory.Parameters
	sharded
}

// sharded is what the ZeRO stage decides about a team.
type sharded struct {
	data      step.DataParallel
	optimizer units.Seconds
	static    units.Bytes // weights, gradients, optimizer and buffers
	update    units.Bytes // temporaries of the update

	// What nothing hides of the data-parallel traffic, whatever the rank waits
	// for, and where it does not wait at all.
	scatter, gather         units.Seconds
	scatterBusy, gatherBusy units.Seconds
}

// Lay takes a setup to pieces whose layout has been found legal. It is false
// where its layers cannot be laid out.
func (f *Floors) Lay(given *Setup) bool {
	e := &f.e
	e.setup = *given
	s := &e.setup
	var err error
	if e.stages, err = s.partition(e.stages); err != nil {
		return false
	}
	f.stack, _ = memory.For(s.Stack)
	f.hosts.Spec, f.hosts.Placement = s.Spec(), f.info(s.Schedule).Placement
	e.inputs(s, &f.hosts)
	f.classify(s)
	in := e.timInput
	in.Stages = f.kinds
	f.cost = step.Stages(&in, f.cost[:0])
	e.cost = e.cost[:0]
	for _, k := range f.kind {
		e.cost = append(e.cost, f.cost[k])
	}
	_, f.hop = step.HandOver(&in)
	f.gather()
	f.zero = -1
	return true
}

func (f *Floors) info(k schedule.Kind) schedule.Info {
	if f.infos == nil {
		f.infos = make(map[schedule.Kind]schedule.Info)
		for _, i := range schedule.Kinds() {
			f.infos[i.Kind] = i
		}
	}
	return f.infos[k]
}

// classify finds the stages that are equal. Where the layers that a rank
// recomputes do not divide over its chunks, equal stages recompute different
// numbers of them.
func (f *Floors) classify(s *Setup) {
	uneven := s.Recompute.Layers%s.VPP != 0
	f.kind, f.kinds, f.live = f.kind[:0], f.kinds[:0], f.live[:0]
	for n, st := range f.e.stages {
		k := -1
		if !uneven {
			k = slices.Index(f.kinds, st)
		}
		if k < 0 {
			k = len(f.kinds)
			f.kinds = append(f.kinds, st)
			f.live = append(f.live, f.stack.Stage(&f.e.memInput, n))
		}
		f.kind = append(f.kind, k)
	}
}

// gather finds the ranks that hold equal stages and counts their parameters.
func (f *Floors) gather() {
	cut := f.stack.Cut(&f.e.memInput)
	chunks, ranks := f.hosts.Chunks(), f.hosts.Spec.Ranks
	f.teams, f.teamOf, f.chunks = f.teams[:0], f.teamOf[:0], slices.Grow(f.chunks[:0], ranks*chunks)
	for r := range ranks {
		n := f.team(r)
		f.teamOf = append(f.teamOf, n)
		if n < len(f.teams) {
			f.teams[n].high = r
			continue
		}
		t := team{low: r, high: r, params: memory.CountRank(&f.e.memInput, r, cut)}
		from := len(f.chunks)
		for c := range chunks {
			stage := f.hosts.StageOf(r, c)
			f.chunks = append(f.chunks, f.kind[stage])
			t.layers += f.e.stages[stage].Layers()
		}
		t.chunks = f.chunks[from:]
		f.teams = append(f.teams, t)
	}
}

// team is the one whose stages a rank holds; the number of teams where none does.
func (f *Floors) team(rank int) int {
	for n := len(f.teams) - 1; n >= 0; n-- {
		same := true
		for c, k := range f.teams[n].chunks {
			same = same && k == f.kind[f.hosts.StageOf(rank, c)]
		}
		if same {
			return n
		}
	}
	return len(f.teams)
}

// Shard takes a ZeRO stage of the setup that was laid out. It is false where
// nothing of it differs from the stage before: evaluations do not either.
func (f *Floors) Shard(zero int) (differs bool) {
	e := &f.e
	e.setup.ZeRO = zero
	in, mem := &e.timInput, &e.memInput
	shard := f.stack.Shard(mem)
	for n := range f.teams {
		t := &f.teams[n]
		before := t.sharded
		t.data = step.Data(in, t.params, t.layers)
		if f.hosts.Placement == schedule.Bidirectional {
			t.data.AddMirror(in, t.params)
		}
		t.expose(f.cost, units.Seconds(in.Machine.Software.DP), units.Seconds(in.Machine.Software.Gather))
		t.optimizer = step.OptimizerTime(in, t.params)
		t.static = shard.Bytes(t.params, e.setup.Offload) + f.stack.Buffers(mem, t.low, t.params)
		t.update = f.stack.Update(mem, t.params)
		differs = differs || t.sharded != before
	}
	// Up to stage 1 nothing travels in every micro-batch.
	if f.zero < 0 || max(f.zero, zero) > 1 {
		e.data = e.data[:0]
		for _, n := range f.teamOf {
			e.data = append(e.data, f.teams[n].data)
		}
		e.timing.set(e, &e.setup, &f.hosts, f.hop)
		f.path.lay(&f.hosts, &e.timing, float64(e.wait(f.hop)))
	}
	f.zero = zero
	return differs
}

// expose is the rule of Evaluator.exposedData where a rank waits for ever, and
// where it does not wait.
func (t *team) expose(cost []step.Cost, scatterShare, gatherShare units.Seconds) {
	var forward, backward units.Seconds
	for _, k := range t.chunks {
		forward += cost[k].Forward
		backward += cost[k].InputGrad + cost[k].WeightGrad
	}
	t.scatter = t.data.ScatterSeconds * scatterShare
	t.gather = t.data.GatherSeconds * gatherShare
	t.scatterBusy = max(t.scatter, t.data.ScatterSeconds-backward)
	t.gatherBusy = max(t.gather, t.data.GatherSeconds-forward)
}

// Of is the floor under a schedule, given by its spec: ranks, chunks and
// placement are those that were laid out.
func (f *Floors) Of(spec schedule.Spec) Floor {
	// Sums are made in another order than those of an evaluation.
	const rounding = 1 - 1e-9
	info := f.info(spec.Kind)
	t := units.Seconds(f.period(spec, info)) + f.exposed(info) + f.optimizer()
	return Floor{Step: t * rounding, Peak: f.peak(spec, info) * rounding}
}

func (f *Floors) optimizer() (most units.Seconds) {
	for n := range f.teams {
		most = max(most, f.teams[n].optimizer)
	}
	return most
}

// exposed is the data-parallel traffic that nothing hides. Rank 0 starts the
// pipeline; where backwards are whole it also ends it, because the gradient of
// every micro-batch arrives there last, so it waits at neither end. Where they
// are split a step is the longest span of a rank: that one does not wait, but it
// can be any.
func (f *Floors) exposed(info schedule.Info) units.Seconds {
	first := &f.teams[f.teamOf[0]]
	longest := first.scatterBusy + first.gatherBusy // of whoever does not wait
	var most units.Seconds
	for n := range f.teams {
		t := &f.teams[n]
		most = max(most, t.scatter+t.gather)
		if info.SplitsBackward {
			longest = min(longest, t.scatterBusy+t.gatherBusy)
		}
	}
	return max(most, longest)
}

// peak is the least of the fullest rank.
func (f *Floors) peak(spec schedule.Spec, info schedule.Info) units.Bytes {
	var most units.Bytes
	exact := len(f.teams[0].chunks) == 1 && !info.SplitsBackward
	for n := range f.teams {
		t := &f.teams[n]
		for _, r := range [2]int{t.low, t.high} {
			most = max(most, t.static+max(f.passing(t, spec.Warmup(r), exact), t.update))
		}
	}
	return most + f.e.memInput.Overhead(most).Sum()
}

// passing is what micro-batches need on a rank at the least; exactly that where
// the rank has one chunk and whole backwards, so that the warmup is the peak.
func (f *Floors) passing(t *team, w schedule.Warmup, exact bool) units.Bytes {
	first := &f.live[t.chunks[0]]
	if exact {
		return units.Bytes(w.Least)*first.Activations + first.Logits + max(first.Forward, first.Backward)
	}
	least, beside, kept := first.Activations, first.Logits+first.Forward, first.WeightInputs
	var one units.Bytes // a single micro-batch on the chunk where it needs most
	for _, k := range t.chunks {
		l := &f.live[k]
		least, beside = min(least, l.Activations), min(beside, l.Logits+l.Forward)
		kept = min(kept, l.WeightInputs)
		one = max(one, l.Activations+l.Logits+max(l.Forward, l.Backward))
	}
	// Of those alive at most so many wait for their input gradient.
	whole := 0
	if least < kept {
		whole = min(w.Most, w.Alive)
	}
	waiting := units.Bytes(whole)*least + units.Bytes(w.Alive-whole)*kept
	return max(units.Bytes(w.Least)*least+beside, waiting, one)
}
