package launch

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// trainer is a program on Hugging Face's Trainer whose YAML is read, and not written.
type trainer struct {
	id, name string
	keys     []string          // top-level keys that all of its files have
	rename   map[string]string // its words for those of the Trainer
	defaults map[string]any    // by flat key
}

// trainers lists them; the first whose keys are all there counts.
func trainers() []trainer {
	return []trainer{
		{
			id: "axolotl", name: "axolotl", keys: []string{"base_model", "micro_batch_size"},
			rename: map[string]string{
				"base_model": "model_name_or_path", "micro_batch_size": "per_device_train_batch_size", "sequence_len": "max_length", "optimizer": "optim",
				"adapter": "finetuning_type", "sequence_parallel_degree": "context_parallel_size",
			},
		},
		{
			id: "llama-factory", name: "LLaMA-Factory", keys: []string{"model_name_or_path", "finetuning_type"},
			rename:   map[string]string{"cutoff_len": "max_length"},
			defaults: map[string]any{"seq": 2048, "recompute": string(recipe.RecomputeFull)},
		},
		{id: "trl", name: "TRL", keys: []string{"model_name_or_path", "per_device_train_batch_size"}, rename: map[string]string{"max_seq_length": "max_length"}},
	}
}

// trainerOf returns whose YAML a text is; nil: nobody's.
func trainerOf(data []byte) *trainer {
	all := trainers()
	for i := range all {
		found := true
		for _, key := range all[i].keys {
			found = found && (bytes.HasPrefix(data, []byte(key+":")) || bytes.Contains(data, []byte("\n"+key+":")))
		}
		if found {
			return &all[i]
		}
	}
	return nil
}

// file returns the keys that are read.
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
	f := form{id: t.id, rows: []field{
		{key: "model_name_or_path", from: []string{"model"}, read: readModelName},
		countField("per_device_train_batch_size", knob.MBS, nil), countField("gradient_accumulation_steps", knob.MicroBatches, nil), countField("max_length", knob.Seq, nil),
		countField("context_parallel_size", knob.CP, nil), countField("tensor_parallel_size", knob.TP, nil),
		{key: "gradient_checkpointing", from: []string{flat(knob.Recompute)}, read: func(v any, r *reader) error {
			if r.Setup[flat(knob.Recompute)] = string(recipe.RecomputeNone); v == true || v == "unsloth" {
				r.Setup[flat(knob.Recompute)] = string(recipe.RecomputeFull)
			}
			return nil
		}},
		{key: "disable_gradient_checkpointing", from: []string{flat(knob.Recompute)}, read: func(v any, r *reader) error {
			if v == true {
				r.Setup[flat(knob.Recompute)] = string(recipe.RecomputeNone)
			}
			return nil
		}},
		{key: "optim", from: []string{flat(knob.Optimizer)}, read: func(v any, r *reader) error {
			if word, _ := v.(string); !strings.HasPrefix(word, "adamw_torch") && word != "adamw_hf" && word != "adamw_apex_fused" {
				return foreign(shown(v) + " is not modelled")
			}
			r.Setup[flat(knob.Optimizer)] = string(recipe.Adam)
			return nil
		}},
		{key: "bf16", from: []string{flat(knob.Precision)}, read: part},
		{key: "fp16", from: []string{flat(knob.Precision)}, read: part},
		{key: "torch_dtype", why: "of the weights as they are loaded"},
		{key: "deepspeed", from: []string{flat(knob.ZeRO)}, read: sharding("deepspeed")},
		{key: "fsdp", from: []string{flat(knob.ZeRO)}, read: sharding("fsdp")},
		{key: "fsdp.0", from: []string{flat(knob.ZeRO)}, read: sharding("fsdp")},
		adapters("finetuning_type"), adapters("use_peft"),
		weights("load_in_8bit"), weights("load_in_4bit"), weights("quantization_bit"),
		notRead("fsdp_config.offload_params", flat(knob.Offload), "weights on the host are not modelled"),
	}, parse: t.parse}
	f.assumed = []assumed{
		{knob.PP, 1, "Hugging Face's Trainer has no pipeline"},
		{knob.TP, 1, "the Trainer's default"},
		{knob.CP, 1, "the Trainer's default"},
		{knob.EP, 1, "the Trainer has no expert parallelism"},
	}
	f.finish = t.finish
	return f
}

// parse returns the keys of a YAML file by the Trainer's words.
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

// sharding reads what shards weights, which another file or a list of words says.
func sharding(by string) func(v any, r *reader) error {
	return func(v any, r *reader) error {
		text := fmt.Sprint(v)
		switch {
		case v == nil || text == "" || text == "[]":
			return skip("none")
		case by == "fsdp" && strings.Contains(text, "shard_grad_op"):
			r.Setup[flat(knob.ZeRO)] = 2
		case by == "fsdp" && (strings.Contains(text, "full_shard") || text == "true"):
			r.Setup[flat(knob.ZeRO)] = 3
		case by == "fsdp":
			return foreign(shown(v) + " is not modelled")
		default:
			if m := stageInName.FindStringSubmatch(path.Base(text)); m != nil {
				r.stage = int(m[1][0] - '0')
			}
			return foreign(shown(v) + " says it, which is another file")
		}
		return nil
	}
}

// finish settles what follows from several keys, and what the program does without them.
func (t *trainer) finish(r *reader) {
	const key = "precision"
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
