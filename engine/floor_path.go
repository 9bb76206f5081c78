package engine

import "meshscope/engine/schedule"

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

// lay adds up the stages' times.
func (p *path) lay(hosts *schedule.Order, t *timing, p2p float64) {
	n := len(t.f)
	hop := func(stage int) float64 { // from the stage before
		ranks := hosts.Spec.Ranks
		if stage == 0 || hosts.Placement.Host(ranks, stage, 0) == hosts.Placement.Host(ranks, stage-1, 0) {
			return 0
		}
		return p2p
	}
	p.forward = resize(p.forward, n+1)
	at := 0.0
	for stage := range n {
		at += hop(stage)
		p.forward[stage] = at
		at += t.f[stage]
	}
	p.forward[n] = at
	for k, times := range [2][]float64{t.b, t.i} {
		b := &p.back[k]
		b.reach, b.rest = resize(b.reach, n), resize(b.rest, n)
		down := 0.0
		for stage := n - 1; stage >= 0; stage-- {
			b.reach[stage] = down
			down += times[stage] + hop(stage)
		}
		down = 0
		for stage := range n {
			down += hop(stage)
			b.rest[stage] = down
			down += times[stage]
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
func (f *Floors) period(spec schedule.Spec, info schedule.Info) float64 {
	longest := 0.0
	for n := range f.teams {
		t := &f.teams[n]
		longest = max(longest, f.rank(t.low, f.work(t, t.low, spec, info), spec, info))
		if t.high != t.low { // where a V turns round less is waited for
			longest = max(longest, f.rank(t.high, f.work(t, t.high, spec, info), spec, info))
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

func (f *Floors) work(t *team, rank int, spec schedule.Spec, info schedule.Info) work {
	times := &f.e.timing
	var w work
	m := float64(spec.MicroBatches)
	if info.Placement == schedule.Bidirectional {
		m /= 2 // of each direction
	}
	for c := range t.chunks {
		stage := f.hosts.StageOf(rank, c)
		w.forward += m * times.f[stage]
		w.longest = max(w.longest, times.f[stage])
		switch {
		case info.SplitsBackward && !info.Pairs:
			w.backward += m * (times.i[stage] + times.w[stage])
		default: // schedules with pairs run some backwards whole, which is no longer
			w.backward += m * times.b[stage]
		}
		if info.Pairs {
			w.saved += m * (times.expertForward[stage] + times.expertBackward[stage])
		}
	}
	return w
}

func (f *Floors) rank(r int, w work, spec schedule.Spec, info schedule.Info) float64 {
	back := &f.path.back[0]
	if info.SplitsBackward {
		back = &f.path.back[1]
	}
	stage := f.hosts.StageOf(r, 0)
	first, reach, rest := f.path.forward[stage], back.reach[stage], back.rest[stage]
	for c := 1; c < f.hosts.Chunks(); c++ {
		stage = f.hosts.StageOf(r, c)
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
