// Package memory says how many bytes each pipeline rank needs at its peak, term
// by term. What is kept, and in how many bytes, depends on the software: a
// stack is one implementation of the Stack interface in a file of its own.
package memory

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/ledger"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/units"
)

// Input is what memory depends on. Stages are those of Layout.Partition, Order
// is the schedule whose in-flight activations are counted.
type Input struct {
	Model           *model.Model
	Program         *model.Program // the same as operations
	Layout          *layout.Layout
	Stages          []layout.Stage
	Order           *schedule.Order
	Precision       recipe.Precision
	GradDtype       recipe.GradDtype
	Attention       recipe.Attention
	Loss            recipe.Loss
	Optimizer       recipe.Optimizer
	Offload         recipe.Offload
	OffloadedLayers int // layers of each pipeline rank whose activations are kept in host memory
	Recompute       recipe.Recompute
	Load            float64 // routed tokens of the busiest rank over the even share, at least 1
	TrainMTP        bool
	Fitted          hardware.StackMemory // constants of the stack
	Training        recipe.Training      // what is trained
	Rates           ledger.Rates         // of a ledger's kernels; zero: not known
	Node            int                  // GPUs of a node
	Record          *record.Recorder     // records formulas; nil: nobody asked
	Floor           bool                 // a lower bound will do, where a stack has one that is quicker

	activations []LayerActivations // of each distinct layer, once known
	scratch     *saver
	ledgers     map[ledgerKey]*ledger.Result
	fragments   units.Bytes // that the allocator reserves beyond what is allocated, of the last ledger

	sameShapes knownShapes
}

// Set makes it another input, that reuses the memory of the one before.
func (in *Input) Set(to *Input) {
	to.scratch, to.activations, to.sameShapes, to.ledgers = in.scratch, in.activations[:0], in.sameShapes,
		in.ledgers
	*in = *to
}

// Rank is the memory of one pipeline rank at its peak, per GPU, term by term.
// Parameters are those on one GPU of the rank. InFlight is the peak number of
// stage-activations alive (chunks / VPP, so it can be fractional).
type Rank struct {
	Rank       int          `json:"rank"`
	Layers     int          `json:"layers"`
	Kinds      []KindLayers `json:"layer_kinds,omitempty"` // the same by kind, where the model has several
	Parameters float64      `json:"parameters"`
	// embedding and head, contained in Parameters
	EmbeddingParameters float64     `json:"embedding_parameters"`
	InFlight            float64     `json:"in_flight"`
	Weights             units.Bytes `json:"weights_bytes"`
	Gradients           units.Bytes `json:"gradients_bytes"`
	Optimizer           units.Bytes `json:"optimizer_bytes"`
	Activations         units.Bytes `json:"activations_bytes"`
	// contained in Activations: kept for weight gradients that a split backward puts off
	WeightInputs units.Bytes `json:"weight_inputs_bytes"`
	Logits       units.Bytes `json:"logits_bytes"`    // of the head and the loss
	Buffers      units.Bytes `json:"buffers_bytes"`   // what the stack keeps or makes in addition
	Allocated    units.Bytes `json:"allocated_bytes"` // the sum of the six terms above
	// allocator slack, driver context, communicators
	Overhead units.Bytes `json:"overhead_bytes"`
	Total    units.Bytes `json:"total_bytes"` // Allocated + Overhead

	OverheadParts Overhead `json:"overhead"` // what Overhead is made of
	// Where the stack has a ledger: what the allocator holds, what the driver takes beyond it, the largest
	// allocation of the first step, and when the peak is.
	Reserved      units.Bytes `json:"reserved_bytes,omitempty"`
	Driver        units.Bytes `json:"driver_bytes,omitempty"`
	FirstStepPeak units.Bytes `json:"first_step_peak_bytes,omitempty"`
	Moment        string      `json:"moment,omitempty"`
	Offloaded     units.Bytes `json:"offloaded_bytes,omitempty"` // kept in host memory, in no other term
}

// KindLayers is how many layers of a kind a pipeline rank has.
type KindLayers struct {
	Name   string `json:"name"` // as model.Layer.Words
	Layers int    `json:"layers"`
}

// Overhead is what a GPU uses beyond allocated tensors, by name.
type Overhead struct {
	Slack         units.Bytes `json:"allocator_slack_bytes"`
	Context       units.Bytes `json:"driver_context_bytes"`
	Communicators units.Bytes `json:"communicators_bytes"`
}

// Overhead returns what a GPU uses beyond so many allocated bytes.
func (in *Input) Overhead(allocated units.Bytes) Overhead {
	return in.overhead(in.communicatorBytes(), allocated)
}

func (in *Input) overhead(communicators, allocated units.Bytes) Overhead {
	f := &in.Fitted
	return Overhead{
		Slack: units.Bytes(f.Slack)*allocated + in.fragments, Context: f.Context,
		Communicators: communicators + units.Bytes(f.CommunicatorsShare)*allocated,
	}
}

// communicatorBytes returns what the layout's communicators take whatever is allocated.
func (in *Input) communicatorBytes() units.Bytes {
	kinds, each := in.communicators()
	return units.Bytes(kinds) * each
}

// communicators returns how many times what the layout's communicators need. One held 1.6 GB on a GPU, three
// and more about 6 (NVIDIA/nccl#864); on one GPU there is none. On a single node, without buffers for a
// network, each group of more than two held 688 MiB (NVIDIA/nccl#964); an all-to-all connects every pair
// there, 3.3 GB (NVIDIA/nccl#1685), so that experts count as across nodes.
func (in *Input) communicators() (kinds float64, each units.Bytes) {
	const all = 3
	n, f := in.Layout.Communicators(), &in.Fitted
	if f.NodeCommunicator > 0 && in.Layout.EP <= 1 && in.Layout.Ranks() <= in.Node &&
		units.Bytes(n)*f.NodeCommunicator < f.Communicators {
		return float64(n), f.NodeCommunicator
	}
	return float64(min(n, all)) / all, f.Communicators
}

// Sum returns all of it.
func (o Overhead) Sum() units.Bytes { return o.Slack + o.Context + o.Communicators }

// StageMemory is what one micro-batch adds to a stage: saved for the backward, and while it runs.
type StageMemory struct {
	Activations units.Bytes // kept from a micro-batch's forward to its backward (or input gradient)
	// WeightInputs is kept from the input gradient to the weight gradient where a
	// schedule splits the backward: the inputs of the weight products and the
	// gradients of their outputs.
	WeightInputs units.Bytes
	Logits       units.Bytes // alive only while the stage's forward or backward runs
	Forward      units.Bytes // other temporaries of the forward
	Backward     units.Bytes // other temporaries of the backward
	Offloaded    units.Bytes // in host memory from a micro-batch's forward to its backward
}
