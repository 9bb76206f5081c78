package memory

import (
	"slices"

	"meshscope/engine/recipe"
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

// Allocated is the sum of the terms.
func (s Sample) Allocated() units.Bytes {
	return s.Weights + s.Gradients + s.Optimizer + s.Activations + s.Logits + s.Buffers
}

// event is the beginning or the end of an operation.
type event struct {
	at    float64
	op    schedule.Op
	end   bool
	whole bool // one of an overlapped pair: its activations do not ramp
}

// UpdateSamples is how many samples at the end of a series are the update.
const UpdateSamples = 3

// Series is the memory of one rank over one step of the timeline, which ends
// after update seconds more. In the first step the optimizer has its master
// copy only, until the update makes the moments. Gradients of a stack that
// allocates them lazily appear in the first backward of each chunk.
func Series(in *Input, stack Stack, line *schedule.Timeline, rank int, first bool, update units.Seconds) []Sample {
	s := newSeries(in, stack, rank, first)
	happened := events(line, rank)
	s.list = slices.Grow(s.list, 2*len(happened)+UpdateSamples) // no copies: a long pipeline has millions
	for _, e := range happened {
		s.apply(e)
	}
	end := units.Seconds(line.Makespan)
	s.now.At = max(s.now.At, end)
	s.list = append(s.list, s.now)
	s.now.Buffers += stack.Update(in, s.params)
	s.now.Optimizer = s.optimizer
	s.list = append(s.list, s.now)
	s.now.At = end + update
	s.list = append(s.list, s.now)
	if stack.LazyGradients() {
		s.now.Gradients = 0
	}
	s.now.Buffers -= stack.Update(in, s.params)
	return append(s.list, s.now)
}

// events are the operations' beginnings and ends in the order of time: those of
// a rank follow one another, but for the halves of an overlapped pair.
func events(line *schedule.Timeline, rank int) []event {
	order := line.Order
	ops := order.Rank(rank)
	list := make([]event, 0, 2*len(ops))
	for k := 0; k < len(ops); k++ {
		i := order.Start[rank] + k
		begin, end := event{at: line.Begin[i], op: ops[k]}, event{at: line.End[i], op: ops[k], end: true}
		if !ops[k].Paired() || k+1 == len(ops) {
			list = append(list, begin, end)
			continue
		}
		k++
		begin.whole, end.whole = true, true
		second, last := begin, end
		second.op, last.op = ops[k], ops[k]
		list = append(list, begin, second, end, last)
	}
	return list
}

// series is the state of the walk.
type series struct {
	now       Sample
	list      []Sample
	live      []Live        // by chunk
	gradients []units.Bytes // by chunk, still to come
	params    Parameters
	optimizer units.Bytes // once it is complete
}

func newSeries(in *Input, stack Stack, rank int, first bool) *series {
	s := &series{}
	shard, cut := stack.Shard(in), stack.Cut(in)
	for c := range in.Order.Chunks() {
		stage := in.Order.StageOf(rank, c)
		p := stageParameters(in, stage, cut)
		s.live = append(s.live, stack.Stage(in, stage))
		s.params.add(p)
		s.gradients = append(s.gradients, shard.Gradients.of(p))
	}
	s.params.share(in, rank)
	s.now.Weights = shard.Weights.of(s.params)
	s.now.Gradients = shard.Gradients.of(s.params)
	s.optimizer = shard.Optimizer.of(s.params)
	s.now.Optimizer = s.optimizer
	if first {
		s.now.Optimizer = shard.Master.of(s.params)
	}
	if in.Offload == recipe.OffloadOptimizer {
		s.optimizer, s.now.Optimizer = 0, 0
	}
	if stack.LazyGradients() {
		// A tied head that is no copy has its gradient with the embedding.
		s.gradients[len(s.gradients)-1] += s.now.Gradients - sum(s.gradients)
		s.now.Gradients = 0
	} else {
		clear(s.gradients)
	}
	s.now.Buffers = stack.Buffers(in, rank, s.params)
	s.list = append(s.list, s.now)
	return s
}

func sum(list []units.Bytes) (total units.Bytes) {
	for _, b := range list {
		total += b
	}
	return total
}

// apply moves to the event and lets it happen: a forward fills its activations
// until it ends, a backward (or the weight gradient) drains them and, the first
// time, fills the gradients.
func (s *series) apply(e event) {
	c := e.op.Chunk()
	live := &s.live[c]
	kind := e.op.Kind()
	fills := kind == schedule.Backward || kind == schedule.WeightGradient // the gradients
	freed := live.freedBy(kind)
	// Where a recomputed layer keeps more for its weight gradient than its input,
	// the temporaries of the recomputation are what it keeps: at the end, not besides.
	jumps := e.whole || freed < 0
	logits, temporary := live.Logits, live.Backward
	switch kind {
	case schedule.Forward:
		temporary = live.Forward
	case schedule.WeightGradient:
		logits, temporary = 0, 0
	default:
	}
	s.now.At = units.Seconds(e.at)
	if e.end {
		switch {
		case kind == schedule.Forward && !e.whole:
			s.now.Activations += live.Activations
		case !jumps:
			s.now.Activations = max(0, s.now.Activations-freed)
		}
		if fills {
			s.now.Gradients += s.gradients[c]
			s.gradients[c] = 0
		}
	}
	s.list = append(s.list, s.now)
	if e.end {
		s.now.Logits -= logits
		s.now.Buffers -= temporary
		if jumps {
			s.now.Activations = max(0, s.now.Activations-freed)
		}
	} else {
		s.now.Logits += logits
		s.now.Buffers += temporary
		if kind == schedule.Forward && e.whole {
			s.now.Activations += live.Activations
		}
	}
	s.list = append(s.list, s.now)
}

// freedBy is what the end of an operation frees of a micro-batch's activations:
// a split backward frees them in two parts.
func (l *Live) freedBy(kind schedule.OpKind) units.Bytes {
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
