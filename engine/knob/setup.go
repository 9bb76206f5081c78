package knob

import (
	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Setup is everything the user chooses: the value of every knob, the model and
// the machine. It is a plain comparable value, so that it can be a cache key and
// an entry of the undo history. The fields of a group of knobs stand next to their
// rows: Recipe in recipe.go, RunPlan in runplan.go.
type Setup struct {
	Model   model.Model      `json:"model"`
	Cluster hardware.Cluster `json:"cluster"`

	layout.Layout
	RunPlan
	Recipe
}

// Nodes returns the number of nodes that hold the GPUs, the last one perhaps partly.
func (s *Setup) Nodes() int { return (s.GPUs + s.Cluster.Node() - 1) / s.Cluster.Node() }

// Spec returns the pipeline schedule that the setup asks for.
func (s *Setup) Spec() schedule.Spec {
	return schedule.Spec{
		Kind: s.Schedule, Ranks: s.PP, VirtualStages: s.VPP,
		MicroBatches: s.MicroBatches, GroupSize: s.GroupSize, MaxInFlight: s.MaxInFlight,
	}
}

// Interleaves reports whether ranks run several stages. A software stack's waiting for
// messages shows only then: plain schedules send and receive at once.
func (s *Setup) Interleaves() bool { return s.VPP >= 2 }

// Slow says that an evaluation takes longer than a frame allows, about 5 ms: to
// be run next to the handling of keys, with Evaluator.EvaluateUntil.
func (s *Setup) Slow() bool {
	const limit = 200_000
	return s.Spec().Work() > limit
}

// ExpertLoad returns the load of the busiest expert rank over the even share, at least 1.
func (s *Setup) ExpertLoad() float64 {
	return float64(max(s.Imbalance, recipe.EvenLoad)) / recipe.EvenLoad
}

// LossKernel returns the cross-entropy that runs: the given one, or the stack's own.
func (s *Setup) LossKernel() recipe.Loss {
	if s.Loss == "" {
		return s.Stack.Traits().Loss
	}
	return s.Loss
}

// StagesOfStack returns each stage its layers as the software stack does; without the program of the
// model it is laid out.
func (s *Setup) StagesOfStack(p *model.Program, into []layout.Stage) ([]layout.Stage, error) {
	if p == nil {
		p = model.Lay(&s.Model, nil)
	}
	if s.Stack.Traits().DealsByWork {
		return s.PartitionByCost(p, into)
	}
	return s.Partition(p, into)
}

// Problem is a reason why a setup is illegal, or a warning about a legal one.
type Problem = layout.Problem
