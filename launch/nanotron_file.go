package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// nanotronFile returns the keys of nanotron's YAML file.
func nanotronFile() form {
	f := form{
		id: "nanotron", file: "nanotron.yaml", parse: parseYAML, render: yamlText,
		finish: finishNanotron,
	}
	f.rows = append(f.rows, nanotronAround()...)
	f.rows = append(f.rows, nanotronModel()...)
	f.rows = append(f.rows, nanotronExperts()...)
	f.rows = append(f.rows, nanotronOptimizer()...)
	f.rows = append(f.rows,
		countField("parallelism.dp", knob.DP, func(s *engine.Setup) int { return s.DP }),
		countField("parallelism.pp", knob.PP, func(s *engine.Setup) int { return s.PP }),
		countField("parallelism.tp", knob.TP, func(s *engine.Setup) int { return s.TP }),
		words("parallelism.pp_engine", knob.Schedule, pair{"1f1b", "1f1b"}, pair{"afab", "afab"}),
		words("parallelism.tp_mode", knob.SP, pair{"on", "REDUCE_SCATTER"}, pair{"off", "ALL_REDUCE"}),
		field{
			key: "parallelism.tp_linear_async_communication", why: "with REDUCE_SCATTER only",
			write: func(s *engine.Setup) (any, bool) { return s.SP, true },
		},
		words("parallelism.recompute_layer", knob.Recompute, pair{"none", false}, pair{"full", true}),
		joint("parallelism.expert_parallel_size", []knob.ID{knob.EP},
			ofAll(func(*engine.Setup) int { return 1 })),
		countField("parallelism.context_parallel_size", knob.CP, func(s *engine.Setup) int { return s.CP }),
		yours("tokenizer.tokenizer_name_or_path", "robot-test/dummy-tokenizer-wordlevel", "the tokenizer"),
		same("tokenizer.tokenizer_max_length", nil, ""),
		same("tokenizer.tokenizer_revision", nil, ""),
		countField("tokens.sequence_length", knob.Seq, func(s *engine.Setup) int { return s.Seq }),
		same("tokens.train_steps", 1000, "of the training recipe, no knob"),
		countField("tokens.micro_batch_size", knob.MBS, func(s *engine.Setup) int { return s.MBS }),
		countField("tokens.batch_accumulation_per_replica", knob.MicroBatches,
			func(s *engine.Setup) int { return s.MicroBatches }),
		same("tokens.val_check_interval", -1, "no validation"),
		same("tokens.limit_val_batches", 0, "no validation"),
		same("tokens.limit_test_batches", 0, "no validation"),
		same("profiler", nil, ""),
		same("lighteval", nil, ""))
	f.assumed = []assumed{
		{knob.VPP, 1, "one stage per pipeline rank"},
		{knob.ETP, 1, "no tensor parallelism of experts"},
		{knob.EP, 1, "no run starts with more"},
		{knob.HSDP, 1, "ZeRO-1 shards over all ranks"},
		{knob.Calibration, string(recipe.Nanotron), "the software that reads the file"},
		{knob.Optimizer, string(recipe.Adam), "adamW"},
		{knob.MTP, false, "no multi-token prediction"},
		{knob.Attention, string(recipe.Flash), "flash_attention_2"},
		{knob.Offload, string(recipe.OffloadNone), "the optimizer stays on the GPU"},
		{"offload-layers", 0, "activations stay on the GPU"},
	}
	f.leaves = append(startedAs(recipe.Nanotron), ownDefaults()...)
	f.leaves = append(f.leaves, stays("its own cross-entropy, over the vocabulary of a TP rank", nil,
		knob.Loss)...)
	f.leaves = append(f.leaves, stays("no virtual stages, so no groups of micro-batches", []string{"0"},
		knob.GroupSize)...)
	return f
}

// nanotronAround returns the keys that a run needs and no knob has.
func nanotronAround() []field {
	const notKnob = "of the training recipe, no knob"
	return []field{
		yours("general.project", "what-if", "the name of the project"),
		{key: "general.run", why: "a name", write: func(s *engine.Setup) (any, bool) {
			return fmt.Sprintf("%s_tp%d_pp%d_dp%d", strings.ReplaceAll(s.Model.ID, "-", "_"), s.TP, s.PP,
				s.DP), true
		}},
		same("general.seed", 42, notKnob),
		same("general.ignore_sanity_checks", true, notKnob),
		same("checkpoints.checkpoint_interval", 1000, notKnob),
		yours("checkpoints.checkpoints_path", "checkpoints", "where checkpoints go"),
		same("checkpoints.checkpoints_path_is_shared_file_system", true, notKnob),
		same("checkpoints.resume_checkpoint_path", nil, ""),
		same("checkpoints.save_initial_state", false, notKnob),
		same("data_stages.0.name", "stage 1", notKnob),
		same("data_stages.0.start_training_step", 1, notKnob),
		yours("data_stages.0.data.dataset", nil, "the data; null makes dummy data"),
		same("data_stages.0.data.num_loading_workers", 1, notKnob),
		same("data_stages.0.data.seed", 42, notKnob),
		same("logging.iteration_step_info_interval", 1, "a line for each step"),
		same("logging.log_level", "info", ""),
		same("logging.log_level_replica", "warning", ""),
	}
}

// modelFigure returns the row of a figure of the model.
func modelFigure(key, of string, write func(m *model.Model) any) field {
	return field{
		key: "model.model_config." + key, from: []string{modelPrefix + of},
		write: func(s *engine.Setup) (any, bool) { return write(&s.Model), true },
		read: func(v any, r *reader) error {
			switch want := write(&model.Model{}).(type) {
			case int:
				n, err := wholeNumber(v, 1)
				if err == nil {
					r.Setup[modelPrefix+of] = n
				}
				return err
			default:
				b, ok := v.(bool)
				if !ok {
					return fmt.Errorf("%s is neither true nor false, as %v is", shown(v), want)
				}
				r.Setup[modelPrefix+of] = b
				return nil
			}
		},
	}
}

// nanotronModel returns the keys of the architecture.
func nanotronModel() []field {
	const of, notKnob, checkpoint = "model.model_config.", "of the training recipe, no knob",
		"of the tokenizer and the checkpoint, no knob"
	qwen := func(s *engine.Setup) bool { return s.Model.AttnBias == model.BiasQKV }
	return []field{
		same("model.ddp_bucket_cap_mb", 25, notKnob),
		words("model.dtype", knob.Precision, pair{"bf16", "bfloat16"}, pair{"fp16", "float16"},
			pair{"fp32", "float32"}),
		same("model.init_method.std", 0.02, notKnob),
		same("model.make_vocab_size_divisible_by", 1, "the vocabulary as it is"),
		joint(of+"is_llama_config", []knob.ID{"set.model.attn_bias"}, func(s *engine.Setup) (any, bool) {
			return true, !qwen(s)
		}),
		joint(of+"is_qwen2_config", []knob.ID{"set.model.attn_bias"}, func(s *engine.Setup) (any, bool) {
			return true, qwen(s)
		}),
		joint(of+"attention_bias", []knob.ID{"set.model.attn_bias"}, func(s *engine.Setup) (any, bool) {
			return true, qwen(s)
		}),
		joint(of+"hidden_act", []knob.ID{"set.model.activation"}, func(*engine.Setup) (any, bool) {
			return "silu", true
		}),
		modelFigure("hidden_size", "hidden", func(m *model.Model) any { return m.Hidden }),
		modelFigure("intermediate_size", "ffn_hidden", func(m *model.Model) any { return m.FFN }),
		modelFigure("num_hidden_layers", "layers", func(m *model.Model) any { return m.Layers }),
		modelFigure("num_attention_heads", "heads", func(m *model.Model) any { return m.Heads }),
		modelFigure("num_key_value_heads", "kv_heads", func(m *model.Model) any { return m.KVHeads }),
		modelFigure("max_position_embeddings", "max_seq", func(m *model.Model) any { return m.MaxSeq }),
		{key: of + "rms_norm_eps", why: checkpoint, write: func(s *engine.Setup) (any, bool) {
			return cmp.Or(s.Model.NormEps, llama3Eps), true
		}},
		{key: of + "rope_theta", why: checkpoint, site: true, write: func(s *engine.Setup) (any, bool) {
			switch {
			case knowsRoPE(s):
				return float64(s.Model.RopeTheta), true
			case s.Model.Family == "Llama-3":
				return 500000.0, true
			}
			return 10000.0, true
		}},
		same(of+"rope_scaling", nil, checkpoint),
		same(of+"rope_interleaved", false, checkpoint),
		modelFigure("tie_word_embeddings", "tied_embeddings", func(m *model.Model) any { return m.Tied }),
		same(of+"use_cache", true, checkpoint),
		modelFigure("vocab_size", "vocab", func(m *model.Model) any { return m.Vocab }),
		same(of+"pretraining_tp", 1, checkpoint),
		yours(of+"pad_token_id", nil, checkpoint),
		yours(of+"bos_token_id", 128000, checkpoint),
		yours(of+"eos_token_id", 128001, checkpoint),
		same(of+"initializer_range", 0.02, notKnob),
	}
}

// nanotronExperts returns the keys of routed experts, which are read and not written.
func nanotronExperts() []field {
	const of = "model.model_config."
	whole := func(key, figure string) field {
		f := countField(of+key, "", nil).unwritten()
		f.from = []string{modelPrefix + figure}
		f.read = func(v any, r *reader) error {
			n, err := wholeNumber(v, 1)
			if err == nil {
				r.Setup[modelPrefix+figure] = n
			}
			return err
		}
		return f
	}
	return []field{
		whole("moe_config.num_experts", "n_experts"), whole("moe_num_experts", "n_experts"),
		whole("moe_config.top_k", "top_k"), whole("num_experts_per_tok", "top_k"),
		whole("moe_config.moe_intermediate_size", "moe_ffn_hidden"),
		whole("moe_config.shared_expert_intermediate_size", "shared_ffn_hidden_total"),
		{key: of + "moe_config.layers.0", read: part}, // -1: all
		{key: of + "moe_config.layers.1", from: []string{"model"}, read: func(any, *reader) error {
			return foreign("experts on some layers only are not read")
		}},
		{
			key:  of + "moe_config.enable_shared_expert",
			from: []string{modelPrefix + "shared_ffn_hidden_total"},
			read: func(v any, r *reader) error {
				if r.Setup[modelPrefix+"shared_ffn_hidden_total"] == nil && v == true {
					return foreign("its width is not in the file")
				}
				return nil
			},
		},
	}
}

// nanotronOptimizer returns the keys of the optimizer.
func nanotronOptimizer() []field {
	const notKnob = "of the training recipe, no knob"
	return []field{
		words("optimizer.zero_stage", knob.ZeRO, pair{"0", 0}, pair{"1", 1}),
		words("optimizer.accumulate_grad_in_fp32", knob.GradDtype, pair{"fp32", true}, pair{"bf16", false}),
		same("optimizer.clip_grad", 1.0, notKnob),
		same("optimizer.weight_decay", 0.1, notKnob),
		words("optimizer.optimizer_factory.name", knob.Optimizer, pair{"adam", "adamW"}),
		same("optimizer.optimizer_factory.adam_beta1", 0.9, notKnob),
		same("optimizer.optimizer_factory.adam_beta2", 0.95, notKnob),
		same("optimizer.optimizer_factory.adam_eps", 1e-8, notKnob),
		same("optimizer.optimizer_factory.torch_adam_is_fused", true, notKnob),
		same("optimizer.learning_rate_scheduler.learning_rate", 0.00015, notKnob),
		same("optimizer.learning_rate_scheduler.min_decay_lr", 0.000015, notKnob),
		same("optimizer.learning_rate_scheduler.lr_warmup_steps", 100, notKnob),
		same("optimizer.learning_rate_scheduler.lr_warmup_style", "linear", notKnob),
		same("optimizer.learning_rate_scheduler.lr_decay_style", "cosine", notKnob),
		same("optimizer.learning_rate_scheduler.lr_decay_steps", 900, notKnob),
		same("optimizer.learning_rate_scheduler.lr_decay_starting_step", nil, notKnob),
	}
}

// finishNanotron reads what follows from several keys, and what is left out.
func finishNanotron(r *reader) {
	const of = "model.model_config."
	ep := "parallelism.expert_parallel_size"
	if n := r.whole(ep, 1, 1); n > 1 {
		r.wrongf(ep, "%d: no run starts with more than 1 (%s: src/nanotron/parallel/context.py:26-70)", n,
			nanotronSource)
	}
	for _, d := range []struct {
		key  string
		id   knob.ID
		word any
	}{
		{"parallelism.pp_engine", knob.Schedule, "afab"},
		{"parallelism.tp_mode", knob.SP, false},
		{"parallelism.recompute_layer", knob.Recompute, "none"},
		{"parallelism.context_parallel_size", knob.CP, 1},
		{"model.dtype", knob.Precision, "bf16"},
		{"optimizer.zero_stage", knob.ZeRO, 0},
	} {
		if !r.said(d.key) {
			r.assume(flat(d.id), d.word, "nanotron's default of "+d.key)
		}
	}
	// no defaults (src/nanotron/config/parallelism_config.py)
	r.needs("parallelism.dp", "parallelism.pp", "parallelism.tp")
	if len(r.values) == 0 || r.Setup[modelPrefix+"hidden"] == nil {
		return
	}
	bias := r.values[of+"attention_bias"].Value == true
	m := figures{
		hidden: r.number(modelPrefix+"hidden", 0), heads: r.number(modelPrefix+"heads", 0),
		bias: bias,
	}.model()
	if r.Setup[modelPrefix+"kv_heads"] == nil {
		r.Setup[modelPrefix+"kv_heads"] = m.Heads
	}
	if act := r.values[of+"hidden_act"]; act.Key != "" && act.Value != "silu" {
		r.wrongf(act.Key, "%s: the gate of LlamaConfig is silu here", shown(act.Value))
	}
	for key, v := range map[string]any{
		"head_dim": m.HeadDim, "activation": m.Activation, "gated_ffn": m.Gated, "norm": m.Norm,
		"norms_per_layer": m.NormsPer,
		"pos_embedding":   m.Position, "attn_bias": m.AttnBias, "qk_norm": m.QKNorm, "kv_lora_rank": 0,
		"local_window": 0, "mlp_bias": false, "parallel_block": false,
	} {
		r.Setup[modelPrefix+key] = v
	}
	if r.number(modelPrefix+"n_experts", 0) == 0 {
		r.Setup[modelPrefix+"n_experts"] = 0
		return
	}
	const without = "nanotron's default"
	r.assume(modelPrefix+"top_k", 2, without)
	r.assume(modelPrefix+"moe_ffn_hidden", r.number(modelPrefix+"ffn_hidden", 0),
		"the width of the dense MLP")
	for _, figure := range []string{"shared_ffn_hidden_total", "first_k_dense_layers"} {
		r.assume(modelPrefix+figure, 0, without)
	}
	r.assume(modelPrefix+"moe_layer_freq", 1, without)
	r.assume(modelPrefix+"router_bias", false, without)
	r.assume("dispatcher", string(recipe.AllToAll), without)
}

// needs tells which keys are not there that the launcher has no defaults of: the file may end too early.
func (r *reader) needs(keys ...string) {
	missing := slices.DeleteFunc(keys, r.said)
	if len(missing) == 0 {
		return
	}
	end := 0
	for _, e := range r.values {
		end = max(end, e.Line)
	}
	r.Problems = append(r.Problems,
		Problem{
			Line: end, Key: missing[0],
			Message: "not in the file, which has its last key here, and without a default: " +
				strings.Join(missing, ", "),
		})
}
