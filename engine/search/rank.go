package search

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// candidate is a layout that its bound does not exclude: where it stands in the
// space, and the bound.
type candidate struct {
	plane              int32  // index into planes
	mbs, sp, recompute uint16 // indices into choices
	kind, chunks, zero uint16 // the same, but of chunks the stages per rank themselves
	step               units.Seconds
	peak               units.Bytes
	key                score
}

// ranker goes through planes. One belongs to one goroutine.
type ranker struct {
	problem *Problem
	planes  []plane
	choices choices
	floors  engine.Floors

	found    []candidate
	legal    int
	excluded int

	dropped int   // candidates that there was no room for
	lowest  score // the best bound of these

	stop       func() bool // nil: never
	everything bool        // bounds exclude nothing
	tried      []int       // scratch of pipelines
}

// setup is the layout of a candidate.
func (r *ranker) setup(c *candidate) engine.Setup {
	s := r.problem.Setup
	r.cut(&s, r.planes[c.plane])
	r.batch(&s, r.choices.mbs[c.mbs])
	s.SP = r.choices.sp[c.sp]
	s.Schedule, s.VPP = r.choices.kinds[c.kind].Kind, int(c.chunks)
	s.Recompute, _ = part(r.choices.recompute[c.recompute], &s)
	s.ZeRO = r.choices.zero[c.zero]
	return s
}

func (r *ranker) cut(s *engine.Setup, p plane) {
	s.GPUs, s.GBS, s.Seq = p.gpus, p.gbs, p.seq
	s.TP, s.PP, s.CP, s.EP, s.ETP = p.tp, p.pp, p.cp, p.ep, p.etp
	s.DP = p.gpus / (p.tp * p.pp * p.cp)
}

// batch sets the micro-batch size; false where the global batch does not divide.
func (r *ranker) batch(s *engine.Setup, mbs int) bool {
	share := mbs * s.DP
	if share < 1 || s.GBS%share != 0 || s.GBS < share || s.GBS/share > layout.MaxMicroBatches {
		return false
	}
	s.MBS, s.MicroBatches = mbs, s.GBS/share
	return allows(r.problem.Space.MicroBatches, s.MicroBatches)
}

// rank bounds every layout of a plane; false where it was stopped on the way.
func (r *ranker) rank(index int) bool {
	s := r.problem.Setup
	p := r.planes[index]
	r.cut(&s, p)
	at := candidate{plane: int32(index)}
	for i, mbs := range r.choices.mbs {
		if !r.batch(&s, mbs) {
			continue
		}
		at.mbs = uint16(i)
		for j, sp := range r.choices.sp {
			if sp && p.tp == 1 && len(r.choices.sp) > 1 {
				continue // does nothing
			}
			s.SP, at.sp = sp, uint16(j)
			for k := range r.choices.recompute {
				at.recompute = uint16(k)
				if !r.pipelines(&s, at) {
					return false
				}
			}
		}
	}
	return true
}

// pipelines goes through the schedules, those with the same stages on the same
// ranks one after the other. It is false where it was stopped.
func (r *ranker) pipelines(s *engine.Setup, at candidate) bool {
	for placement := schedule.Linear; placement <= schedule.Bidirectional; placement++ {
		r.tried = r.tried[:0]
		for n := range r.choices.kinds {
			k := &r.choices.kinds[n]
			if k.Placement != placement {
				continue
			}
			for _, v := range r.problem.chunks(k, s.PP) {
				if slices.Contains(r.tried, v) {
					continue
				}
				if r.stop != nil && r.stop() {
					return false
				}
				r.tried = append(r.tried, v)
				s.VPP, at.chunks = v, uint16(v)
				var some bool
				if s.Recompute, some = part(r.choices.recompute[at.recompute], s); some {
					r.stages(s, at, placement)
				}
			}
		}
	}
	return true
}

// ZeRO stages that are judged alike: offered by the stack or not, and from 2 on,
// which some launchers refuse together with a pipeline.
const zeroClasses = 4

func (r *ranker) zeroClass(zero int) int {
	class := 0
	if zero < 0 || zero > 3 || !r.choices.offered[zero] {
		class = 2
	}
	if zero >= 2 {
		class++
	}
	return class
}

// kindSet is a set of indices into choices.kinds, of which there are 18 at most.
type kindSet uint32

func (k kindSet) has(n int) bool { return k&(1<<n) != 0 }

// stages bounds one way of laying stages on ranks, under every schedule that
// lays them so and every ZeRO stage.
func (r *ranker) stages(s *engine.Setup, at candidate, placement schedule.Placement) {
	var runs [zeroClasses]kindSet
	var judged [zeroClasses]bool
	laid := false
	for _, zero := range r.choices.zero {
		class := r.zeroClass(zero)
		if judged[class] {
			continue
		}
		judged[class], s.ZeRO = true, zero
		for n := range r.choices.kinds {
			k := &r.choices.kinds[n]
			if k.Placement != placement || k.Chunks > 0 && k.Chunks != s.VPP {
				continue
			}
			s.Schedule = k.Kind
			legal, refused := r.floors.Judge(s)
			if !legal || refused && !r.problem.Space.Refused {
				continue
			}
			runs[class] |= 1 << n
			if !laid {
				if laid = r.floors.Lay(s); !laid {
					return
				}
			}
		}
	}
	if laid {
		r.bound(s, at, runs)
	}
}

// bound adds what the limits do not exclude. A ZeRO stage that changes nothing
// (one data-parallel rank, or the stack shares no more) is the one before it.
func (r *ranker) bound(s *engine.Setup, at candidate, runs [zeroClasses]kindSet) {
	tokens := s.Tokens()
	var before kindSet
	for i, zero := range r.choices.zero {
		run := runs[r.zeroClass(zero)]
		if run == 0 {
			continue
		}
		s.ZeRO, at.zero = zero, uint16(i)
		if r.floors.Shard(zero) {
			before = 0
		}
		for n := range r.choices.kinds {
			if !run.has(n) || before.has(n) {
				continue
			}
			r.legal++
			s.Schedule, at.kind = r.choices.kinds[n].Kind, uint16(n)
			floor := r.floors.Of(s.Spec())
			if !r.everything && (floor.Peak > r.problem.limit() || !r.problem.inTime(floor.Step, tokens)) {
				r.excluded++
				continue
			}
			at.step, at.peak, at.key = floor.Step, floor.Peak, r.problem.score(s, floor)
			r.add(&at)
		}
		before |= run
	}
}

// mostKept is how many candidates a ranker holds: beyond it those with the worst
// bounds are dropped. They matter only where fewer layouts fit than are asked
// for, or for the front; the result is then marked partial.
const mostKept = 1 << 20

func (r *ranker) add(c *candidate) {
	r.found = append(r.found, *c)
	if len(r.found) < mostKept || r.everything {
		return
	}
	first(r.found, mostKept/2)
	rest := r.found[mostKept/2:]
	lowest := rest[0].key
	for i := range rest {
		if rest[i].key.less(lowest) {
			lowest = rest[i].key
		}
	}
	if r.dropped == 0 || lowest.less(r.lowest) {
		r.lowest = lowest
	}
	r.dropped += len(rest)
	r.found = r.found[:mostKept/2]
}
