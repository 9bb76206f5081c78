package engine

import (
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
)

// assumptions are what the figures take for granted, in the order in which they
// matter for this setup.
func assumptions(s *Setup) []string {
	list := make([]string, 0, 16)
	say := func(when bool, text string) {
		if when {
			list = append(list, text)
		}
	}
	textbook := s.Stack.Resolve() == recipe.Textbook
	cal := s.Cluster.Calibration
	if textbook {
		cal = nil
	}
	var soft hardware.Software
	if cal != nil {
		soft = *cal.For(s.Stack.Resolve())
		list = append(list, soft.Note)
		list = append(list, cal.Notes...)
	}
	say(cal == nil, "step time is a plain roofline, fitted to nothing: expect it to be off by tens of percent")
	say(textbook, "memory is the playbook's formulas and nothing else: no logits, buffers or overhead")
	say(!textbook, "memory follows Megatron-Core with Transformer Engine: fused cross-entropy, no dropout, one dummy weight gradient per weight shape")
	say(!textbook, "overhead is 4 % of allocated memory and 1 GiB for the driver context and communicators")
	say(!textbook && s.ZeRO >= 2, "ZeRO-2 and 3 on this stack mean Megatron-FSDP: one gathered and one prefetched layer at a time")
	say(s.Model.IsMoE(), "tokens are routed evenly over the experts")
	say(s.Model.MTPLayers > 0 && !s.TrainMTP, "the multi-token-prediction module is not trained (--mtp turns it on)")
	say(s.CP > 1, "context parallelism is ring attention in time; memory counts the copy that the all-to-all mode keeps")
	say(s.TP > 1 && cal == nil, "tensor-parallel traffic is exposed in the forward and hides under the weight gradient in the backward")
	say(s.EP > 1 && cal == nil, "expert all-to-all is exposed")
	say(s.PP > 1 && !soft.Blocking, "hand-over between stages is latency that blocks neither side; what it adds to the pipeline is part of the bubble")
	say(s.PP > 1 && soft.Blocking, "a stage waits while its message travels")
	say(s.DP*s.CP > 1 && s.ZeRO < 2 && soft.DP <= 0, "gradient traffic hides under the last micro-batch's backward, weight traffic under the first forward")
	say(s.DP*s.CP > 1 && s.ZeRO == 2, "gradients are scattered in every micro-batch and hide under its backward, weight traffic hides under the first forward")
	say(s.DP*s.CP > 1 && s.ZeRO == 3, "weights are gathered and gradients scattered in every micro-batch and hide under its compute")
	say(s.Precision == recipe.FP16 && s.Cluster.GPU.PeakBF16 <= 0, "training is in fp16: this GPU has no bf16 units")
	return list
}

// notModelled is what the figures leave out.
func notModelled(s *Setup) []string {
	list := append(make([]string, 0, 6),
		"slowing of matrix products by traffic that overlaps them, power and clock limits, stragglers",
		"congestion, where no bandwidth over many nodes was measured on this cluster",
		"data loading, checkpoints, evaluation, restarts",
	)
	if s.Model.Tied && s.PP > 1 {
		list = append(list, "the all-reduce of the tied embedding's gradient between the first and the last stage")
	}
	if s.Stack.Resolve() == recipe.Textbook && s.Model.IsMoE() {
		list = append(list, "activations of experts: the textbook counts every layer as dense")
	}
	if s.Model.LocalWindow > 0 {
		list = append(list, "savings of local attention windows in model FLOPs; they are in the time")
	}
	if s.TrainMTP && s.Recompute.Mode == recipe.RecomputeFull {
		list = append(list, "recomputation of the multi-token-prediction modules: they keep all activations")
	}
	if s.EP > 1 {
		list = append(list, "uneven routing and node-limited routing")
	}
	return list
}
