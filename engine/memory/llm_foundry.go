package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// llmFoundry is PyTorch's first FSDP as MosaicML's llm-foundry ran it in 2023: fp32
// weights, gradients and moments, sharded, and 16-bit copies gathered block by block.
// Embedding and final norm belong to no block, so that their copy and their gradient stay
// whole from forward to backward (mosaicml/llm-foundry, models/mpt/modeling_mpt.py wraps
// MPTBlock; PyTorch's FullyShardedDataParallel does not reshard the root after the
// forward). Gradients are summed in fp32 (mixed_precision DEFAULT) or, with --grad-dtype
// bf16, in 16 bits (PURE; mosaicml/composer, get_mixed_precision); the shards are fp32 in
// both. Gathers are limited to the block at work and the next one (limit_all_gathers, set
// by scripts/train/benchmarking/submit_benchmarks.py).
type llmFoundry struct{ torchTitan }

func (llmFoundry) Assumptions(into []string, _ *layout.Layout, overhead string) []string {
	into = append(
		into,
		"memory follows llm-foundry's FSDP of 2023: fp32 weights, gradients and moments, 16-bit copies of "+
			"one gathered and one prefetched block, and of the embedding for the whole step",
	)
	into = append(into, overhead)
	return into
}

// Save keeps the tensors that Megatron-Core keeps: 32 bytes per token and unit of the
// hidden size for MPT, whose blocks keep the inputs of both norms and of the four
// products, q, k, v and what the activation read.
func (llmFoundry) Save(s *saver) { megatronCore{}.Save(s) }

// Stage adds up the layers and the temporaries. The fused loss keeps 16-bit logits and
// makes their gradient next to them (flash-attention's CrossEntropyLoss, the default of
// the model, without inplace_backward); the other one has logits, log-softmax and
// gradient in fp32. The gradient of the logits is used up before the backward reaches the
// first layer, so that it is never alive with what a layer recomputes.
func (k llmFoundry) Stage(in *Input, stage int) StageMemory {
	st, note, four, input, full := &in.Stages[stage], in.stageNote(
		stage,
	), record.Lit(
		4,
	), layerInput(
		in,
	), recomputed(
		in,
		stage,
	)
	tokens, t, h, e := in.micro()
	mem := StageMemory{
		Activations:  stageActivations(in, stage, full, k, input),
		WeightInputs: weightInputs(in, stage, k),
	}
	work := tokens.Times(in.inner(st).Plus(four.Times(h))).Over(t).Times(e)
	layer := record.Lit(float64(recompute(in, stage, full, k, input, "layer-work") + units.Bytes(work.V)))
	note.add("layer-work", work)
	if note.rec.On() {
		layer = note.rec.Written(note.sum("layer-work"), layer.V)
	}
	if !st.Head {
		mem.Backward = units.Bytes(layer.V)
		note.add("backward-temporaries", layer)
		return mem
	}
	perLogit := 4.0
	if in.Loss != recipe.FusedLoss {
		perLogit = 12
	}
	logits := note.named("bytes_per_logit", perLogit).
		Times(tokens).
		Times(in.Record.Named("V", float64(in.Model.Vocab))).
		Over(t).
		Times(e)
	head := four.Times(tokens).Times(h).Over(t).Times(e)
	backward := head.AtLeast(layer.Minus(logits))
	mem.Logits, mem.Forward, mem.Backward = units.Bytes(
		logits.V,
	), units.Bytes(
		head.V,
	), units.Bytes(
		backward.V,
	)
	note.add("logits", logits)
	note.add("forward-temporaries", head)
	note.add("backward-temporaries", backward)
	return mem
}

// Buffers returns the 16-bit copies and the whole gradients in transit.
func (llmFoundry) Buffers(in *Input, rank int, p Parameters) units.Bytes {
	if in.Layout.ZeRO < 2 || in.Layout.DenseShards() == 1 || in.Precision.WeightBytes() < 2 {
		return torchTitan{}.Buffers(in, rank, p)
	}
	w, g := in.Precision.GatherBytes(), in.Precision.Bytes()
	blocks, reduced := float64(min(p.blocks, 2)), 0.0
	if wire := in.GradDtype.ReduceBytes(in.Precision); wire != g {
		reduced = wire // a copy; in the width of the products it is the gradient itself
	}
	gathered := blocks*w*p.Layer + w*p.Embedding
	if in.Layout.ZeRO == 2 {
		gathered = w * (p.Dense + p.Expert)
	}
	scattered := (g+reduced)*p.Layer + g*p.Embedding
	if note := in.rankNote(rank); note.rec.On() {
		formula, embedding := "(blocks_at_once * parameters_of_a_layer + embedding)", record.In(
			"embedding",
			p.Embedding,
		)
		if in.Layout.ZeRO == 2 {
			formula = p.formula()
		}
		layer := record.In("parameters_of_a_layer", p.Layer)
		note.buffer(record.Entry{
			ID: "buffers.gathered", Name: "Weights that FSDP gathers: the current layer, the next one and " +
				"the embedding, or all of them with ZeRO-2", Symbol: "gathered weights",
			Formula: "bytes_of_a_gathered_weight * " + formula, Value: gathered,
			Source: "PyTorch, FullyShardedDataParallel: the root is not resharded after the forward; " +
				"limit_all_gathers lets two blocks be whole",
		}, layer, embedding, record.In("blocks_at_once", blocks))
		note.buffer(record.Entry{
			ID: "buffers.scattered", Name: "Whole gradients of the current layer and of the embedding, and " +
				"the copy that is scattered", Symbol: "whole gradients",
			Formula: "(bytes_of_a_product + bytes_of_the_copy) * parameters_of_a_layer + " +
				"bytes_of_a_product * embedding", Value: scattered,
			Source: "PyTorch, FullyShardedDataParallel: a flat parameter's gradient is reduced once its " +
				"last part is there",
		}, layer, embedding, record.In("bytes_of_a_product", g), record.In("bytes_of_the_copy", reduced))
	}
	return units.Bytes(gathered + scattered)
}
