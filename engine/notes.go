package engine

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/hardware"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// assumptions returns what the figures assume, in the order in which they
// matter for this setup; timed is the software that a legal one was timed with.
func assumptions(s *Setup, r *Report, t *timing) []string {
	list := make([]string, 0, 12) // dense models have fewer
	say := func(when bool, text string) {
		if when {
			list = append(list, text)
		}
	}
	cal, traits := s.Cluster.Calibration, s.Stack.Traits()
	if traits.Formulas {
		cal = nil
	}
	soft := new(hardware.Software)
	switch {
	case cal == nil:
	case r.Legal:
		soft = &t.step.Machine.Software
	default: // nothing was timed
		m := hardware.NewMachine(&s.Cluster, s.Precision, s.Stack, &s.Software)
		soft = &m.Software
	}
	if cal != nil {
		list = append(list, soft.Note)
		known := traits.Ledger && cal.Kernels.On != nil
		for _, note := range cal.Notes {
			say(!known || !strings.HasPrefix(note, "kernel"), note) // a ledger has its own kernels
		}
		if known {
			list = append(list, cal.Kernels.Note(&s.Cluster.GPU))
		}
	}
	say(cal == nil, "step time is an unfitted roofline: expect errors of tens of percent")
	if stack, ok := memory.For(s.Stack); ok {
		list = stack.Assumptions(list, &s.Layout, s.Cluster.MemoryOf(s.Stack).Note)
		if class := memory.Class(&s.Model, stack); class != "" {
			list = append(list, "operations are those of the class "+class+" of transformers, with this "+
				"model's biases and norms of queries and keys")
		}
	}
	if n := trainedAdapters(s); n > 0 {
		list = append(list, loraAssumption(s, n))
	}
	if traits.Ledger && !s.Offload.Optimizer() {
		list = append(list, optimizerAssumption(s.Optimizer, s.Stack, s.ZeRO > 0 && s.DenseRanks() > 1))
	}
	list = append(list, attentionAssumption(s)...)
	say(s.Loss == recipe.LigerLoss, "loss liger is Liger-Kernel's fused linear cross entropy alone, and was "+
		"not measured here: its norms, rotary positions and SwiGLU, which "+
		"use_liger_kernel brings too, are not in")
	if s.WeightDtype != "" && traits.LowWeights {
		sums := recipe.GradFP32
		if s.GradDtype == recipe.GradBF16 {
			sums = recipe.GradBF16
		}
		list = append(list, "weights, gradients and moments are kept in bf16 (torchtitan's training.dtype), "+
			"gradients summed in "+string(sums)+", as grad-dtype says; the update is given the time of fp32")
	}
	chunked := s.Loss == recipe.ChunkedLoss
	say(chunked && traits.Ledger, "loss chunked is that of torchtune: 8 parts, whose "+
		"probabilities are kept for the backward (with --compile their logits); it was not measured here")
	say(chunked && !traits.Ledger, "loss chunked is torchtitan's: 8 parts of the tokens, each "+
		"through head, loss and their backward before the next, with the gradient of the hidden state "+
		"gathered in fp32; it was not measured here")
	eight, one := s.Precision.On(s.Stack) == recipe.FP8Megatron, s.Precision == recipe.FP8Tensor
	deepseek := s.Precision == recipe.FP8DeepSeek
	say(deepseek, "fp8 is used for matrix products, whose inputs are kept in 8 bits, as what SwiGLU reads, "+
		"and attention's output in 12 (arXiv 2412.19437 section 3.3.3); norms and attention itself stay in "+
		"16, and MFU is relative to the fp8 peak")
	say(s.Precision.IsFP8() && !eight && !one && !deepseek, "fp8 is used for matrix products only; "+
		"attention and activations between layers stay in 16 bits, and MFU is relative to the fp8 peak")
	say(eight, "fp8 is used for matrix products, whose inputs and weights are kept in 8 bits (weights by "+
		"rows and by columns, two bytes in all); attention, norms and activations stay in 16, and MFU is "+
		"relative to the fp8 peak")
	say(one, "fp8 is used for matrix products, whose inputs and weights are kept in 8 bits (weights stored "+
		"once: per-tensor scaling on Blackwell; Hopper stores them twice, fp8:megatron); attention, norms "+
		"and activations stay in 16, and MFU is relative to the fp8 peak")
	say(s.Precision == recipe.NVFP4, "nvfp4 is used for the matrix products of layers, whose inputs are "+
		"kept in 4 bits with a scale per 16; weights are kept in 16 bits and in two 4-bit copies in "+
		"layers; head, attention, norms and activations stay in 16, and MFU is relative to the fp4 peak")
	say(s.Offload.Optimizer(), "an offloaded optimizer takes the time of gradients and "+
		"weights over PCIe and of the update by the host's processors (DeepSpeed's CPU-Adam: 0.707 ns a "+
		"parameter for the whole node, measured in 2021 on an unnamed machine), all exposed; newer hosts "+
		"are up to twice as fast")
	if read, write := s.Cluster.Drives(); s.Offload.NVMe() {
		list = append(list, fmt.Sprintf("the drives of a node read %.3g GB/s and write %.3g%s; DeepSpeed's "+
			"defaults: no pipeline_read and pipeline_write, so that gradients, states and update follow one "+
			"another, and buffers in host memory of buffer_count, buffer_size (or the largest shard of a "+
			"weight) and max_in_cpu", read/1e9, write/1e9, measuredDrives(&s.Cluster)))
	}
	say(s.Offload.Weights() && !traits.HostOptimizer, "under FSDP2 PyTorch's own "+
		"AdamW updates on the host, whose fused kernel nobody measured here (the one before it took seven "+
		"times as long as DeepSpeed's); every optimizer is given the same time, and copies of weights and "+
		"gradients overlap with nothing")
	say(s.Offload.Activations(), "activations on the host are those of torch.autograd.graph.save_on_cpu: a "+
		"tensor is copied each time it is saved, weights too, and each copy is waited for; offloads of "+
		"torchtune and TRL leave weights out and hide a part of the copies: less host memory, and less time")
	if used := s.Domain(&s.Cluster); used < s.Cluster.Domain() {
		list = append(list,
			fmt.Sprintf("the job uses %d of the %d GPUs of each scale-up domain, so that no group spans two",
				used, s.Cluster.Domain()))
	}
	say(s.Model.IsMoE() && s.ExpertLoad() == 1, "tokens are routed evenly over the experts")
	say(s.Model.IsMoE() && s.ExpertLoad() > 1,
		"every expert rank is as busy as the busiest one, in memory and in time")
	if s.Model.IsMoE() {
		expertAssumptions(s, soft, say)
	}
	if s.PP > 1 && s.Split == "" && layout.SplitsByCost(&s.Model) && !traits.DealsByWork &&
		r.Legal {
		stages, _ := s.StagesOfStack(nil, nil)
		list = append(list,
			"layers are of several kinds, so the stages balance what they cost and not their number: "+
				layout.SplitOf(stages)+" layers (--split gives others)")
	}
	scans := s.Model.Scans()
	if s.Stack.Resolve() != recipe.Textbook {
		list = append(list, s.Model.Saves()...)
	}
	say(scans && s.Stack.Resolve() != recipe.Textbook, "layers of linear attention take what their kernels "+
		"move through memory, at a rate fitted to runs of Nemotron 3 Nano alone; what they save was not "+
		"measured, and both are alike on every stack")
	say(scans && s.Precision.Narrow(), "layers of linear attention have their projections alone in "+
		"fewer than 16 bits; convolution, scan and gate stay in 16, the state in 32")
	gathers := s.Model.GathersStates()
	say(scans && s.CP > 1 && !gathers, "context parallelism of linear attention exchanges the sequence for "+
		"heads, before its convolution and after it, exposed, as Megatron-LM does on every stack")
	say(gathers && s.CP > 1, "context parallelism of linear attention leaves each rank a part of the "+
		"sequence and gathers the states of all, exposed, as flash-linear-attention does")
	say(s.Model.Has(model.LetterConv) && s.CP > 1, "the columns that CP sends to the next rank for a short "+
		"convolution are left out")
	say(s.Model.SharedBlocks > 0, "each stage holds the shared blocks that its layers use; the sum of their "+
		"gradients over stages is left out")
	chosen, sharesKey := s.Model.IndexTopK > 0, s.Model.OutputGroups > 0
	say(sharesKey, "attention to a window and compressed keys saves what its operations read, counted from "+
		"transformers' code; CP passes the key and its compression around a ring; inferred, not measured")
	if n := s.Model.HyperStreams; n > 0 {
		list = append(list, fmt.Sprintf("hyper-connections keep %d streams at each sub-layer, as "+
			"Megatron-LM's code does, and send them from stage to stage; the products that make their "+
			"coefficients are left out of FLOPs; nothing of it was measured", n))
	}
	say(chosen && !s.Model.IsMLA() && !sharesKey, "attention to chosen blocks of tokens saves and computes "+
		"what its operations have, and CP passes keys and values around a ring; inferred from its code, not "+
		"measured")
	say(s.Model.AltUpStreams|s.Model.LayerInput > 0, "what streams and inputs of layers save is inferred; "+
		"both go from stage to stage, the products that make streams are left out of FLOPs, and CP of keys "+
		"and values of an earlier layer costs nothing")
	say(s.Model.ResidualBlock > 0, "snapshots of the stream are inferred: each is kept once, mixed twice a "+
		"layer, and half of them, their mean, go from stage to stage")
	say(chosen && s.Model.IsMLA(), "sparse attention runs in the latent (one key for all heads) as "+
		"Megatron-LM's does, on every stack; its indexer is whole on each TP rank and counted as trained, "+
		"saved bytes are inferred and nothing of it was measured")
	say(s.Replicas() > 1 && s.ZeRO > 0, "the replicas sum their shards of the gradients once per step")
	say(s.Model.MTPLayers > 0 && !s.TrainMTP,
		"the multi-token-prediction module is not trained (--mtp turns it on)")
	say(s.SharesHeads(), "context parallelism is timed as Ulysses: all-to-alls of queries, keys, values and "+
		"outputs around attention, exposed, with their copies in memory; memory and time of that were not "+
		"measured")
	say(s.CP > 1 && !s.SharesHeads(), "context parallelism is timed as ring attention, a kernel and a merge "+
		"of partial results per rank; memory includes the copy that the all-to-all mode keeps")
	say(s.TP > 1 && cal == nil, "tensor-parallel traffic is exposed in the forward and overlaps with the "+
		"weight gradient in the backward")
	pipelineAssumptions(s, r, t, soft, cal == nil, say)
	shared := s.DenseRanks() > 1
	say(shared && s.ZeRO < 2 && soft.DP <= 0, "gradient traffic overlaps with the last "+
		"micro-batch's backward, weight traffic with the first forward")
	say(shared && s.ZeRO < 2 && soft.DP > 0 && soft.DP < 1, "gradient traffic overlaps with the "+
		"last micro-batch's backward, weight traffic with the first forward; a share of both that the "+
		"stack's constants give is exposed however much compute there is")
	say(shared && s.ZeRO < 2 && soft.DP >= 1, "gradient traffic overlaps with no compute")
	say(shared && s.ZeRO == 2, "gradients are reduce-scattered in every micro-batch and overlap "+
		"with its backward, weight traffic overlaps with the first forward")
	say(shared && s.ZeRO == 3, "weights are all-gathered and gradients reduce-scattered in every "+
		"micro-batch and overlap with its compute")
	list = append(list, plusPlus(s)...)
	say(s.Precision == recipe.FP16 && s.Cluster.GPU.PeakBF16 <= 0,
		"training is in fp16: this GPU has no bf16 units")
	return list
}

// plusPlus says what ZeRO++ is taken to do.
func plusPlus(s *Setup) (list []string) {
	const unmeasured = "; nobody measured it here"
	if s.HPZ > 1 && s.DP > 1 {
		list = append(list, fmt.Sprintf("hpZ of ZeRO++ keeps a second copy of the 16-bit weights over %d "+
			"GPUs next to each other: the update drops that of trained weights, so a step's first forward "+
			"gathers from all GPUs and makes it again, and all other gathers stay among those %[1]d"+
			unmeasured, min(s.HPZ, s.DP)))
	}
	if s.QWZ && s.DenseRanks() > 1 {
		list = append(list, "qwZ of ZeRO++ gathers weights in int8, with an fp32 scale for 8,000 elements: "+
			"its kernel makes fp16 of them and a cast the weights' format before they are used"+unmeasured)
	}
	if s.FourBits() {
		list = append(list, fmt.Sprintf("qgZ of ZeRO++ exchanges gradients in int4, first inside nodes, "+
			"then between them, without their scales (some 1 %%): those of matrices whose elements %d "+
			"divides; all others are reduced in 16 bits"+unmeasured, 2*s.DP))
	}
	return list
}

// measuredDrives says where the rates of drives are from, if nobody gave them.
func measuredDrives(c *hardware.Cluster) string {
	if c.DrivesGiven() || c.Published == nil {
		return ""
	}
	return ", as " + c.Published.Typical.Drives.Source + ", where cluster.drive_read_bandwidth and " +
		"cluster.drive_write_bandwidth do not say it"
}

// attentionAssumption says where the rates of a kernel come from that was not measured here.
func attentionAssumption(s *Setup) (list []string) {
	text := ""
	switch s.Attention {
	case recipe.Flash3:
		text = "cuDNN's times what FlashAttention-3 published over it on an H100, heads of 64 and 128, its " +
			"backward without a mask (arXiv 2407.08608)"
	case recipe.Flash4:
		text = "cuDNN's times what FlashAttention-4 reached on a Blackwell, heads of 128, and next to it " +
			"in the forward with heads of 64 (Dao-AILab/flash-attention#2280, #2605); the backward with " +
			"those is assumed to be cuDNN's, and machines differed by 20 %"
	case recipe.Efficient:
		text = "FlashAttention-2's times what training Llama 3.2 1B on an H200 took with each (NVIDIA's " +
			"cudnn-frontend); heads wider than 64 are assumed to lose as much"
	default:
		return nil
	}
	return []string{"attention " + string(s.Attention) + " was not measured here: its rates are " + text +
		"; it keeps what flash keeps"}
}

// loraAssumption says what is trained, and in which formats the rest is kept.
func loraAssumption(s *Setup, adapters float64) string {
	base := "bf16"
	switch s.BaseDtype {
	case recipe.BaseNF4:
		base = "bf16, those of the blocks' linear layers in nf4 with double quantisation (bitsandbytes), " +
			"one 16-bit copy at each use"
		if s.ZeRO >= 2 && s.Stack != recipe.DeepSpeed {
			base += ", stored as bf16 so that FSDP cuts them (bnb_4bit_quant_storage)"
		}
	case recipe.BaseInt8:
		base = "bf16, those of the blocks' linear layers in int8 (LLM.int8 of bitsandbytes), one 16-bit " +
			"copy in the backward"
	case recipe.BaseFP8:
		base = "bf16, those of the blocks' linear layers in fp8 (e4m3, an fp32 scale for each block of 128 " +
			"x 128) as Unsloth trains on them (load_in_fp8): products read an fp8 copy of their input, at " +
			"the rate of 16 bits here since nobody measured it, the backward a 16-bit copy of the weight"
	default:
	}
	kind, norms := "LoRA", ""
	if s.DoRA {
		kind, norms = "DoRA", ", and not the products that make norms of weights"
	}
	return fmt.Sprintf("%s trains adapters of rank %.0f, %.3g M parameters in fp32 (peft's default), "+
		"without dropout; all other weights are frozen in %s; model FLOPs and MFU count no gradients of "+
		"frozen weights%s",
		kind, s.Rank, adapters/1e6, base, norms)
}

// optimizerAssumption says what updates the weights on a stack whose memory is a ledger.
func optimizerAssumption(o recipe.Optimizer, stack recipe.Stack, sharded bool) string {
	states := o.States()
	text := "weights are updated by one fused kernel (AdamW of PyTorch)"
	switch {
	case o == recipe.AdamNoMaster:
		text += ": adam-no-master keeps no fp32 copy, so that weights, gradients and moments are in bf16 " +
			"whatever weight-dtype is"
	case o == recipe.AdamForeach:
		text = "weights are updated by AdamW over lists of tensors (foreach), with square roots of all " +
			"second moments at once"
	case states.Factored:
		text = adafactorAssumption(stack)
	case states.Matrices:
		text = "weights are updated by torch.optim.Muon, a matrix of the layers after the other: one " +
			"moment in the gradient's format, five iterations of Newton-Schulz in bf16; embedding, head, " +
			"norms and biases by one fused kernel of AdamW"
		if sharded {
			text += "; each rank gathers one matrix after the other in bf16 and makes its whole update, as " +
				"Moonlight's does (arXiv 2502.16982): these gathers are time of the optimizer, not listed " +
				"as traffic"
		}
	case states.Moments < 2 && !states.BitsAndBytes:
		text = "weights are updated by SGD of PyTorch, fused"
	case states.Narrow:
		text = "moments of bitsandbytes (0.45 and later) have 8 bits and an fp32 maximum of each 256; " +
			"those of tensors below 4,096 elements, and of embeddings under the Trainer of transformers, " +
			"have 32"
	case states.BitsAndBytes:
		text = "moments of bitsandbytes are fp32, updated by one kernel a tensor"
	}
	if states.Paged {
		text += "; those of tensors from 100,000 elements on are in unified memory, which PyTorch does " +
			"not count: they are assumed to be on the host but in the update, and to come and go over its " +
			"link, a tensor after the other with its update, as its step fetches, updates and waits (the " +
			"part offload); where the GPU has room for them they stay: nothing is copied or kept in host " +
			"memory"
	}
	return text
}

// adafactorAssumption says whose Adafactor it is.
func adafactorAssumption(stack recipe.Stack) string {
	switch stack.Resolve() {
	case recipe.DeepSpeed:
		return "Adafactor of transformers has an fp32 second moment of each parameter: DeepSpeed's flat " +
			"shards are no matrices with rows and columns to sum over"
	case recipe.PyTorch:
		return "weights are updated by torch.optim.Adafactor, a tensor after the other: sums over rows and " +
			"columns in the gradient's format, no first moment"
	default:
	}
	return "weights are updated by Adafactor of transformers, a tensor after the other: fp32 sums over " +
		"rows and columns, no first moment, no relative steps, as the Trainer makes it"
}

// pipelineAssumptions says what is assumed of the pipeline, its schedule and what that overlaps;
// plain: no calibration is in use.
func pipelineAssumptions(s *Setup, r *Report, t *timing, soft *hardware.Software, plain bool,
	say func(bool, string),
) {
	info, _ := s.Schedule.Info()
	say(s.EP > 1 && !info.Pairs && plain, "expert all-to-all is exposed")
	say(s.EP > 1 && info.Pairs, "in an overlapped pair, the expert all-to-all of forward and backward "+
		"overlaps with the rest of the other, except for the share of the GPU that its kernels hold")
	say(info.SplitsBackward && s.TP > 1,
		"a separate input-gradient pass overlaps with no tensor-parallel traffic")
	say(info.SplitsBackward, "a split backward keeps the inputs and output gradients of all products until "+
		"the weight gradient; the head is not split")
	say(info.WeightCopies > 1, "both replicas of a stage have their own gradients and optimizer state, and "+
		"mirror ranks sum gradients once per step")
	say(info.Automatic && r.Legal, "the order is chosen from these times: on a faster machine another "+
		"order may be chosen, and the step may get longer")
	say(info.Automatic && r.Legal && !t.order.Handmade, "the authors' heuristic found the order for these "+
		"stage times, with its limit in bytes: activations, and tensors kept for weight gradients")
	say(info.Automatic && r.Legal && t.order.Handmade, "the authors' heuristic finds no order for these "+
		"stage times: the order is theirs for equal stages")
	if r.Legal {
		say(r.Pipeline.Disproved != "", r.Pipeline.Disproved+"; the bubble shown is simulated")
	}
	say(r.Legal && info.Uneven(t.mean), "forward, input and weight gradient are too unequal for this "+
		"schedule: ranks idle in every micro-batch")
	say(info.SplitsBackward && info.Barrierless, "steps follow one another without a barrier, as the "+
		"zero-bubble papers count: a step lasts the longest span of a rank")
	say(info.SplitsBackward && !info.Barrierless, "steps follow one another without a barrier, as for the "+
		"zero-bubble schedules, though no publication confirms it for this one: a step lasts the longest "+
		"span of a rank")
	waits := soft.Blocking && s.VPP > 1
	say(s.PP > 1 && !waits, "send/recv between stages is latency that blocks neither side; the time it "+
		"adds is part of the bubble")
	say(s.PP > 1 && waits,
		"send/recv to another rank blocks the sender, as in this stack with several stages per rank")
}

// expertAssumptions are what layers with experts cost beyond the best kernels.
func expertAssumptions(s *Setup, soft *hardware.Software, say func(bool, string)) {
	say(soft.MoELayer > 0,
		fmt.Sprintf("every layer with experts waits %.4g ms per micro-batch for token counts, on any GPU",
			float64(soft.MoELayer/units.Millisecond)))
	say(soft.Experts > 0,
		fmt.Sprintf("products of experts take %.3g times the best kernels' time, on any GPU", soft.Experts))
	say(soft.Expert > 0,
		fmt.Sprintf("a product of experts takes %.3g us more for each expert of the rank, on any GPU",
			float64(soft.Expert/units.Microsecond)))
	say(soft.HostMoE8 > 0 && s.Precision.IsFP8(),
		fmt.Sprintf("a layer with experts in fp8 takes the host at least %.3g ms per micro-batch, on any "+
			"GPU; CUDA graphs of whole iterations (--cuda-graph iteration) avoid it",
			float64(soft.HostMoE8/units.Millisecond)))
	say(soft.Biased > 0 && s.Model.MLPBias,
		fmt.Sprintf("biases of experts cost %.3g times the memory traffic of their activation", soft.Biased))
}

// notModelled returns what the figures leave out.
func notModelled(s *Setup) []string {
	list := append(make([]string, 0, 4),
		"slowdown of matrix products by overlapped traffic, power and clock limits, stragglers",
		"congestion, where no bandwidth over many nodes was measured on this cluster",
		"data loading, checkpoints, evaluation, restarts",
	)
	if s.Model.Tied && s.PP > 1 {
		list = append(list,
			"the all-reduce of the tied embedding's gradient between the first and the last stage")
	}
	if s.Stack.Traits().Formulas && s.Model.IsMoE() {
		list = append(list, "activations of experts: the textbook counts every layer as dense")
	}
	if s.Model.LocalWindow > 0 {
		where := " in model FLOPs; the step time includes them"
		if s.Stack.Traits().Ledger {
			where = " in model FLOPs and in the step time: attention runs over the whole sequence here"
		}
		list = append(list, model.SkippedByWindows+where)
	}
	if s.TrainMTP && s.Recompute.Mode == recipe.RecomputeFull {
		list = append(list, "recomputation of the multi-token-prediction modules: they keep all activations")
	}
	if s.Precision.IsFP8() {
		copies := "fp8 copies and transposes of the weights, and quantisation kernels"
		if own := s.Precision.On(s.Stack); own == recipe.FP8Megatron || own == recipe.FP8Tensor {
			copies = "quantisation kernels of fp8"
		}
		list = append(list, copies)
	}
	return list
}

// shortfall says in one sentence why a setup does not fit: the fullest rank, by
// how much, its largest term and where that comes from. It is written at every
// evaluation, so it makes no other string on the way.
func shortfall(s *Setup, m *Memory) string {
	rank := &m.Ranks[m.PeakRank]
	var w sentence
	w.text.Grow(256)
	w.say("rank ").count(rank.Rank).say(" needs ").gib(rank.Total).say(" GiB, ").gib(rank.Total - m.Usable).
		say(" more than the ").gib(m.Usable).say(" of ").say(s.Cluster.GPU.Name).say(": ")
	term, bytes := largest(rank)
	w.say(term).say(" alone are ").gib(bytes).say(" GiB, ")
	w.cause(s, rank, term)
	return w.text.String()
}

// The terms that can be the largest.
const (
	termActivations = "activations"
	termWeights     = "weights"
	termGradients   = "gradients"
	termOptimizer   = "optimizer states"
	termLogits      = "logits"
	termBuffers     = "buffers"
)

func largest(rank *memory.Rank) (term string, bytes units.Bytes) {
	term, bytes = termActivations, rank.Activations
	for _, t := range [...]struct {
		name  string
		bytes units.Bytes
	}{
		{termWeights, rank.Weights},
		{termGradients, rank.Gradients},
		{termOptimizer, rank.Optimizer},
		{termLogits, rank.Logits},
		{termBuffers, rank.Buffers},
	} {
		if t.bytes > bytes {
			term, bytes = t.name, t.bytes
		}
	}
	return term, bytes
}

// bufferWords says what the buffers of a rank at its peak are.
func bufferWords(s *Setup, rank *memory.Rank) string {
	stack := s.Stack.Resolve()
	switch {
	case rank.Activations == 0 && rank.Logits == 0:
		return "the copies that the optimizer's update makes"
	case stack == recipe.LLMFoundry && s.ZeRO >= 2 && s.DenseShards() > 1:
		return "gathered weights and whole gradients of the current layer and of the embedding, and " +
			"gradients inside the layer"
	case s.ZeRO == 3 && s.DenseShards() > 1 && (stack == recipe.MegatronCore || stack == recipe.TorchTitan):
		return "gathered weights and whole gradients of the current layers, and gradients inside them"
	case s.ZeRO == 2 && s.DenseShards() > 1 && stack == recipe.MegatronCore:
		return "whole gradients of a layer on their way, dummy weight gradients, and gradients inside the " +
			"current layer"
	case stack == recipe.TorchTitan, stack == recipe.LLMFoundry:
		return "the 16-bit copies of the weights, and gradients inside the current layer"
	case stack == recipe.MegatronCore:
		return "one dummy weight gradient for each weight shape, and gradients inside the current layer"
	default:
		return "gradients and recomputed activations inside the current layer"
	}
}

// sentence is text that grows in one piece of memory.
type sentence struct{ text strings.Builder }

func (w *sentence) say(words string) *sentence {
	w.text.WriteString(words)
	return w
}

func (w *sentence) count(n int) *sentence {
	var digits [20]byte
	w.text.Write(strconv.AppendInt(digits[:0], int64(n), 10))
	return w
}

func (w *sentence) gib(b units.Bytes) *sentence { return w.number(b.GiB(), 'f', 1) }

// number writes a number in a format of strconv.
func (w *sentence) number(x float64, format byte, precision int) *sentence {
	var digits [32]byte
	w.text.Write(strconv.AppendFloat(digits[:0], x, format, precision, 64))
	return w
}

// cause says where a term comes from.
func (w *sentence) cause(s *Setup, rank *memory.Rank, term string) {
	switch term {
	case termLogits:
		tokens := int(s.MicroBatchTokens())
		if s.Loss == recipe.ChunkedLoss && !s.Stack.Traits().Ledger {
			tokens /= recipe.LossChunks
		}
		w.say("of ").count(tokens).say(" tokens over a vocabulary of ").count(s.Model.Vocab)
	case termBuffers:
		w.say(bufferWords(s, rank))
	case termWeights, termGradients, termOptimizer:
		w.say("for ").number(rank.Parameters/1e9, 'g',
			3).say(" B parameters on a GPU under ZeRO-").count(s.ZeRO)
	default:
		flying := " micro-batches in flight at once under "
		if rank.InFlight == 1 {
			flying = " micro-batch in flight under "
		}
		w.say("those of ").number(rank.InFlight, 'g', 4).say(flying).say(string(s.Schedule)).
			say(" over ").count(rank.Layers).say(" layers")
		if s.Recompute.Mode == recipe.RecomputeNone {
			w.say(", nothing recomputed")
		} else {
			w.say(", recompute ").say(s.Recompute.String())
		}
		if rank.WeightInputs > rank.Activations/2 {
			w.say(", ").gib(rank.WeightInputs).say(" GiB of it kept for deferred weight gradients")
		}
	}
}
