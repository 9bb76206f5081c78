package bound

import (
	"math"
	"slices"

	"meshscope/engine/schedule"
)

// rankEnds are bounds of when a rank starts and of when it is done. Every rank starts
// with the first micro-batch, on its first stage, which nothing delays: that is exact.
type rankEnds struct {
	class        *rankClass
	rank         int
	first, last  float64
	returned     float64 // the end of its last backward, or input gradient
	worked, late float64 // see rank
}

// spans bounds the ends of the ranks, and gives a bound of what the pipeline adds to a
// step (the function period says what that is). Of a class the first and the last rank
// mean all: where a V turns round less is waited for. Where every rank does all
// its forwards first, or one micro-batch at a time, both are exact, for all ranks.
func (f *Bounder) spans(spec *schedule.Spec, info *schedule.Info) (length float64) {
	f.ends = f.ends[:0]
	switch info.Length {
	case schedule.LengthOneByOne:
		return f.oneByOne(float64(spec.MicroBatches))
	case schedule.LengthBreadthFirst:
		return f.breadthFirst(float64(spec.MicroBatches))
	case schedule.LengthSimulated:
	}
	for n := range f.partition.rankClasses {
		t := &f.partition.rankClasses[n]
		f.rank(t.low, t, spec, info)
		if t.high != t.low {
			f.rank(t.high, t, spec, info)
		}
	}
	back := f.path.backward(info)
	if info.Placement != schedule.Bidirectional {
		f.follow(back, info)
	}
	for i := range f.ends {
		e := &f.ends[i]
		if stage := f.stages(e.rank)[0]; info.SplitsBackward {
			e.last = max(e.worked, e.returned+f.puts(stage, info))
			length = max(length, e.last-e.first)
		} else {
			e.last = e.returned
			length = max(length, e.last+back.rest[stage])
		}
	}
	return length
}

// rank bounds the ends of a rank by what is known of it alone.
//
// The chunks of a rank are stages in the order of the model. A forward cannot start
// before the first micro-batch has reached its stage, nor a backward (or input
// gradient) before the first gradient has come back to it, and when the last backward
// of a chunk ends, all forwards of the rank and all backwards of its later chunks have
// run: each micro-batch has passed them. So the rank's work adds up from the back:
//
//   - After the start of a chunk all forwards of it and of later chunks run, and before
//     the first gradient only so many of them all (schedule.Warmup).
//   - After the first gradient of a chunk all backwards of it run and those of earlier
//     chunks, and the one that was last in a chunk goes down to the chunk before.
//   - No more than Warmup.Most forwards wait for their backwards, each as long as the
//     micro-batch is away: see away.
//
// What is worked counts weight gradients in. Late is by how much the last micro-batch
// leaves the rank's last stage later than the first one could: before its forward
// all others run, and all backwards but the Most that may wait.
func (f *Bounder) rank(r int, t *rankClass, spec *schedule.Spec, info *schedule.Info) {
	stages, back := f.stages(r), f.path.backward(info)
	m, warmup := float64(spec.MicroBatches), info.Warmup(spec, r)
	if info.Placement == schedule.Bidirectional {
		f.bothWays(r, t, m/2, &warmup, info)
		return
	}
	e := rankEnds{class: t, rank: r, first: f.path.forward[stages[0]]}
	var forwards, longest, forwarded float64
	least := math.Inf(1)
	for c := len(stages) - 1; c >= 0; c-- {
		s := &f.times[stages[c]]
		forwards += m * s.f
		longest, least = max(longest, s.f), min(least, f.half(stages[c], info))
		forwarded = max(forwarded, f.path.forward[stages[c]]+forwards)
	}
	through, top := f.path.forward[len(f.times)], stages[len(stages)-1]
	hidden := f.hidden(stages, m, &warmup, info)
	ahead := min(forwards, float64(warmup.Most)*longest)
	waited := through + back.reach[top] + forwards - ahead
	e.late = e.first + forwards
	// forwards that wait for a gradient
	if after := m*float64(len(stages)) - float64(warmup.Most); after > 0 {
		e.late = max(e.late, waited) + after*least
	}
	e.late -= hidden + f.path.forward[top] + f.times[top].f
	e.returned = max(forwarded, waited)
	e.worked = e.returned
	for c := len(stages) - 1; c >= 0; c-- {
		stage := stages[c]
		half := f.half(stage, info)
		gradient, before := through+back.reach[stage], e.returned
		e.returned = max(before, gradient) + m*half
		e.worked = max(e.worked, gradient) + m*(half+f.puts(stage, info))
		if c < len(stages)-1 {
			e.returned = max(e.returned, before+back.rest[stages[c+1]]-back.rest[stage])
		}
	}
	e.worked -= hidden
	e.returned = max(e.returned-hidden, e.first+f.away(stages, m, &warmup, info, back))
	f.ends = append(f.ends, e)
}

// follow bounds the ends of ranks by those of others: the last micro-batch, late as it
// is, goes through all stages and comes back to every rank, and the gradient that was
// the last of a rank goes down to the ranks before it.
func (f *Bounder) follow(back *backward, info *schedule.Info) {
	slices.SortFunc(f.ends, func(a, b rankEnds) int { return b.rank - a.rank })
	late := 0.0
	for i := range f.ends {
		late = max(late, f.ends[i].late)
	}
	whole := 0.0 // until the first stage has the last gradient
	for i := range f.ends {
		e := &f.ends[i]
		stage := f.stages(e.rank)[0]
		e.returned = max(e.returned, late+f.path.forward[len(f.times)]+back.reach[stage]+f.half(stage, info),
			whole-back.rest[stage])
		whole = max(whole, e.returned+back.rest[stage])
	}
}

// half returns the part of a stage's backward that the gradient waits for.
func (f *Bounder) half(stage int, info *schedule.Info) float64 {
	s := &f.times[stage]
	switch {
	case !info.SplitsBackward:
		return s.b
	case info.Pairs: // some backwards run whole
		return min(s.i, s.b)
	}
	return s.i
}

// puts returns what is left of a backward after that.
func (f *Bounder) puts(stage int, info *schedule.Info) float64 {
	s := &f.times[stage]
	switch {
	case !info.SplitsBackward:
		return 0
	case info.Pairs: // some backwards run whole, which is no longer than in two parts
		return max(0, min(s.i+s.w, s.b)-min(s.i, s.b))
	}
	return s.w
}

// hidden returns what overlapped pairs can save a rank at most: of each forward after the
// first ones its traffic and that of the backward next to it, which is one of the other
// chunk, as far as the rest of the other covers them (schedule.Costs).
func (f *Bounder) hidden(stages []int, each float64, warmup *schedule.Warmup, info *schedule.Info) float64 {
	if !info.Pairs {
		return 0
	}
	var all, most float64
	for c, forward := range stages {
		s, t := &f.times[forward], &f.times[stages[len(stages)-1-c]]
		lasts := max(t.b, t.i)
		saves := min(min(s.up, lasts-t.down)+min(t.down, s.f-s.up), s.f, lasts)
		all += each * saves
		most = max(most, saves)
	}
	return min(all, (each*float64(len(stages))-float64(warmup.Least))*most)
}

// away returns how long a rank is at work at least because no more than warmup.Most
// forwards wait for their gradients at a time, while each micro-batch is away to the
// last stage and back.
//
// With one chunk the forward that comes so many after another starts when that one's
// gradient is back, or later. With several, the micro-batches' times away are the area
// under the number of them that are away, which is no more than Most and less while it
// grows, one forward after the other, and while it falls.
func (f *Bounder) away(stages []int, each float64, warmup *schedule.Warmup, info *schedule.Info,
	back *backward,
) float64 {
	through := f.path.forward[len(f.times)]
	var area float64
	forward, backward := math.Inf(1), math.Inf(1)
	for _, stage := range stages {
		half := f.half(stage, info)
		area += each * (through - f.path.forward[stage] + back.reach[stage] + half)
		forward, backward = min(forward, f.times[stage].f), min(backward, half)
	}
	all := each * float64(len(stages))
	most, least := min(float64(warmup.Most), all), min(float64(warmup.Least), all)
	if len(stages) == 1 {
		rounds := math.Floor((each - 1) / most)
		return (rounds+1)*area/each + (each-1-rounds*most)*max(forward, backward)
	}
	grows := (least - 1) * (most - least/2) * forward // before the first backward
	falls := (most - 1) * most / 2 * backward
	return (area + grows + falls) / most
}

// bothWays is rank where stages have two copies, each for one half of the batch: the
// chunks of a rank then know nothing of each other.
func (f *Bounder) bothWays(r int, t *rankClass, each float64, warmup *schedule.Warmup, info *schedule.Info) {
	stages, back := f.stages(r), f.path.backward(info)
	first, reach := math.Inf(1), math.Inf(1)
	var forwards, longest, backwards float64
	for _, stage := range stages {
		first, reach = min(first, f.path.forward[stage]), min(reach, back.reach[stage])
		forwards += each * f.times[stage].f
		longest = max(longest, f.times[stage].f)
		backwards += each * (f.half(stage, info) + f.puts(stage, info))
	}
	waited := f.path.forward[len(f.times)] + reach + forwards - min(forwards, float64(warmup.Most)*longest)
	worked := max(first+forwards, waited) + backwards - f.hidden(stages, each, warmup, info)
	f.ends = append(f.ends, rankEnds{
		class: t, rank: r, first: first, worked: worked, returned: first + f.away(stages, each, warmup, info,
			back),
	})
}
