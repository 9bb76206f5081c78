package schedule

// Warmup is how many forwards a rank runs before its first backward (B or I),
// known without making the order: between Least and Most, and where the two are
// equal exactly that many. All of them are alive at once; never are there more
// than Most that wait for B or I. Alive is how many chunk activations are there
// at some moment at least, those that wait for W alone among them. Tests
// compare it with the orders.
type Warmup struct{ Least, Most, Alive int }

// exactly returns a warmup of n forwards, or of all that there are.
func exactly(n, all int) Warmup {
	n = min(n, all)
	return Warmup{n, n, n}
}

// alive returns the warmup with more chunk activations that only wait for W.
func (w Warmup) alive(n, all int) Warmup {
	w.Alive = min(n, all)
	return w
}

// warmupAll returns that of schedules that run all forwards first.
func warmupAll(s *Spec, _ int) Warmup {
	all := s.VirtualStages * s.MicroBatches
	return exactly(all, all)
}

// turned bounds the warmup of a V, which has both ends on every rank: the second
// forward of the first micro-batch comes back after that many others have started.
func turned(s *Spec, rank int) int { return min(s.MicroBatches+rank+1, 2*s.MicroBatches) }

// inThirds returns the warmup of the V-shaped schedules that hold a number of thirds.
func inThirds(s *Spec, rank, third int) Warmup {
	least := min(max(third-2, 1), turned(s, rank))
	return Warmup{least, min(third, 2*s.MicroBatches), least}
}

// Warmup bounds the first forwards of a rank, of a spec of this schedule without
// errors. Of zb-1p, zb-2p and zb-auto, which follow the durations, Ahead says more.
func (i *Info) Warmup(s *Spec, rank int) Warmup {
	if i.warmup == nil {
		return Warmup{1, s.VirtualStages * s.MicroBatches, 1}
	}
	return i.warmup(s, rank)
}

// DeferredWeightGrads returns how many weight gradients of a rank wait at some moment at
// the least, in a schedule that splits the backward. Tests compare it with the orders.
func (i *Info) DeferredWeightGrads(s *Spec, rank int) int {
	if i.deferred == nil {
		return 1
	}
	return i.deferred(s, rank)
}

// InterleaveGroup returns how many micro-batches of a chunk come one after the other before
// the forwards of a rank go on to its next chunk; 0 where their order is another.
func (i *Info) InterleaveGroup(s *Spec) int {
	if i.group == nil {
		return 0
	}
	return i.group(s)
}

// ForwardsOfChunk returns how many of the first n forwards of a rank are of a chunk, where
// chunks alternate in groups of so many micro-batches. Of the backwards of interleaved
// as many are of the chunk that comes so many before the last.
func (s *Spec) ForwardsOfChunk(n, chunk, group int) int {
	r := s.RoundsOf(n, group)
	return r.Of(chunk)
}

// Rounds are the first forwards of a rank as whole rounds over its chunks and a begun one.
type Rounds struct {
	before int // forwards of each chunk in the whole rounds
	size   int // micro-batches of a chunk in the begun round
	rest   int // forwards of the begun round
}

// RoundsOf returns the rounds of the first n forwards of a rank: see ForwardsOfChunk.
func (s *Spec) RoundsOf(n, group int) Rounds {
	before := n / (group * s.VirtualStages) * group
	return Rounds{before: before, size: min(group, s.MicroBatches-before), rest: n - before*s.VirtualStages}
}

// Of returns how many of the forwards are of a chunk.
func (r *Rounds) Of(chunk int) int {
	return r.before + min(max(r.rest-chunk*r.size, 0), r.size)
}
