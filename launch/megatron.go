package launch

import (
	"fmt"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// megatronLM returns Megatron-LM with the rules of its command line, as read in the source named
// (megatron/training/arguments.py A, megatron/core/transformer/transformer_config.py T,
// megatron/core/pipeline_parallel/schedules.py S).
func megatronLM() Launcher {
	return Launcher{
		ID: "megatron", Name: "Megatron-LM", Version: "core 0.20.0", Source: "NVIDIA/Megatron-LM@d98e8a64",
		rules:  slices.Concat(megatronPipeline(), megatronSplits(), megatronOptions(), megatronDivides(), megatronFormatRules(), megatronModelRules()),
		stack:  recipe.MegatronCore,
		export: megatronExport, sniff: sniffMegatron, read: readMegatron,
		explicit: func(s *engine.Setup) bool {
			return s.PP > 1 && s.Split == "" && !s.Stack.Traits().DealsByWork && !evenly(s.Model.Layers, s.Stages())
		},
	}
}

// megatronPipeline returns the rules about schedules and stages.
func megatronPipeline() []Rule {
	return []Rule{
		{
			ID: "order", Field: knob.Schedule, Source: "S, get_forward_backward_func",
			breaks: func(s *engine.Setup) bool {
				return s.PP > 1 && s.Schedule != schedule.OneFOneB && s.Schedule != schedule.Interleaved
			},
			Why: func(s *engine.Setup) string {
				return fmt.Sprintf("it runs 1f1b and interleaved, not %s", s.Schedule)
			},
		},
		{
			ID: "virtual-stages", Field: knob.VPP, Source: "A:998-1009",
			breaks: func(s *engine.Setup) bool {
				return s.VPP > 1 && s.PP == 1 || s.PP > 1 && (s.VPP > 1) != (s.Schedule == schedule.Interleaved) && s.Schedule != schedule.LoopedBFS
			},
			Why: func(s *engine.Setup) string {
				if s.PP == 1 {
					return "virtual stages need a pipeline of at least two ranks"
				}
				return fmt.Sprintf("vpp %d with %s: interleaved is what more than one stage per rank runs", s.VPP, s.Schedule)
			},
		},
		{
			ID: "layers", Field: knob.VPP, Source: "A:936-996, T:2242; launcher of NVIDIA's recipes for 61 layers",
			breaks: func(s *engine.Setup) bool {
				return s.Split == "" && !evenly(s.Model.Layers, s.Stages()) && pipelines(s)
			},
			Why: func(s *engine.Setup) string {
				return fmt.Sprintf("%d layers do not divide over %d stages, nor with embedding and loss counted as layers; only --pipeline-model-parallel-layout takes them", s.Model.Layers, s.Stages())
			},
		},
		{
			ID: "group", Field: knob.MicroBatches, Source: "S:1160-1181",
			breaks: func(s *engine.Setup) bool {
				if s.VPP == 1 || s.PP == 1 {
					return false
				}
				group := s.GroupSize
				if group == 0 {
					group = s.PP
				}
				rest := s.MicroBatches % group
				return group < s.PP || group > s.MicroBatches || rest > 0 && rest < s.PP
			},
			Why: func(s *engine.Setup) string {
				return fmt.Sprintf("interleaved needs groups of pp (%d) to m micro-batches, and none or at least pp left over; m is %d", s.PP, s.MicroBatches)
			},
		},
	}
}

// megatronSplits returns the rules about everything else.
func megatronSplits() []Rule {
	return []Rule{
		{
			ID: "sequence", Field: knob.CP, Source: "A:1336-1339",
			breaks: func(s *engine.Setup) bool { return s.CP > 1 && s.Seq%(2*s.CP) != 0 },
			Why: func(s *engine.Setup) string {
				return fmt.Sprintf("2 x cp = %d does not divide the sequence of %d", 2*s.CP, s.Seq)
			},
		},
		{
			ID: "experts-sp", Field: knob.SP, Source: "megatron/core/transformer/moe/moe_layer.py:636",
			breaks: func(s *engine.Setup) bool { return s.Model.IsMoE() && s.TP > 1 && !s.SP },
			Why:    func(*engine.Setup) string { return "experts with tp need sp in training" },
		},
		{
			ID: "zero-pipeline", Field: knob.ZeRO, Source: "A:1112-1190",
			breaks: func(s *engine.Setup) bool { return s.ZeRO >= 2 && s.PP > 1 },
			Why: func(s *engine.Setup) string {
				return fmt.Sprintf("ZeRO-%d is Megatron-FSDP, which it does not combine with a pipeline", s.ZeRO)
			},
		},
		{
			ID: "in-flight", Field: knob.MaxInFlight, Source: "S:955-973",
			breaks: func(s *engine.Setup) bool { return s.MaxInFlight > 0 && s.PP > 1 },
			Why:    func(*engine.Setup) string { return "it has no limit of micro-batches in flight" },
		},
		{
			ID: "offload-layers", Field: "offload-layers", Source: "T, cpu_offloading",
			breaks: func(s *engine.Setup) bool {
				return s.OffloadLayers > 0 && (s.PP > 1 || s.Recompute.Mode != recipe.RecomputeNone || s.OffloadLayers >= s.Model.Layers)
			},
			Why: func(s *engine.Setup) string {
				return fmt.Sprintf("--cpu-offloading-num-layers goes with no pipeline, no recomputation and fewer than all %d layers", s.Model.Layers)
			},
		},
		{
			ID: "recompute-layers", Field: knob.Recompute, Source: "T:543-556",
			breaks: func(s *engine.Setup) bool {
				return s.Recompute.Mode == recipe.RecomputeFull && s.Recompute.Layers%max(s.VPP, 1) != 0
			},
			Why: func(s *engine.Setup) string {
				return fmt.Sprintf("--recompute-num-layers counts layers of a virtual stage: %d layers of a rank are no multiple of vpp %d", s.Recompute.Layers, s.VPP)
			},
		},
	}
}

// evenly reports whether layers divide over stages as they are, or with what Megatron-LM counts
// as layers when told so.
func evenly(layers, stages int) bool {
	_, even := layout.CountedEvenly(layers, stages)
	return even
}

// leastPipeline is the shortest pipeline for which a layout string is not worth writing
// where another length divides.
const leastPipeline = 4

// pipelines reports whether a model can be cut evenly into a pipeline of at least
// leastPipeline ranks on the GPUs of a setup. Where it cannot (61 layers on powers of two),
// NVIDIA's own recipes write the layout, and so would anybody.
func pipelines(s *engine.Setup) bool {
	for counted := range 3 { // layers alone, with the loss, with embedding and loss
		sum := s.Model.Layers + counted
		for pp := common(sum, s.GPUs); pp >= leastPipeline; pp-- {
			if sum%pp == 0 && s.GPUs%pp == 0 && pp <= s.Model.Layers && evenly(s.Model.Layers, pp) {
				return true
			}
		}
	}
	return false
}

// common returns the greatest common divisor.
func common(a, b int) int {
	if b&(b-1) == 0 { // a power of two, which most numbers of GPUs are: the search asks for each layout
		return min(a&-a, b)
	}
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
