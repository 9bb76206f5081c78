package launch

import (
	"cmp"
	"fmt"
	"slices"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Where Megatron-LM's rules were read.
const (
	megatronSource    = "NVIDIA/Megatron-LM@d98e8a64"
	megatronArguments = megatronSource + ": megatron/training/arguments.py"
	megatronConfig    = megatronSource + ": megatron/core/transformer/transformer_config.py"
	megatronSchedules = megatronSource + ": megatron/core/pipeline_parallel/schedules.py"
)

// megatronLM returns Megatron-LM with the rules of its command line.
func megatronLM() Launcher {
	return Launcher{
		ID: "megatron", Name: "Megatron-LM", Version: "core 0.20.0", Source: megatronSource,
		rules: slices.Concat(megatronPipeline(), megatronSplits(), megatronOptions(), megatronDivides(),
			megatronFormatRules(), megatronModelRules(), megatronAlone(), noAdapters(megatronArguments)),
		stack:  recipe.MegatronCore,
		export: megatronExport, sniff: sniffMegatron, says: saysMegatron, read: readMegatron,
		explicit: func(s *engine.Setup) bool {
			return s.PP > 1 && s.Split == "" && !s.Stack.Traits().DealsByWork && !evenly(&s.Model, s.Stages())
		},
	}
}

// megatronAlone returns what Megatron-LM refuses, and programs on it that set fields of its configuration do
// not.
func megatronAlone() []Rule {
	return outsideSearch(refuses("attention-fp8", "attention-precision", megatronArguments+":2333",
		"fp8_dot_product_attention is a field that its command line leaves out: Megatron-Bridge sets it",
		func(s *engine.Setup) bool {
			return s.Precision.Narrow() && runs(s).Attending == recipe.Attention8
		}))
}

// megatronPipeline returns the rules about schedules and stages.
func megatronPipeline() []Rule {
	return []Rule{
		refusesWith("order", knob.Schedule, megatronSchedules+", get_forward_backward_func",
			func(s *engine.Setup) bool {
				return s.PP > 1 && s.Schedule != schedule.OneFOneB && s.Schedule != schedule.Interleaved
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("it runs 1f1b and interleaved, not %s", s.Schedule)
			}),
		refusesWith("virtual-stages", knob.VPP, megatronArguments+":998-1009",
			func(s *engine.Setup) bool {
				return s.VPP > 1 && s.PP == 1 ||
					s.PP > 1 && (s.VPP > 1) != (s.Schedule == schedule.Interleaved) &&
						s.Schedule != schedule.LoopedBFS
			},
			func(s *engine.Setup) string {
				if s.PP == 1 {
					return "virtual stages need a pipeline of at least two ranks"
				}
				return fmt.Sprintf("vpp %d with %s: interleaved is what more than one stage per rank runs",
					s.VPP, s.Schedule)
			}),
		refusesWith("layers", knob.VPP,
			megatronArguments+":936-996, megatron/core/transformer/transformer_config.py:2242; NVIDIA's "+
				"recipes for 61 layers",
			func(s *engine.Setup) bool {
				return s.Split == "" && !evenly(&s.Model, s.Stages()) && pipelines(s)
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("%d layers do not divide over %d stages, nor with embedding and loss "+
					"counted as layers; only --pipeline-model-parallel-layout takes them", s.Model.Layers,
					s.Stages())
			}),
		refusesWith("group", knob.MicroBatches, megatronSchedules+":1160-1181",
			func(s *engine.Setup) bool {
				if s.VPP == 1 || s.PP == 1 {
					return false
				}
				group := cmp.Or(s.GroupSize, s.PP)
				rest := s.MicroBatches % group
				return group < s.PP || group > s.MicroBatches || rest > 0 && rest < s.PP
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("interleaved needs groups of pp (%d) to m micro-batches, and none or at "+
					"least pp left over; m is %d", s.PP, s.MicroBatches)
			}),
	}
}

// megatronSplits returns the rules about everything else.
func megatronSplits() []Rule {
	return []Rule{
		refusesWith("sequence", knob.CP, megatronArguments+":1336-1339",
			func(s *engine.Setup) bool { return s.CP > 1 && s.Seq%(2*s.CP) != 0 },
			func(s *engine.Setup) string {
				return fmt.Sprintf("2 x cp = %d does not divide the sequence of %d", 2*s.CP, s.Seq)
			}),
		refusesWith(ringID, knob.CP, "NVIDIA/TransformerEngine: context_parallel.py, "+
			"AttnFuncWithCPAndQKVOA2A",
			func(s *engine.Setup) bool {
				return s.SharesHeads() && !s.Model.IsMLA() && s.Model.KVHeads%(s.TP*s.CP) != 0
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("cp-comm a2a needs tp x cp = %d to divide the %d kv heads", s.TP*s.CP,
					s.Model.KVHeads)
			}),
		refuses("experts-sp", knob.SP, megatronSource+": megatron/core/transformer/moe/moe_layer.py:636",
			"experts with tp need sp in training",
			func(s *engine.Setup) bool { return s.Model.IsMoE() && s.TP > 1 && !s.SP }),
		refusesWith("zero-pipeline", knob.ZeRO, megatronArguments+":1112-1190",
			func(s *engine.Setup) bool { return s.ZeRO >= 2 && s.PP > 1 },
			func(s *engine.Setup) string {
				return fmt.Sprintf("ZeRO-%d is Megatron-FSDP, which it does not combine with a pipeline",
					s.ZeRO)
			}),
		refuses("in-flight", knob.MaxInFlight, megatronSchedules+":955-973",
			"it has no limit of micro-batches in flight",
			func(s *engine.Setup) bool { return s.MaxInFlight > 0 && s.PP > 1 }),
		refusesWith("offload-layers", "offload-layers", megatronConfig+", cpu_offloading",
			func(s *engine.Setup) bool {
				return s.OffloadLayers > 0 && (s.PP > 1 || s.Recompute.Mode != recipe.RecomputeNone ||
					s.OffloadLayers >= s.Model.Layers)
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("--cpu-offloading-num-layers goes with no pipeline, no recomputation "+
					"and fewer than all %d layers", s.Model.Layers)
			}),
		refusesWith("recompute-layers", knob.Recompute, megatronConfig+":543-556",
			func(s *engine.Setup) bool {
				return s.Recompute.Mode == recipe.RecomputeFull && s.Recompute.Layers%max(s.VPP, 1) != 0
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("--recompute-num-layers counts layers of a virtual stage: %d layers of "+
					"a rank are no multiple of vpp %d", s.Recompute.Layers, s.VPP)
			}),
	}
}

// evenly reports whether layers divide over stages as they are, or with what Megatron-LM counts
// as layers when told so; layers of several kinds have their stages written in any case.
func evenly(m *model.Model, stages int) bool {
	_, even := layout.CountedEvenly(m.Layers, stages)
	return even || layout.SplitsByCost(m)
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
		for pp := layout.GCD(sum, s.GPUs); pp >= leastPipeline; pp-- {
			if sum%pp == 0 && s.GPUs%pp == 0 && pp <= s.Model.Layers && evenly(&s.Model, pp) {
				return true
			}
		}
	}
	return false
}
