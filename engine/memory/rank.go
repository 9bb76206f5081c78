package memory

import (
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Evaluator computes ranks with memory that it reuses.
type Evaluator struct {
	chunks  []schedule.ChunkBytes // of the rank at hand, by chunk
	stages  []StageMemory         // by model stage
	params  []Parameters          // by rank
	largest bool                  // a plain maximum is the peak: one chunk, whole backwards
}

// Count counts the parameters of every pipeline rank, by rank. The order only has
// to say which rank has which stages.
func (e *Evaluator) Count(in *Input, stack Stack) []Parameters {
	e.params = e.params[:0]
	in.symbols()
	cut := stack.Cut(in)
	c := counter{in: in, cut: cut, last: -1}
	for r := range in.Layout.PP {
		e.params = append(e.params, c.rank(r))
	}
	return e.params
}

// Parameters of the ranks that the last call of Count found, by rank.
func (e *Evaluator) Parameters() []Parameters { return e.params }

// Live returns what each model stage adds, of the last call of Ranks or Pass.
func (e *Evaluator) LastStages() []StageMemory { return e.stages }

// Ranks appends the memory of every pipeline rank to into. The parameters must
// have been counted.
func (e *Evaluator) Ranks(in *Input, stack Stack, into []Rank) []Rank {
	shard := stack.Shard(in)
	info, _ := in.Order.Spec.Kind.Info()
	e.largest = in.Order.Chunks() == 1 && !info.SplitsBackward
	e.Stages(in, stack)
	for r := range in.Layout.PP {
		into = append(into, Rank{Rank: r})
		e.rank(in, stack, &shard, &into[len(into)-1])
	}
	return into
}

// Pass computes what each model stage adds while micro-batches pass. Like Count
// it needs no operations, only which rank has which stages.
func (e *Evaluator) Stages(in *Input, stack Stack) []StageMemory {
	e.stages = e.stages[:0]
	for s := range in.Stages {
		if s > 0 && in.Stages[s] == in.Stages[s-1] && recomputed(in, s) == recomputed(in, s-1) && offloadedLayers(in, s) == offloadedLayers(in, s-1) && !in.Record.On() {
			e.stages = append(e.stages, e.stages[s-1])
			continue
		}
		e.stages = append(e.stages, stack.Stage(in, s))
		in.stageNote(s).stageMemory(&e.stages[s])
	}
	return e.stages
}

// rank fills in what a rank, of which only the number is given, needs.
func (e *Evaluator) rank(in *Input, stack Stack, shard *Sharding, out *Rank) {
	r := out.Rank
	params, note := e.params[r], in.rankNote(r)
	out.Parameters, out.EmbeddingParameters = params.Dense+params.Expert, params.Embedding
	out.Weights, out.Gradients, out.Optimizer = shard.Weights.of(params), shard.Gradients.of(params), shard.Optimizer.of(params)
	e.chunks = e.chunks[:0]
	for c := range in.Order.Chunks() {
		s := in.Order.StageOf(r, c)
		out.Layers += in.Stages[s].Layers()
		note.layers(s, in.Stages[s].Layers())
		e.chunks = append(e.chunks, e.stages[s].Chunk())
	}
	if in.Offload == recipe.OffloadOptimizer {
		out.Offloaded, out.Optimizer = out.Optimizer, 0
	}
	note.states(&params, out, shard.Weights.Copies > 0)
	e.peak(in, note, r, out)
	update := stack.Update(in, r, params)
	updating := update > out.Activations+out.Logits+out.Buffers
	if updating {
		out.Activations, out.Logits, out.Buffers = 0, 0, update
	}
	persistent := stack.Buffers(in, r, params)
	out.Buffers += persistent
	note.alive(out, persistent, updating)
	out.Allocated = out.Weights + out.Gradients + out.Optimizer + out.Activations + out.Logits + out.Buffers
	out.OverheadParts = in.Overhead(out.Allocated)
	out.Overhead = out.OverheadParts.Sum()
	out.Total = out.Allocated + out.Overhead
	note.total(in, out)
}

// Chunk returns the stage's bytes as the schedule counts them.
func (l *StageMemory) Chunk() schedule.ChunkBytes {
	return schedule.ChunkBytes{
		Activation: float64(l.Activations), WeightInputs: float64(l.WeightInputs),
		Forward: float64(l.Logits + l.Forward), Backward: float64(l.Logits + l.Backward),
	}
}
