package memory

import (
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// Evaluator computes ranks in memory that it reuses: what it returns is valid until it is asked again.
type Evaluator struct {
	params []Parameters          // by rank
	stages []StageMemory         // by model stage
	chunks []schedule.ChunkBytes // of the rank at hand, by chunk

	largest       bool        // a plain maximum is the peak: one chunk, whole backwards
	communicators units.Bytes // whatever is allocated
}

// Parameters counts the parameters of every pipeline rank. The order only has
// to say which rank has which stages.
func (e *Evaluator) Parameters(in *Input, stack Stack) []Parameters {
	e.params = e.params[:0]
	in.symbols()
	cut := stack.Cut(in)
	c := counter{in: in, cut: cut, last: -1}
	for r := range in.Layout.PP {
		e.params = append(e.params, c.rank(r))
	}
	return e.params
}

// Ranks returns the memory of every pipeline rank, which is the caller's own, given what Parameters and
// Stages return.
func (e *Evaluator) Ranks(in *Input, stack Stack, params []Parameters, stages []StageMemory) []Rank {
	ranks := make([]Rank, in.Layout.PP)
	shard := stack.Shard(in)
	e.communicators = in.communicatorBytes()
	info, _ := in.Order.Spec.Kind.Info()
	e.largest = in.Order.Chunks() == 1 && !info.SplitsBackward
	for r := range ranks {
		ranks[r].Rank = r
		e.rank(in, stack, &shard, params[r], stages, &ranks[r])
	}
	return ranks
}

// Stages computes what one micro-batch adds to each model stage. Like Parameters it needs no
// operations, only which rank has which stages.
func (e *Evaluator) Stages(in *Input, stack Stack) []StageMemory {
	e.stages = e.stages[:0]
	for s := range in.Stages {
		if s > 0 && in.Stages[s] == in.Stages[s-1] && recomputed(in, s) == recomputed(in, s-1) &&
			offloadedLayers(in, s) == offloadedLayers(in, s-1) && !in.Record.On() {
			e.stages = append(e.stages, e.stages[s-1])
			continue
		}
		e.stages = append(e.stages, stack.Stage(in, s))
		in.stageNote(s).stageMemory(&e.stages[s])
	}
	return e.stages
}

// rank fills in what a rank, of which only the number is given, needs.
func (e *Evaluator) rank(in *Input, stack Stack, shard *Sharding, params Parameters, stages []StageMemory,
	out *Rank,
) {
	r := out.Rank
	note := in.rankNote(r)
	out.Layers, out.Parameters, out.EmbeddingParameters = params.Layers, params.Dense+params.Expert,
		params.Embedding
	out.Weights, out.Gradients, out.Optimizer = shard.Weights.of(params), shard.Gradients.of(params),
		shard.Optimizer.of(params)
	e.chunks = e.chunks[:0]
	out.Kinds = kindsOf(in, r)
	for c := range in.Order.Chunks() {
		s := in.Order.StageOf(r, c)
		note.layers(in, s)
		e.chunks = append(e.chunks, stages[s].Chunk())
	}
	if in.Offload.Optimizer() || shard.ownHost() {
		out.Offloaded = shard.onHost().of(params)
	}
	if in.Offload.Optimizer() {
		out.Optimizer = 0
	}
	note.states(&params, out, shard)
	e.peak(in, note, stages, r, out)
	if in.OffloadedLayers > 0 {
		out.Offloaded += e.offloadedLayers(in, note, stages, r)
	}
	note.offloaded(out)
	update := stack.Update(in, r, params)
	updating := update > out.Activations+out.Logits+out.Buffers
	if updating {
		out.Activations, out.Logits, out.Buffers = 0, 0, update
	}
	persistent := stack.Buffers(in, r, params)
	out.Buffers += persistent
	note.alive(out, persistent, updating)
	out.Allocated = out.Weights + out.Gradients + out.Optimizer + out.Activations + out.Logits + out.Buffers
	out.OverheadParts = in.overhead(e.communicators, out.Allocated)
	if k, ok := stack.(Reserver); ok {
		k.Reserved(in, out)
		out.Driver = out.OverheadParts.Context + out.OverheadParts.Communicators
	}
	out.Overhead = out.OverheadParts.Sum()
	out.Total = out.Allocated + out.Overhead
	note.total(in, out)
}

// kindsOf counts the layers of a rank by kind, in the order of the model's; nil where all are alike.
func kindsOf(in *Input, rank int) (kinds []KindLayers) {
	all := in.Program.Layers
	if in.Program.Period() == 1 {
		return nil
	}
	kinds = make([]KindLayers, 0, len(all))
	for i := range all {
		n := 0
		for c := range in.Order.Chunks() {
			n += int(in.Stages[in.Order.StageOf(rank, c)].Of[i])
		}
		if n > 0 {
			kinds = append(kinds, KindLayers{Name: all[i].Words, Layers: n})
		}
	}
	return kinds
}

// Chunk returns the stage's bytes as the schedule counts them.
func (l *StageMemory) Chunk() schedule.ChunkBytes {
	return schedule.ChunkBytes{
		Activation: float64(l.Activations), WeightInputs: float64(l.WeightInputs),
		Forward: float64(l.Logits + l.Forward), Backward: float64(l.Logits + l.Backward),
	}
}
