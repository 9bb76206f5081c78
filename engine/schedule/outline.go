package schedule

import "math"

// outlined is when an operation ends, and when it would if sends between
// ranks took no time.
type outlined struct{ end, free float64 }

// outline is walk for the ends alone. It notes when each rank starts.
func (s *Simulator) outline(o *Order, pl *plan, c *Costs, t *Timeline) {
	latency := [2]float64{0, c.arrival()}
	ends := s.ends[:len(o.Ops)]
	steps := pl.steps
	for i := 0; i < len(steps); i++ {
		i += outlineRun(steps[i:], ends, s.costs, latency)
		if i == len(steps) {
			return
		}
		// The first operation of a rank or of a pair.
		st := steps[i]
		k := st.op & stepIndex
		begin, soonest := 0.0, 0.0
		if st.op&stepFirst == 0 {
			begin, soonest = ends[k-1].end, ends[k-1].free
		}
		if st.input >= 0 {
			input := &ends[st.input]
			begin, soonest = later(begin, input.end+latency[st.op/stepRemote&1]), later(soonest, input.free)
		}
		if st.op&stepPair != 0 {
			i++
			s.outlinePair(o, steps[i-1:i+1], c, t, begin, soonest)
			continue
		}
		t.Ranks[o.rankOf(int(k))].First = begin
		cost := s.costs[st.cost]
		ends[k] = outlined{begin + cost, soonest + cost}
	}
}

// outlineRun gives the operations before the next first one of a rank or of a pair
// their ends, and returns how many they are. Nearly all operations are such, and
// nearly all of a simulation is this loop: nothing in it calls or allocates.
func outlineRun(steps []step, ends []outlined, costs []float64, latency [2]float64) int {
	for i, st := range steps {
		if st.op&(stepFirst|stepPair) != 0 {
			return i
		}
		k := st.op & stepIndex
		begin, soonest := ends[k-1].end, ends[k-1].free
		if st.input >= 0 {
			input := &ends[st.input]
			begin, soonest = later(begin, input.end+latency[st.op/stepRemote&1]), later(soonest, input.free)
		}
		cost := costs[st.cost]
		ends[k] = outlined{begin + cost, soonest + cost}
	}
	return len(steps)
}

// later returns the later of two times, which are no less than 0: then the bits of
// floats compare as the floats do, without a branch that is often mispredicted.
func later(a, b float64) float64 {
	return math.Float64frombits(max(math.Float64bits(a), math.Float64bits(b)))
}

// outlinePair gives the two operations of an overlapped pair their common end; the
// first one could start at the given moments.
func (s *Simulator) outlinePair(o *Order, steps []step, c *Costs, t *Timeline, begin, soonest float64) {
	k, second := steps[0].op&stepIndex, steps[1]
	if second.input >= 0 {
		arrives := s.ends[second.input].end
		if second.op&stepRemote != 0 {
			arrives += c.arrival()
		}
		begin, soonest = max(begin, arrives), max(soonest, s.ends[second.input].free)
	}
	rank := o.rankOf(int(k))
	if steps[0].op&stepFirst != 0 {
		t.Ranks[rank].First = begin
	}
	pair := s.pair(o, c, steps[0].cost, second.cost)
	s.saved[rank] += pair.saved
	s.ends[k] = outlined{pair.end(begin), pair.end(soonest)}
	s.ends[k+1] = s.ends[k]
}

// walkPair gives the two operations of an overlapped pair their common times.
func (s *Simulator) walkPair(o *Order, steps []step, c *Costs, t *Timeline) {
	k := steps[0].op & stepIndex
	begin := 0.0
	if steps[0].op&stepFirst == 0 {
		begin = t.End[k-1]
	}
	for _, st := range steps {
		if st.input < 0 {
			continue
		}
		arrives := t.End[st.input]
		if st.op&stepRemote != 0 {
			arrives += c.arrival()
		}
		begin = max(begin, arrives)
	}
	pair := s.pair(o, c, steps[0].cost, steps[1].cost)
	s.saved[o.rankOf(int(k))] += pair.saved
	end := pair.end(begin)
	t.Begin[k], t.End[k], t.Begin[k+1], t.End[k+1] = begin, end, begin, end
}

// pair is an overlapped pair of operations, which start when both have their
// inputs and end together.
type pair struct {
	a, b  float64 // the halves on their own
	saved float64 // how much sooner they end than one after the other
	sends float64 // comes after the work and hides nothing
}

// end is when a pair ends that begins at a moment.
func (p *pair) end(begin float64) float64 { return begin + p.a + p.b - p.saved + p.sends }

// pair returns that of two operations, by the places of their durations.
func (s *Simulator) pair(o *Order, c *Costs, first, second int32) pair {
	p := pair{
		a: s.costs[first] - s.sends[first], b: s.costs[second] - s.sends[second],
		sends: s.sends[first] + s.sends[second],
	}
	p.saved = c.Overlap * min(p.a, p.b)
	if c.HiddenF != nil || c.HiddenB != nil {
		p.saved = min(p.saved+c.hides(first, p.a, second, p.b, int32(o.Spec.Stages())), p.a, p.b)
	}
	return p
}

// hides returns the traffic in each half of a pair that the rest of the other half
// covers; the halves are given by their places in the table of durations.
func (c *Costs) hides(first int32, a float64, second int32, b float64, stages int32) float64 {
	traffic := func(place int32, lasts float64) float64 {
		list := c.HiddenF
		if OpKind(place/stages) != Forward {
			list = c.HiddenB
		}
		return min(at(list, int(place%stages)), lasts)
	}
	ta, tb := traffic(first, a), traffic(second, b)
	return min(ta, b-tb) + min(tb, a-ta)
}
