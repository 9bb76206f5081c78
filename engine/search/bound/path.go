package bound

import (
	"meshscope/engine/hardware"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// stageTimes is how long a stage keeps its rank busy with one micro-batch: of timing
// what a bound needs.
type stageTimes struct {
	f, b, i, w float64
	left       [2]units.Seconds // of the last backward, see rankClass
	// expert traffic contained in f and in b (or i), which an overlapped pair hides
	up, down float64
}

// timesOf returns those of a stage whose rank has so many chunks.
func timesOf(k *step.Cost, d *step.DataParallel, chunks int, soft *hardware.Software) stageTimes {
	z := d.PerMicroBatch(k, chunks, soft)
	return stageTimes{
		f: float64(k.ForwardTime() + z.Forward), b: float64(k.BackwardTime() + z.Backward),
		i: float64(k.InputGradTime() + z.Input), w: float64(k.WeightGradTime() + z.Weight),
		up: float64(k.HideableExpertForward), down: float64(k.HideableExpertBackward),
		left: [2]units.Seconds{
			d.LastBackwardBudget(k, chunks, &z, false),
			d.LastBackwardBudget(k, chunks, &z, true),
		},
	}
}

// time computes the times of all stages, and the way of the first micro-batch
// through them, where they are not those of the setup so far.
func (f *Bounder) time() {
	f.pay(f.zero)
	if f.timed {
		return
	}
	f.timed, f.paced = true, false
	c := &f.partition
	if !f.pass.costed {
		f.cost()
	}
	p := f.parts.of(&f.tim)
	for n := range c.stageClasses {
		k := &c.stageClasses[n]
		k.cost = k.once
		p.Recompute(&k.cost, k.stage, &k.layers)
	}
	soft := &f.tim.Machine.Software
	c.times = resize(c.times, len(c.chunks))
	for n := range c.rankClasses {
		t := &c.rankClasses[n]
		t.left = [2]units.Seconds{}
		for i, k := range t.chunks {
			s := timesOf(&c.stageClasses[k].cost, &t.sharded[f.zero].paid.data, len(t.chunks), soft)
			c.times[t.from+i] = s
			t.left[wholePass] += s.left[wholePass]
			t.left[splitPass] += s.left[splitPass]
		}
	}
	f.times = resize(f.times, len(f.layers))
	for r, n := range c.classOfRank {
		from := c.rankClasses[n].from
		for i, stage := range f.stages(r) {
			f.times[stage] = c.times[from+i]
		}
	}
	if soft.Blocking {
		f.block()
	}
	f.path.accumulate(f.times, c.crosses, float64(f.tim.Latency(f.pass.hop)))
}

// block adds the waiting for messages, as timing does.
func (f *Bounder) block() {
	hop := float64(f.pass.hop)
	for stage := 1; stage < len(f.times); stage++ {
		if f.partition.crosses[stage] {
			f.times[stage-1].f += hop
			f.times[stage].b += hop
			f.times[stage].i += hop
		}
	}
}

// path is how long the first micro-batch takes through the stages, hops
// included: nothing reaches a stage sooner.
type path struct {
	forward []float64   // from the start of the step to a stage's forward; one more: to its end
	hop     float64     // from a rank to the next
	back    [2]backward // of whole backwards, and of input gradients
}

// backward is the way down.
type backward struct {
	reach []float64 // from the end of the last forward to the start of a stage's backward
	rest  []float64 // from the end of a stage's backward to the end of the first stage's
}

// backward returns the way down of a schedule's gradients.
func (p *path) backward(info *schedule.Info) *backward {
	if info.SplitsBackward {
		return &p.back[1]
	}
	return &p.back[0]
}

// accumulate adds up the stages' times, and a hop before each stage that another rank hands
// over to.
func (p *path) accumulate(times []stageTimes, crosses []bool, hop float64) {
	n := len(times)
	p.hop = hop
	p.forward = resize(p.forward, n+1)
	whole, input := &p.back[0], &p.back[1]
	whole.rest, input.rest = resize(whole.rest, n), resize(input.rest, n)
	whole.reach, input.reach = resize(whole.reach, n), resize(input.reach, n)
	var up, downB, downI float64
	for stage := range times {
		t := &times[stage]
		if crosses[stage] {
			up += hop
			downB += hop
			downI += hop
		}
		p.forward[stage], whole.rest[stage], input.rest[stage] = up, downB, downI
		up += t.f
		downB += t.b
		downI += t.i
	}
	p.forward[n] = up
	downB, downI = 0, 0
	for stage := n - 1; stage >= 0; stage-- {
		t := &times[stage]
		whole.reach[stage], input.reach[stage] = downB, downI
		if crosses[stage] {
			downB += t.b + hop
			downI += t.i + hop
		} else {
			downB += t.b
			downI += t.i
		}
	}
}

// stages returns those of a rank, by chunk.
func (f *Bounder) stages(rank int) []int {
	chunks := f.hosts.Chunks()
	return f.partition.stageOf[rank*chunks : (rank+1)*chunks]
}
