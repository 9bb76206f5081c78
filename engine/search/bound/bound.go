// Package bound computes lower bounds of step time and memory without ordering or
// simulating the pipeline: about a microsecond a layout. A search ranks by them and
// evaluates only what they do not exclude.
package bound

import (
	"math"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// Bound is a lower bound of an evaluation: the shortest step and the least
// memory of the fullest rank (overhead included) that a setup can have, found
// without ordering or simulating the pipeline. A search ranks by it before it
// evaluates; tests hold it under Evaluate and bound how far it falls short.
type Bound struct {
	Step units.Seconds
	Peak units.Bytes
}

// Bounder computes lower bounds of many setups that differ in little, and computes
// once what they share. Method Bound is the bound of one setup. A caller that walks
// through many calls the methods in this order and goes back only as far as something
// is new:
//
//	SetModel       model, cluster, number formats, software
//	SetDegrees     degrees, batch and sequence: who talks to whom
//	SetStages      stages, their layers and placement: parameters, traffic
//	SetMicroBatch  micro-batch and sequence parallelism: one pass through every stage
//	SetRecompute   recomputation
//	SetZeRO        the ZeRO stage
//	Peak        memory under one of the schedules with that placement
//	Step        time under it
//	PeakInTime  memory, with what the time says of it
//
// What takes long is computed when it is first needed: of most layouts the memory
// alone says that they do not fit. A Bounder reuses memory and is not safe for use by
// several goroutines at once.
type Bounder struct {
	setup  engine.Setup
	mem    memory.Input
	tim    step.Input
	layers []layout.Stage // what each stage holds

	stack        memory.Stack
	everyZeRO    bool           // each ZeRO stage is a ledger of its own, though the floors are alike
	blocking     bool           // stages wait for messages where they are interleaved
	hosts        schedule.Order // without operations: who has which stages
	stageClasses map[schedule.Kind]*schedule.Info

	parts     parts
	partition partition
	other     partition // of the same stages, for SetRecompute to take back; laid says whether it is
	laid      bool
	pass      pass
	zero      int          // the ZeRO stage; -1: none yet
	held      bool         // what micro-batches hold is that of the setup so far
	timed     bool         // the times of stages are those of the setup so far
	times     []stageTimes // by stage
	path      path
	ends      []rankEnds // of Step
	free      []float64  // of breadthFirst

	paced bool // ahead knows the times
	costs schedule.Costs
	ahead schedule.Ahead

	program *model.Program

	Checker knob.Checker // of the legality of layouts
}

// SetModel takes what no layout changes: everything but layout, schedule and recomputation is
// that of this setup until the next SetModel.
func (f *Bounder) SetModel(s *engine.Setup) {
	f.setup = *s
	f.stack, _ = memory.For(s.Stack)
	f.program = f.program.For(&s.Model, nil)
	engine.Inputs(&f.setup, f.program, nil, &f.mem, &f.tim)
	f.mem.Floor = true
	f.everyZeRO = s.Stack.Traits().Ledger
	f.blocking = f.tim.Machine.Software.Blocking
	f.mem.Order = &f.hosts
}

// Bound returns the lower bound of one setup that has been found legal. It is false where its
// layers cannot be laid out.
func (f *Bounder) Bound(s *engine.Setup) (Bound, bool) {
	info := f.info(s.Schedule)
	f.SetModel(s)
	f.SetDegrees(&s.Layout)
	if !f.SetStages(&s.Layout, info.Placement) {
		return Bound{}, false
	}
	f.SetMicroBatch(&s.Layout)
	f.SetRecompute(s.Recompute)
	f.SetZeRO(s.ZeRO)
	spec := s.Spec()
	return Bound{Step: f.Step(&spec, info), Peak: max(f.Peak(&spec, info), f.PeakInTime(&spec, info))}, true
}

func (f *Bounder) info(k schedule.Kind) *schedule.Info {
	if f.stageClasses == nil {
		f.stageClasses = make(map[schedule.Kind]*schedule.Info)
		for _, i := range schedule.Kinds() {
			f.stageClasses[i.Kind] = &i
		}
	}
	return f.stageClasses[k]
}

// SetDegrees takes degrees, global batch and sequence.
func (f *Bounder) SetDegrees(l *layout.Layout) {
	f.mem.Forget()
	s := &f.setup
	s.Layout = *l
	f.tim.Groups = l.Groups(&s.Cluster)
	f.parts.forget()
}

// SetStages takes stages per rank and split, which say which layers stand on which rank. It is
// false where the layers cannot be laid out.
func (f *Bounder) SetStages(l *layout.Layout, placement schedule.Placement) bool {
	s := &f.setup
	s.VPP, s.Split = l.VPP, l.Split
	var err error
	if f.layers, err = s.StagesOfStack(f.program, f.layers); err != nil {
		return false
	}
	// Only what the placement needs: the schedules that share it differ in the rest.
	f.hosts.Spec = schedule.Spec{Ranks: s.PP, VirtualStages: l.VPP}
	f.hosts.Placement = placement
	f.mem.Stages, f.tim.Stages = f.layers, f.layers
	f.tim.Machine.Software.Blocking = f.blocking && s.Interleaves()
	f.laid = false
	f.classify(false, false)
	return true
}

// SetMicroBatch takes micro-batch, micro-batches and sequence parallelism.
func (f *Bounder) SetMicroBatch(l *layout.Layout) {
	f.mem.Forget()
	s := &f.setup
	s.MBS, s.MicroBatches, s.SP = l.MBS, l.MicroBatches, l.SP
	f.tim.Known = memory.Times(&f.mem, f.stack)
	f.pass.costed = false
	f.partition.buffered, f.other.buffered = [zeroStages]bool{}, [zeroStages]bool{}
}

// SetRecompute takes what runs again in the backward.
func (f *Bounder) SetRecompute(r recipe.Recompute) {
	f.mem.Forget()
	f.setup.Recompute, f.mem.Recompute, f.tim.Recompute = r, r, r
	uneven := r.Layers%f.setup.VPP != 0 || f.setup.OffloadLayers%f.setup.VPP != 0
	ordered := r.Layers != 0 || f.setup.OffloadLayers != 0
	if c := &f.partition; uneven != c.uneven || ordered != c.ordered && f.program.Period() > 1 {
		f.partition, f.other = f.other, f.partition
		if !f.laid || uneven != f.partition.uneven || ordered != f.partition.ordered {
			f.classify(uneven, ordered)
		}
		f.laid, f.pass.costed = true, false
	}
	f.zero, f.held, f.timed = -1, false, false
}

// hold computes what micro-batches hold on the classes of stages and of ranks, where it is
// not that of the setup so far.
func (f *Bounder) hold() {
	if f.held {
		return
	}
	f.held = true
	for n := range f.partition.stageClasses {
		f.partition.stageClasses[n].live = f.stack.Stage(&f.mem, f.partition.stageClasses[n].stage)
	}
	for n := range f.partition.rankClasses {
		f.partition.rankClasses[n].passes(f.partition.stageClasses,
			f.hosts.Placement == schedule.Bidirectional)
	}
}

// SetZeRO takes the ZeRO stage. It is false where nothing differs from the stage
// that was taken before, since SetRecompute: evaluations do not either.
func (f *Bounder) SetZeRO(zero int) (differs bool) {
	f.share(zero)
	differs = f.zero < 0 || f.everyZeRO
	for n := range f.partition.rankClasses {
		t := &f.partition.rankClasses[n]
		differs = differs || t.sharded[zero].held != t.sharded[f.zero].held
	}
	if !differs {
		f.pay(f.zero)
		f.pay(zero)
	}
	for n := range f.partition.rankClasses {
		t := &f.partition.rankClasses[n]
		differs = differs || t.sharded[zero].paid != t.sharded[f.zero].paid
	}
	// Up to stage 1 nothing travels in every micro-batch.
	if f.zero < 0 || max(f.zero, zero) > 1 {
		f.timed = false
	}
	f.zero = zero
	return differs
}

// Sums are made in another order than those of an evaluation.
const rounding = 1 - 1e-9

// Step returns the shortest step under a schedule, given by its spec: ranks, chunks and
// placement are those of SetStages.
func (f *Bounder) Step(spec *schedule.Spec, info *schedule.Info) units.Seconds {
	f.time()
	length := f.spans(spec, info)
	var most, optimizer units.Seconds
	for i := range f.ends {
		e := &f.ends[i]
		most = max(most, f.exposed(e, length, info.SplitsBackward))
		optimizer = max(optimizer, e.class.sharded[f.zero].paid.optimizer)
	}
	return (most + optimizer) * rounding
}

// exposed returns the step without the optimizer as one rank makes it, in a pipeline of so
// many seconds: with the exposed data-parallel traffic. The rule is that of
// Evaluator.exposedData, and what it gives grows with the length of the pipeline and
// with the rank's own end: bounds of both from below make one of the step.
func (f *Bounder) exposed(e *rankEnds, length float64, splits bool) units.Seconds {
	soft, t := &f.tim.Machine.Software, e.class
	d, backward := &t.sharded[f.zero].paid.data, t.left[wholePass]
	var before, after units.Seconds
	if between := units.Seconds(length - (e.last - e.first)); splits {
		backward = t.left[splitPass]
		after = min(between, max(0, d.ScatterSeconds-backward))
		before = between - after
	} else {
		before, after = units.Seconds(e.first), units.Seconds(length-e.last)
	}
	scatter := max(d.ScatterSeconds*units.Seconds(soft.DP), d.ScatterSeconds-backward-after)
	gather := max(d.GatherSeconds*units.Seconds(soft.Gather), d.GatherSeconds-t.forward-before)
	return units.Seconds(length) + scatter + gather
}

// Peak returns the least that the fullest rank needs under a schedule, given as for
// Step.
func (f *Bounder) Peak(spec *schedule.Spec, info *schedule.Info) units.Bytes {
	return f.PeakBetween(spec, info, 0, units.Bytes(math.Inf(1)))
}

// PeakBetween is Peak for a caller to whom all bounds up to low are alike, and all above high:
// it returns one that is on the same side of each, and works out no more than that takes.
func (f *Bounder) PeakBetween(spec *schedule.Spec, info *schedule.Info, low, high units.Bytes) units.Bytes {
	var most units.Bytes
	for n := range f.partition.rankClasses {
		held := &f.partition.rankClasses[n].sharded[f.zero].held
		most = max(most, held.states+held.buffers+held.update)
	}
	if most*rounding > high { // without a micro-batch
		return most * rounding
	}
	f.hold()
	for n := range f.partition.rankClasses {
		t := &f.partition.rankClasses[n]
		held := &t.sharded[f.zero].held
		static := held.states + held.buffers
		enough := func(least, greatest units.Bytes) bool {
			least, greatest = max(most, static+least), max(most, static+greatest)
			return least*rounding > high || (greatest+f.mem.Overhead(greatest).Sum())*rounding <= low
		}
		passing := t.passing(t.low, spec, info, f.partition.stageClasses, enough)
		if t.high != t.low {
			passing = max(passing, t.passing(t.high, spec, info, f.partition.stageClasses, enough))
		}
		if most = max(most, static+passing); most*rounding > high {
			break
		}
	}
	return (most + f.mem.Overhead(most).Sum()) * rounding
}

// PeakInTime returns a bound of the same that follows from how long stages take: closer for
// the automatic schedules of which schedule.Ahead knows the warmup, 0 for others.
func (f *Bounder) PeakInTime(spec *schedule.Spec, info *schedule.Info) units.Bytes {
	if !info.Automatic || info.Placement != schedule.Linear {
		return 0
	}
	f.hold()
	f.time()
	if !f.paced && !f.pace() {
		return 0
	}
	var most units.Bytes
	for r, n := range f.ahead.Forwards(*spec) {
		t := &f.partition.rankClasses[f.partition.classOfRank[r]]
		held := &t.sharded[f.zero].held
		most = max(most, held.states+held.buffers+units.Bytes(n)*t.early+t.beside)
	}
	return (most + f.mem.Overhead(most).Sum()) * rounding
}

// pace tells ahead the times; false where it does not take them.
func (f *Bounder) pace() bool {
	c := &f.costs
	c.F, c.I, c.W, c.Held, c.HeldForW = c.F[:0], c.I[:0], c.W[:0], c.Held[:0], c.HeldForW[:0]
	for stage, k := range f.partition.classOfStage {
		s, l := &f.times[stage], &f.partition.stageClasses[k].live
		c.F, c.I, c.W = append(c.F, s.f), append(c.I, s.i), append(c.W, s.w)
		c.Held, c.HeldForW = append(c.Held, float64(l.Activations)),
			append(c.HeldForW, float64(l.WeightInputs))
	}
	c.P2P = f.path.hop
	f.paced = f.ahead.Set(f.hosts.Spec.Ranks, c) == nil
	return f.paced
}

// cost is what a pass through a stage of each kind takes.
func (f *Bounder) cost() {
	p := f.parts.of(&f.tim)
	for n := range f.partition.stageClasses {
		k := &f.partition.stageClasses[n]
		k.once = p.Stage(&f.layers[k.stage])
	}
	factor := units.Seconds(f.tim.Machine.Software.Factor)
	for n := range f.partition.rankClasses {
		t := &f.partition.rankClasses[n]
		t.forward = 0
		for _, k := range t.chunks {
			t.forward += f.partition.stageClasses[k].once.ForwardOverlapBudget() * factor
		}
	}
	_, f.pass.hop = step.SendRecv(&f.tim)
	f.pass.costed = true
}

// pass is what a micro-batch takes, where it has been computed.
type pass struct {
	costed bool
	hop    units.Seconds // of a message to the next stage
}

// parts are the layers' costs of one plane, by micro-batch and SP.
type parts struct {
	keys []partsKey
	list []step.Parts
}

type partsKey struct {
	mbs int
	sp  bool
}

func (p *parts) forget() { p.keys = p.keys[:0] }

// of returns what the layers of the input cost.
func (p *parts) of(in *step.Input) *step.Parts {
	key := partsKey{in.Layout.MBS, in.Layout.SP}
	for i, k := range p.keys {
		if k == key {
			return &p.list[i]
		}
	}
	p.keys = append(p.keys, key)
	p.list = extend(p.list[:len(p.keys)-1])
	last := &p.list[len(p.keys)-1]
	last.Set(in)
	return last
}

// resize makes a list n long and keeps its memory where that is enough.
func resize[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n)
	}
	return list[:n]
}
