package launch

import (
	"fmt"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

const nanotronSource = "huggingface/nanotron@2411b022"

// nanotron returns Hugging Face's nanotron and its YAML file.
func nanotron() Launcher {
	return Launcher{
		ID: "nanotron", Name: "nanotron", Version: "main of 2025", Source: nanotronSource,
		rules:  nanotronRules(),
		stack:  recipe.Nanotron,
		export: nanotronDocument,
		sniff: keyed(".yaml", parseYAML, "parallelism.pp_engine", "tokens.batch_accumulation_per_replica",
			"data_stages", "model.ddp_bucket_cap_mb", "model.model_config.is_llama_config"),
		read: readsWith(nanotronFile),
	}
}

// nanotronDocument returns a setup as nanotron's file.
func nanotronDocument(s *engine.Setup) Document {
	f := nanotronFile()
	d := f.document(s)
	d.Program = "run_train.py --config-file nanotron.yaml"
	d.Env = []Entry{{
		Key: "CUDA_DEVICE_MAX_CONNECTIONS", Value: 1,
		Why: "asserted with asynchronous communication of TP",
	}}
	if s.Stack.Resolve() != recipe.Nanotron && s.PP > 1 {
		d.Warnings = append(d.Warnings, "nanotron places layers by their work: the last stage, with the "+
			"head, has fewer than predicted")
	}
	return d
}

// nanotronRules returns what nanotron refuses.
func nanotronRules() []Rule {
	const config, context = nanotronSource + ": src/nanotron/config/config.py:536-543",
		nanotronSource + ": src/nanotron/parallel/context.py:26-70"
	const engines = nanotronSource + ": src/nanotron/parallel/pipeline_parallel/engine.py:252"
	rules := []Rule{
		oneOf(knob.Schedule, engines, "pp_engine", func(s *engine.Setup) schedule.Kind { return s.Schedule },
			schedule.OneFOneB, schedule.AFAB),
		refuses("virtual-stages", knob.VPP, engines, "it has one stage per pipeline rank",
			func(s *engine.Setup) bool { return s.VPP > 1 }),
		refusesWith("micro-batches", knob.PP, engines,
			func(s *engine.Setup) bool { return s.Schedule == schedule.OneFOneB && s.MicroBatches < s.PP-1 },
			func(s *engine.Setup) string {
				return fmt.Sprintf("1f1b needs at least pp - 1 = %d micro-batches; there are %d", s.PP-1,
					s.MicroBatches)
			}),
		refusesWith("kv-heads", knob.TP, config,
			func(s *engine.Setup) bool { return s.TP > s.Model.KVHeads },
			func(s *engine.Setup) string {
				return fmt.Sprintf("tp %d is more than the %d kv heads, which it does not replicate", s.TP,
					s.Model.KVHeads)
			}),
		refuses("context", knob.CP, nanotronSource+": src/nanotron/trainer.py:1052; models/llama.py",
			"context parallelism starts from a checkpoint only, and its LlamaConfig has none",
			func(s *engine.Setup) bool { return s.CP > 1 }),
		refuses("experts", knob.EP, context, "with ep over 1 the world size is asserted without ep and the "+
			"ranks are arranged with it: no run starts", func(s *engine.Setup) bool { return s.EP > 1 }),
		refuses("expert-tp", knob.ETP, context, "it has no tensor parallelism of experts",
			func(s *engine.Setup) bool { return s.ETP > 1 }),
		refuses("zero", knob.ZeRO, nanotronSource+": src/nanotron/config/config.py", "zero_stage is 0 or 1",
			func(s *engine.Setup) bool { return s.ZeRO > 1 }),
		refuses("hsdp", knob.HSDP, nanotronSource, "ZeRO-1 shards over all data-parallel ranks",
			func(s *engine.Setup) bool { return s.Replicas() > 1 }),
		refuses("split", knob.Split, nanotronSource+": src/nanotron/models/base.py, build_model",
			"it places layers by their work, no file says where",
			func(s *engine.Setup) bool { return s.Split != "" }),
		wholeLayers(nanotronSource+": recompute_layer", recipe.RecomputeNone, recipe.RecomputeFull),
	}
	rules = append(rules, noHostMemory(nanotronSource, "the optimizer stays on the GPU")...)
	rules = append(rules, outsideSearch(
		refusesWith("model", "model", nanotronSource+": src/nanotron/config/models_config.py",
			func(s *engine.Setup) bool { return !nanotronHas(&s.Model) },
			func(s *engine.Setup) string {
				return fmt.Sprintf("%s is none of what LlamaConfig and Qwen2Config describe: dense, "+
					"RMSNorm, SwiGLU, rotary positions, no norms of queries and keys, no latent attention",
					s.Model.ID)
			}),
		refuses("mtp", knob.MTP, nanotronSource, "it has no multi-token prediction",
			func(s *engine.Setup) bool { return s.TrainMTP }),
		oneOf(knob.Precision, nanotronSource, "model.dtype", func(s *engine.Setup) recipe.Precision {
			return s.Precision
		}, recipe.BF16, recipe.FP16, recipe.FP32),
		oneOf(knob.GradDtype, nanotronSource, "accumulate_grad_in_fp32",
			func(s *engine.Setup) recipe.GradDtype { return s.GradDtype }, recipe.GradFP32, recipe.GradBF16),
		oneOf(knob.Optimizer, nanotronSource, "optimizer_factory", func(s *engine.Setup) recipe.Optimizer {
			return s.Optimizer
		}, recipe.Adam),
		oneOf(knob.Attention, nanotronSource, "it never stores the scores",
			func(s *engine.Setup) recipe.Attention { return s.Attention }, recipe.Flash),
	)...)
	rules = append(rules, noAdapters(nanotronSource+": src/nanotron/config/config.py")...)
	return append(rules, softwareRules(nanotronSource, nil)...)
}

// figures are what LlamaConfig and Qwen2Config say of a model.
type figures struct {
	layers, hidden, heads, kvHeads, ffn, vocab, maxSeq int
	tied, bias                                         bool
}

// figuresOf returns the figures of a model.
func figuresOf(m *model.Model) figures {
	return figures{
		m.Layers, m.Hidden, m.Heads, m.KVHeads, m.FFN, m.Vocab, m.MaxSeq, m.Tied,
		m.AttnBias == model.BiasQKV,
	}
}

// model returns the architecture of these figures, without labels.
func (f figures) model() model.Model {
	m := model.Model{
		Layers: f.layers, Hidden: f.hidden, Heads: f.heads, KVHeads: f.kvHeads,
		HeadDim: f.hidden / max(f.heads, 1), FFN: f.ffn, Vocab: f.vocab, MaxSeq: f.maxSeq,
		Tied: f.tied, Activation: "swiglu", Gated: true, Norm: model.NormRMS, NormsPer: 2, Position: "rope",
		AttnBias: model.BiasNone, QKNorm: model.QKNormNone,
	}
	if f.bias {
		m.AttnBias = model.BiasQKV
	}
	return m
}

// nanotronHas reports whether the figures of LlamaConfig or Qwen2Config are all of a model.
func nanotronHas(m *model.Model) bool {
	bare := *m
	bare.ID, bare.Name, bare.Family, bare.Attention, bare.ExtraParamsWhat, bare.RopeTheta = "", "", "", "",
		"", 0
	bare.RopeScaling, bare.RopeFactor, bare.NormEps = "", 0, 0
	return bare == figuresOf(m).model()
}
