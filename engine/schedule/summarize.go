package schedule

import "math"

// opEnd is when an operation ends, and when it would if sends between ranks took no
// time, as the bits of floats that are no less than 0: those compare as the floats do,
// without a branch that is often mispredicted.
type opEnd struct{ end, free uint64 }

// opEndAt returns the two moments.
func opEndAt(end, free float64) opEnd {
	return opEnd{math.Float64bits(end), math.Float64bits(free)}
}

func (o opEnd) times() (end, free float64) {
	return math.Float64frombits(o.end), math.Float64frombits(o.free)
}

// after returns the later of two moments, of which the input arrives after a latency.
func (o opEnd) after(input opEnd, latency float64) opEnd {
	arrives := math.Float64bits(math.Float64frombits(input.end) + latency)
	return opEnd{max(o.end, arrives), max(o.free, input.free)}
}

// plus returns the end of what lasts cost from there.
func (o opEnd) plus(cost float64) opEnd {
	return opEndAt(math.Float64frombits(o.end)+cost, math.Float64frombits(o.free)+cost)
}

// summarize is walk for the ends alone. It notes when each rank starts.
func (s *Simulator) summarize(o *Order, pl *plan, c *Costs, t *Timeline) {
	latency := c.arrival()
	ends := s.ends[:len(o.Ops)]
	steps := pl.steps
	for i := 0; i < len(steps); i++ {
		i += summarizeRun(steps[i:], ends, s.costs, latency)
		if i == len(steps) {
			return
		}
		// The first operation of a rank or of a pair.
		st := steps[i]
		k := st.op & stepIndex
		var begin opEnd
		if st.op&stepFirst == 0 {
			begin = ends[k-1]
		}
		if st.input >= 0 {
			begin = begin.after(ends[st.input], latency)
		}
		if st.op&stepPair != 0 {
			i++
			s.summarizePair(o, steps[i-1:i+1], c, t, begin)
			continue
		}
		t.Ranks[o.rankOf(int(k))].First, _ = begin.times()
		ends[k] = begin.plus(s.costs[st.cost])
	}
}

// summarizeRun gives the operations before the next first one of a rank or of a pair
// their ends, and returns how many they are. Nearly all operations are such, and
// nearly all of a simulation is this loop: nothing in it calls or allocates, and an index
// that is too large says at once that a step has a flag, or that it has no input.
func summarizeRun(steps []step, ends []opEnd, costs []float64, latency float64) int {
	for i := range steps {
		st := &steps[i]
		k := uint(st.op)
		if k >= uint(len(ends)) {
			return i
		}
		begin := ends[k-1]
		if input := uint(uint32(st.input)); input < uint(len(ends)) {
			begin = begin.after(ends[input], latency)
		}
		ends[k] = begin.plus(costs[st.cost])
	}
	return len(steps)
}

// summarizePair gives the two operations of an overlapped pair their common end; the
// first one could start at the given moments.
func (s *Simulator) summarizePair(o *Order, steps []step, c *Costs, t *Timeline, from opEnd) {
	k, second := steps[0].op&stepIndex, steps[1]
	if second.input >= 0 {
		from = from.after(s.ends[second.input], c.arrival())
	}
	begin, soonest := from.times()
	rank := o.rankOf(int(k))
	if steps[0].op&stepFirst != 0 {
		t.Ranks[rank].First = begin
	}
	pair := s.pair(o, c, steps[0].cost, second.cost)
	s.saved[rank] += pair.saved
	s.ends[k] = opEndAt(pair.end(begin), pair.end(soonest))
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
		begin = max(begin, t.End[st.input]+c.arrival())
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
