package fit

import (
	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
)

// Shards says what ZeRO divides: over how many ranks, and what the terms of
// each pipeline rank would be if nothing were divided.
type Shards struct {
	Dense  int           `json:"dense"`  // ranks that share the states of dense parameters
	Expert int           `json:"expert"` // the same for routed experts
	Whole  []memory.Rank `json:"whole"`  // without ZeRO; buffers and overhead follow
}

// Unsharded computes the memory of a setup without ZeRO, all else equal. The
// second value is false for a setup that is illegal.
func Unsharded(e *engine.Evaluator, s engine.Setup) (Shards, bool) {
	if !knob.Legal(&s) {
		return Shards{}, false
	}
	out := Shards{Dense: s.DenseShards(), Expert: s.ExpertShards()}
	switch s.ZeRO = 0; s.Offload { // weights on the host need shards
	case recipe.OffloadWeights, recipe.OffloadWeightsNVMe:
		s.Offload = recipe.OffloadNone
	case recipe.OffloadOptimizerNVMe: // which needs shards too
		s.Offload = recipe.OffloadOptimizer
	case recipe.OffloadEverything:
		s.Offload = recipe.OffloadActivations
	case recipe.OffloadNone, recipe.OffloadOptimizer, recipe.OffloadActivations:
	}
	m := e.Memory(s)
	if m == nil {
		return Shards{}, false
	}
	out.Whole = m.Ranks
	return out, true
}
