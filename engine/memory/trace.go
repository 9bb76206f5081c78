package memory

import (
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// Sample is what a rank has allocated at one moment of a step. Between two
// samples every term changes in a straight line; two samples at the same moment
// are a jump.
type Sample struct {
	At          units.Seconds `json:"at_seconds"`
	Weights     units.Bytes   `json:"weights_bytes"`
	Gradients   units.Bytes   `json:"gradients_bytes"`
	Optimizer   units.Bytes   `json:"optimizer_bytes"`
	Activations units.Bytes   `json:"activations_bytes"`
	Logits      units.Bytes   `json:"logits_bytes"`
	Buffers     units.Bytes   `json:"buffers_bytes"`
}

// Allocated returns the sum of the terms.
func (s Sample) Allocated() units.Bytes {
	return s.Weights + s.Gradients + s.Optimizer + s.Activations + s.Logits + s.Buffers
}

// Between returns the straight line from s to t at a moment.
func (s *Sample) Between(t *Sample, at units.Seconds) Sample {
	span := t.At - s.At
	if span <= 0 {
		return *t
	}
	f := units.Bytes((at - s.At) / span)
	mix := func(x, y units.Bytes) units.Bytes { return x + f*(y-x) }
	return Sample{
		At: at, Weights: mix(s.Weights, t.Weights), Gradients: mix(s.Gradients, t.Gradients),
		Optimizer: mix(s.Optimizer, t.Optimizer), Activations: mix(s.Activations, t.Activations),
		Logits: mix(s.Logits, t.Logits), Buffers: mix(s.Buffers, t.Buffers),
	}
}

// Trace is what the steps of a rank have in common: what it does and when, and
// what that takes.
type Trace struct {
	Ops        []schedule.Op
	Begin, End []float64     // of the operations, in seconds
	Makespan   units.Seconds // of the whole pipeline
	Update     units.Seconds // how long the update lasts

	Start  Sample        // before the first operation, with a complete optimizer
	Master units.Bytes   // what the optimizer has in the first step, until the update makes the moments
	Chunks []StageMemory // by chunk
	// by chunk: those that the first backward makes; zero where they are there from the start
	Gradients []units.Bytes
	Updating  units.Bytes // temporaries of the update
	Frees     bool        // the update frees the gradients

	samples [2][]Sample // of a Follower: the first step and a later one

	filled []int // by chunk, the operation that makes its gradients
}

// NewTrace returns the trace of a rank on a timeline. Gradients of a stack that
// allocates them lazily appear in the first backward of each chunk.
func NewTrace(in *Input, stack Stack, line *schedule.Timeline, rank int, update units.Seconds) *Trace {
	o := line.Order
	from, to := o.Start[rank], o.Start[rank+1]
	c := &Trace{
		Ops: o.Ops[from:to], Begin: line.Begin[from:to], End: line.End[from:to],
		Makespan: units.Seconds(line.Makespan), Update: update, Frees: stack.LazyGradients(),
	}
	var params Parameters
	shard, cut := stack.Shard(in), stack.Cut(in)
	for chunk := range o.Chunks() {
		stage := o.StageOf(rank, chunk)
		p := stageParameters(in, note{}, stage, &cut)
		c.Chunks = append(c.Chunks, stack.Stage(in, stage))
		params.add(p)
		c.Gradients = append(c.Gradients, shard.Gradients.of(p))
	}
	params.share(in, rank)
	c.Start = Sample{
		Weights: shard.Weights.of(params), Gradients: shard.Gradients.of(params),
		Optimizer: shard.Optimizer.of(params), Buffers: stack.Buffers(in, rank, params),
	}
	c.Master = shard.Master.of(params)
	if in.Offload.Optimizer() {
		c.Start.Optimizer, c.Master = 0, 0
	}
	c.Updating = stack.Update(in, rank, params)
	if f, ok := stack.(Follower); ok {
		c.samples = f.Follow(in, c)
		return c
	}
	if !c.Frees {
		clear(c.Gradients)
		return c
	}
	// A tied head that is no copy has its gradient with the embedding.
	c.Gradients[len(c.Gradients)-1] += c.Start.Gradients - sum(c.Gradients)
	c.Start.Gradients = 0
	return c
}

// find notes which operation of each chunk is the first to make gradients.
func (c *Trace) find() {
	c.filled = make([]int, len(c.Chunks))
	for chunk := range c.filled {
		c.filled[chunk] = len(c.Ops)
	}
	missing := len(c.filled)
	for k, op := range c.Ops {
		if chunk := op.Chunk(); fills(op.Kind()) && c.filled[chunk] == len(c.Ops) {
			c.filled[chunk] = k
			if missing--; missing == 0 {
				return
			}
		}
	}
}

// fills reports whether gradients of weights are there at the end of an operation.
func fills(kind schedule.OpKind) bool {
	return kind == schedule.Backward || kind == schedule.WeightGradient
}

// walk follows a rank from operation to operation.
type walk struct {
	*Trace
	now Sample
	out [8]Sample // of the last operation or pair
	n   int
}

// next lets an operation happen, or the two of an overlapped pair, which begin
// together and end together. Its samples are out[:n]; the result is the
// operation after it.
func (w *walk) next(k int) int {
	w.n = 0
	first := w.temporaries(k)
	if !w.Ops[k].Paired() || k+1 == len(w.Ops) {
		w.startOp(k, false, first)
		w.endOp(k, false, temporaries{})
		return k + 1
	}
	second := w.temporaries(k + 1)
	w.startOp(k, true, first)
	w.startOp(k+1, true, temporaries{first.logits + second.logits, first.temporary + second.temporary})
	w.endOp(k, true, second)
	w.endOp(k+1, true, temporaries{})
	return k + 2
}

func (w *walk) take() {
	w.out[w.n] = w.now
	w.n++
}

// running is what operations need while they run.
type temporaries struct{ logits, temporary units.Bytes }

// set makes what runs what it is now. It starts from what is there in any case:
// adding and taking away again would lose the last digits of small terms next to
// large ones.
func (w *walk) set(now temporaries) {
	w.now.Logits = w.Start.Logits + now.logits
	w.now.Buffers = w.Start.Buffers + now.temporary
}

// begins starts an operation; now is what runs from then on. A forward fills its
// activations until it ends; one that is half of a pair (whole) has them at once.
func (w *walk) startOp(k int, whole bool, now temporaries) {
	w.now.At = units.Seconds(w.Begin[k])
	w.take()
	w.set(now)
	if op := w.Ops[k]; op.Kind() == schedule.Forward && whole {
		w.now.Activations += w.Chunks[op.Chunk()].Activations
	}
	w.take()
}

// ends ends an operation, after which that runs: a backward (or the weight
// gradient) has drained its activations and, the first time, filled the gradients.
func (w *walk) endOp(k int, whole bool, now temporaries) {
	chunk, kind := w.Ops[k].Chunk(), w.Ops[k].Kind()
	mem := &w.Chunks[chunk]
	freed := mem.freedBy(kind)
	// Where a recomputed layer keeps more for its weight gradient than its input,
	// the temporaries of the recomputation are what it keeps: at the end, not in addition.
	jumps := whole || freed < 0
	w.now.At = units.Seconds(w.End[k])
	switch {
	case kind == schedule.Forward && !whole:
		w.now.Activations += mem.Activations
	case !jumps:
		w.now.Activations = max(0, w.now.Activations-freed)
	}
	if w.filled[chunk] == k {
		w.now.Gradients += w.Gradients[chunk]
	}
	w.take()
	w.set(now)
	if jumps {
		w.now.Activations = max(0, w.now.Activations-freed)
	}
	w.take()
}

// temporaries returns the workspace of a running operation.
func (c *Trace) temporaries(k int) temporaries {
	switch l := &c.Chunks[c.Ops[k].Chunk()]; c.Ops[k].Kind() {
	case schedule.Forward:
		return temporaries{l.Logits, l.Forward}
	case schedule.WeightGradient:
		return temporaries{}
	default:
		return temporaries{l.Logits, l.Backward}
	}
}

func sum(list []units.Bytes) (total units.Bytes) {
	for _, b := range list {
		total += b
	}
	return total
}

// freedBy returns what the end of an operation frees of a micro-batch's activations:
// a split backward frees them in two parts.
func (l *StageMemory) freedBy(kind schedule.OpKind) units.Bytes {
	switch kind {
	case schedule.Backward:
		return l.Activations
	case schedule.InputGradient:
		return l.Activations - l.WeightInputs
	case schedule.WeightGradient:
		return l.WeightInputs
	default:
		return 0
	}
}
