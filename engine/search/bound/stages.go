package bound

import (
	"math"

	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/schedule"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// The backwards of rankClass.
const (
	wholePass = iota
	splitPass
)

// zeroStages is how many ZeRO stages there are.
const zeroStages = 4

// partition assigns layers to ranks.
type partition struct {
	uneven       bool // equal stages may recompute or offload different numbers of layers
	ordered      bool // some layers of a stage recompute or offload: which ones, the order of its kinds tells
	stageClasses []stageClass
	classOfStage []int  // by stage
	stageOf      []int  // by rank and chunk: rank*chunks + chunk
	crosses      []bool // by stage: whether it gets its input from another rank

	rankClasses []rankClass  // ranks that differ in more than their place
	classOfRank []int        // by rank
	chunks      []int        // of all classes of ranks: the class of each chunk
	times       []stageTimes // the same for their times

	shared   [zeroStages]bool // the memory that ZeRO decides of classes of ranks has been computed
	paid     [zeroStages]bool // the same for traffic and update
	buffered [zeroStages]bool // the same for what depends on the micro-batch too
}

// stageClass is what stages with equal layers have in common.
type stageClass struct {
	layers layout.Stage
	chunk  int // of its rank; 0 unless the partition is uneven
	stage  int // the first one of this class

	live memory.StageMemory
	once step.Cost // of a micro-batch, nothing run again, before the stack's factor
	cost step.Cost // in all
}

// rankClass are the ranks that hold equal stages.
type rankClass struct {
	low, high int   // the first and the last of them
	chunks    []int // classes of the stages
	from      int   // where those start in the list of all classes
	params    memory.Parameters
	sharded   [zeroStages]sharded

	// Compute of one micro-batch that overlaps with no other traffic, nothing run again: of
	// a forward, and of a backward, whole and split.
	forward units.Seconds
	left    [2]units.Seconds

	// Of a micro-batch: what it keeps until its input gradient and from then on, on the
	// chunk where each is least; what each of several keeps before the first gradient;
	// what runs next to them then; and what a single one needs, where that is most: while
	// it runs, and while it waits for its weight gradient.
	kept, waiting, early, beside, one, put units.Bytes

	alike bool        // all chunks keep as much
	most  units.Bytes // what a micro-batch keeps on the chunk where that is most
	least units.Bytes // what runs at the same time at any moment
}

// sharded is what the ZeRO stage decides about a class of ranks.
type sharded struct {
	held heldBytes
	paid paidTime
}

// heldBytes is memory that the ZeRO stage decides.
type heldBytes struct {
	states  units.Bytes // weights, gradients and optimizer
	buffers units.Bytes
	update  units.Bytes // temporaries of the update
}

// paidTime is time that the ZeRO stage decides.
type paidTime struct {
	data      step.DataParallel
	optimizer units.Seconds
}

// classify finds the stages that are equal, and the ranks that hold equal stages. Where
// the layers that a rank recomputes or offloads do not divide over its chunks, equal stages
// have different numbers of them. Ranks of a class are then still taken as one, by
// its first and last: the bound holds, and is in rare splits (an empty stage) a little
// lower than one that looks at each.
func (f *Bounder) classify(uneven, ordered bool) {
	c := &f.partition
	c.uneven, c.ordered = uneven, ordered
	c.stageClasses, c.classOfStage, c.crosses = c.stageClasses[:0], c.classOfStage[:0], c.crosses[:0]
	ranks := f.hosts.Spec.Ranks
	before := -1 // who hosts the stage before
	for n, st := range f.layers {
		chunk := 0
		if uneven {
			chunk = n / ranks
		}
		c.classOfStage = append(c.classOfStage, c.stageClass(n, st, chunk))
		host := f.hosts.Placement.Host(ranks, n, 0)
		c.crosses = append(c.crosses, n > 0 && host != before)
		before = host
	}
	f.classifyRanks()
	c.shared, c.paid = [zeroStages]bool{}, [zeroStages]bool{}
	c.buffered = [zeroStages]bool{}
}

// stageClass returns the number of a stage's class.
func (c *partition) stageClass(n int, st layout.Stage, chunk int) int {
	if !c.ordered {
		st.Start = 0
	}
	for k := len(c.stageClasses) - 1; k >= 0; k-- {
		if c.stageClasses[k].layers == st && c.stageClasses[k].chunk == chunk {
			return k
		}
	}
	c.stageClasses = extend(c.stageClasses)
	k := &c.stageClasses[len(c.stageClasses)-1]
	k.layers, k.chunk, k.stage = st, chunk, n
	return len(c.stageClasses) - 1
}

// extend makes a list longer by one element, whose memory may have been used.
func extend[T any](list []T) []T {
	if len(list) < cap(list) {
		return list[:len(list)+1]
	}
	var zero T
	return append(list, zero)
}

// classifyRanks finds the ranks that hold equal stages and counts their parameters.
func (f *Bounder) classifyRanks() {
	c := &f.partition
	params := f.stack.Cut(&f.mem)
	chunks, ranks := f.hosts.Chunks(), f.hosts.Spec.Ranks
	c.stageOf, c.rankClasses, c.classOfRank = c.stageOf[:0], c.rankClasses[:0], c.classOfRank[:0]
	c.chunks = resize(c.chunks, ranks*chunks)[:0] // rankClasses points into it
	for r := range ranks {
		for n := range chunks {
			c.stageOf = append(c.stageOf, f.hosts.StageOf(r, n))
		}
		held := c.stageOf[r*chunks:]
		n := c.classOf(held)
		c.classOfRank = append(c.classOfRank, n)
		if n < len(c.rankClasses) {
			c.rankClasses[n].high = r
			continue
		}
		c.rankClasses = extend(c.rankClasses)
		t := &c.rankClasses[n]
		t.low, t.high = r, r
		t.params = memory.CountRank(&f.mem, r, params)
		t.from = len(c.chunks)
		for _, stage := range held {
			c.chunks = append(c.chunks, c.classOfStage[stage])
		}
		t.chunks = c.chunks[t.from:]
	}
}

// classOf returns the class of a rank with such stages; the number of classes where none has them.
func (c *partition) classOf(stages []int) int {
next:
	for n := len(c.rankClasses) - 1; n >= 0; n-- {
		for i, k := range c.rankClasses[n].chunks {
			if k != c.classOfStage[stages[i]] {
				continue next
			}
		}
		return n
	}
	return len(c.rankClasses)
}

// share computes the memory that a ZeRO stage decides of the classes of ranks.
func (f *Bounder) share(zero int) {
	c := &f.partition
	f.setup.ZeRO = zero
	mem := &f.mem
	if !c.shared[zero] {
		c.shared[zero] = true
		shard := f.stack.Shard(mem)
		for n := range c.rankClasses {
			t := &c.rankClasses[n]
			s := &t.sharded[zero].held
			s.states = shard.Bytes(t.params, f.setup.Offload)
			s.update = f.stack.Update(mem, t.low, t.params)
		}
	}
	if !c.buffered[zero] {
		c.buffered[zero] = true
		for n := range c.rankClasses {
			t := &c.rankClasses[n]
			t.sharded[zero].held.buffers = f.stack.Buffers(mem, t.low, t.params)
		}
	}
}

// pay computes the time that a ZeRO stage decides of the classes of ranks: of most layouts nobody asks.
func (f *Bounder) pay(zero int) {
	c := &f.partition
	if c.paid[zero] {
		return
	}
	c.paid[zero] = true
	now := f.setup.ZeRO
	f.setup.ZeRO = zero
	for n := range c.rankClasses {
		t := &c.rankClasses[n]
		s := &t.sharded[zero].paid
		s.data = step.Data(&f.tim, 0, t.params, f.hosts.Placement.Copies())
		update := step.OptimizerTime(&f.tim, 0, t.params)
		s.optimizer = update.Whole()
	}
	f.setup.ZeRO = now
}

// passes is what micro-batches on the chunks of the class need.
//
// Before the first gradient a micro-batch that is on a chunk has been on those before
// it, whose activations are all there: of so many, on average no fewer than on the
// first chunks, however many these are. In a bidirectional pipeline chunks have
// micro-batches of their own. The first gradient is that of the last chunk.
func (t *rankClass) passes(stageClasses []stageClass, bidirectional bool) {
	inf := units.Bytes(math.Inf(1))
	t.kept, t.waiting, t.early, t.beside, t.one, t.put = inf, inf, inf, inf, 0, 0
	t.alike, t.most = true, 0
	var sum, last units.Bytes
	for n, k := range t.chunks {
		l := &stageClasses[k].live
		sum += l.Activations
		t.early = min(t.early, sum/units.Bytes(n+1))
		if n > 0 && k == t.chunks[n-1] {
			continue // all else is as on the chunk before
		}
		t.most = max(t.most, l.Activations)
		t.kept, t.waiting = min(t.kept, l.Activations), min(t.waiting, l.WeightInputs)
		t.beside = min(t.beside, l.Logits+l.Forward)
		last = l.Logits + l.Backward
		t.one = max(t.one, l.Activations+l.Logits+max(l.Forward, l.Backward))
		t.put = max(t.put, l.WeightInputs)
		t.alike = t.alike && l.Activations == t.kept
	}
	t.least = t.beside
	if bidirectional {
		t.early = t.kept
	} else {
		t.beside = max(t.beside, last)
	}
}

// passing returns what micro-batches need on a rank at least. It is exactly that where
// the rank has one chunk and whole backwards, or runs all its forwards first: the
// warmup is then the peak. Where enough says so of the bytes that are needed at least and of
// those that are at most, it is the first.
func (t *rankClass) passing(rank int, spec *schedule.Spec, info *schedule.Info, stageClasses []stageClass,
	enough func(least, greatest units.Bytes) bool,
) units.Bytes {
	w := info.Warmup(spec, rank)
	ahead := units.Bytes(w.Least)*t.early + t.beside
	if w.Least == spec.MicroBatches*len(t.chunks) {
		ahead = t.full(units.Bytes(spec.MicroBatches), stageClasses)
	}
	// Of those alive at most so many wait for their input gradient.
	whole := 0
	if t.kept < t.waiting {
		whole = min(w.Most, w.Alive)
	}
	waiting := units.Bytes(whole)*t.kept + units.Bytes(w.Alive-whole)*t.waiting
	if info.SplitsBackward {
		waiting = max(waiting, units.Bytes(info.DeferredWeightGrads(spec, rank))*t.waiting)
		if !info.Pairs { // with pairs some backwards are whole
			waiting = max(waiting, t.put)
		}
	}
	least := max(ahead, waiting, t.one)
	if group := info.InterleaveGroup(spec); group > 0 && !t.alike &&
		!enough(least, max(least, units.Bytes(w.Least)*t.most+max(t.beside, t.least))) {
		least = max(least, t.mixed(w.Least, group, spec, info, stageClasses))
	}
	return least
}

// full returns what a rank needs that runs all forwards of so many micro-batches before the
// first gradient: at the last forward of a chunk, and at its first backward, everything
// of it and of the chunks before it is alive.
func (t *rankClass) full(microBatches units.Bytes, stageClasses []stageClass) (most units.Bytes) {
	var alive units.Bytes
	for _, k := range t.chunks {
		l := &stageClasses[k].live
		alive += microBatches * l.Activations
		most = max(most, alive+l.Logits+max(l.Forward, l.Backward))
	}
	return most
}

// mixed returns what micro-batches need on a rank whose chunks take turns, after so many
// forwards: it is known of which chunks they are. With whole backwards it is known of
// every moment after that too, when a forward and a backward run alternately; between the
// moments at which one of them goes on to another chunk the bytes change evenly.
func (t *rankClass) mixed(forwards, group int, spec *schedule.Spec, info *schedule.Info,
	stageClasses []stageClass,
) units.Bytes {
	chunks := len(t.chunks)
	alive := func(more int) (sum units.Bytes) {
		ahead, back := spec.RoundsOf(forwards+more, group), spec.RoundsOf(more, group)
		for c, k := range t.chunks {
			n := ahead.Of(c) - back.Of(chunks-1-c)
			sum += units.Bytes(n) * stageClasses[k].live.Activations
		}
		return sum
	}
	most := alive(0) + t.beside
	if info.SplitsBackward {
		return most
	}
	last := min(spec.MicroBatches*chunks-forwards, chunks*group)
	for turn := 0; turn <= last; turn += group {
		most = max(most, alive(turn)+t.least)
		if next := turn + (group-forwards%group)%group; next <= last {
			most = max(most, alive(next)+t.least)
		}
	}
	return most
}
