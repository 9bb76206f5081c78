package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// torchTitan is PyTorch's FSDP2 as torchtitan runs it: fp32 weights, gradients
// and moments, sharded, and 16-bit copies gathered block by block. ZeRO-3 frees
// the copies after each use, ZeRO-2 keeps them (reshard_after_forward off),
// ZeRO-0 is plain DDP. With HSDP every replica holds all shards. With a pipeline it keeps
// copies and unreduced gradients over a whole step; see overPipeline.
type torchTitan struct{ common }

func (torchTitan) Offers() [4]bool { return [4]bool{0: true, 2: true, 3: true} }

func (torchTitan) LazyGradients() bool { return true }

func (torchTitan) Assumptions(into []string, l *layout.Layout, overhead string) []string {
	into = append(into, "memory follows PyTorch's FSDP2: fp32 weights, gradients and moments, 16-bit "+
		"copies of one gathered and one prefetched block")
	if l.PP > 1 && l.ZeRO >= 2 {
		into = append(into, "with a pipeline the 16-bit weights of the rank stay gathered over the step "+
			"and its gradients are summed whole in fp32 until the last backward, as PyTorch's pipeline "+
			"stages do")
	}
	into = append(into, overhead)
	return into
}

// lowWeights reports whether weights, gradients and moments are kept in bf16 (training.dtype).
func (in *Input) lowWeights() bool { return in.Training.WeightDtype == recipe.WeightsBF16 }

// Shard: the stored weights are the fp32 master copy, so 4+4+8 with Adam. An
// fp8 recipe that stores narrower weights is sharded as in the ZeRO paper.
func (torchTitan) Shard(in *Input) Sharding {
	if in.Precision.WeightBytes() < 2 {
		return zero(in)
	}
	stage, stored, moments := in.Layout.ZeRO, width{4, "b_fp32"}, in.widths().moments
	if in.lowWeights() {
		stored, moments = width{2, "b_fp32 / 2"}, width{moments.bytes / 2, moments.formula + " / 2"}
	}
	return Sharding{
		Weights:   in.perParam("weights", stored, stage >= 2),
		Gradients: in.perParam("gradients", stored, stage >= 2),
		Optimizer: in.perParam("optimizer", moments, stage >= 1),
	}
}

// Save keeps the tensors that Megatron-Core keeps: the same attention kernel,
// norms and MLP compiled into fused kernels. With sequence parallelism the inputs of
// attention and of the dense MLP are kept gathered (PyTorch's PrepareModuleInput gathers before
// the module, whose products keep what they read), where Megatron-Core gathers again in the
// backward. Selective recomputation keeps every second product (see model.Recomputation).
func (torchTitan) Save(s *saver) {
	megatronCore{}.Save(s)
	s.recomputation.Products = true
	if l := s.in.Layout; !l.SP || l.TP == 1 {
		return
	}
	for i := range s.set {
		e := &s.set[i]
		by := s.layer.Tensor(e.tensor).By
		if by >= 0 && s.layer.Ops[by].Part == model.PartNorms && s.layer.Ops[e.by].Kind == model.Product &&
			(!s.layer.MoE || s.part(e) == model.PartAttention) {
			e.gathered = true
		}
	}
}

// Stage adds up the layers and the temporaries. The loss that is not fused has
// the logits, their log-softmax and its gradient in fp32, 12 bytes per logit; the
// chunked one of a part of the tokens (components/loss.py: ChunkedLossWrapper).
func (k torchTitan) Stage(in *Input, stage int) StageMemory {
	mem := microBatchActivations(in, stage, k)
	perLogit := logits(in.Loss)
	if in.Loss != recipe.FusedLoss {
		perLogit = 12
	}
	work := noWork
	if in.Loss == recipe.ChunkedLoss {
		work = gradientSum
	}
	transient(in, stage, &mem, perLogit, work)
	return mem
}

// gradientSum is the fp32 gradient of the hidden state that parts of the loss add up
// (components/loss.py: GradAccumulator), which SP does not cut.
func gradientSum(in *Input) record.Num {
	tokens, _, h, e := in.micro()
	return record.Lit(4).Times(tokens).Times(h).Over(e)
}

// Buffers returns the 16-bit copies and what gradients are scattered from.
func (torchTitan) Buffers(in *Input, rank int, p Parameters) units.Bytes {
	used := in.Precision == recipe.FP32 || in.lowWeights()
	if used && (in.Layout.ZeRO < 2 || in.Layout.DenseShards() == 1) {
		return 0 // the stored weights are the ones that are used
	}
	note := in.rankNote(rank)
	if in.Layout.PP > 1 && in.Layout.ZeRO >= 2 && in.Layout.DenseShards() > 1 {
		return overPipeline(in, note, rank, p)
	}
	if in.Layout.ZeRO == 3 {
		return gathered(in, note, p)
	}
	all := in.Precision.GatherBytes() * (p.Dense + p.Expert) // autocast's copies of the weights
	note.term("persistent", "bytes_of_a_gathered_weight * ", p.formula())
	if in.Layout.ZeRO == 2 {
		note.scattered(&p, in.Precision.Bytes())
		return units.Bytes(all + (in.Precision.Bytes()+4)*p.Largest)
	}
	return units.Bytes(all)
}

// overPipeline returns what a rank of a pipeline keeps over a step. torchtitan does not
// reshard after the forward with PP (parallelisms/parallelize_llama.py: apply_fsdp), and
// PyTorch's pipeline stage neither reshards nor reduces before the last backward
// (torch/distributed/pipelining/stage.py: backward_maybe_with_nosync), so that all weights
// stay gathered and gradients are summed whole, in the fp32 in which they are reduced
// (to_accumulated_grad_if_needed of FSDP2). A stage also holds its outputs of all
// micro-batches until the step ends (output_chunks), the last one its 16-bit logits (its
// hidden states, where the loss has the head), and a buffer for the gradient of each.
func overPipeline(in *Input, note note, rank int, p Parameters) units.Bytes {
	l, m, w, g := in.Layout, in.Model, in.Precision.GatherBytes(), in.Precision.Bytes()
	all := p.Dense + p.Expert
	others, logits := 0, 0
	for c := range in.Order.Chunks() {
		if in.Stages[in.Order.StageOf(rank, c)].Head {
			logits++
		} else {
			others++
		}
	}
	split := 1.0 // sequence parallelism cuts what is sent; logits are cut in any case
	if !l.SP {
		split = float64(l.TP)
	}
	tokens, h := float64(l.MicroBatches)*l.MicroBatchTokens()/float64(l.TP), in.Program.Hidden().Width.V
	width, last := float64(m.Vocab), "V"
	if in.Loss == recipe.ChunkedLoss { // replicated over TP
		width, last = float64(l.TP)*h, "t * h"
	}
	stored := tokens * (float64(logits)*g*width + split*float64(others)*2*g*h)
	if note.rec.On() {
		given := func(id, name, symbol, formula string, value float64, operands ...record.Operand) {
			note.buffer(record.Entry{
				ID: "buffers." + id, Name: name, Symbol: symbol, Formula: formula, Value: value,
				Source: "PyTorch, torch/distributed/pipelining/stage.py: backward_maybe_with_nosync, " +
					"output_chunks, grad_recv_info; torchtitan, parallelize_llama.py",
			}, operands...)
		}
		given("gathered", "Weights of the rank, gathered over the whole step", "gathered weights",
			"bytes_of_a_gathered_weight * "+p.formula(), w*all)
		given("unreduced", "Gradients of the rank, summed whole until the last backward",
			"unreduced gradients", "b_fp32 * "+p.formula(), 4*all)
		note.scattered(&p, g)
		given("outputs", "Outputs of the stages of all micro-batches, and buffers for their gradients",
			"outputs",
			"m * T / t * (stages_with_the_head * bytes_of_a_product * "+last+" + other_stages * 2 * "+
				"bytes_of_a_product * h * whole_where_the_sequence_is_not_cut)", stored,
			record.In("stages_with_the_head", logits), record.In("other_stages", others),
			record.In("bytes_of_a_product", g), record.In("whole_where_the_sequence_is_not_cut", split))
	}
	return units.Bytes((w+4)*all + (g+4)*p.Largest + stored)
}
