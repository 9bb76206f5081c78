package launch

import (
	"fmt"
	"maps"
	"path"
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
	starter                   string   // what starts it on each node; empty: torchrun with a script
	keys                      []string // top-level keys that all of its files have; none: it has no file
	starts                    func(words []string, flags map[string]bool) bool
	read                      bool              // not written
	words                     map[string]string // its words for those of the Trainer
	rename                    map[string]string // other words that it takes
	defaults                  map[string]any    // by flat key
	// files of DeepSpeed that lie in its repository, with their stage
	ships  *regexp.Regexp
	stages [4]string // one of them for each stage; empty: there is none
	fsdp2  bool      // it has FSDP2 with tp and cp
	// sequences of a step that its default of accumulation makes; 0: one micro-batch
	accumulates int
	tunes       tuning
	// the switch of no recomputation, which runs without; empty: it does not
	off string
	// its script may set what no flag does: what is not given has no default
	wraps   bool
	literal bool // a script in Python, read by what is literal in its calls
	ranked  bool // a rank above 0 is its switch of adapters
}

// otherLengths are what scripts call the length of a sequence.
func otherLengths(to string) map[string]string {
	return map[string]string{
		"max_seq_length": to, "block_size": to, "model_max_length": to, "max_seq_len": to, "cutoff_len": to,
		"seq_length": to, "max_sequence_length": to,
		"model_id": "model_name_or_path", "model_name": "model_name_or_path",
		"model_path": "model_name_or_path", "base_model": "model_name_or_path",
	}
}

// otherWords joins words for keys.
func otherWords(a, b map[string]string) map[string]string {
	maps.Copy(a, b)
	return a
}

// trlScript finds TRL's scripts.
var trlScript = regexp.MustCompile(
	`(?:^|/)trl/scripts/\w+\.py$|(?:^|/)examples/scripts/` +
		`(?:sft|dpo|grpo|kto|orpo|cpo|rloo|bco|gkd|online_dpo|reward_modeling)\w*\.py$`,
)

// swiftScript finds ms-swift's scripts.
var swiftScript = regexp.MustCompile(`(?:^|/)swift/cli/(?:sft|pt|rlhf)\.py$`)

// startsWith tells a command line that starts a program with one of some words after it, or that module of
// it.
func startsWith(program string, subs ...string) func(words []string, flags map[string]bool) bool {
	return func(words []string, _ map[string]bool) bool {
		for i, w := range words {
			if path.Base(w) == program && i+1 < len(words) && slices.Contains(subs, words[i+1]) {
				return true
			}
			if rest, ok := strings.CutPrefix(w, program+".cli."); ok && slices.Contains(subs, rest) {
				return true
			}
		}
		return false
	}
}

// trainers lists them; the first whose keys are all there counts.
func trainers() []trainer {
	return []trainer{
		{
			id: "axolotl", name: "axolotl", version: "0.18.0",
			source: "axolotl-ai-cloud/axolotl v0.18.0 (src/axolotl/utils/schemas)",
			starter: `axolotl train axolotl.yaml --launcher torchrun -- --nnodes %d --nproc_per_node %d ` +
				`--rdzv_backend c10d --rdzv_endpoint "$MASTER_ADDR:29500"`,
			keys: []string{"base_model", "micro_batch_size"},
			words: map[string]string{
				"model_name_or_path": "base_model", "per_device_train_batch_size": "micro_batch_size",
				"max_length": "sequence_len", "optim": "optimizer",
				howKey: "adapter", magnitudesKey: "peft_use_dora",
				doubleKey: "bnb_config_kwargs.bnb_4bit_use_double_quant",
				kindKey:   "bnb_config_kwargs.bnb_4bit_quant_type",
			},
			rename: map[string]string{"sequence_parallel_degree": "context_parallel_size"},
			starts: startsWith("axolotl", "train"), defaults: map[string]any{"mbs": 1},
			ships:  regexp.MustCompile(`^deepspeed_configs/zero([123])[a-z0-9_]*\.json$`),
			stages: [4]string{1: "deepspeed_configs/zero1.json", 2: "deepspeed_configs/zero2.json"},
			fsdp2:  true,
		},
		{
			id: "llama-factory", name: "LLaMA-Factory", version: "0.9.5",
			source:  "hiyouga/LLaMA-Factory v0.9.5 (src/llamafactory/hparams)",
			starter: `FORCE_TORCHRUN=1 llamafactory-cli train llama-factory.yaml`,
			keys:    []string{"model_name_or_path", "finetuning_type"},
			words: map[string]string{
				"max_length": "cutoff_len", rankKey: "lora_rank", targetsKey: "lora_target",
			},
			starts: func(words []string, flags map[string]bool) bool {
				at := slices.IndexFunc(words, func(w string) bool {
					return w == "src/train.py" || strings.HasSuffix(w, "/src/train.py")
				})
				return startsWith("llamafactory-cli", "train")(words, flags) || at >= 0 &&
					slices.ContainsFunc(words[at:], isYAML) || flags["cutoff_len"] &&
					flags["finetuning_type"] || flags["stage"] && (flags["finetuning_type"] ||
					flags["cutoff_len"])
			},
			defaults: map[string]any{"seq": 2048, "recompute": string(recipe.RecomputeFull)},
			// finetuning_args.py; model_args.py: double_quantization
			tunes: tuning{by: "lora", rank: 8, targets: "all"},
			ships: regexp.MustCompile(`^examples/deepspeed/ds_z([023])[a-z0-9_]*_config\.json$`),
			stages: [4]string{
				2: "examples/deepspeed/ds_z2_config.json",
				3: "examples/deepspeed/ds_z3_config.json",
			}, off: "disable_gradient_checkpointing",
		},
		{
			id: "trl", name: "TRL", version: "main of 2026",
			source: "huggingface/trl@f2cd5771 (trl/trainer/sft_config.py)",
			keys:   []string{"model_name_or_path", "per_device_train_batch_size"},
			words: map[string]string{
				doubleKey: "use_bnb_nested_quant", kindKey: "bnb_4bit_quant_type", dtypeKey: "dtype",
			},
			rename: otherWords(otherLengths("max_length"), map[string]string{dtypeKey: "dtype"}),
			// trl/trainer/model_config.py
			tunes: tuning{rank: 16, targets: ofPeft, single: true, fp32: true},
			starts: func(words []string, flags map[string]bool) bool {
				return startsWith("trl", "sft", "dpo", "grpo", "kto", "reward", "rloo", "orpo", "cpo")(words,
					flags) || flags["per_device_train_batch_size"] && slices.ContainsFunc(words,
					func(w string) bool {
						return trlScript.MatchString(w)
					})
			},
			defaults: map[string]any{
				"recompute": string(recipe.RecomputeFull),
				"precision": string(recipe.BF16),
			},
		},
		{
			id: "swift", name: "ms-swift's Trainer",
			source: "modelscope/ms-swift@3602360a (swift/trainers/arguments.py:129-134, swift/arguments)",
			read:   true,
			words: map[string]string{
				"model_name_or_path": "model", howKey: "tuner_type", rankKey: "lora_rank",
				targetsKey: "target_modules", bitsKey: "quant_bits", quantisedByKey: "quant_method",
				doubleKey: "bnb_4bit_use_double_quant", kindKey: "bnb_4bit_quant_type",
			},
			rename: map[string]string{
				"train_type": "tuner_type", "sft_type": "tuner_type",
				"model_id_or_path": "model", "max_seq_length": "max_length",
				"batch_size": "per_device_train_batch_size", bitsKey: "quant_bits",
				targetsKey: "target_modules", rankKey: "lora_rank",
			},
			starts: func(words []string, flags map[string]bool) bool {
				return startsWith("swift", "sft", "pt", "rlhf")(words, flags) ||
					slices.ContainsFunc(words, swiftScript.MatchString)
			},
			defaults: map[string]any{"mbs": 1, "recompute": string(recipe.RecomputeFull)}, accumulates: 16,
			// swift/arguments/tuner_args.py, base_args/quant_args.py
			tunes: tuning{by: "lora", rank: 8, targets: "all"},
			ships: regexp.MustCompile(`^zero([0123])(?:_offload)?$`),
		},
		{
			id: "trainer", name: "Hugging Face's Trainer", source: "huggingface/transformers v4.57.1 " +
				"(src/transformers/training_args.py, examples/pytorch/language-modeling/run_clm.py)",
			read: true,
			keys: []string{"per_device_train_batch_size", "learning_rate"},
			rename: otherWords(otherLengths("max_length"), map[string]string{
				"lora_rank": rankKey, "lora_target": targetsKey, "lora_targets": targetsKey,
				"double_quant": doubleKey, "bnb_4bit_use_double_quant": doubleKey,
				"use_nested_quant": doubleKey,
				"quant_type":       kindKey, "bnb_4bit_quant_type": kindKey, "quant_method": quantisedByKey,
				"dtype": dtypeKey,
			}), wraps: true,
			starts: func(_ []string, flags map[string]bool) bool {
				return flags["per_device_train_batch_size"] || flags["model_name_or_path"] &&
					(flags["gradient_accumulation_steps"] || flags["deepspeed"] || flags["fsdp"] ||
						flags["block_size"])
			},
		},
	}
}

// launchers returns the programs on the Trainer as launchers: one table of rows is read and written.
func trainerLaunchers() []Launcher {
	var out []Launcher
	for _, t := range trainers() {
		if t.read {
			continue
		}
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
		refuses("experts", knob.EP, t.source, "the Trainer has no expert parallelism",
			func(s *engine.Setup) bool { return s.EP > 1 }),
		refuses("expert-tp", knob.ETP, t.source, "the Trainer has no expert parallelism",
			func(s *engine.Setup) bool { return s.ETP > 1 }),
		refuses("sp", knob.SP, t.source, "it shards products alone: sp off",
			func(s *engine.Setup) bool { return s.SP && s.TP > 1 }),
		refuses("split-layers", knob.TP, t.source,
			"tp is a part of FSDP2, with zero 3, in axolotl alone",
			func(s *engine.Setup) bool { return s.TP > 1 && (!t.fsdp2 || s.ZeRO != 3) }),
		refuses("split-tokens", knob.CP, t.source,
			"cp is a part of FSDP2, with zero 3, in axolotl alone",
			func(s *engine.Setup) bool { return s.CP > 1 && (!t.fsdp2 || s.ZeRO != 3) }),
		refuses("hsdp", knob.HSDP, t.source,
			"replicas of shards are a part of FSDP2, with zero 3, in axolotl alone",
			func(s *engine.Setup) bool {
				return s.Replicas() > 1 && (!t.fsdp2 || s.ZeRO != 3 || s.Replicas() == s.DP)
			}),
		wholeLayers(t.source+": gradient_checkpointing", recipe.RecomputeNone, recipe.RecomputeFull),
	)
	if t.fsdp2 {
		rules = append(rules, onlyRing(t.source, "context_parallel_size is a ring"))
	}
	if t.ships != nil && !t.fsdp2 {
		rules = append(rules,
			refuses("zero", knob.ZeRO, t.source, "it ships no file of DeepSpeed with this stage",
				func(s *engine.Setup) bool { return s.ZeRO > 0 && t.stages[s.ZeRO] == "" }))
	}
	rules = append(append(rules, t.hostRules()...), t.adapterRules()...)
	return append(rules, append(outsideSearch(
		oneOf(knob.Precision, t.source, "bf16, fp16 or neither", func(s *engine.Setup) recipe.Precision {
			return s.Precision
		}, recipe.BF16, recipe.FP16, recipe.FP32),
		refuses("mtp", knob.MTP, t.source, "the file knows no module of multi-token prediction",
			func(s *engine.Setup) bool { return s.TrainMTP }),
	), softwareRules(t.source, nil)...)...)
}
