// Package engine answers what a way of cutting the training costs. The flow is
// Setup -> Evaluate -> Report. The package is pure: no terminal, clock, file or
// global state; the same Setup gives the same Report on any goroutine.
package engine

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Setup is everything the user chooses. It is a plain comparable value, so that
// it can be a cache key and an entry of the undo history.
type Setup struct {
	Model   model.Model      `json:"model"`
	Cluster hardware.Cluster `json:"cluster"`

	layout.Layout
	RunPlan

	Schedule  schedule.Kind `json:"schedule"`
	GroupSize int           `json:"group_size"` // micro-batches per group of an interleaved schedule; 0: PP

	MaxInFlight int `json:"max_in_flight"` // activations that zb-auto lets a rank hold; 0: 1.5 x PP

	Recompute recipe.Recompute `json:"recompute"`
	Precision recipe.Precision `json:"precision"`
	GradDtype recipe.GradDtype `json:"grad_dtype"`
	Attention recipe.Attention `json:"attention"`
	Optimizer recipe.Optimizer `json:"optimizer"`
	Loss      recipe.Loss      `json:"loss"`    // empty: what the stack does by default
	Offload   recipe.Offload   `json:"offload"` // empty: none

	// Imbalance is the number of routed tokens on the busiest rank in percent of
	// the even share; 0 means 100.
	Imbalance int `json:"imbalance"`

	TrainMTP bool                 `json:"mtp"` // train the model's multi-token-prediction modules too
	Stack    recipe.Stack         `json:"calibration"`
	MFU      recipe.MFUConvention `json:"mfu"`
}

// Nodes is the number of nodes that hold the GPUs, the last one perhaps partly.
func (s *Setup) Nodes() int { return (s.GPUs + s.Cluster.Node() - 1) / s.Cluster.Node() }

// Spec is the pipeline schedule that the setup asks for.
func (s *Setup) Spec() schedule.Spec {
	return schedule.Spec{
		Kind: s.Schedule, Ranks: s.PP, VirtualStages: s.VPP,
		MicroBatches: s.MicroBatches, GroupSize: s.GroupSize, MaxInFlight: s.MaxInFlight,
	}
}

// Slow says that an evaluation takes longer than a frame allows, about 5 ms: to
// be run beside the handling of keys, with Evaluator.EvaluateUntil.
func (s *Setup) Slow() bool {
	const limit = 200_000
	return s.Spec().Work() > limit
}

// load is the imbalance as a factor, at least 1.
func (s *Setup) load() float64 { return float64(max(s.Imbalance, recipe.EvenLoad)) / recipe.EvenLoad }

// loss is the loss that runs.
func (s *Setup) loss() recipe.Loss {
	if s.Loss == "" {
		return s.Stack.Traits().Loss
	}
	return s.Loss
}

// partition lays the layers on the stages as the stack does it.
func (s *Setup) partition(into []layout.Stage) ([]layout.Stage, error) {
	if s.Stack.Traits().DealsByWork {
		return s.PartitionByCost(&s.Model, into)
	}
	return s.Partition(&s.Model, into)
}

// Problem is a reason why a setup is illegal, or a warning about a legal one.
type Problem = layout.Problem
