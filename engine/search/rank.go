package search

import (
	"math"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/schedule"
	"meshscope/engine/search/bound"
	"meshscope/engine/units"
)

// candidate is a layout that its bound does not exclude: where it stands in the
// space, and the bound.
type candidate struct {
	plane              int32  // index into planes
	mbs, sp, recompute uint16 // indices into choices
	kind, split        uint8  // the same; split of variant.splits
	chunks, zero       uint16 // the stages per rank themselves, and an index
	step               units.Seconds
	peak               units.Bytes
	key                score
}

// ranker goes through the planes of a variant. One belongs to one goroutine.
type ranker struct {
	variant
	planes []plane
	bounds bound.Bounder

	found    []candidate
	kept     int // how many of them at most
	legal    int
	excluded int

	dropped int   // candidates that there was no room for
	lowest  score // the best bound of these

	stop       func() bool // nil: never
	everything bool        // bounds exclude nothing

	begun, sound bool
	limit        units.Bytes
	alike        units.Bytes   // peaks up to this are alike
	alikeAbove   units.Bytes   // and those above this
	tried        []int         // scratch of rank
	spec         schedule.Spec // scratch of bound: a local one would be allocated for each layout
}

// setup returns the layout of a candidate in a plane.
func (v *variant) setup(p *plane, c *candidate) engine.Setup {
	s := v.problem.Setup
	p.cut(&s)
	v.batch(&s, v.choices.mbs[c.mbs])
	s.SP = v.choices.sp[c.sp]
	s.Schedule, s.VPP = v.choices.kinds[c.kind].Kind, int(c.chunks)
	s.Split = v.problem.splits(s.Stages())[c.split]
	s.Recompute, _ = part(v.choices.recompute[c.recompute], &s)
	s.ZeRO = v.choices.zero[c.zero]
	return s
}

func (p *plane) cut(s *engine.Setup) {
	s.GPUs, s.GBS, s.Seq = p.gpus, p.gbs, p.seq
	s.TP, s.PP, s.CP, s.EP, s.ETP = p.tp, p.pp, p.cp, p.ep, p.etp
	s.DP = p.gpus / (p.tp * p.pp * p.cp)
}

// batch sets the micro-batch size; false where the global batch does not divide.
func (v *variant) batch(s *engine.Setup, mbs int) bool {
	share := mbs * s.DP
	if share < 1 || s.GBS%share != 0 || s.GBS < share || s.GBS/share > layout.MaxMicroBatches {
		return false
	}
	s.MBS, s.MicroBatches = mbs, s.GBS/share
	return allows(v.problem.Space.MicroBatches, s.MicroBatches)
}

// rank bounds every layout of a plane; false where it was stopped on the way. It goes
// through the choices in the order in which layouts share most (bound.Bounder).
func (r *ranker) rank(index int) bool {
	if !r.begin() {
		return true
	}
	s := r.problem.Setup
	r.planes[index].cut(&s)
	r.bounds.SetDegrees(&s.Layout)
	at := candidate{plane: int32(index)}
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
				r.tried = append(r.tried, v)
				s.VPP, at.chunks = v, uint16(v)
				for i, split := range r.problem.splits(s.Stages()) {
					s.Split, at.split = split, uint8(i)
					if !r.stages(&s, at, placement) {
						return false
					}
				}
			}
		}
	}
	return true
}

// begin takes the problem, once; false where nothing of it can be legal.
func (r *ranker) begin() bool {
	if !r.begun {
		r.begun = true
		r.bounds.SetModel(&r.problem.Setup)
		r.sound = r.bounds.Checker.Given(r.problem.Setup).Legal
		r.limit = r.problem.limit()
		r.alike, r.alikeAbove = r.problem.alike(), r.limit
		if r.everything {
			r.alike, r.alikeAbove = 0, units.Bytes(math.Inf(1))
		}
	}
	return r.sound
}

// allowed reports whether what was checked so may be among the answers.
func (r *ranker) allowed(j knob.Legality) bool {
	return j.Legal && (!j.Rejected || r.problem.Space.Refused)
}

// stages bounds one way of laying stages on ranks, under every schedule that lays
// them so. It is false where it was stopped.
func (r *ranker) stages(s *engine.Setup, at candidate, placement schedule.Placement) bool {
	cut := false
	for i, mbs := range r.choices.mbs {
		if !r.batch(s, mbs) {
			continue
		}
		at.mbs = uint16(i)
		kinds := r.schedules(s, placement)
		if kinds == 0 {
			continue
		}
		for j, sp := range r.choices.sp {
			if sp && s.TP == 1 && len(r.choices.sp) > 1 {
				continue // does nothing
			}
			if r.stop != nil && r.stop() {
				return false
			}
			s.SP, at.sp = sp, uint16(j)
			runs, some := r.sharded(s)
			if !some {
				continue
			}
			if !cut {
				if cut = r.bounds.SetStages(&s.Layout, placement); !cut {
					return true
				}
			}
			r.bounds.SetMicroBatch(&s.Layout)
			for k, given := range r.choices.recompute {
				recompute, some := part(given, s)
				if !some || !r.allowed(r.bounds.Checker.Recompute(recompute)) {
					continue
				}
				at.recompute, s.Recompute = uint16(k), recompute
				r.bounds.SetRecompute(recompute)
				r.bound(s, at, kinds, &runs)
			}
		}
	}
	return true
}

// kindSet is a set of indices into choices.kinds, of which there are 18 at most.
type kindSet uint32

func (k kindSet) has(n int) bool { return k&(1<<n) != 0 }

// schedules returns those with a placement that can run so many stages and
// micro-batches.
func (r *ranker) schedules(s *engine.Setup, placement schedule.Placement) (out kindSet) {
	for n := range r.choices.kinds {
		k := &r.choices.kinds[n]
		if k.Placement != placement || k.Chunks > 0 && k.Chunks != s.VPP {
			continue
		}
		s.Schedule = k.Kind
		if r.allowed(knob.LegalityOfSchedule(s.Spec())) {
			out |= 1 << n
		}
	}
	return out
}

// ZeRO stages that are checked alike: each for itself, since rules of stacks tell them apart, offered by the
// stack or not. What is no stage has none.
const zeroClasses = 8

func (r *ranker) zeroClass(zero int) (class int, ok bool) {
	if zero < 0 || zero >= len(r.choices.offered) {
		return 0, false
	}
	if !r.choices.offered[zero] {
		return zero + len(r.choices.offered), true
	}
	return zero, true
}

// sharded says which classes of ZeRO stages can run, if any.
func (r *ranker) sharded(s *engine.Setup) (runs [zeroClasses]bool, some bool) {
	var checked [zeroClasses]bool
	for _, zero := range r.choices.zero {
		class, ok := r.zeroClass(zero)
		if !ok || checked[class] {
			continue
		}
		checked[class], s.ZeRO = true, zero
		runs[class] = r.allowed(r.bounds.Checker.Layout(s))
		some = some || runs[class]
	}
	return runs, some
}

// bound adds what the limits do not exclude. A ZeRO stage that changes nothing
// (one data-parallel rank, or the stack shares no more) is the one before it.
func (r *ranker) bound(s *engine.Setup, at candidate, kinds kindSet, runs *[zeroClasses]bool) {
	tokens := s.Tokens()
	one := r.choices.unsharded && s.DP*s.CP == 1 && runs[0]
	stage := one && s.Offload.Optimizer() && r.needsStage(s, kinds)
	for i, zero := range r.choices.zero {
		if class, ok := r.zeroClass(zero); !ok || !runs[class] {
			continue
		}
		if one && stage == (zero == 0) { // nobody shards over one rank, unless an offload asks for it
			continue
		}
		s.ZeRO, at.zero = zero, uint16(i)
		if !r.bounds.SetZeRO(zero) {
			continue
		}
		for n := range r.choices.kinds {
			if !kinds.has(n) {
				continue
			}
			info := &r.choices.kinds[n]
			s.Schedule, at.kind = info.Kind, uint8(n)
			if runs := r.problem.Space.Accepts; runs != nil && !runs(s) {
				continue
			}
			r.legal++
			r.spec = s.Spec()
			at.peak = r.bounds.PeakBetween(&r.spec, info, r.alike, r.alikeAbove)
			if at.peak > r.limit && !r.everything {
				r.excluded++
				continue
			}
			at.step = r.bounds.Step(&r.spec, info)
			at.peak = max(at.peak, r.bounds.PeakInTime(&r.spec, info))
			if (at.peak > r.limit || !r.problem.inTime(at.step, tokens)) && !r.everything {
				r.excluded++
				continue
			}
			at.key = r.problem.score(s, bound.Bound{Step: at.step, Peak: at.peak})
			r.add(&at)
		}
	}
}

// needsStage reports whether the launcher rejects ZeRO-0 with every schedule.
func (r *ranker) needsStage(s *engine.Setup, kinds kindSet) bool {
	runs := r.problem.Space.Accepts
	if runs == nil {
		return false
	}
	s.ZeRO = 0
	for n := range r.choices.kinds {
		if s.Schedule = r.choices.kinds[n].Kind; kinds.has(n) && runs(s) {
			return false
		}
	}
	return true
}

// mostKept is how many candidates the rankers of a worker hold: beyond it those with the worst
// bounds are dropped. They matter only where fewer layouts fit than are asked
// for, or for the front; the result is then marked partial.
const mostKept = 1 << 20

func (r *ranker) add(c *candidate) {
	r.found = append(r.found, *c)
	if len(r.found) < r.kept || r.everything {
		return
	}
	first(r.found, r.kept/2)
	rest := r.found[r.kept/2:]
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
	r.found = r.found[:r.kept/2]
}
