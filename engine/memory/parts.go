package memory

import (
	"meshscope/engine/model"
	"meshscope/engine/units"
)

// Part is one part of a layer on one GPU: its parameters, and the bytes that it
// keeps of one micro-batch.
type Part struct {
	Name        string      `json:"name"`
	Parameters  float64     `json:"parameters"`
	States      units.Bytes `json:"state_bytes"` // weights, gradients and optimizer on the GPU
	Activations units.Bytes `json:"activation_bytes"`
}

// Parts takes a layer, dense or with routed experts, to pieces. The sums are
// what the layer adds to a stage when nothing is recomputed in full.
func Parts(in *Input, stack Stack, moe bool) []Part {
	l, cut, kept := in.Program.Layer(moe).Params(), stack.Cut(in), in.layer(stack, moe)
	shard, inner := stack.Shard(in), kept.Parts[model.PartMLP]+kept.Parts[model.PartShared]
	perDense := units.Bytes(shard.Weights.Dense + shard.Gradients.Dense + shard.Optimizer.Dense)
	perExpert := units.Bytes(shard.Weights.Expert + shard.Gradients.Expert + shard.Optimizer.Expert)
	tokens := in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2
	part := func(name string, parameters float64, each units.Bytes, perToken float64) Part {
		return Part{name, parameters, units.Bytes(parameters) * each, units.Bytes(tokens * perToken)}
	}
	parts := []Part{part("attention", cut.kvCopies.V+cut.part(l.AttnSharded, l.AttnReplicated), perDense, kept.Parts[model.PartAttention])}
	if mlp := cut.part(l.MLPSharded+l.SharedExperts, l.MLPReplicated); mlp > 0 {
		name := "MLP"
		if moe {
			name = "shared experts"
		}
		parts = append(parts, part(name, mlp, perDense, inner))
	} else if inner > 0 {
		parts = append(parts, part("MLP", 0, perDense, inner)) // the textbook counts every layer as dense
	}
	if moe {
		parts = append(parts,
			part("experts", cut.expert(l), perExpert, kept.Parts[model.PartExperts]),
			part("router", cut.part(0, l.Router), perDense, kept.Parts[model.PartRouter]))
	}
	return append(parts, part("norms", cut.part(0, l.Norms), perDense, kept.Parts[model.PartNorms]))
}
