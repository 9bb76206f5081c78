package launch

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// Reinforcement learning: the training of the actor is read, what generates and judges is not.

const notRollout = "of what generates, judges or compares, which is not read: the training of the actor is"

// noPipes are the dimensions that these programs do not have on FSDP and DeepSpeed, or not by default.
func noPipes(r *reader, name string) {
	r.without(name, map[string]any{"pp": 1, "tp": 1, "cp": 1, "ep": 1, "sp": false})
}

// verl returns the overrides and the YAML of verl.
func verl() form {
	const name, actor, rollout, model = "verl", "actor_rollout_ref.actor.", "actor_rollout_ref.rollout.",
		"actor_rollout_ref.model."
	const engine = actor + "fsdp_config."
	f := form{
		id: "verl", name: name, source: "volcengine/verl@b178a3cd " +
			"(verl/trainer/config/_generated_ppo_trainer.yaml, _generated_ppo_megatron_trainer.yaml)",
		parse: parseYAML,
		keys:  all("actor_rollout_ref.actor"), overrides: true,
		starts: func(words []string, _ map[string]bool) bool {
			return slices.ContainsFunc(words, func(w string) bool {
				return strings.HasPrefix(strings.TrimLeft(w, "+"), actor) ||
					strings.Contains(w, "verl.trainer.main_ppo")
			})
		},
		core: []string{
			actor + "megatron.override_transformer_config.", actor + "megatron.",
			actor + "optim.override_optimizer_config.",
		},
		rename: virtualStages(),
		asides: map[string]string{
			rollout: notRollout, "actor_rollout_ref.ref.": notRollout, "critic.": notRollout,
			"reward_model.": notRollout, "algorithm.": notRollout, "reward_manager": notRollout,
			"custom_reward_function": notRollout,
			actor:                    "of the loss or the engine, not of a layout", "data.": "of the data",
			"trainer.": "of the run, not of a layout", "actor_rollout_ref.": "not of a layout",
		},
		rows: []field{
			named(model + "path"), together(actor+"strategy", "zero"),
			together(actor+"ppo_mini_batch_size", "gbs"), together(rollout+"n", "gbs"),
			count(actor+"ppo_micro_batch_size_per_gpu", knob.MBS),
			beyond(actor+"ppo_micro_batch_size", "mbs", "that of all GPUs together, in old versions"),
			together(actor+"use_dynamic_bsz", "mbs"), together(actor+"ppo_max_token_len_per_gpu", "mbs"),
			together("data.max_prompt_length", "seq"), together("data.max_response_length", "seq"),
			together("trainer.nnodes", "gpus"), together("trainer.n_gpus_per_node", "gpus"),
			together(actor+"fsdp_config.fsdp_size", "hsdp"),
			together(actor+"fsdp_config.reshard_after_forward", "zero"),
			ulysses(actor + "ulysses_sequence_parallel_size").orNull(),
			ulysses(actor + "fsdp_config.ulysses_sequence_parallel_size").orNull(),
			together(model+"enable_gradient_checkpointing", "recompute"), lora(model + "lora.rank"),
			savedAdapters(model + "lora_adapter_path"),
			says("data.train_batch_size", "prompts that are generated from before the steps on them"),
		},
		finish: finishVerl,
	}
	for _, key := range []string{
		"fsdp_config.param_offload", "fsdp_config.optimizer_offload",
		"megatron.param_offload", "megatron.optimizer_offload", "megatron.grad_offload",
	} {
		f.rows = append(f.rows,
			says(actor+key, "moved to the host while the rollout runs, and back before a step"))
	}
	f.rows = append(append(f.rows, verlAdapters(model, engine).tunerRows()...), layoutRows()...)
	return f
}

// layoutRows are the rows of Megatron-LM that are of no model.
func layoutRows() []field {
	return slices.DeleteFunc(megatronFields(), func(f field) bool {
		return f.read == nil ||
			slices.ContainsFunc(f.from, func(key string) bool { return strings.HasPrefix(key, modelPrefix) })
	})
}

// finishVerl derives what its keys mean together.
func finishVerl(r *reader) {
	const name, actor = "verl", "actor_rollout_ref.actor."
	r.joined("gbs", name, func(a, b int) int { return times(a, b) },
		map[string]int{actor + "ppo_mini_batch_size": 256, "actor_rollout_ref.rollout.n": 1})
	r.joined("seq", name, func(a, b int) int { return a + b },
		map[string]int{"data.max_prompt_length": 512, "data.max_response_length": 512})
	r.gpusOf("trainer.nnodes", "trainer.n_gpus_per_node", 1, 8)
	if on, _ := isOn(r.values[actor+"use_dynamic_bsz"].Value); on && r.said(actor+"use_dynamic_bsz") &&
		!r.lost["mbs"] {
		r.lost["mbs"] = true
		r.unknown("mbs", "micro-batches are filled with tokens (use_dynamic_bsz)",
			r.values[actor+"use_dynamic_bsz"].Line)
		r.guess("mbs",
			max(1, r.whole(actor+"ppo_max_token_len_per_gpu", 1, 16384)/max(r.number("seq", 1), 1)))
	}
	megatron := r.text(actor+"strategy") == "megatron" ||
		slices.ContainsFunc(slices.Collect(maps.Keys(r.values)), func(key string) bool {
			return strings.HasPrefix(key, actor+"megatron.") || strings.HasSuffix(key, "-model-parallel-size")
		}) || strings.Contains(r.text("config_name"), "megatron")
	if e, said := r.values["actor_rollout_ref.model.enable_gradient_checkpointing"]; said && !megatron &&
		!r.lost["recompute"] {
		on, _ := isOn(e.Value)
		r.Setup["recompute"] = map[bool]string{
			true:  string(recipe.RecomputeFull),
			false: string(recipe.RecomputeNone),
		}[on]
	}
	if megatron {
		r.finishMegatron(&dialect{
			id: "verl", name: name,
			defaults: map[string]any{
				"zero": 1, "precision": string(recipe.BF16), "sp": r.number("tp", 1) > 1,
				"optimizer": string(recipe.Adam),
			},
		})
		return
	}
	noPipes(r, name)
	stage := 3
	if r.values[actor+"fsdp_config.reshard_after_forward"].Value == false {
		stage = 2
	}
	r.sharded(name, stage, r.whole(actor+"fsdp_config.fsdp_size", -1, -1))
	r.without(name,
		map[string]any{
			"precision": string(recipe.BF16), "recompute": string(recipe.RecomputeFull),
			"optimizer": string(recipe.Adam),
		})
	verlAdapters("actor_rollout_ref.model.", actor+"fsdp_config.").adapts(r)
	r.runsOn(false, r.text(actor+"strategy") == "fsdp2")
}

// sharded derives FSDP over so many ranks; less than one: all of them. How many replicas they make is not
// known without a number of GPUs that they divide.
func (r *reader) sharded(name string, stage, over int) {
	r.assume("zero", stage, name+" on FSDP: weights are sharded")
	const key = "hsdp"
	switch gpus := r.number("gpus", 0); {
	case over < 1 || over == gpus:
	case gpus < 1 || r.lost["gpus"]:
		r.lost[key] = true
		r.unknown(key, fmt.Sprintf("shards over %d ranks, of a number of GPUs that is not in the file", over),
			0)
		r.guess(key, 1)
	case gpus%over != 0:
		r.lost[key] = true
		r.unknown(key, fmt.Sprintf("shards over %d ranks, which do not divide %d GPUs", over, gpus), 0)
		r.guess(key, 1)
	default:
		r.Setup[key] = gpus / over
	}
}

// verlSFT returns the overrides of verl's supervised training.
func verlSFT() form {
	const name = "verl"
	adapters := verlAdapters("model.", "model.fsdp_config.")
	f := form{
		id: "verl-sft", name: name, source: "volcengine/verl@b178a3cd (verl/trainer/config/sft_trainer.yaml)",
		parse: parseYAML, overrides: true, spawns: true,
		starts: func(words []string, _ map[string]bool) bool {
			return slices.ContainsFunc(words,
				func(w string) bool { return strings.Contains(w, "fsdp_sft_trainer") })
		},
		asides: map[string]string{
			"data.": "of the data", "trainer.": "of the run, not of a layout",
			"optim.": "of the optimizer, not of a layout",
		},
		rows: []field{
			named("model.partial_pretrain"), count("data.train_batch_size", knob.GBS),
			count("data.micro_batch_size_per_gpu", knob.MBS), count("data.max_length", knob.Seq),
			beyond("data.micro_batch_size", "mbs", "that of all GPUs together, in old versions"),
			recomputes("model.enable_gradient_checkpointing"), savedAdapters("model.lora_adapter_path"),
			ulysses("ulysses_sequence_parallel_size").orNull(),
			beyond("model.fsdp_config.cpu_offload", flat(knob.Offload),
				"weights on the host are not modelled"),
		},
		finish: func(r *reader) {
			noPipes(r, name)
			r.sharded(name, 3, 0)
			r.without(name,
				map[string]any{
					"gbs": 256, "mbs": 4, "seq": 1024, "precision": string(recipe.BF16),
					"recompute": string(recipe.RecomputeFull), "optimizer": string(recipe.Adam),
				})
			adapters.adapts(r)
			r.runsOn(false, r.text("model.strategy") == "fsdp2")
		},
	}
	f.rows = append(f.rows, adapters.tunerRows()...)
	return f
}

// openRLHF returns the command lines of OpenRLHF, whose flags were renamed after 0.9.
func openRLHF() form {
	const name = "OpenRLHF"
	f := form{
		id: "openrlhf", name: name, source: "OpenRLHF/OpenRLHF v0.9.10 and @3c3be623 (openrlhf/cli)",
		parse: parseYAML, spawns: true,
		starts: func(words []string, _ map[string]bool) bool {
			return slices.ContainsFunc(words, func(w string) bool {
				return strings.Contains(w, "openrlhf.cli.train_") ||
					strings.Contains(w, "openrlhf/cli/train_")
			})
		},
		rename: map[string]string{
			"pretrain": "model.model_name_or_path", "actor.model_name_or_path": "model.model_name_or_path",
			"micro_train_batch_size": "train.micro_batch_size", "train_batch_size": "train.batch_size",
			"max_len": "data.max_len", "zero_stage": "ds.zero_stage", "adam_offload": "ds.adam_offload",
			"gradient_checkpointing":              "model.gradient_checkpointing_enable",
			"actor.gradient_checkpointing_enable": "model.gradient_checkpointing_enable",
			"lora_rank":                           "ds.lora.rank", "load_in_4bit": "ds.load_in_4bit",
			"target_modules": "ds.lora.target_modules", "lora_alpha": "ds.lora.alpha",
			"ring_attn_size": "ds.ring_attn_size", "ds_tensor_parallel_size": "ds.tensor_parallel_size",
			"zpg": "ds.zpg", "param_dtype": "ds.param_dtype",
			"actor_num_nodes": "actor.num_nodes", "actor_num_gpus_per_node": "actor.num_gpus_per_node",
			"use_dynamic_batch":        "train.dynamic_batch_enable",
			"train_max_tokens_per_gpu": "train.max_tokens_per_gpu",
			"attn_implementation":      "ds.attn_implementation",
		},
		asides: map[string]string{
			"vllm": notRollout, "rollout": notRollout, "ref": notRollout, "reward": notRollout,
			"critic": notRollout, "colocate": notRollout, "n_samples": notRollout,
			"micro_rollout": notRollout, "algo": notRollout, "train.colocate": notRollout,
			"data.": "of the data", "ckpt.": "of checkpoints", "logger.": "of the log",
			"eval.": "of evaluation", "adam.": "of the optimizer, not of a layout",
			"actor.adam": "of the optimizer, not of a layout",
		},
		rows: []field{
			named("model.model_name_or_path"), count("train.micro_batch_size", knob.MBS),
			count("train.batch_size", knob.GBS), count("data.max_len", knob.Seq),
			together("prompt_max_len", "seq"), together("generate_max_len", "seq"),
			words("ds.zero_stage", knob.ZeRO, pair{"0", 0}, pair{"1", 1}, pair{"2", 2},
				pair{"3", 3}).orNull(),
			turns("ds.adam_offload", knob.Offload, string(recipe.OffloadOptimizer),
				string(recipe.OffloadNone)),
			recomputes("model.gradient_checkpointing_enable"),
			count("ds.ring_attn_size", knob.CP), count("ds.tensor_parallel_size", knob.TP),
			secondCopies("ds.zpg"),
			formats("ds.param_dtype"), turns("bf16", knob.Precision, string(recipe.BF16),
				string(recipe.FP32)),
			together("actor.num_nodes", "gpus"), together("actor.num_gpus_per_node", "gpus"),
			together("train.dynamic_batch_enable", "mbs"), together("train.max_tokens_per_gpu", "mbs"),
			attentionWord("ds.attn_implementation"), turns("flash_attn", knob.Attention, string(recipe.Flash),
				string(recipe.Standard)),
		},
	}
	f.finish = func(r *reader) {
		if prompt, answer := r.whole("prompt_max_len", 1, 0), r.whole("generate_max_len", 1, 0); prompt > 0 &&
			answer > 0 {
			r.Setup["seq"] = prompt + answer
		}
		if r.said("actor.num_nodes") || r.said("actor.num_gpus_per_node") {
			r.Unknown = slices.DeleteFunc(r.Unknown,
				func(u Unknown) bool { return u.Key == "gpus" && !r.lost["gpus"] })
			r.gpusOf("actor.num_nodes", "actor.num_gpus_per_node", 1, 8)
		}
		for _, w := range r.amid.starter {
			if m := preferences.FindStringSubmatch(w.text); m != nil {
				r.Ignored = append(r.Ignored, Ignored{Key: m[0], Why: shown(m[1]) + pairsWhy, Line: w.line})
			}
		}
		if e, on := r.values["train.dynamic_batch_enable"]; on && e.Value != false {
			delete(r.Setup, "mbs")
			r.lost["mbs"] = true
			r.unknown("mbs", "micro-batches are filled with tokens", e.Line)
		}
		r.without(name, map[string]any{
			"pp": 1, "tp": 1, "cp": 1, "ep": 1, "sp": false, "zero": 2,
			"recompute": string(recipe.RecomputeNone), "offload": string(recipe.OffloadNone), "gbs": 128,
			"seq": 2048, "optimizer": string(recipe.Adam),
		})
		if _, old := r.values["train.micro_batch_size"]; old && r.Setup["precision"] == nil &&
			!r.lost["precision"] {
			r.assume("precision", string(recipe.BF16), name+"'s default of param_dtype")
		}
		r.plusPlus()
		openRLHFAdapters().adapts(r)
		r.runsOn(true, false)
	}
	f.rows = append(f.rows, openRLHFAdapters().tunerRows()...)
	return f
}

// preferences finds a training by preferences in the name of a program.
var preferences = regexp.MustCompile(`train_(dpo|rm|kto|kd|ppo_ray)\b`)

// deviceList finds list(range(0,16)), as ROLL names GPUs.
var deviceList = regexp.MustCompile(`^list\(range\((?:(\d+),\s*)?(\d+)\)\)$`)

// roll returns the YAML of ROLL.
func roll() form {
	const name, at = "ROLL", "actor_train."
	const strategy = at + "strategy_args.strategy_config."
	return form{
		id: "roll", name: name,
		source: "alibaba/ROLL@8eb27cc2 (roll/configs, mcore_adapter/src/mcore_adapter/training_args.py)",
		parse:  parseYAML,
		keys:   all("actor_train.strategy_args", "actor_train.training_args"),
		core:   []string{strategy},
		rename: virtualStages(),
		asides: map[string]string{
			"actor_infer": notRollout, "reference": notRollout, "rewards": notRollout, "critic": notRollout,
			"validation": notRollout, "train_env_manager": notRollout, "val_env_manager": notRollout,
			"custom_envs": notRollout,
			at:            "of the data or the optimizer, not of a layout", "rollout_batch_size": notRollout,
			"num_return_sequences_in_group": notRollout,
		},
		rows: append([]field{
			named("pretrain"), together("prompt_length", "seq"), together("response_length", "seq"),
			count("sequence_length", knob.Seq),
			count(at+"training_args.per_device_train_batch_size", knob.MBS),
			count(at+"training_args.gradient_accumulation_steps", knob.MicroBatches),
			formats(at + "model_args.dtype"), lora(at + "model_args.lora_rank"),
			together(at+"model_args.disable_gradient_checkpointing", "recompute"),
			together(at+"strategy_args.strategy_name", "zero"), together(at+"device_mapping", "gpus"),
			together("deepspeed_stage", "zero"), attentionWord("attn_implementation"),
			attentionWord(at + "model_args.attn_implementation"),
		}, layoutRows()...),
		finish: finishRoll,
	}
}

// finishRoll derives what its keys mean together.
func finishRoll(r *reader) {
	const name, at = "ROLL", "actor_train."
	if prompt, answer := r.whole("prompt_length", 1, 0),
		r.whole("response_length", 1, 0); r.Setup["seq"] == nil && prompt > 0 && answer > 0 &&
		!r.lost["seq"] {
		r.Setup["seq"] = prompt + answer
	}
	devices := r.values[at+"device_mapping"]
	if m := deviceList.FindStringSubmatch(r.text(at + "device_mapping")); m != nil && !r.lost["gpus"] {
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		if n := to - from; n > 0 {
			r.Setup["gpus"] = n
		}
	} else if devices.Key != "" && !r.lost["gpus"] {
		r.unknown("gpus", shown(devices.Value)+" is no list(range(A,B))", devices.Line)
	}
	offed, _ := isOn(r.values[at+"model_args.disable_gradient_checkpointing"].Value)
	offed = offed && r.said(at+"model_args.disable_gradient_checkpointing")
	switch kind := r.text(at + "strategy_args.strategy_name"); {
	case strings.HasPrefix(kind, "megatron"):
		r.finishMegatron(&dialect{
			id: "roll", name: name,
			defaults: map[string]any{"precision": string(recipe.BF16), "optimizer": string(recipe.Adam)},
		})
	default:
		noPipes(r, name)
		config, stage := r.values[at+"strategy_args.strategy_config"], 3
		if strings.HasPrefix(kind, "deepspeed") && !r.lost["zero"] {
			r.lost["zero"] = true
			if m := stageInName.FindStringSubmatch(fmt.Sprint(config.Value)); m != nil {
				stage = int(m[1][0] - '0')
			}
			r.unknown("zero", fmt.Sprintf("%s: %s says it, which is another file", kind, shown(config.Value)),
				config.Line)
			r.guess("zero", stage)
		} else {
			r.sharded(name, 3, 0)
		}
		r.without(name, map[string]any{
			"precision": string(recipe.BF16), "optimizer": string(recipe.Adam),
			"recompute": map[bool]string{
				true:  string(recipe.RecomputeNone),
				false: string(recipe.RecomputeFull),
			}[offed],
		})
	}
}

// virtualStages renames Megatron-Core's key for the number of virtual stages to its flag.
func virtualStages() map[string]string {
	return map[string]string{
		"virtual_pipeline_model_parallel_size": "num-virtual-stages-per-pipeline-rank",
	}
}
