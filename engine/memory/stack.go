package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Stack is the memory behaviour of one software stack.
type Stack interface {
	// Offers lists which ZeRO stages the stack has; the others are evaluated as
	// the textbook shards them.
	Offers() [4]bool
	// Cut gives how parameters are cut over the ranks that share one replica.
	Cut(in *Input) Divisors
	// Shard divides bytes per parameter over the data-parallel ranks.
	Shard(in *Input) Sharding
	// Save says what one layer keeps from its forward to its backward.
	Save(s *saver)
	// Stage gives what one micro-batch adds on a stage.
	Stage(in *Input, stage int) StageMemory
	// Buffers are persistent temporaries of all stages of a rank with these
	// parameters.
	Buffers(in *Input, rank int, p Parameters) units.Bytes
	// Update are temporaries of the optimizer's update, when no activation is
	// alive.
	Update(in *Input, rank int, p Parameters) units.Bytes
	// LazyGradients reports whether gradients are allocated as the first backward
	// makes them, and freed by the update.
	LazyGradients() bool
	// Assumptions appends what these bytes assume; overhead is the sentence about
	// memory beyond tensors.
	Assumptions(into []string, l *layout.Layout, overhead string) []string
}

// Reserver is a stack that knows what the allocator reserves.
type Reserver interface {
	// Reserved fills in what the allocator holds, the peak of the first step and when the peak is.
	Reserved(in *Input, out *Rank)
}

// Follower is a stack that knows what is alive at each moment of the first step and of a later one.
type Follower interface {
	Follow(in *Input, of *Trace) [2][]Sample
}

// common is what stacks do unless they say otherwise: every ZeRO stage, sharded
// as in the ZeRO paper, gradients allocated once, no buffers.
type common struct{}

func (common) Offers() [4]bool { return [4]bool{true, true, true, true} }

func (common) Cut(in *Input) Divisors { return tensorParallel(in, float64(in.Model.Vocab)) }

func (common) Shard(in *Input) Sharding { return zero(in) }

func (common) Buffers(*Input, int, Parameters) units.Bytes { return 0 }

func (common) Update(*Input, int, Parameters) units.Bytes { return 0 }

func (common) LazyGradients() bool { return false }

// For returns the implementation of a stack; the second value is false for a
// stack that is not built.
func For(s recipe.Stack) (Stack, bool) {
	s = s.Resolve()
	for _, row := range [...]struct {
		word  recipe.Stack
		stack Stack
	}{
		{recipe.MegatronCore, megatronCore{}},
		{recipe.Megatron2022, megatron2022{}},
		{recipe.Megatron2021, megatron2021{}},
		{recipe.Nanotron, nanotron{}},
		{recipe.TorchTitan, torchTitan{}},
		{recipe.LLMFoundry, llmFoundry{}},
		{recipe.PyTorch, pyTorch{}},
		{recipe.Transformers, pyTorch{transformers: true}},
		{recipe.DeepSpeed, pyTorch{transformers: true, zero: true}},
		{recipe.Textbook, textbook{}},
	} {
		if row.word == s {
			return row.stack, true
		}
	}
	return nil, false
}
