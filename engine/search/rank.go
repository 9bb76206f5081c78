package search

import (
	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// candidate is a layout that its bound does not exclude: where it stands in the
// space, and the bound.
type candidate struct {
	plane              int32 // index into planes
	mbs, sp, recompute uint8 // indices into choices
	kind, chunks, zero uint8 // of chunks: the stages per rank themselves
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

	everything bool // bounds exclude nothing
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

// rank bounds every layout of a plane.
func (r *ranker) rank(index int) {
	s := r.problem.Setup
	p := r.planes[index]
	r.cut(&s, p)
	at := candidate{plane: int32(index)}
	for i, mbs := range r.choices.mbs {
		if !r.batch(&s, mbs) {
			continue
		}
		at.mbs = uint8(i)
		for j, sp := range r.choices.sp {
			if sp && p.tp == 1 && len(r.choices.sp) > 1 {
				continue // does nothing
			}
			s.SP, at.sp = sp, uint8(j)
			for k := range r.choices.recompute {
				at.recompute = uint8(k)
				r.pipelines(&s, at)
			}
		}
	}
}

// pipelines goes through the schedules, those with the same stages on the same
// ranks one after the other.
func (r *ranker) pipelines(s *engine.Setup, at candidate) {
	kinds := r.choices.schedules(s.PP)
	for placement := schedule.Linear; placement <= schedule.Bidirectional; placement++ {
		var tried [256]bool
		for n := range kinds {
			if kinds[n].Placement != placement {
				continue
			}
			for _, v := range r.problem.chunks(kinds[n], s.PP) {
				if v > 0 && v < len(tried) && !tried[v] {
					tried[v] = true
					at.chunks = uint8(v)
					s.VPP = v
					var some bool
					if s.Recompute, some = part(r.choices.recompute[at.recompute], s); some {
						r.stages(s, at, placement)
					}
				}
			}
		}
	}
}

// stages bounds one way of laying stages on ranks, under every schedule that
// lays them so and every ZeRO stage.
func (r *ranker) stages(s *engine.Setup, at candidate, placement schedule.Placement) {
	laid, runs := false, [2][]uint8{}
	var room [2][18]uint8
	for group := range runs { // ZeRO-0 and 1, and the others, which some launchers refuse
		runs[group] = room[group][:0]
		zero, some := r.firstZeRO(group)
		if !some {
			continue
		}
		s.ZeRO = zero
		for n := range r.choices.kinds {
			k := &r.choices.kinds[n]
			if k.Placement != placement || !r.runs(k, s) {
				continue
			}
			s.Schedule = k.Kind
			if legal, refused := r.floors.Judge(s); legal && (!refused || r.problem.Space.Refused) {
				runs[group] = append(runs[group], uint8(n))
			}
		}
		if len(runs[group]) > 0 && !laid {
			s.Schedule = r.choices.kinds[runs[group][0]].Kind
			if laid = r.floors.Lay(s); !laid {
				return
			}
		}
	}
	if laid {
		r.bound(s, at, runs)
	}
}

// runs says whether a schedule is to be tried with the stages per rank that the
// setup has.
func (r *ranker) runs(k *schedule.Info, s *engine.Setup) bool {
	only := r.choices.schedules(s.PP)
	if len(only) == 1 && only[0].Kind != k.Kind {
		return false
	}
	return k.Chunks == 0 || k.Chunks == s.VPP
}

func group(zero int) int {
	if zero >= 2 {
		return 1
	}
	return 0
}

func (r *ranker) firstZeRO(of int) (zero int, some bool) {
	for _, z := range r.choices.zero {
		if group(z) == of {
			return z, true
		}
	}
	return 0, false
}

// bound adds what the limits do not exclude.
func (r *ranker) bound(s *engine.Setup, at candidate, runs [2][]uint8) {
	alone := s.DenseShards() == 1 && s.ExpertShards() == 1 // ZeRO shards nothing
	tokens := s.Tokens()
	for i, zero := range r.choices.zero {
		if i > 0 && alone || len(runs[group(zero)]) == 0 {
			continue
		}
		r.floors.Shard(zero)
		s.ZeRO, at.zero = zero, uint8(i)
		for _, n := range runs[group(zero)] {
			r.legal++
			s.Schedule, at.kind = r.choices.kinds[n].Kind, n
			floor := r.floors.Of(s.Spec())
			if !r.everything && (floor.Peak > r.problem.limit() || !r.problem.inTime(floor.Step, tokens)) {
				r.excluded++
				continue
			}
			at.step, at.peak, at.key = floor.Step, floor.Peak, r.problem.score(s, floor)
			r.found = append(r.found, at)
		}
	}
}
