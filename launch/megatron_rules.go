package launch

import (
	"fmt"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// megatronDivides returns the rules that every legal setup meets: they stand here so that the
// table is whole, and so that a wrong formula for the size of the world cannot slip in.
func megatronDivides() []Rule {
	divides := func(n, by int) bool { return by > 0 && n%by == 0 }
	return outsideSearch(
		refusesWith("heads", knob.TP, megatronConfig+":1446",
			func(s *engine.Setup) bool { return !divides(s.Model.Heads, s.TP) },
			func(s *engine.Setup) string {
				return fmt.Sprintf("%d heads are no multiple of tp", s.Model.Heads)
			}),
		refusesWith("query-groups", knob.TP, megatronConfig+":1462",
			func(s *engine.Setup) bool {
				return !s.Model.IsMLA() && !divides(s.Model.KVHeads, s.TP) && !divides(s.TP, s.Model.KVHeads)
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("%d query groups are neither a multiple nor a divisor of tp",
					s.Model.KVHeads)
			}),
		refusesWith("experts", knob.EP, megatronArguments+":1655-1658",
			func(s *engine.Setup) bool {
				return s.EP > 1 && (s.Model.Experts == 0 || !divides(s.Model.Experts, s.EP))
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("%d experts are no multiple of ep", s.Model.Experts)
			}),
		refusesWith("world", knob.GPUs, megatronArguments+":424-448, megatron/core/parallel_state.py:815-827",
			func(s *engine.Setup) bool { return !divides(s.GPUs, s.TP*s.PP*s.CP) },
			func(s *engine.Setup) string {
				return fmt.Sprintf("%d GPUs are no multiple of tp x pp x cp = %d", s.GPUs, s.TP*s.PP*s.CP)
			}),
		refusesWith("expert-world", knob.EP, megatronSource+": megatron/core/parallel_state.py:874-886",
			func(s *engine.Setup) bool { return s.Model.IsMoE() && !divides(s.GPUs, s.EP*s.ETP*s.PP) },
			func(s *engine.Setup) string {
				return fmt.Sprintf("%d GPUs are no multiple of etp x ep x pp = %d", s.GPUs, s.EP*s.ETP*s.PP)
			}),
		refusesWith("batch", knob.GBS, megatronSource+": megatron/core/num_microbatches_calculator.py:382",
			func(s *engine.Setup) bool { return !divides(s.GBS, s.MBS*s.DP) },
			func(s *engine.Setup) string {
				return fmt.Sprintf("a batch of %d is no multiple of mbs x dp = %d", s.GBS, s.MBS*s.DP)
			}),
	)
}

// megatronOptions returns the rules about options that go with some layouts only.
func megatronOptions() []Rule {
	full := func(s *engine.Setup) bool { return s.Recompute.Mode == recipe.RecomputeFull }
	return []Rule{
		refuses("tp-overlap-sp", knob.SP, megatronArguments+":1434-1441",
			"--tp-comm-overlap needs sequence parallelism",
			func(s *engine.Setup) bool { return s.TPOverlap == recipe.UserBuffers && s.TP > 1 && !s.SP }),
		refuses("fp16-experts", knob.EP, megatronArguments+":1655-1660",
			"expert parallelism is not supported with fp16",
			func(s *engine.Setup) bool { return s.EP > 1 && s.Precision == recipe.FP16 }),
		refuses("fp8-weights", knob.ZeRO, megatronArguments+":2016, --fp8-param-gather",
			"8-bit weights need the distributed optimizer",
			func(s *engine.Setup) bool { return s.ZeRO == 0 && eightBits(s) }),
		refuses("offload-zero", knob.ZeRO, megatronSource+": megatron/core/optimizer/optimizer_config.py, "+
			"__post_init__: --use-precision-aware-optimizer",
			"the optimizer goes to the host only as the distributed optimizer, which is zero 1 or more",
			func(s *engine.Setup) bool { return s.Offload == recipe.OffloadOptimizer && s.ZeRO == 0 }),
		refuses("offload-weights", knob.Offload, megatronArguments+", --optimizer-cpu-offload",
			"the optimizer alone goes to the host, not the weights",
			func(s *engine.Setup) bool { return s.Offload.Weights() }),
		noDrives(megatronArguments + ", --optimizer-cpu-offload"),
		refuses("offload-activations", knob.Offload, megatronArguments+", --cpu-offloading-num-layers",
			"activations go to the host by layers, see --offload-layers",
			func(s *engine.Setup) bool { return s.Offload.Activations() }),
		refusesWith("fp8-scan", knob.TP, megatronSource+": megatron/core/ssm/mamba_mixer.py, "+
			"gated_delta_net/common.py; Transformer Engine, common/gemm/cublaslt_gemm.cu",
			func(s *engine.Setup) bool { width, _ := s.UnevenScan(); return width > 0 },
			func(s *engine.Setup) string {
				width, by := s.UnevenScan()
				return fmt.Sprintf("%s needs input projections of linear attention that are multiples of %d "+
					"on a rank, not %d", s.Precision, by, width)
			}),
		refuses("fp8-offload", knob.Offload, megatronArguments+":2918 ff., --optimizer-cpu-offload",
			"with 8-bit weights the optimizer goes to the host only under --fp8-recipe delayed",
			func(s *engine.Setup) bool { return s.Offload == recipe.OffloadOptimizer && eightBits(s) }),
		refuses("graphs-recompute", knob.Recompute, megatronArguments+", cuda_graph_impl",
			"CUDA graphs do not go with full recomputation",
			func(s *engine.Setup) bool {
				return full(s) &&
					(s.CUDAGraphs == recipe.GraphsLayer || s.CUDAGraphs == recipe.GraphsIteration)
			}),
		refuses("ep-overlap", "ep-overlap", megatronSource+": megatron/core/model_parallel_config.py:343, "+
			"megatron/core/transformer/transformer_config.py", "--overlap-moe-expert-parallel-comm needs "+
			"ep, virtual stages in a pipeline, and no full recomputation",
			func(s *engine.Setup) bool {
				return s.EPOverlap == recipe.On && s.Model.IsMoE() &&
					(s.EP == 1 || s.PP > 1 && s.VPP == 1 || full(s))
			}),
		refuses("recompute-modules", knob.Recompute, megatronConfig+":560",
			"it recomputes a module that the model does not have",
			func(s *engine.Setup) bool {
				return s.Recompute.Has(recipe.ModuleMLAUp) && !s.Model.IsMLA() ||
					s.Recompute.Has(recipe.ModuleMoEAct|recipe.ModuleMoE) && !s.Model.IsMoE() ||
					s.Recompute.Has(recipe.ModuleShared) && s.Model.SharedFFN == 0
			}),
	}
}

// eightBits reports whether weights are kept in 8 bits as Megatron-Core keeps them.
func eightBits(s *engine.Setup) bool {
	p := s.Precision.On(s.Stack)
	return p == recipe.FP8Megatron || p == recipe.FP8Tensor
}

// megatronFormatRules returns the rules about number formats and what else a search keeps.
func megatronFormatRules() []Rule {
	return outsideSearch(
		refusesWith("fp8-bytes", knob.Precision, megatronConfig+":587-594",
			func(s *engine.Setup) bool { return s.Precision.IsFP8() && !eightBits(s) },
			func(s *engine.Setup) string {
				return fmt.Sprintf("%s keeps states in widths of its own; Megatron-LM's are fp8:megatron "+
					"and fp8:tensor", s.Precision)
			}),
		refuses("gradients", knob.GradDtype, megatronArguments+":3053",
			"gradients are accumulated in one buffer, of fp32 or with --grad-reduce-in-bf16 of bf16",
			func(s *engine.Setup) bool {
				return s.GradDtype == recipe.GradBF16FP32 && s.Precision != recipe.FP32
			}),
		refuses("optimizer", knob.Optimizer, megatronArguments+":3667",
			"its optimizers are Adam and SGD with moments and a master copy of its own",
			func(s *engine.Setup) bool {
				return s.Optimizer == recipe.AdamNoMaster || s.Optimizer.OnlyLedger()
			}),
		refuses("async-tp", "tp-overlap", megatronArguments+", --tp-comm-overlap",
			"async is torchtitan's; Megatron-LM has user-buffers",
			func(s *engine.Setup) bool { return s.TPOverlap == recipe.AsyncTP }),
		refuses("mtp-positions", knob.MTP, megatronArguments+", mtp_num_layers",
			"multi-token prediction needs rotary positions or none",
			func(s *engine.Setup) bool {
				return s.TrainMTP && s.Model.MTPLayers > 0 && !rope(&s.Model) && s.Model.Position != "none"
			}),
	)
}

// modelField is what a rule about the model says is to be changed.
const modelField knob.ID = "model"

// megatronModelRules returns the rules about what its model builder has.
func megatronModelRules() []Rule {
	about := func(id string, breaks func(m *model.Model) bool, why func(m *model.Model) string) Rule {
		return refusesWith(id, modelField, megatronArguments+", model flags",
			func(s *engine.Setup) bool { return breaks(&s.Model) },
			func(s *engine.Setup) string { return why(&s.Model) })
	}
	return outsideSearch(
		about("positions", func(m *model.Model) bool {
			return !rope(m) && m.Position != model.PositionLearned && m.Position != "relative" &&
				m.Position != "none"
		}, func(m *model.Model) string { return "--position-embedding-type has no " + m.Position }),
		about("norms", func(m *model.Model) bool {
			return m.NormsPer != 2 && !m.Flat() || m.Norm != model.NormRMS && m.Norm != model.NormLayer &&
				m.Norm != "layernorm (1p)"
		}, func(m *model.Model) string {
			return fmt.Sprintf("layers have two of RMSNorm or LayerNorm with bias, not %d of %s", m.NormsPer,
				m.Norm)
		}),
		about("biases", func(m *model.Model) bool { return m.MLPBias != (m.AttnBias == model.BiasAll) },
			func(m *model.Model) string {
				return fmt.Sprintf("--disable-bias-linear is of attention (here %s) and MLP alike",
					m.AttnBias)
			}),
		about("qk-norm",
			func(m *model.Model) bool {
				return m.QKNorm == model.QKNormFullWidth || m.QKNorm == model.QKNormOwn
			},
			func(*model.Model) string { return "--qk-layernorm has one scale for all heads" }),
		about("activation", func(m *model.Model) bool {
			return m.Activation != "swiglu" && m.Activation != "gelu" && m.Activation != "squared-relu" &&
				m.Activation != "clamped swiglu" || m.Activation == "gelu" && m.Gated
		}, func(m *model.Model) string { return "no flag gives an MLP of " + m.Activation }),
		about("hybrid", func(m *model.Model) bool {
			return m.Has(model.LetterMamba) && (!m.Flat() || m.LinearChunk != 128 || m.ConvWidth != 4)
		}, func(*model.Model) string {
			return "Mamba-2 stands in --hybrid-layer-pattern alone, where each letter is a sub-layer, with " +
				"a convolution of 4 tokens and chunks of 128"
		}),
		about("gate", func(m *model.Model) bool { return m.AttnGate == model.GateHead },
			func(*model.Model) string {
				return "--attention-output-gate has a value for each channel, not for each head"
			}),
		about("block", func(m *model.Model) bool { return m.ParallelBlock },
			func(*model.Model) string { return "attention and MLP of a layer run one after the other" }),
		about("parts", func(m *model.Model) bool { return partWithoutFlag(m) != "" },
			func(m *model.Model) string { return "no flag gives " + partWithoutFlag(m) }),
		about("windows",
			func(m *model.Model) bool {
				_, ok := localLayers(m)
				return !ok || m.IsMLA() && m.LocalWindow > 0
			},
			func(m *model.Model) string {
				return fmt.Sprintf("--window-attn-skip-freq has no %q", m.LocalRatio)
			}),
	)
}

// partWithoutFlag names what a model has that the launcher has no flag for; empty where there is none.
func partWithoutFlag(m *model.Model) string {
	a, kv := m.LocalAttention()
	allowed := "*GM-E"
	if _, _, ok := m.ChoiceShared(); ok {
		allowed = "DR"
	}
	kinds := m.Beyond(allowed)
	for _, part := range []struct {
		name string
		has  bool
	}{
		{
			"one key for all heads and compressed keys (DeepSeek-V4; not in Megatron-LM's main branch)",
			m.OutputGroups > 0,
		},
		{
			"hyper-connections here (Megatron-LM has them without pipeline and prediction modules)",
			m.HyperStreams > 0,
		},
		{"experts by a table of tokens", m.HashLayers > 0},
		{"layers of the kind " + kinds, kinds != ""},
		{"a norm of the embedding", m.EmbeddingNorm},
		{"a bias of the output head", m.HeadBias},
		{"layers of a window whose heads differ", a != m.Heads || kv != m.KVHeads || m.LocalHeadDim != 0 ||
			m.LocalVHeadDim != 0},
		{"values of another width than keys without MLA", !m.IsMLA() && m.VHeadDim != 0},
		{"keys as values", m.ValuesAreKeys},
		{"a norm of values", m.ValueNorm},
		{"queries through a latent without one of keys", !m.IsMLA() && m.QLoraRank > 0},
		{"scales of router and layer", m.RouterScale || m.LayerScalar},
		{"experts that do nothing", m.ZeroExperts > 0},
		{"MLPs of several widths", m.FFNWidths != ""},
		{"snapshots of the stream", m.ResidualBlock > 0},
		{"several streams, or inputs and keys of layers", m.AltUpStreams+m.LayerInput+m.ReusedKV > 0},
		{"a gate of the output of MLA", m.IsMLA() && m.AttnGate != ""},
		{"a norm of the experts' latent space", m.LatentNorm},
		{"more positions than tokens", m.PositionRows > 0},
		{"what an unknown family has more than the one it was read as", m.ReadAs != ""},
	} {
		if part.has {
			return part.name
		}
	}
	return ""
}
