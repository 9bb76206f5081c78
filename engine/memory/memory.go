// Package memory says how many bytes each pipeline rank needs at its peak, term
// by term. What is kept, and in how many bytes, depends on the software: a
// stack is one implementation of the Stack interface in a file of its own.
package memory

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// Input is what memory depends on. Stages are those of Layout.Partition, Order
// is the schedule whose in-flight activations are counted.
type Input struct {
	Model     *model.Model
	Layout    *layout.Layout
	Stages    []layout.Stage
	Order     *schedule.Order
	Precision recipe.Precision
	GradDtype recipe.GradDtype
	Attention recipe.Attention
	Loss      recipe.Loss
	Optimizer recipe.Optimizer
	Offload   recipe.Offload
	Recompute recipe.Recompute
	Load      float64 // routed tokens of the busiest rank over the even share, at least 1
	TrainMTP  bool
	Fitted    hardware.StackMemory // constants of the stack
	Record    *record.Recorder     // takes down formulas; nil: nobody asked
}

// Rank is the memory of one pipeline rank at its peak, per GPU, term by term.
// Parameters are those on one GPU of the rank. InFlight is the peak number of
// stage-activations alive (chunks / VPP, so it can be fractional).
type Rank struct {
	Rank                int         `json:"rank"`
	Layers              int         `json:"layers"`
	Parameters          float64     `json:"parameters"`
	EmbeddingParameters float64     `json:"embedding_parameters"` // embedding and head, contained in Parameters
	InFlight            float64     `json:"in_flight"`
	Weights             units.Bytes `json:"weights_bytes"`
	Gradients           units.Bytes `json:"gradients_bytes"`
	Optimizer           units.Bytes `json:"optimizer_bytes"`
	Activations         units.Bytes `json:"activations_bytes"`
	WeightInputs        units.Bytes `json:"weight_inputs_bytes"` // contained in Activations: kept for weight gradients that a split backward puts off
	Logits              units.Bytes `json:"logits_bytes"`        // of the head and the loss
	Buffers             units.Bytes `json:"buffers_bytes"`       // what the stack keeps or makes besides
	Allocated           units.Bytes `json:"allocated_bytes"`     // the sum of the six terms above
	Overhead            units.Bytes `json:"overhead_bytes"`      // allocator slack, driver context, communicators
	Total               units.Bytes `json:"total_bytes"`         // Allocated + Overhead

	OverheadParts Overhead    `json:"overhead"`                  // what Overhead is made of
	Offloaded     units.Bytes `json:"offloaded_bytes,omitempty"` // kept in host memory, in no other term
}

// Overhead is what a GPU uses beyond allocated tensors, by name.
type Overhead struct {
	Slack         units.Bytes `json:"allocator_slack_bytes"`
	Context       units.Bytes `json:"driver_context_bytes"`
	Communicators units.Bytes `json:"communicators_bytes"`
}

// Overhead is what a GPU uses beyond so many allocated bytes.
func (in *Input) Overhead(allocated units.Bytes) Overhead {
	f := &in.Fitted
	return Overhead{
		Slack:         units.Bytes(f.Slack) * allocated,
		Context:       f.Context,
		Communicators: f.Communicators + units.Bytes(f.CommunicatorsShare)*allocated,
	}
}

// Sum is all of it.
func (o Overhead) Sum() units.Bytes { return o.Slack + o.Context + o.Communicators }

// Live is what one stage adds to memory while micro-batches pass through it.
type Live struct {
	Activations units.Bytes // kept from a micro-batch's forward to its backward (or input gradient)
	// WeightInputs is kept from the input gradient to the weight gradient where a
	// schedule splits the backward: the inputs of the weight products and the
	// gradients of their outputs.
	WeightInputs units.Bytes
	Logits       units.Bytes // alive only while the stage's forward or backward runs
	Forward      units.Bytes // other temporaries of the forward
	Backward     units.Bytes // other temporaries of the backward
}

// Evaluator computes ranks with memory that it reuses.
type Evaluator struct {
	chunks  []schedule.ChunkBytes // of the rank at hand, by chunk
	live    []Live                // by model stage
	params  []Parameters          // by rank
	largest bool                  // a plain maximum is the peak: one chunk, whole backwards
}

// Count counts the parameters of every pipeline rank, by rank. The order only has
// to say which rank has which stages.
func (e *Evaluator) Count(in *Input, stack Stack) []Parameters {
	e.params = e.params[:0]
	cut := stack.Cut(in)
	c := counter{in: in, cut: cut, last: -1}
	for r := range in.Layout.PP {
		e.params = append(e.params, c.rank(r))
	}
	return e.params
}

// Parameters of the ranks that the last call of Count found, by rank.
func (e *Evaluator) Parameters() []Parameters { return e.params }

// Live is what each model stage adds, of the last call of Ranks or Pass.
func (e *Evaluator) Live() []Live { return e.live }

// Ranks appends the memory of every pipeline rank to into. The parameters must
// have been counted.
func (e *Evaluator) Ranks(in *Input, stack Stack, into []Rank) []Rank {
	shard := stack.Shard(in)
	info, _ := in.Order.Spec.Kind.Info()
	e.largest = in.Order.Chunks() == 1 && !info.SplitsBackward
	e.Pass(in, stack)
	for r := range in.Layout.PP {
		into = append(into, e.rank(in, stack, shard, r))
	}
	return into
}

// Pass works out what each model stage adds while micro-batches pass. Like Count
// it needs no operations, only which rank has which stages.
func (e *Evaluator) Pass(in *Input, stack Stack) []Live {
	e.live = e.live[:0]
	for s := range in.Stages {
		if s > 0 && in.Stages[s] == in.Stages[s-1] && recomputed(in, s) == recomputed(in, s-1) {
			e.live = append(e.live, e.live[s-1])
			continue
		}
		e.live = append(e.live, stack.Stage(in, s))
	}
	return e.live
}

func (e *Evaluator) rank(in *Input, stack Stack, shard Sharding, r int) Rank {
	params := e.params[r]
	out := Rank{
		Rank: r, Parameters: params.Dense + params.Expert, EmbeddingParameters: params.Embedding,
		Weights: shard.Weights.of(params), Gradients: shard.Gradients.of(params), Optimizer: shard.Optimizer.of(params),
	}
	e.chunks = e.chunks[:0]
	for c := range in.Order.Chunks() {
		s := in.Order.StageOf(r, c)
		out.Layers += in.Stages[s].Layers()
		e.chunks = append(e.chunks, e.live[s].Chunk())
	}
	if in.Offload == recipe.OffloadOptimizer {
		out.Offloaded, out.Optimizer = out.Optimizer, 0
	}
	e.peak(in, r, &out)
	if update := stack.Update(in, params); update > out.Activations+out.Logits+out.Buffers {
		out.Activations, out.Logits, out.Buffers = 0, 0, update
	}
	out.Buffers += stack.Buffers(in, r, params)
	out.Allocated = out.Weights + out.Gradients + out.Optimizer + out.Activations + out.Logits + out.Buffers
	out.OverheadParts = in.Overhead(out.Allocated)
	out.Overhead = out.OverheadParts.Sum()
	out.Total = out.Allocated + out.Overhead
	return out
}

// Chunk is the stage's bytes as the schedule counts them.
func (l *Live) Chunk() schedule.ChunkBytes {
	return schedule.ChunkBytes{
		Activation: float64(l.Activations), WeightInputs: float64(l.WeightInputs),
		Forward: float64(l.Logits + l.Forward), Backward: float64(l.Logits + l.Backward),
	}
}

// peak finds the operation at which the rank needs most. With one chunk per
// rank and whole backwards no walk is needed: whatever runs at the largest
// number of live micro-batches runs both as a forward and as a backward.
func (e *Evaluator) peak(in *Input, r int, out *Rank) {
	inFlight := in.Order.PeakInFlight(r)
	out.InFlight = float64(inFlight) / float64(in.Layout.VPP)
	if e.largest {
		out.Activations = units.Bytes(e.chunks[0].Activation * float64(inFlight))
		e.running(in, r, 0, e.chunks[0].Forward > e.chunks[0].Backward, out)
		return
	}
	peak := in.Order.PeakBytes(r, e.chunks)
	ops := in.Order.Rank(r)[peak.At:]
	out.Activations, out.WeightInputs = units.Bytes(peak.Bytes), units.Bytes(peak.WeightInputs)
	for k := 0; k == 0 || k == 1 && ops[0].Paired(); k++ {
		if kind := ops[k].Kind(); kind != schedule.WeightGradient {
			e.running(in, r, ops[k].Chunk(), kind == schedule.Forward, out)
		}
	}
	out.Activations = max(0, out.Activations-out.Logits-out.Buffers)
}

// running adds what an operation needs besides activations.
func (e *Evaluator) running(in *Input, r, chunk int, forward bool, out *Rank) {
	live := &e.live[in.Order.StageOf(r, chunk)]
	out.Logits += live.Logits
	if forward {
		out.Buffers += live.Forward
	} else {
		out.Buffers += live.Backward
	}
}
