package engine

import (
	"meshscope/engine/hardware"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
)

// stageTimes is how long a stage keeps its rank busy with one micro-batch: of timing
// what a bound needs.
type stageTimes struct {
	f, b, i, w float64
	traffic    float64 // of experts, contained in f and b (or i), which an overlapped pair hides
}

// timesOf are those of a stage whose rank has so many chunks.
func timesOf(k *step.Cost, d *step.DataParallel, chunks int, soft *hardware.Software) stageTimes {
	z := sendsOf(d, k, chunks, soft)
	return stageTimes{
		f: float64(k.ForwardTime() + z.forward), b: float64(k.BackwardTime() + z.backward),
		i: float64(k.InputGradTime() + z.input), w: float64(k.WeightGradTime() + z.weight),
		traffic: float64(k.ForwardLinks.EP.Exposed) + float64(k.BackwardLinks.EP.Exposed),
	}
}

// time works out the times of all stages, and the way of the first micro-batch
// through them, where they are not those of the setup so far.
func (f *Floors) time() {
	if f.timed {
		return
	}
	f.timed = true
	e, c := &f.e, &f.cut
	if !f.pass.costed {
		f.cost()
	}
	p := f.parts.of(&e.timInput)
	for n := range c.kinds {
		k := &c.kinds[n]
		k.cost = k.once
		p.Again(&k.cost, k.stage, k.layers)
	}
	soft := &e.timInput.Machine.Software
	c.times = resize(c.times, len(c.chunks))
	for n := range c.teams {
		t := &c.teams[n]
		for i, k := range t.chunks {
			c.times[t.from+i] = timesOf(&c.kinds[k].cost, &t.sharded[f.zero].data, len(t.chunks), soft)
		}
	}
	f.times = resize(f.times, len(e.stages))
	for r, n := range c.teamOf {
		from := c.teams[n].from
		for i, stage := range f.stages(r) {
			f.times[stage] = c.times[from+i]
		}
	}
	if soft.Blocking {
		f.block()
	}
	f.path.lay(f.times, c.crosses, float64(e.wait(f.pass.hop)))
}

// block adds the waiting for messages, as timing does.
func (f *Floors) block() {
	hop := float64(f.pass.hop)
	for stage := 1; stage < len(f.times); stage++ {
		if f.cut.crosses[stage] {
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
	back    [2]backward // of whole backwards, and of input gradients
}

// backward is the way down.
type backward struct {
	reach []float64 // from the end of the last forward to the start of a stage's backward
	rest  []float64 // from the end of a stage's backward to the end of the first stage's
}

// lay adds up the stages' times, and a hop before each stage that another rank hands
// over to.
func (p *path) lay(times []stageTimes, crosses []bool, hop float64) {
	n := len(times)
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

// period is a bound from below of what the pipeline adds to a step; see the
// function of the same name for what that is.
//
// A rank is busy for all its work after the first micro-batch has reached it.
// It can do no backward before the first gradient comes back, and only so many
// forwards (schedule.Warmup) until then: the rest of its work comes after.
// Where backwards are whole, the last gradient then goes down to the first
// stage; where they are split, a step is as long as the longest rank's span.
func (f *Floors) period(spec *schedule.Spec, info *schedule.Info) float64 {
	longest := 0.0
	for n := range f.cut.teams {
		t := &f.cut.teams[n]
		longest = max(longest, f.rank(t.low, f.work(t.low, spec, info), spec, info))
		if t.high != t.low { // where a V turns round less is waited for
			longest = max(longest, f.rank(t.high, f.work(t.high, spec, info), spec, info))
		}
	}
	return longest
}

// work is what one rank does in a step.
type work struct {
	forward, backward float64 // in all
	longest           float64 // forward of one micro-batch on one chunk
	saved             float64 // what overlapped pairs can hide at most
}

func (f *Floors) work(rank int, spec *schedule.Spec, info *schedule.Info) work {
	var w work
	m := float64(spec.MicroBatches)
	if info.Placement == schedule.Bidirectional {
		m /= 2 // of each direction
	}
	for _, stage := range f.stages(rank) {
		times := &f.times[stage]
		w.forward += m * times.f
		w.longest = max(w.longest, times.f)
		switch {
		case info.SplitsBackward && !info.Pairs:
			w.backward += m * (times.i + times.w)
		default: // schedules with pairs run some backwards whole, which is no longer
			w.backward += m * times.b
		}
		if info.Pairs {
			w.saved += m * times.traffic
		}
	}
	return w
}

// stages are those of a rank.
func (f *Floors) stages(rank int) []int {
	chunks := f.hosts.Chunks()
	return f.cut.stageOf[rank*chunks : (rank+1)*chunks]
}

func (f *Floors) rank(r int, w work, spec *schedule.Spec, info *schedule.Info) float64 {
	back := &f.path.back[0]
	if info.SplitsBackward {
		back = &f.path.back[1]
	}
	stages := f.stages(r)
	stage := stages[0]
	first, reach, rest := f.path.forward[stage], back.reach[stage], back.rest[stage]
	for _, stage := range stages[1:] {
		first = min(first, f.path.forward[stage])
		reach = min(reach, back.reach[stage])
		rest = min(rest, back.rest[stage])
	}
	ahead := min(w.forward, float64(spec.Warmup(r).Most)*w.longest)
	gradient := f.path.forward[len(f.path.forward)-1] + reach
	ends := max(first+w.forward, gradient+w.forward-ahead) + w.backward - w.saved
	if info.SplitsBackward {
		return ends - first
	}
	return ends + rest
}
