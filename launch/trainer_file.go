package launch

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// file returns the keys that are read and written.
func (t *trainer) file() form {
	notRead := func(key, of, why string) field {
		return field{key: key, from: []string{of}, read: func(v any, _ *reader) error {
			if v == false || v == nil || v == "full" {
				return skip("changes nothing")
			}
			return foreign(shown(v) + ": " + why)
		}}
	}
	only := func(id string) func(*engine.Setup) bool { return func(*engine.Setup) bool { return t.id == id } }
	sharded := func(s *engine.Setup) bool { return t.fsdp2 && s.ZeRO == 3 }
	pure := func(s *engine.Setup) bool { // axolotl loads weights so whatever its file says
		return t.id == "llama-factory" && s.WeightDtype == recipe.WeightsBF16
	}
	name := field{
		key: "model_name_or_path", from: []string{"model"}, read: readModelName,
		write: func(*engine.Setup) (any, bool) { return "MODEL", true }, site: true,
	}
	stage := fixed("stage", "sft", "the training that the file is for", only("llama-factory"))
	stage.read = pairs
	f := form{
		id: t.id, file: t.id + ".yaml", render: yamlText, name: t.name, source: t.source,
		starts: t.starts, rename: t.rename, spawns: true, configs: true, overrides: t.id == "llama-factory",
		rows: []field{
			name,
			countField("per_device_train_batch_size", knob.MBS, func(s *engine.Setup) int { return s.MBS }),
			countField("gradient_accumulation_steps", knob.MicroBatches,
				func(s *engine.Setup) int { return s.MicroBatches }),
			countField("max_length", knob.Seq, func(s *engine.Setup) int { return s.Seq }),
			countField("context_parallel_size", knob.CP,
				func(s *engine.Setup) int { return s.CP }).only(sharded),
			countField("tensor_parallel_size", knob.TP,
				func(s *engine.Setup) int { return s.TP }).only(sharded),
			{
				key: "gradient_checkpointing", from: []string{flat(knob.Recompute)},
				read:  t.checkpoints(true),
				write: t.checkpointed(true),
			},
			{
				key: "disable_gradient_checkpointing", from: []string{flat(knob.Recompute)},
				read: t.checkpoints(false), write: t.checkpointed(false),
			},
			{
				key: "optim", from: []string{flat(knob.Optimizer)}, read: t.readOptim,
				write: func(s *engine.Setup) (any, bool) {
					word := t.optimOf(s.Optimizer)
					return word, word != ""
				},
			},
			formatSwitch("bf16",
				func(s *engine.Setup) bool { return s.Precision == recipe.BF16 && !pure(s) }),
			{
				key: pureKey, from: []string{flat(knob.WeightDtype), flat(knob.Precision)}, read: part,
				write: func(s *engine.Setup) (any, bool) { return true, pure(s) },
			},
			formatSwitch("fp16", func(s *engine.Setup) bool { return s.Precision == recipe.FP16 }),
			{
				key: "deepspeed", from: []string{flat(knob.ZeRO)}, read: t.deepSpeed,
				write: func(s *engine.Setup) (any, bool) {
					if s.ZeRO == 0 && t.id != "axolotl" {
						return nil, true // else accelerate's configuration says it
					} else if t.ships == nil {
						return "ds_config.json", true
					}
					return t.shipped(s), t.stages[s.ZeRO] != ""
				},
			},
			words("zero_stage", knob.ZeRO, pair{"0", 0}, pair{"1", 1}, pair{"2", 2}, pair{
				"3",
				3,
			}).unwritten(),
			{key: "fsdp", from: []string{flat(knob.ZeRO)}, read: readFSDPWords},
			{key: "fsdp.0", from: []string{flat(knob.ZeRO)}, read: readFSDPWords},
			{key: "fsdp.1", from: []string{flat(knob.Offload)}, read: onHost},
			{key: "fsdp.2", from: []string{flat(knob.Offload)}, read: onHost},
			{
				key: "expert_parallel_size", from: []string{flat(knob.EP), flat(knob.GPUs), flat(knob.DP)},
				read: beyond("", "", "expert parallelism of the Trainer is not modelled", 1).read,
			},
			joint("fsdp_version", []knob.ID{knob.ZeRO}, func(*engine.Setup) (any, bool) {
				return 2, true
			}).only(sharded),
			joint("dp_shard_size", []knob.ID{knob.DP, knob.ZeRO},
				ofAll(func(s *engine.Setup) int { _, n := shards(s); return n })).only(sharded),
			joint("dp_replicate_size", []knob.ID{knob.HSDP, knob.DP},
				ofAll(func(s *engine.Setup) int { n, _ := shards(s); return n })).only(sharded),
			joint("fsdp_config.reshard_after_forward", []knob.ID{knob.ZeRO}, func(*engine.Setup) (any, bool) {
				return true, true
			}).only(sharded),
			fixed("fsdp_config.auto_wrap_policy", "TRANSFORMER_BASED_WRAP", "each layer is gathered alone",
				sharded),
			attentionWord("attn_implementation"), attentionWord("attn_impl"), attentionWord("flash_attn"),
			attentionWord("use_flash_attn"), attentionWord("flash_attention"),
			attentionWord("use_flash_attention_2"),
			{
				key: "fsdp_config.activation_checkpointing", from: []string{flat(knob.Recompute)},
				read: t.checkpoints(true),
			},
			ulysses("sequence_parallel_size").unwritten(),
			{key: "rlhf_type", read: pairs},
			{key: "rl", read: pairs},
			{key: "use_vllm", read: rollout},
			{key: "num_generations", read: rollout},
			{key: "max_prompt_length", from: []string{"seq"}, read: part},
			{key: "max_completion_length", from: []string{"seq"}, read: part},
			{key: "auto_find_batch_size", from: []string{flat(knob.MBS)}, read: func(v any, r *reader) error {
				if v == false || v == nil {
					return skip("changes nothing")
				}
				return foreign("the micro-batch shrinks until it fits")
			}},
			says("tiled_mlp", "the MLP runs on a part of the sequence at a time, which is not modelled: "+
				"its activations are fewer"),
			{
				key: hostActivationsKey, from: []string{flat(knob.Offload)}, read: readHostActivations,
				write: func(s *engine.Setup) (any, bool) {
					return true, s.Offload.Activations() && t.hostsActivations()
				},
			},
			notRead("fp8", flat(knob.Precision), "torchao's float8 is not modelled"),
			{
				key: "fsdp_config.offload_params", from: []string{flat(knob.Offload)}, read: switched,
				write: func(s *engine.Setup) (any, bool) {
					return true, sharded(s) && s.Offload.Weights()
				},
			},
			stage,
			fixed("do_train", true, "else nothing is trained", only("llama-factory")),
			own(fixed("template", "TEMPLATE", "of the model's chat", only("llama-factory")))[0],
			own(fixed("dataset", "DATASET", "the data", only("llama-factory")))[0],
			own(fixed("dataset_name", "DATASET", "the data", only("trl")))[0],
			own(fixed("datasets.0.path", "DATASET", "the data", only("axolotl")))[0],
			own(fixed("datasets.0.type", "completion", "how it is read", only("axolotl")))[0],
			own(fixed("output_dir", "OUTPUT", "where checkpoints go", nil))[0],
		}, parse: parseYAML,
	}
	f.rows = append(f.rows, t.adapterRows()...)
	f.rows = append(f.rows, t.muonSwitch())
	for key := range strings.FieldsSeq("use_galore use_apollo use_badam use_adam_mini use_lion") {
		f.rows = append(f.rows, beyond(key, flat(knob.Optimizer), "another optimizer, which is not modelled"))
	}
	for i := range f.rows {
		if to := t.words[f.rows[i].key]; to != "" {
			f.rows[i].key = to
		}
	}
	rows := map[string]bool{}
	for _, row := range f.rows {
		rows[row.key] = true
	}
	f.prepare = folded(func(key string) bool { return rows[cmp.Or(t.rename[key], key)] && !rows[key+".0"] })
	if len(t.keys) > 0 {
		f.keys = all(t.keys...)
	}
	if t.id == "trl" { // whose files may leave the batch to its default
		f.keys = func(has func(string) bool) bool {
			return all(t.keys...)(has) || all("model_name_or_path", "dataset_name")(has)
		}
	}
	if t.id == "llama-factory" { // whose files may leave what is trained to its default
		f.keys = func(has func(string) bool) bool {
			return all(t.keys...)(has) || all("model_name_or_path", "cutoff_len")(has) &&
				(has("template") || has("stage") || has("dataset"))
		}
	}
	f.assumed = []assumed{
		{knob.PP, 1, "Hugging Face's Trainer has no pipeline"},
		{knob.TP, 1, "the Trainer's default"},
		{knob.CP, 1, "the Trainer's default"},
		{knob.EP, 1, "the Trainer has no expert parallelism"},
		{knob.SP, false, "tp shards products alone"},
	}
	f.leaves = append(slices.DeleteFunc(everyLack(), func(l lack) bool {
		return slices.Contains([]string{
			loraKey, loraTargetsKey, baseKey, doraKey, flat(knob.Calibration),
			flat(knob.WeightDtype),
		},
			l.key)
	}), ownDefaults()...)
	f.leaves = append(f.leaves,
		lack{"model", "yours to name", always},
		lack{
			flat(knob.WeightDtype), "the stack that it is predicted as has none",
			func(s *engine.Setup) bool { return !s.Stack.Traits().Ledger },
		},
		lack{
			flat(knob.Calibration), "what runs a model of transformers is said by accelerate or DeepSpeed",
			func(s *engine.Setup) bool { return t.stack(s) == "" },
		},
		lack{
			flat(knob.GPUs), "of the command that starts it: dp follows",
			func(s *engine.Setup) bool { return !sharded(s) },
		},
		lack{flat(knob.SP), "without effect with tp 1", func(s *engine.Setup) bool { return s.SP }},
		lack{flat(knob.GBS), "micro-batch x accumulation x dp", always},
		lack{
			flat(knob.ZeRO), "in ds_config.json, which launch --for deepspeed writes",
			func(s *engine.Setup) bool { return t.ships == nil && s.ZeRO > 0 },
		})
	for _, stack := range []recipe.Stack{recipe.Transformers, recipe.DeepSpeed} {
		f.leaves = append(f.leaves, lack{
			flat(knob.Calibration), predictedAsAnother(stack),
			func(s *engine.Setup) bool { return t.stack(s) == stack && s.Stack.Resolve() != stack },
		})
	}
	f.leaves = append(f.leaves, stays("of the command that starts it", nil, knob.DP, knob.Nodes)...)
	f.leaves = append(f.leaves, stays("no pipeline", []string{"0", ""}, knob.GroupSize, knob.Split)...)
	f.leaves = append(f.leaves, stays("the code of the model, or what the optimizer keeps", nil,
		knob.Attention, knob.GradDtype)...)
	f.leaves = append(f.leaves, stays("the code of the model", []string{string(recipe.LigerLoss)},
		knob.Loss)...)
	f.finish = t.finish
	return f
}

// checkpointed returns what is written of recomputation, by the switch that is on or off without it.
func (t *trainer) checkpointed(on bool) func(s *engine.Setup) (any, bool) {
	return func(s *engine.Setup) (any, bool) {
		return (s.Recompute.Mode == recipe.RecomputeFull) == on, on == (t.off == "")
	}
}

// checkpoints returns how such a switch is read.
func (t *trainer) checkpoints(on bool) func(v any, r *reader) error {
	return func(v any, r *reader) error {
		word, _ := v.(string)
		away := strings.HasPrefix(word, "offload")
		is := word == "unsloth" || away
		if !is && v != nil {
			var err error
			if is, err = isOn(v); err != nil {
				return err
			}
		}
		if away {
			r.Ignored = append(r.Ignored, Ignored{
				Key: "gradient_checkpointing", Line: r.values["gradient_checkpointing"].Line, lost: true,
				Why: shown(v) + ": inputs of layers go to the host, which is not modelled: they stay on " +
					"the " +
					"GPU here",
			})
		}
		if !on && !is { // what is not switched off
			return nil
		}
		mode := recipe.RecomputeNone
		if is == on {
			mode = recipe.RecomputeFull
		}
		r.Setup[flat(knob.Recompute)] = string(mode)
		return nil
	}
}

// stageInName finds the stage that the name of a DeepSpeed file tells.
var stageInName = regexp.MustCompile(`(?i)z(?:ero)?_?(?:stage)?_?([0-3])`)

// deepSpeed reads the file of DeepSpeed that shards weights: one that the program ships is known.
func (t *trainer) deepSpeed(v any, r *reader) error {
	text := fmt.Sprint(v)
	if v == nil || text == "" || text == "[]" {
		return skip("none")
	}
	if v == true && r.said("zero_stage") {
		return skip("starts DeepSpeed")
	}
	if r.beside(deepSpeedFile(), text, append(plusPlusKeys(), flat(knob.ZeRO), flat(knob.Offload),
		flat(knob.HSDP), flat(knob.TP))...) {
		if r.Setup[flat(knob.ZeRO)] == nil && !r.lost[flat(knob.ZeRO)] {
			return foreign(shown(v) + " leaves the stage open")
		}
		return skip(shown(v) + " is another file: read as well")
	}
	if t.ships != nil {
		if m := t.ships.FindStringSubmatch(text); m != nil {
			why := "of " + lastPart(text) + " as " + t.name + " ships it"
			r.assume(flat(knob.ZeRO), int(m[1][0]-'0'), why)
			t.shippedOffload(r, text, why)
			return skip(shown(v) + " is another file: read as " + t.name + " ships it")
		}
	}
	if m := stageInName.FindStringSubmatch(lastPart(text)); m != nil {
		r.stage = int(m[1][0] - '0')
	}
	return foreign(shown(v) + " says it, which is another file")
}

// readFSDPWords reads the words of FSDP 1.
func readFSDPWords(v any, r *reader) error {
	text := fmt.Sprint(v)
	switch {
	case v == nil || text == "" || text == "[]":
		return skip("none")
	case strings.Contains(text, "shard_grad_op"):
		r.Setup[flat(knob.ZeRO)] = 2
	case strings.Contains(text, "full_shard") || text == "true":
		r.Setup[flat(knob.ZeRO)] = 3
	default:
		return foreign(shown(v) + " is not modelled")
	}
	return nil
}

// attentionWord is the row of what computes attention.
func attentionWord(key string) field {
	return field{key: key, from: []string{flat(knob.Attention)}, read: func(v any, r *reader) error {
		switch text := strings.ToLower(fmt.Sprint(v)); {
		case v == nil, v == false, text == "auto":
			return skip("the model's own")
		case v == true, strings.Contains(text, "flash"), text == "sdpa", text == "fa2", text == "fa3":
			r.Setup[flat(knob.Attention)] = string(recipe.Flash)
		case text == "eager":
			r.Setup[flat(knob.Attention)] = string(recipe.Standard)
		default:
			return foreign(shown(v) + " is not modelled")
		}
		return nil
	}}
}

const pairsWhy = ": pairs, rewards, reference models and what is generated are not modelled; the model " +
	"that is trained is"

// pairs is why a training by preferences is not read.
func pairs(v any, _ *reader) error {
	if v == nil || v == "sft" || v == "pt" {
		return skip("every sequence is trained on")
	}
	return skip(shown(v) + pairsWhy)
}

// own gives the program's defaults to what the file does not say. A script that wraps the Trainer may set it.
func (t *trainer) own(r *reader) {
	give := func(key string, value any) {
		if !t.wraps {
			r.assume(key, value, t.name+"'s default")
		} else if _, said := r.Setup[key]; !said && !r.lost[key] {
			r.lost[key] = true
			r.unknown(key, fmt.Sprintf("the script may set it; the default of %s is %v", t.name, value), 0)
			r.guess(key, value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.defaults)) {
		r.assume(key, t.defaults[key], t.name+"'s default")
	}
	give("mbs", 8)
	if mbs, gpus := r.number("mbs", 0), r.number("gpus", 0); t.accumulates > 0 && mbs > 0 && gpus > 0 {
		r.assume("microbatches", max(1, (t.accumulates+mbs*gpus-1)/(mbs*gpus)),
			fmt.Sprintf("%s's default: %d sequences a step", t.name, t.accumulates))
	} else if t.accumulates == 0 {
		give("microbatches", 1)
	}
	give("recompute", string(recipe.RecomputeNone))
	give("optimizer", string(recipe.Adam))
	t.spread(r)
	_, said := r.Setup["zero"]
	if !said && t.id != "axolotl" && !r.said("deepspeed") && r.amid.script == nil && !r.lost["zero"] {
		r.lost["zero"] = true
		r.unknown("zero", "accelerate, which starts it, says what is sharded", 0)
	}
	r.guess("zero", r.stage)
	r.assume("zero", 0, "neither deepspeed nor fsdp is given: data parallelism alone")
}

// spread tells of ms-swift that puts the layers of a model on several GPUs of a process, one after another.
func (t *trainer) spread(r *reader) {
	if t.id != "swift" || r.amid.script == nil || launchAt(textsOf(r.amid.starter)) >= 0 {
		return
	}
	gpus, known := r.Setup["gpus"].(int)
	n := r.amid.script.devices(r.amid.starter)
	if nodes := r.amid.script.vars["NNODES"]; n < 2 || len(nodes) > 0 || known && gpus >= n || !known &&
		r.launched != "" {
		return
	}
	for _, key := range []string{"gpus", flat(knob.ZeRO)} {
		r.lost[key] = true
		r.unknown(key, fmt.Sprintf("device_map: fewer processes than the %d GPUs of CUDA_VISIBLE_DEVICES, "+
			"so that "+
			"ms-swift puts layers on several of them, which is not modelled", n), 0)
	}
}

// finish derives what follows from several keys, and what the program does without them.
func (t *trainer) finish(r *reader) {
	const reshard = "fsdp_config.reshard_after_forward"
	r.accelerated()
	if r.values["fsdp_version"].Value == 2 || r.values["fsdp_config.fsdp_version"].Value == 2 ||
		r.values["fsdp_config.version"].Value == 2 {
		r.Setup["zero"] = 3
		if r.values[reshard].Value == false {
			r.Setup["zero"] = 2
		}
		if r.said("dp_shard_size") && !r.lost[flat(knob.DP)] {
			r.readShards("dp_replicate_size", "dp_shard_size", reshard, 0)
		}
	}
	if prompt, answer := r.whole("max_prompt_length", 1, 0),
		r.whole("max_completion_length", 1, 0); prompt > 0 && answer > 0 {
		r.Setup["seq"] = prompt + answer
	}
	t.precision(r)
	t.own(r)
	t.hostWeights(r)
	r.hostActivations(hostActivationsKey, r.deep || t.deep(r))
	t.adapts(r)
	t.stacked(r)
}

// formatSwitch returns the row of the switch of a number format, which may be auto, or axolotl's full: all
// of the model in it.
func formatSwitch(key string, where func(s *engine.Setup) bool) field {
	return field{
		key: key, from: []string{flat(knob.Precision)},
		write: func(s *engine.Setup) (any, bool) { return where(s), true },
		read: func(v any, _ *reader) error {
			if v == nil || v == "auto" || v == "full" {
				return nil
			}
			_, err := isOn(v)
			return err
		},
	}
}

// precision derives the number format.
func (t *trainer) precision(r *reader) {
	const key = "precision"
	if r.lost[key] { // weights in fewer bits
		r.guess(key, string(recipe.BF16))
		return
	}
	on := func(v any) bool {
		is, err := isOn(v)
		return v != nil && (v == "full" || is && err == nil)
	}
	loaded := map[string]recipe.Precision{
		"bfloat16": recipe.BF16, "float16": recipe.FP16,
		"float32": recipe.FP32,
	}[strings.TrimPrefix(fmt.Sprint(r.values[t.word(dtypeKey)].Value), "torch.")]
	_, mixed := r.Setup[key]
	switch {
	case on(r.values["bf16"].Value) || on(r.values["pure_bf16"].Value):
		r.Setup[key] = string(recipe.BF16)
	case on(r.values["fp16"].Value):
		r.Setup[key] = string(recipe.FP16)
	case r.auto["bf16"]:
		r.assume(key, string(recipe.BF16), "auto: bf16 where the GPU has it")
	case mixed: // of accelerate
	case loaded != "" && t.id == "swift":
		r.Setup[key] = string(loaded)
	case !r.said("bf16") && (t.defaults[key] != nil || t.id == "axolotl"):
		r.assume(key, string(recipe.BF16), t.name+"'s default")
	case r.said("bf16") && loaded == "":
		r.assume(key, string(recipe.FP32), "neither bf16 nor fp16 is on")
	default:
		r.lost[key] = true
		r.unknown(key, "neither bf16 nor fp16 is on: that of the checkpoint, or of the script",
			r.values[t.word(dtypeKey)].Line)
		r.guess(key, string(cmp.Or(loaded, recipe.FP32)))
	}
}
