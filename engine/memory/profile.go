package memory

import (
	"iter"
	"slices"
	"sort"

	"meshscope/engine/units"
)

// Profile is the memory of one rank over one step of the timeline, which ends
// after the update. It does not hold its samples (a rank of a long pipeline has
// millions) but what the rank has before every blockOps operations and the most
// it has among them; between these it walks the timeline again.
type Profile struct {
	of      *Trace
	start   Sample
	blocks  []block
	tail    [4]Sample // the end of the pipeline, and the update
	peak    Sample
	compute units.Bytes
	samples []Sample // of a stack that follows its tensors; else nil
}

// block is a run of operations.
type block struct {
	before Sample // what the rank has when the first begins
	most   Sample // the first with most allocated
}

// blockOps is the length of a block: a step of a million operations has less
// than a megabyte of blocks, and a picture walks two of them for each column.
const blockOps = 256

// Profiles returns the memory of a rank over the first step and over a later one.
func Profiles(c *Trace) [2]Profile {
	if c.samples[0] != nil {
		return [2]Profile{sampled(c, c.samples[0]), sampled(c, c.samples[1])}
	}
	c.find()
	first := c.Start
	first.Optimizer = c.Master
	return [2]Profile{newProfile(c, first), newProfile(c, c.Start)}
}

// sampled returns the profile of a step whose samples are there.
func sampled(of *Trace, samples []Sample) Profile {
	c := Profile{of: of, start: samples[0], peak: samples[0], samples: samples}
	for i := range samples {
		if c.raise(&samples[i]); samples[i].At <= of.Makespan {
			c.compute = max(c.compute, samples[i].Allocated())
		}
	}
	c.tail[len(c.tail)-1] = samples[len(samples)-1]
	return c
}

func newProfile(of *Trace, start Sample) Profile {
	c := Profile{
		of: of, start: start, peak: start,
		blocks: make([]block, 0, (len(of.Ops)+blockOps-1)/blockOps),
	}
	w := walk{Trace: of, now: start}
	for k := 0; k < len(of.Ops); {
		if c.from(len(c.blocks)) == k {
			c.blocks = append(c.blocks, block{before: w.now, most: w.now})
		}
		at := &c.blocks[len(c.blocks)-1]
		k = w.next(k)
		for i := range w.out[:w.n] {
			if w.out[i].Allocated() > at.most.Allocated() {
				at.most = w.out[i]
			}
		}
	}
	for i := range c.blocks {
		c.raise(&c.blocks[i].most)
	}
	c.end(w.now)
	return c
}

// end adds the end of the pipeline and the update.
func (c *Profile) end(now Sample) {
	now.At = max(now.At, c.of.Makespan)
	c.tail[0] = now
	c.raise(&now)
	c.compute = c.peak.Allocated()
	now.Buffers += c.of.Updating
	now.Optimizer = c.of.Start.Optimizer
	c.tail[1] = now
	now.At = c.of.Makespan + c.of.Update
	c.tail[2] = now
	if c.of.Frees {
		now.Gradients = 0
	}
	now.Buffers = c.of.Start.Buffers
	c.tail[3] = now
	for i := range c.tail {
		c.raise(&c.tail[i])
	}
}

func (c *Profile) raise(s *Sample) {
	if s.Allocated() > c.peak.Allocated() {
		c.peak = *s
	}
}

// from returns the first operation of a block; none splits an overlapped pair.
func (c *Profile) from(b int) int {
	k := b * blockOps
	if k > 0 && k < len(c.of.Ops) && c.of.Ops[k-1].Paired() {
		k++
	}
	return min(k, len(c.of.Ops))
}

// Start returns what the rank has when the step begins.
func (c *Profile) Start() Sample { return c.start }

// Length returns how long the step lasts.
func (c *Profile) Length() units.Seconds { return c.tail[len(c.tail)-1].At }

// Peak returns the first sample with most allocated.
func (c *Profile) Peak() Sample { return c.peak }

// Pass returns the most that forward and backward have allocated, the update left out.
func (c *Profile) ComputePeak() units.Bytes { return c.compute }

// Operations returns how many operations of the timeline it reads.
func (c *Profile) Operations() int {
	if c.of == nil {
		return 0
	}
	return len(c.of.Ops)
}

// Len returns the number of samples.
func (c *Profile) Len() int {
	if c.samples != nil {
		return len(c.samples)
	}
	return 1 + 4*len(c.of.Ops) + len(c.tail)
}

// All walks the samples from the start of the step to its end.
func (c *Profile) All() iter.Seq[Sample] {
	if c.samples != nil {
		return slices.Values(c.samples)
	}
	return func(yield func(Sample) bool) {
		if !yield(c.start) {
			return
		}
		w := walk{Trace: c.of, now: c.start}
		for k := 0; k < len(c.of.Ops); {
			k = w.next(k)
			for _, s := range w.out[:w.n] {
				if !yield(s) {
					return
				}
			}
		}
		for _, s := range c.tail {
			if !yield(s) {
				return
			}
		}
	}
}

// Most returns the sample with most allocated among those from one moment until
// before another, and what the rank has at the first moment itself. It costs two
// blocks of operations, however long the step.
func (c *Profile) Most(from, to units.Seconds) Sample {
	if c.samples != nil {
		return c.mostSampled(from, to)
	}
	// Everything before operation k has ended before that moment.
	k := sort.Search(len(c.of.Ops), func(i int) bool { return units.Seconds(c.of.End[i]) >= from })
	q := query{from: from, to: to}
	w := walk{Trace: c.of, now: c.start}
	if k == 0 {
		q.take(&c.start)
	} else {
		b := min(k/blockOps, len(c.blocks)-1)
		w.now = c.blocks[b].before
		for i := c.from(b); i < k; {
			i = w.next(i)
		}
		q.before, q.some = w.now, true
	}
	for k < len(c.of.Ops) && !q.done {
		if b := k / blockOps; q.found && c.from(b) == k {
			if next := c.from(b + 1); next < len(c.of.Ops) && units.Seconds(c.of.End[next-1]) < to {
				q.take(&c.blocks[b].most)
				w.now, k = c.blocks[b+1].before, next
				continue
			}
		}
		k = w.next(k)
		for i := range w.out[:w.n] {
			q.take(&w.out[i])
		}
	}
	for i := range c.tail {
		q.take(&c.tail[i])
	}
	if !q.found {
		return c.tail[len(c.tail)-1]
	}
	return q.best
}

// mostSampled is Most where samples are there.
func (c *Profile) mostSampled(from, to units.Seconds) Sample {
	k := sort.Search(len(c.samples), func(i int) bool { return c.samples[i].At >= from })
	q := query{from: from, to: to}
	for i := max(k-1, 0); i < len(c.samples) && !q.done; i++ {
		q.take(&c.samples[i])
	}
	if !q.found {
		return c.samples[len(c.samples)-1]
	}
	return q.best
}

// query is a search for the most in a stretch of time.
type query struct {
	from, to     units.Seconds
	before, best Sample
	some, found  bool // there is one before, there is one from then on
	done         bool
}

// take is the next sample in the order of time.
func (q *query) take(s *Sample) {
	if q.done {
		return
	}
	if !q.found {
		if s.At < q.from {
			q.before, q.some = *s, true
			return
		}
		q.found, q.best = true, *s
		if q.some {
			q.best = q.before.Between(s, q.from)
		}
	}
	if q.done = s.At >= q.to; !q.done && s.Allocated() > q.best.Allocated() {
		q.best = *s
	}
}
