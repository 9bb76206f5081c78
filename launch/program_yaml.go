package launch

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// llmFoundry returns the YAML of MosaicML's llm-foundry.
func llmFoundry() form {
	const name = "llm-foundry"
	return composer(form{
		id: "llm-foundry", name: name,
		source: "mosaicml/llm-foundry@8c8dd48f (scripts/train/yamls, llmfoundry/models/mpt)",
		keys: func(has func(string) bool) bool {
			return has("device_train_microbatch_size") && has("model.name")
		},
		rows: []field{
			named("model.pretrained_model_name_or_path"), together("model.name", "model"),
			figure("model.d_model", "hidden"), figure("model.n_heads", "heads"),
			figure("model.n_layers", "layers"), figure("model.vocab_size", "vocab"),
			together("model.expansion_ratio", modelPrefix+"ffn_hidden"),
			figure("model.attn_config.kv_n_heads", "kv_heads"),
			{
				key: "model.no_bias", from: []string{modelPrefix + "attn_bias", modelPrefix + "mlp_bias"},
				read: func(v any, r *reader) error {
					if on, err := isOn(v); err == nil && on {
						r.Setup[modelPrefix+"attn_bias"], r.Setup[modelPrefix+
							"mlp_bias"], r.Setup[modelPrefix+"norm"] = model.BiasNone, false,
							model.NormLayerNoBias
					}
					return nil
				},
			},
			beyond("model.attn_config.alibi", "model", "positions by ALiBi are not modelled"),
			beyond("model.ffn_config.ffn_type", "model", "it is not modelled", "mptmlp"),
			together("model.attn_config.attn_type", modelPrefix+"kv_heads"),
			attentionWord("model.attn_config.attn_impl"),
			lora("peft_config.r"), lora("model.peft_config.r"),
			beyond("tp_config.strategy", flat(knob.TP), "it is not modelled"),
		},
		finish: func(r *reader) {
			if n := r.whole("model.expansion_ratio", 1, 4); r.number(modelPrefix+"hidden", 0) > 0 {
				r.Setup[modelPrefix+"ffn_hidden"] = times(n, r.number(modelPrefix+"hidden", 0))
			}
			if r.text("model.attn_config.attn_type") == "multiquery_attention" {
				r.Setup[modelPrefix+"kv_heads"] = 1
			}
			r.composed(name)
			r.modelOf(name, map[string]any{
				"attn_bias": model.BiasAll, "mlp_bias": true,
				"norm": model.NormLayer, "activation": "gelu", "gated_ffn": false,
				"pos_embedding": model.PositionLearned, "tied_embeddings": true, "norms_per_layer": 2,
				"qk_norm": model.QKNormNone, "attention": "mha",
			})
		},
	})
}

// olmo returns the YAML of AI2's OLMo, the program before OLMo-core.
func olmo() form {
	const name = "OLMo"
	return composer(form{
		id: "olmo", name: name, source: "allenai/OLMo v0.6.0 (configs/official, olmo/config.py)",
		keys: func(has func(string) bool) bool {
			return has("device_train_microbatch_size") && has("model.d_model")
		},
		rows: []field{
			figure("model.d_model", "hidden"), figure("model.n_heads", "heads"),
			figure("model.n_kv_heads", "kv_heads"), figure("model.n_layers", "layers"),
			together("model.mlp_hidden_size", modelPrefix+"ffn_hidden"),
			together("model.mlp_ratio", modelPrefix+"ffn_hidden"),
			together("model.embedding_size", modelPrefix+"vocab"),
			together("model.vocab_size", modelPrefix+"vocab"), count("model.max_sequence_length", knob.Seq),
			word("activation_checkpointing", "recompute", nil,
				[2]string{string(recipe.RecomputeFull), "whole_layer"}).orNull(),
			together("fsdp.sharding_strategy", "zero"),
			beyond("fsdp.precision", flat(knob.Precision), "it is not modelled", "mixed"),
			attentionWord("model.flash_attention"),
			together("model.weight_tying", modelPrefix+"tied_embeddings"),
			together("model.include_bias", modelPrefix+"attn_bias", modelPrefix+"mlp_bias"),
			together("model.attention_layer_norm", modelPrefix+"qk_norm"),
			together("model.activation_type", modelPrefix+"activation"),
			together("model.rope", modelPrefix+"pos_embedding"),
			together("model.alibi", modelPrefix+"pos_embedding"),
			together("model.layer_norm_type", modelPrefix+"norm"),
			beyond("model.block_type", "model", "it is not modelled", "sequential"),
			beyond("model.multi_query_attention", "model", "it is not modelled"),
			{key: "distributed_strategy", from: []string{"zero"}, read: part},
		},
		finish: func(r *reader) {
			r.composed(name)
			r.olmoModel(name)
		},
	})
}

// olmoModel derives the model of OLMo, whose MLP has both matrices of a gate in one width (olmo/config.py).
func (r *reader) olmoModel(name string) {
	is := func(key string, otherwise bool) bool {
		if on, ok := r.values[key].Value.(bool); ok {
			return on
		}
		return otherwise
	}
	if kind := r.text("model.layer_norm_type"); r.number(modelPrefix+"layers", 0) > 0 && kind != "rms" {
		r.lost["model"] = true
		r.unknown("model", "model.layer_norm_type "+shown(kind)+": norms without parameters are not modelled",
			r.values["model.layer_norm_type"].Line)
	}
	hidden := r.number(modelPrefix+"hidden", 0)
	wide := r.whole("model.mlp_hidden_size", 1, times(hidden, r.whole("model.mlp_ratio", 1, 4)))
	act := cmp.Or(r.text("model.activation_type"), "swiglu")
	gated, _ := model.GatedActivation(act)
	if gated {
		wide /= 2
	}
	bias, qk, positions := model.BiasNone, model.QKNormNone, model.PositionLearned
	if is("model.include_bias", true) {
		bias = model.BiasAll
	}
	if is("model.attention_layer_norm", false) {
		qk = model.QKNormFullWidth
	}
	switch {
	case is("model.alibi", false):
		positions = "alibi"
	case is("model.rope", false):
		positions = "rope"
	}
	for key, v := range map[string]any{
		"ffn_hidden": wide, "attn_bias": bias, "mlp_bias": bias == model.BiasAll, "norm": model.NormRMS,
		"activation": act, "gated_ffn": gated, "pos_embedding": positions, "qk_norm": qk,
		"tied_embeddings": is("model.weight_tying", true),
		"vocab":           r.whole("model.embedding_size", 1, r.whole("model.vocab_size", 1, 50304)),
	} {
		r.Setup[modelPrefix+key] = v
	}
	r.modelOf(name, map[string]any{"norms_per_layer": 2, "attention": "mha"})
}

// composer adds what the programs on MosaicML's Composer have alike.
func composer(f form) form {
	f.parse, f.spawns = parseYAML, true
	if f.overrides, f.configs = true, true; f.id == "llm-foundry" {
		f.starts = func(words []string, _ map[string]bool) bool {
			return slices.ContainsFunc(words, func(w string) bool { return path.Base(w) == "composer" })
		}
	}
	f.rows = append(f.rows,
		count("global_train_batch_size", knob.GBS), count("max_seq_len", knob.Seq),
		together("device_train_microbatch_size", "mbs"), formats("precision"), updates("optimizer.name"),
		recomputes("fsdp_config.activation_checkpointing"), together("fsdp_config.sharding_strategy", "zero"),
		says("fsdp_config.mixed_precision", "of what FSDP sends"),
		says("fsdp_config.activation_cpu_offload", "activations on the host are not read"),
	)
	f.asides = map[string]string{
		"variables.": "what other keys refer to", "train_loader.": "of the data",
		"eval_loader.": "of the data", "data.": "of the data", "tokenizer.": "of the data",
		"callbacks.": "of the run, not of a layout", "loggers.": "of the run, not of a layout",
		"scheduler.": "of the optimizer, not of a layout", "optimizer.": "of the optimizer, not of a layout",
		"algorithms.": "of the optimizer, not of a layout", "model.": "of the model's code",
		"fsdp_config.": "of FSDP, not of a layout", "evaluators.": "of evaluation", "save": "of checkpoints",
		"wandb": "of the run, not of a layout",
	}
	return f
}

// composed derives what the programs on Composer mean.
func (r *reader) composed(name string) {
	if v, said := r.values["device_train_microbatch_size"]; said && !r.lost["mbs"] {
		if n, err := wholeNumber(v.Value, 1); err == nil {
			r.Setup["mbs"] = n
		} else {
			r.lost["mbs"] = true
			r.unknown("mbs", shown(v.Value)+": found while it runs", v.Line)
		}
	}
	stage, sharded := 0, false
	for key := range r.values {
		sharded = sharded || strings.HasPrefix(key, "fsdp_config.") || strings.HasPrefix(key, "fsdp.")
	}
	if sharded {
		e := r.values["fsdp_config.sharding_strategy"]
		if e.Key == "" {
			e = r.values["fsdp.sharding_strategy"]
		}
		stage = 3
		switch e.Value {
		case nil, "FULL_SHARD":
		case "SHARD_GRAD_OP":
			stage = 2
		case "NO_SHARD":
			stage = 0
		default:
			r.lost["hsdp"] = true
			r.unknown("hsdp", shown(e.Value)+": shards within a node", e.Line)
			stage = map[bool]int{true: 2, false: 3}[strings.HasSuffix(fmt.Sprint(e.Value), "ZERO2")]
		}
	}
	r.Setup["zero"] = stage
	if !sharded {
		delete(r.Setup, "zero")
		r.assume("zero", 0, "no FSDP is in the file: data parallelism alone")
	}
	noPipes(r, name)
	r.without(name, map[string]any{
		"recompute": string(recipe.RecomputeNone),
		"optimizer": string(recipe.Adam),
	})
}

// modelOf derives a model whose figures the file gives, by the program's defaults; without its sizes the name
// counts.
func (r *reader) modelOf(name string, defaults map[string]any) {
	_, isNamed := r.Setup["model"]
	if isNamed || r.lost["model"] || r.number(modelPrefix+"layers", 0) == 0 ||
		r.number(modelPrefix+"hidden", 0) == 0 || r.number(modelPrefix+"heads", 0) == 0 {
		for key := range r.Setup {
			if strings.HasPrefix(key, modelPrefix) {
				delete(r.Setup, key)
			}
		}
		r.Unknown = slices.DeleteFunc(r.Unknown,
			func(u Unknown) bool { return strings.HasPrefix(u.Key, modelPrefix) })
		if !isNamed {
			r.unknown("model", "the file names no model that is known and gives no sizes of one", 0)
		}
		return
	}
	hidden, heads := r.number(modelPrefix+"hidden", 1), r.number(modelPrefix+"heads", 1)
	defaults["head_dim"], defaults["kv_heads"], defaults["ffn_hidden"] = hidden/heads, heads, times(4, hidden)
	for _, key := range sortedKeys(defaults) {
		r.assume(modelPrefix+key, defaults[key], name+"'s default")
	}
	if r.Setup[modelPrefix+"vocab"] == nil {
		r.vocabulary()
	}
}

// torchtune returns the YAML of torchtune's recipes.
func torchtune() form {
	const name = "torchtune"
	f := form{
		id: "torchtune", name: name,
		source: "pytorch/torchtune@bd2a0fc7 (recipes/configs, recipes/full_finetune_distributed.py)",
		parse:  parseYAML, overrides: true, configs: true, spawns: true,
		keys: all("model._component_", "batch_size"),
		starts: func(words []string, flags map[string]bool) bool {
			return startsWith("tune", "run")(words, flags)
		},
		asides: map[string]string{
			"tokenizer.": "of the data", "dataset": "of the data",
			"checkpointer.": "of checkpoints", "metric_logger.": "of the run, not of a layout",
			"profiler.": "of the run, not of a layout", "lr_scheduler.": "of the optimizer, not of a layout",
			"optimizer.": "of the optimizer, not of a layout", "loss.": "of the loss",
			"model.": "of the model's code",
		},
		rows: []field{
			{key: "model._component_", from: []string{"model"}, read: readComponent},
			count("batch_size", knob.MBS), count("gradient_accumulation_steps", knob.MicroBatches),
			count("tokenizer.max_seq_len", knob.Seq),
			recomputes("enable_activation_checkpointing"), formats("dtype"),
			count("tensor_parallel_dim", knob.TP), count("context_parallel_dim", knob.CP),
			{key: "optimizer._component_", from: []string{flat(knob.Optimizer)}, read: torchtuneUpdates},
			{key: "fsdp_cpu_offload", from: []string{flat(knob.Offload)}, read: switched},
			{key: torchtuneActivationsKey, from: []string{flat(knob.Offload)}, read: switched},
			turns(inBackwardKey, knob.InBackward, true, nil),
			together("data_parallel_shard_dim", "dp"), together("data_parallel_replicate_dim", "hsdp"),
			together("fsdp_reshard_after_forward", "zero"),
		},
	}
	f.rows = append(f.rows, torchtuneRows()...)
	f.prepare = folded(func(key string) bool {
		return key == inBackwardKey || key == torchtuneAdapters().word(targetsKey)
	})
	f.finish = func(r *reader) {
		var program string
		if at := slices.IndexFunc(r.amid.starter,
			func(w shellField) bool { return strings.HasSuffix(w.text, "tune") }); at >= 0 &&
			r.amid.script != nil {
			for _, call := range r.amid.script.calls {
				for _, w := range call.fields {
					if strings.HasSuffix(w.text, "_distributed") ||
						strings.HasSuffix(w.text, "_single_device") {
						program = w.text
					}
				}
			}
		}
		stage := 3
		if r.values["fsdp_reshard_after_forward"].Value == false {
			stage = 2
		}
		mesh := r.said("tensor_parallel_dim") || r.said("data_parallel_shard_dim") ||
			r.said("fsdp_cpu_offload") || strings.HasSuffix(program, "_distributed")
		switch {
		case strings.HasSuffix(program, "_single_device"):
			r.Setup["gpus"] = 1
			r.Unknown = slices.DeleteFunc(r.Unknown, func(u Unknown) bool { return u.Key == "gpus" })
			r.assume("zero", 0, "the recipe is of one GPU")
		case mesh:
			r.assume("zero", stage, "FSDP of torchtune's distributed recipes")
		default:
			r.lost["zero"] = true
			r.unknown("zero", "the recipe that the file is for says it: a distributed one shards everything",
				0)
			r.guess("zero", stage)
		}
		if n := r.whole("data_parallel_replicate_dim", 1, 1); n > 1 {
			r.Setup["hsdp"] = n
		}
		r.without(name, map[string]any{
			"pp": 1, "tp": 1, "cp": 1, "ep": 1, "sp": false, "microbatches": 1,
			"recompute": string(recipe.RecomputeNone),
		})
		torchtuneOffloads(r)
		torchtuneTunes(r)
		torchtuneStack(r)
	}
	return f
}

// versionForm finds the second number of a version in the name of a builder: llama3_1_70b.
var versionForm = regexp.MustCompile(`^([a-z]+\d)_(\d)_`)

// readComponent reads a model by the function that builds it.
func readComponent(v any, r *reader) error {
	text := fmt.Sprint(v)
	name := text[strings.LastIndexByte(text, '.')+1:]
	plain := strings.TrimPrefix(strings.TrimPrefix(name, "q"), "lora_")
	id := modelNamed(strings.ReplaceAll(versionForm.ReplaceAllString(plain, "$1.$2-"), "_", "-"))
	if id == "" {
		return foreign(shown(name) + " is no preset: --model takes the folder of its config.json")
	}
	r.Setup["model"] = id
	return nil
}

// gptNeoX returns the YAML of EleutherAI's gpt-neox, whose keys have dashes or not.
func gptNeoX() form {
	const name = "gpt-neox"
	f := form{
		id: "gpt-neox", name: name, source: "EleutherAI/gpt-neox@ea7aefd8 (configs/neox_arguments.md)",
		parse: parseNeoX,
		keys: func(has func(string) bool) bool {
			return has("pipe_parallel_size") || has("pipe-parallel-size") ||
				(has("train_micro_batch_size_per_gpu") || has("train-micro-batch-size-per-gpu")) &&
					(has("train_iters") || has("train-iters"))
		},
		rows: []field{
			{key: "pipe_parallel_size", from: []string{flat(knob.PP)}, read: func(v any, r *reader) error {
				n, err := wholeNumber(v, 0)
				r.Setup[flat(knob.PP)] = max(n, 1)
				return err
			}},
			count("model_parallel_size", knob.TP), count("context_parallel_size", knob.CP),
			count("train_micro_batch_size_per_gpu", knob.MBS), count("train_batch_size", knob.GBS),
			count("gradient_accumulation_steps", knob.MicroBatches), count("seq_length", knob.Seq),
			words("zero_optimization.stage", knob.ZeRO, pair{"0", 0}, pair{"1", 1}, pair{"2", 2},
				pair{"3", 3}).orNull(),
			together("fp16.enabled", flat(knob.Precision)), together("fp16.type", flat(knob.Precision)),
			together("bf16.enabled", flat(knob.Precision)), formats("precision"),
			recomputes("checkpoint_activations"), updates("optimizer.type"),
			turns("sequence_parallel", knob.SP, true, false),
			figure("num_layers", "layers"), figure("hidden_size", "hidden"),
			figure("num_attention_heads", "heads"), figure("num_kv_heads", "kv_heads"),
			together("intermediate_size", modelPrefix+"ffn_hidden"),
			word("norm", modelPrefix+"norm", nil, [2]string{model.NormLayer, "layernorm"},
				[2]string{model.NormRMS, "rmsnorm"}, [2]string{model.NormRMS, "te_rmsnorm"},
				[2]string{model.NormLayer, "te_layernorm"}).orNull(),
			word("pos_emb", modelPrefix+"pos_embedding", nil, [2]string{"rope", "rotary"},
				[2]string{model.PositionLearned, "learned"}, [2]string{"none", "none"}).orNull(),
			word("activation", modelPrefix+"activation", nil, [2]string{"gelu", "gelu"},
				[2]string{"swiglu", "swiglu"}, [2]string{"geglu", "geglu"},
				[2]string{"relu", "relu"}).orNull(),
			together("no_weight_tying", modelPrefix+"tied_embeddings"),
			together("gpt_j_residual", modelPrefix+"parallel_block"),
			together("use_bias_in_attn_linear", modelPrefix+"attn_bias"),
			together("use_bias_in_mlp", modelPrefix+"mlp_bias"),
			beyond("moe_num_experts", "model", "its experts are not read", 1),
			together("mlp_multiple_of", modelPrefix+"ffn_hidden"),
			says("make_vocab_size_divisible_by", "the vocabulary is that of the tokenizer, padded"),
		},
		finish: func(r *reader) { finishNeoX(r, name) },
	}
	return f
}

// parseNeoX reads such a YAML: keys without dashes.
func parseNeoX(data []byte) ([]Entry, error) {
	entries, err := parseYAML(data)
	for i := range entries {
		entries[i].Key = strings.ReplaceAll(entries[i].Key, "-", "_")
		if text, ok := entries[i].Value.(string); ok {
			entries[i].Value = typed(shellField{text: text})
		}
	}
	return entries, err
}

// finishNeoX derives what its keys mean together.
func finishNeoX(r *reader, name string) {
	is := func(key string, otherwise bool) bool {
		if e, said := r.values[key]; said {
			on, _ := isOn(e.Value)
			return on
		}
		return otherwise
	}
	switch {
	case is("fp16.enabled", false) && r.text("fp16.type") == "bfloat16", is("bf16.enabled", false):
		r.Setup["precision"] = string(recipe.BF16)
	case is("fp16.enabled", false):
		r.Setup["precision"] = string(recipe.FP16)
	}
	if !r.said("train_micro_batch_size_per_gpu") && !r.said("train_batch_size") ||
		!r.said("pipe_parallel_size") {
		r.open = "the program merges several files, of which this is a part"
	}
	r.without(name, map[string]any{
		"pp": 1, "tp": 1, "cp": 1, "ep": 1, "sp": false, "zero": 0, "recompute": string(recipe.RecomputeNone),
		"optimizer": string(recipe.Adam), "precision": string(recipe.FP16),
		"microbatches": 1, "schedule": "1f1b",
	})
	if r.Setup["gbs"] != nil {
		r.Understood = slices.DeleteFunc(r.Understood, func(u Understood) bool {
			if u.Key == "microbatches" && u.Assumed != "" {
				delete(r.Setup, "microbatches")
				return true
			}
			return false
		})
	}
	if hidden := r.number(modelPrefix+"hidden", 0); hidden > 0 {
		r.Setup[modelPrefix+"tied_embeddings"], r.Setup[modelPrefix+"parallel_block"] = !is("no_weight_tying",
			false), is("gpt_j_residual", false)
		r.Setup[modelPrefix+"mlp_bias"], r.Setup[modelPrefix+"attn_bias"] = is("use_bias_in_mlp", true),
			map[bool]string{true: model.BiasAll, false: model.BiasNone}[is("use_bias_in_attn_linear", true)]
		gated, _ := model.GatedActivation(fmt.Sprint(r.Setup[modelPrefix+"activation"]))
		r.Setup[modelPrefix+"gated_ffn"] = gated
		wide := r.whole("intermediate_size", 1, times(4, hidden))
		if gated { // megatron/model/transformer.py:124-142
			wide = wide * 2 / 3 / 2
		}
		of := r.whole("mlp_multiple_of", 1, 1)
		r.Setup[modelPrefix+"ffn_hidden"] = (wide + of - 1) / of * of
	}
	r.modelOf(name, map[string]any{
		"norm": model.NormLayer, "activation": "gelu",
		"pos_embedding": model.PositionLearned, "norms_per_layer": 2, "qk_norm": model.QKNormNone,
		"attention": "mha",
	})
}
