package launch

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// trainer is a program on Hugging Face's Trainer, whose YAML has the Trainer's words or others for them.
type trainer struct {
	id, name, version, source string
	starter                   string            // what starts it on each node; empty: torchrun with a script
	keys                      []string          // top-level keys that all of its files have
	words                     map[string]string // its words for those of the Trainer
	rename                    map[string]string // other words that it takes
	defaults                  map[string]any    // by flat key
	ships                     *regexp.Regexp    // files of DeepSpeed that lie in its repository, with their stage
	stages                    [4]string         // one of them for each stage; empty: there is none
	fsdp2                     bool              // it has FSDP2 with tp and cp
	off                       string            // the switch of no recomputation, which runs without; empty: it does not
}

// trainers lists them; the first whose keys are all there counts.
func trainers() []trainer {
	return []trainer{
		{
			id: "axolotl", name: "axolotl", version: "0.18.0", source: "axolotl-ai-cloud/axolotl v0.18.0 (src/axolotl/utils/schemas)",
			starter: `axolotl train axolotl.yaml --launcher torchrun -- --nnodes %d --nproc_per_node %d --rdzv_backend c10d --rdzv_endpoint "$MASTER_ADDR:29500"`,
			keys:    []string{"base_model", "micro_batch_size"},
			words: map[string]string{
				"model_name_or_path": "base_model", "per_device_train_batch_size": "micro_batch_size", "max_length": "sequence_len", "optim": "optimizer",
				"finetuning_type": "adapter",
			},
			rename: map[string]string{"sequence_parallel_degree": "context_parallel_size"},
			ships:  regexp.MustCompile(`^deepspeed_configs/zero([123])[a-z0-9_]*\.json$`),
			stages: [4]string{1: "deepspeed_configs/zero1.json", 2: "deepspeed_configs/zero2.json"}, fsdp2: true,
		},
		{
			id: "llama-factory", name: "LLaMA-Factory", version: "0.9.5", source: "hiyouga/LLaMA-Factory v0.9.5 (src/llamafactory/hparams)",
			starter:  `FORCE_TORCHRUN=1 llamafactory-cli train llama-factory.yaml`,
			keys:     []string{"model_name_or_path", "finetuning_type"},
			words:    map[string]string{"max_length": "cutoff_len"},
			defaults: map[string]any{"seq": 2048, "recompute": string(recipe.RecomputeFull)},
			ships:    regexp.MustCompile(`^examples/deepspeed/ds_z([023])[a-z0-9_]*_config\.json$`),
			stages:   [4]string{2: "examples/deepspeed/ds_z2_config.json", 3: "examples/deepspeed/ds_z3_config.json"}, off: "disable_gradient_checkpointing",
		},
		{
			id: "trl", name: "TRL", version: "main of 2026", source: "huggingface/trl@f2cd5771 (trl/trainer/sft_config.py)",
			keys: []string{"model_name_or_path", "per_device_train_batch_size"}, rename: map[string]string{"max_seq_length": "max_length"},
		},
	}
}

// launchers returns the programs on the Trainer as launchers: one table of rows is read and written.
func trainerLaunchers() []Launcher {
	var out []Launcher
	for _, t := range trainers() {
		out = append(out, Launcher{
			ID: t.id, Name: t.name, Version: t.version, Source: t.source, rules: t.rules(),
			export: func(s *engine.Setup) Document {
				f := t.file()
				d := f.document(s)
				d.Starter = t.starter
				if strings.Contains(t.starter, "%d") { // processes of torchrun
					d.Starter = fmt.Sprintf(t.starter, d.Nodes, d.PerNode)
				}
				if t.starter == "" {
					d.Program = "YOUR_SCRIPT.py --config trl.yaml"
				}
				return d
			},
			sniff: func(_ string, data []byte) bool {
				return !slices.ContainsFunc(t.keys, func(key string) bool {
					return !bytes.HasPrefix(data, []byte(key+":")) && !bytes.Contains(data, []byte("\n"+key+":"))
				})
			},
			read: readsWith(t.file),
		})
	}
	slices.Reverse(out) // the last that knows a file counts
	return out
}

// rules returns what its file cannot ask for.
func (t *trainer) rules() []Rule {
	rules := noPipeline(t.source+": Hugging Face's Trainer", "the Trainer has no pipeline")
	rules = append(rules,
		refuses("experts", knob.EP, t.source, "the Trainer has no expert parallelism", func(s *engine.Setup) bool { return s.EP > 1 }),
		refuses("expert-tp", knob.ETP, t.source, "the Trainer has no expert parallelism", func(s *engine.Setup) bool { return s.ETP > 1 }),
		refuses("sp", knob.SP, t.source, "it shards products alone: sp off", func(s *engine.Setup) bool { return s.SP && s.TP > 1 }),
		refuses("split-layers", knob.TP, t.source, "tp and cp are parts of FSDP2, with zero 3, in axolotl alone",
			func(s *engine.Setup) bool { return (s.TP > 1 || s.CP > 1) && (!t.fsdp2 || s.ZeRO != 3) }),
		refuses("hsdp", knob.HSDP, t.source, "replicas of shards are a part of FSDP2, with zero 3, in axolotl alone",
			func(s *engine.Setup) bool {
				return s.Replicas() > 1 && (!t.fsdp2 || s.ZeRO != 3 || s.Replicas() == s.DP)
			}),
		wholeLayers(t.source+": gradient_checkpointing", recipe.RecomputeNone, recipe.RecomputeFull),
	)
	if t.ships != nil && !t.fsdp2 {
		rules = append(rules, refuses("zero", knob.ZeRO, t.source, "it ships no file of DeepSpeed with this stage",
			func(s *engine.Setup) bool { return s.ZeRO > 0 && t.stages[s.ZeRO] == "" }))
	}
	rules = append(rules, noHostMemory(t.source, "the optimizer stays on the GPU")...)
	return append(rules, append(outsideSearch(
		oneOf(knob.Precision, t.source, "bf16, fp16 or neither", func(s *engine.Setup) recipe.Precision { return s.Precision }, recipe.BF16, recipe.FP16, recipe.FP32),
		oneOf(knob.Optimizer, t.source, "AdamW", func(s *engine.Setup) recipe.Optimizer { return s.Optimizer }, recipe.Adam),
		refuses("mtp", knob.MTP, t.source, "the file knows no module of multi-token prediction", func(s *engine.Setup) bool { return s.TrainMTP }),
	), softwareRules(t.source, nil)...)...)
}

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
	adapters := func(key string) field { return notRead(key, flat(knob.Optimizer), tunesAdapters) }
	weights := func(key string) field {
		return notRead(key, flat(knob.Precision), "weights in fewer bits are not modelled")
	}
	only := func(id string) func(*engine.Setup) bool { return func(*engine.Setup) bool { return t.id == id } }
	sharded := func(s *engine.Setup) bool { return t.fsdp2 && s.ZeRO == 3 }
	name := field{key: "model_name_or_path", from: []string{"model"}, read: readModelName, write: func(*engine.Setup) (any, bool) { return "MODEL", true }, site: true}
	tuned := adapters("finetuning_type")
	tuned.why, tuned.write = "every weight is trained", func(*engine.Setup) (any, bool) { return "full", t.id == "llama-factory" }
	f := form{id: t.id, file: t.id + ".yaml", render: yamlText, rows: []field{
		name,
		countField("per_device_train_batch_size", knob.MBS, func(s *engine.Setup) int { return s.MBS }),
		countField("gradient_accumulation_steps", knob.MicroBatches, func(s *engine.Setup) int { return s.MicroBatches }),
		countField("max_length", knob.Seq, func(s *engine.Setup) int { return s.Seq }),
		countField("context_parallel_size", knob.CP, func(s *engine.Setup) int { return s.CP }).only(sharded),
		countField("tensor_parallel_size", knob.TP, func(s *engine.Setup) int { return s.TP }).only(sharded),
		{key: "gradient_checkpointing", from: []string{flat(knob.Recompute)}, read: t.checkpoints(true), write: t.checkpointed(true)},
		{key: "disable_gradient_checkpointing", from: []string{flat(knob.Recompute)}, read: t.checkpoints(false), write: t.checkpointed(false)},
		{key: "optim", from: []string{flat(knob.Optimizer)}, write: func(*engine.Setup) (any, bool) { return "adamw_torch_fused", true }, read: func(v any, r *reader) error {
			if word, _ := v.(string); !strings.HasPrefix(word, "adamw_torch") && word != "adamw_hf" && word != "adamw_apex_fused" {
				return foreign(shown(v) + " is not modelled")
			}
			r.Setup[flat(knob.Optimizer)] = string(recipe.Adam)
			return nil
		}},
		joint("bf16", []knob.ID{knob.Precision}, func(s *engine.Setup) (any, bool) { return s.Precision == recipe.BF16, true }),
		joint("fp16", []knob.ID{knob.Precision}, func(s *engine.Setup) (any, bool) { return s.Precision == recipe.FP16, true }),
		{key: "torch_dtype", why: "of the weights as they are loaded"},
		{key: "deepspeed", from: []string{flat(knob.ZeRO)}, read: t.deepSpeed, write: func(s *engine.Setup) (any, bool) {
			if t.ships == nil {
				return "ds_config.json", s.ZeRO > 0
			}
			return t.stages[s.ZeRO], t.stages[s.ZeRO] != ""
		}},
		{key: "fsdp", from: []string{flat(knob.ZeRO)}, read: readFSDPWords},
		{key: "fsdp.0", from: []string{flat(knob.ZeRO)}, read: readFSDPWords},
		joint("fsdp_version", []knob.ID{knob.ZeRO}, func(*engine.Setup) (any, bool) { return 2, true }).only(sharded),
		joint("dp_shard_size", []knob.ID{knob.DP, knob.ZeRO}, ofAll(func(s *engine.Setup) int { _, n := shards(s); return n })).only(sharded),
		joint("dp_replicate_size", []knob.ID{knob.HSDP, knob.DP}, ofAll(func(s *engine.Setup) int { n, _ := shards(s); return n })).only(sharded),
		joint("fsdp_config.reshard_after_forward", []knob.ID{knob.ZeRO}, func(*engine.Setup) (any, bool) { return true, true }).only(sharded),
		fixed("fsdp_config.auto_wrap_policy", "TRANSFORMER_BASED_WRAP", "each layer is gathered alone", sharded),
		tuned, adapters("use_peft"),
		weights("load_in_8bit"), weights("load_in_4bit"), weights("quantization_bit"),
		notRead("fp8", flat(knob.Precision), "torchao's float8 is not modelled"),
		notRead("fsdp_config.offload_params", flat(knob.Offload), "weights on the host are not modelled"),
		fixed("stage", "sft", "the training that the file is for", only("llama-factory")),
		fixed("do_train", true, "else nothing is trained", only("llama-factory")),
		own(fixed("template", "TEMPLATE", "of the model's chat", only("llama-factory")))[0],
		own(fixed("dataset", "DATASET", "the data", only("llama-factory")))[0],
		own(fixed("dataset_name", "DATASET", "the data", only("trl")))[0],
		own(fixed("datasets.0.path", "DATASET", "the data", only("axolotl")))[0],
		own(fixed("datasets.0.type", "completion", "how it is read", only("axolotl")))[0],
		own(fixed("output_dir", "OUTPUT", "where checkpoints go", nil))[0],
	}, parse: t.parse}
	for i := range f.rows {
		if to := t.words[f.rows[i].key]; to != "" {
			f.rows[i].key = to
		}
	}
	f.assumed = []assumed{
		{knob.PP, 1, "Hugging Face's Trainer has no pipeline"},
		{knob.TP, 1, "the Trainer's default"},
		{knob.CP, 1, "the Trainer's default"},
		{knob.EP, 1, "the Trainer has no expert parallelism"},
		{knob.SP, false, "tp shards products alone"},
	}
	f.leaves = append(everyLack(), ownDefaults()...)
	f.leaves = append(f.leaves,
		lack{"model", "yours to name", always},
		lack{flat(knob.GPUs), "of the command that starts it: dp follows", func(s *engine.Setup) bool { return !sharded(s) }},
		lack{flat(knob.SP), "without effect with tp 1", func(s *engine.Setup) bool { return s.SP }},
		lack{flat(knob.GBS), "micro-batch x accumulation x dp", always},
		lack{flat(knob.ZeRO), "in ds_config.json, which launch --for deepspeed writes", func(s *engine.Setup) bool { return t.ships == nil && s.ZeRO > 0 }})
	f.leaves = append(f.leaves, stays("of the command that starts it", nil, knob.DP, knob.Nodes)...)
	f.leaves = append(f.leaves, stays("no pipeline", []string{"0", ""}, knob.GroupSize, knob.Split)...)
	f.leaves = append(f.leaves, stays("the code of the model, or what the optimizer keeps", nil, knob.Attention, knob.Loss, knob.GradDtype)...)
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
		is := v == true || v == "unsloth"
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

// parse returns the keys of a YAML file by the rows' words.
func (t *trainer) parse(data []byte) ([]Entry, error) {
	entries, err := parseYAML(data)
	for i := range entries {
		if to := t.rename[entries[i].Key]; to != "" {
			entries[i].Key = to
		}
	}
	return entries, err
}

// stageInName finds the stage that the name of a DeepSpeed file tells.
var stageInName = regexp.MustCompile(`(?i)z(?:ero)?_?(?:stage)?_?([0-3])`)

// deepSpeed reads the file of DeepSpeed that shards weights: one that the program ships is known.
func (t *trainer) deepSpeed(v any, r *reader) error {
	text := fmt.Sprint(v)
	if v == nil || text == "" || text == "[]" {
		return skip("none")
	}
	if t.ships != nil {
		if m := t.ships.FindStringSubmatch(text); m != nil {
			why := "of " + lastPart(text) + " as " + t.name + " ships it"
			r.assume(flat(knob.ZeRO), int(m[1][0]-'0'), why)
			if strings.Contains(text, "offload") {
				r.assume(flat(knob.Offload), string(recipe.OffloadOptimizer), why+"; weights on the host are not modelled")
			}
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
	switch text := fmt.Sprint(v); {
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

// finish settles what follows from several keys, and what the program does without them.
func (t *trainer) finish(r *reader) {
	const key, reshard = "precision", "fsdp_config.reshard_after_forward"
	if r.values["fsdp_version"].Value == 2 {
		r.Setup["zero"] = 3
		if r.values[reshard].Value == false {
			r.Setup["zero"] = 2
		}
		if r.said("dp_shard_size") {
			r.readShards("dp_replicate_size", "dp_shard_size", reshard, 0)
		}
	}
	if r.lost[key] { // weights in fewer bits
		r.guess(key, string(recipe.BF16))
	}
	switch on := func(v any) bool { return v == true || v == "true" || v == "full" }; {
	case r.lost[key]:
	case on(r.values["bf16"].Value) || r.values["pure_bf16"].Value == true:
		r.Setup[key] = string(recipe.BF16)
	case on(r.values["fp16"].Value):
		r.Setup[key] = string(recipe.FP16)
	case r.auto["bf16"]:
		r.assume(key, string(recipe.BF16), "auto: bf16 where the GPU has it")
	case t.id != "llama-factory" && r.values["bf16"].Key == "":
		r.assume(key, string(recipe.BF16), t.name+"'s default")
	default:
		r.assume(key, string(recipe.FP32), "neither bf16 nor fp16 is on")
	}
	for flat, value := range t.defaults {
		r.assume(flat, value, t.name+"'s default")
	}
	r.assume("mbs", map[bool]int{true: 1, false: 8}[t.id == "axolotl"], t.name+"'s default")
	r.assume("microbatches", 1, t.name+"'s default")
	r.assume("recompute", map[bool]string{true: string(recipe.RecomputeFull), false: string(recipe.RecomputeNone)}[t.id == "trl"], t.name+"'s default")
	r.assume("optimizer", string(recipe.Adam), t.name+"'s default")
	r.assume("zero", 0, "neither deepspeed nor fsdp is in the file: data parallelism alone")
	r.guess("zero", r.stage)
}

// notRead are files of programs that are known, and not read: a word that only they have.
func notRead(data []byte) string {
	for _, of := range [][2]string{
		{"actor_rollout_ref", "verl"},
		{"openrlhf.cli", "OpenRLHF"},
		{"actor_train:", "ROLL"},
		{"pipe_parallel_size", "gpt-neox"},
		{"pipe-parallel-size", "gpt-neox"},
		{"device_train_microbatch_size", "llm-foundry"},
		{"_component_: torchtune", "torchtune"},
		{"olmo_core", "OLMo-core"},
		{"ici_fsdp_parallelism", "MaxText"},
		{"tensor_model_parallel_size:", "NeMo"},
		{"nemo.collections", "NeMo"},
		{"megatron.bridge", "Megatron-Bridge's Python"},
		{"\"tp_size\"", "picotron"},
		{"flagscale", "FlagScale"},
	} {
		if bytes.Contains(data, []byte(of[0])) {
			return of[1]
		}
	}
	return ""
}
