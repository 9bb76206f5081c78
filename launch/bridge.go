package launch

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// bridgeSource is where Megatron-Bridge's rules were read.
const bridgeSource = "NVIDIA-NeMo/Megatron-Bridge@067f987d"

// bridge returns Megatron-Bridge: Megatron-LM's rules, and keys of its own for the same fields
// (scripts/training/run_recipe.py:168-262, scripts/training/README.md).
func bridge() Launcher {
	m := megatronLM()
	return Launcher{
		ID: "bridge", Name: "Megatron-Bridge", Version: "main of 2026",
		Source: bridgeSource + "; Megatron-LM's rules in " + m.Source,
		rules: append(slices.DeleteFunc(slices.Clone(m.rules),
			func(r Rule) bool { return r.ID == "attention-fp8" }), bridgeRules()...), explicit: m.explicit,
		stack:  m.stack,
		export: bridgeExport, says: saysBridge, read: readBridge,
	}
}

// bridgeRules returns what Megatron-Bridge refuses in addition.
func bridgeRules() []Rule {
	return outsideSearch(
		refuses("mixed-precision", "precision",
			bridgeSource+": src/megatron/bridge/training/mixed_precision.py",
			"its recipes train with mixed_precision, of bf16 or fp16",
			func(s *engine.Setup) bool { return s.Precision == recipe.FP32 }),
	)
}

// bridgeNames returns the keys of Megatron-Bridge by the flags of Megatron-LM.
func bridgeNames() map[string]string {
	names := map[string]string{
		"tensor-model-parallel-size": "tp", "pipeline-model-parallel-size": "pp",
		"context-parallel-size":      "cp",
		"expert-model-parallel-size": "ep", "expert-tensor-parallel-size": "etp", "micro-batch-size": "mb",
		"global-batch-size": "gb",
		"seq-length":        "sl", "num-virtual-stages-per-pipeline-rank": "vp",
		"train-iters": "train.train_iters",
		"microbatch-group-size-per-virtual-pipeline-stage": "model.microbatch_group_size_per_vp_stage",
		"ckpt-format": "checkpoint.ckpt_format",
	}
	for prefix, keys := range map[string]string{
		"model": "sequence-parallel cp-comm-type hybrid-layer-pattern pipeline-model-parallel-layout " +
			"account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split " +
			"recompute-granularity recompute-method recompute-num-layers recompute-modules " +
			"cpu-offloading-num-layers moe-token-dispatcher-type moe-flex-dispatcher-backend " +
			"cuda-graph-impl mtp-num-layers cross-entropy-loss-fusion cross-entropy-fusion-impl " +
			"attention-backend fp8-dot-product-attention",
		"ddp": "use-distributed-optimizer use-megatron-fsdp data-parallel-sharding-strategy " +
			"num-distributed-optimizer-instances outer-dp-sharding-strategy overlap-grad-reduce " +
			"overlap-param-gather",
		"optimizer": "optimizer optimizer-cpu-offload optimizer-offload-fraction " +
			"use-precision-aware-optimizer",
		"comm_overlap": "tp-comm-overlap overlap-moe-expert-parallel-comm",
	} {
		for key := range strings.FieldsSeq(keys) {
			names[key] = prefix + "." + strings.ReplaceAll(key, "-", "_")
		}
	}
	return names
}

// bridgeOff returns what is written where Megatron-LM has no flag: a recipe may have it on.
func bridgeOff(s *engine.Setup, overlaps bool) map[string]any {
	off := map[string]any{
		"recompute-granularity": "null", "cuda-graph-impl": "none", "optimizer": "adam",
		"attention-backend": "auto", "pipeline-model-parallel-layout": "null",
	}
	for key := range strings.FieldsSeq("sequence-parallel use-distributed-optimizer overlap-grad-reduce " +
		"overlap-param-gather cross-entropy-loss-fusion") {
		off[key] = false
	}
	if overlaps { // else there is no such part of the configuration, and a key of it stops the script
		off["tp-comm-overlap"] = false
		if s.Model.IsMoE() {
			off["overlap-moe-expert-parallel-comm"] = false
		}
	}
	if s.Model.MTPLayers > 0 {
		off["mtp-num-layers"] = "null"
	}
	return off
}

// bridgePrecision returns mixed_precision by precision and whether the GPU is of Blackwell.
func bridgePrecision(s *engine.Setup) string {
	switch p := s.Precision.On(s.Stack); {
	case p == recipe.BF16:
		return "bf16_mixed"
	case p == recipe.FP16:
		return "fp16_mixed"
	case p == recipe.NVFP4:
		return "bf16_with_nvfp4_mixed"
	case p == recipe.FP8Tensor:
		return "bf16_with_fp8_current_scaling_mixed"
	case blackwell(s):
		return "bf16_with_mxfp8_mixed"
	default:
		return "bf16_with_fp8_subchannel_scaling_mixed"
	}
}

// bridgeExport returns a setup as a command line of Megatron-Bridge.
func bridgeExport(s *engine.Setup) Document {
	d := megatronExport(s)
	d.File, d.render, d.Program = "bridge.sh", bridgeText, `scripts/training/run_recipe.py "${ARGS[@]}"`
	name := Entry{
		Key: "recipe", Value: "RECIPE", From: []string{"model"}, Site: true,
		Why: "of " + s.Model.Name,
	}
	overlaps := false
	for _, known := range bridgeRecipes() {
		if m, err := presets.Default().Model(known.model); err == nil && m == s.Model {
			name, overlaps = Entry{Key: "recipe", Value: known.name, From: []string{"model"}}, known.overlaps
			break
		}
	}
	if name.Site {
		d.NotCarried = append(d.NotCarried,
			NotCarried{Key: "model", Why: "the recipe's, which is yours to name"})
	} else {
		d.NotCarried = append(d.NotCarried,
			NotCarried{Key: "set", Why: "figures of the model are the recipe's"})
	}
	if s.PP > 1 {
		d.Warnings = append(d.Warnings,
			"a recipe without a pipeline has no model.pipeline_dtype, which pp needs")
	}
	if s.TPOverlap == recipe.UserBuffers && s.TP > 1 {
		d.Warnings = append(d.Warnings, "the recipe's table of user buffers is for its own tp")
	}
	entries := []Entry{name, {Key: "mode", Value: "pretrain"}, {Key: "dataset", Value: "mock", Site: true}}
	names, off := bridgeNames(), bridgeOff(s, overlaps)
	if !overlaps {
		const whose = "the recipe's own: where it has one, comm_overlap.%s=false turns it off"
		d.NotCarried = append(d.NotCarried,
			NotCarried{Key: "tp_overlap", Why: fmt.Sprintf(whose, "tp_comm_overlap")})
		if s.Model.IsMoE() {
			d.NotCarried = append(d.NotCarried,
				NotCarried{Key: "ep_overlap", Why: fmt.Sprintf(whose, "overlap_moe_expert_parallel_comm")})
		}
		if slices.ContainsFunc(d.Entries,
			func(e Entry) bool { return strings.HasPrefix(names[e.Key], "comm_overlap.") }) {
			d.Warnings = append(d.Warnings, "comm_overlap is a part of the configuration that only some "+
				"recipes have (comm_overlap=CommOverlapConfig(...)): without it the script stops")
		}
	}
	add := func(e Entry) {
		if key, ok := names[e.Key]; ok {
			delete(off, e.Key)
			if e.Key = key; e.Value == nil {
				e.Value = true
			}
			entries = append(entries, e)
		}
	}
	for _, e := range d.Entries {
		add(e)
	}
	rows := megatronFields()
	for _, key := range slices.Sorted(maps.Keys(off)) {
		i := slices.IndexFunc(rows, func(f field) bool { return f.key == key })
		add(Entry{Key: key, Value: off[key], From: rows[i].from})
	}
	entries = append(entries,
		Entry{
			Key: "ddp.grad_reduce_in_fp32", Value: s.GradDtype == recipe.GradFP32,
			From: []string{"grad_dtype"},
		},
		Entry{Key: "mixed_precision", Value: bridgePrecision(s), From: []string{"precision"}})
	if s.VPP == 1 && !name.Site { // a recipe may have more
		entries = append(entries, Entry{
			Key: "model.virtual_pipeline_model_parallel_size", Value: "null",
			From: []string{"vpp"},
		})
	}
	d.Entries = entries
	return d
}

// bridgeShort lists the flags with one dash.
func bridgeShort() []string { return []string{"tp", "pp", "cp", "vp", "ep", "etp", "mb", "gb", "sl"} }

// bridgeKey writes a key as run_recipe.py takes it: overrides have no dashes and an equals sign.
func bridgeKey(key string) (text, join string) {
	switch {
	case slices.Contains(bridgeShort(), key):
		return "-" + key, " "
	case strings.Contains(key, ".") || key == "mixed_precision":
		return key, "="
	default:
		return "--" + key, " "
	}
}

// bridgeText returns a document as a script that calls train.sh, which submits to Slurm itself.
func bridgeText(d *Document) []byte {
	var b strings.Builder
	b.WriteString("#!/usr/bin/env bash\n")
	comment(&b, d.Stamp)
	b.WriteString("set -euo pipefail\n")
	environment(&b, d.Env)
	b.WriteByte('\n')
	job := *d
	job.Entries = append([]Entry{
		{Key: "nodes", Value: d.Nodes, From: []string{"gpus"}},
		{Key: "gpus-per-node", Value: d.PerNode, From: []string{"gpus"}},
		{Key: "account", Value: "ACCOUNT", Site: true},
		{Key: "partition", Value: "PARTITION", Site: true},
		{Key: "container-image", Value: "IMAGE", Site: true},
	}, d.Entries...)
	array(&b, job.Entries, bridgeKey)
	b.WriteString("\n./scripts/training/train.sh \"${ARGS[@]}\"\n")
	return []byte(b.String())
}

// saysBridge reports whether the words of a script call Megatron-Bridge.
func saysBridge(words []string) bool {
	has := func(form *regexp.Regexp) bool { return slices.ContainsFunc(words, form.MatchString) }
	return has(bridgeWord) || has(recipeWord) && has(bridgeOverride)
}

// saysMegatron reports whether they are of Megatron-LM, or of a fork.
func saysMegatron(words []string) bool { return slices.ContainsFunc(words, megatronWord.MatchString) }

// What a command line of Megatron-Bridge has: its scripts, or a recipe with overrides.
var (
	bridgeWord = regexp.MustCompile(
		`(?:^|/)(?:run_recipe\.py|setup_experiment\.py|scripts/training/train\.sh)$`,
	)
	recipeWord     = regexp.MustCompile(`^--recipe\b`)
	bridgeOverride = regexp.MustCompile(`^model\.[a-z_.]+=`)
)

// bridgeKeys returns the flags of Megatron-LM by the keys of Megatron-Bridge.
func bridgeKeys() map[string]string {
	flags := map[string]string{}
	for flag, key := range bridgeNames() {
		flags[key] = flag
	}
	for flag, key := range map[string]string{ // other words for the same
		"tensor-model-parallel-size":           "model.tensor_model_parallel_size",
		"pipeline-model-parallel-size":         "model.pipeline_model_parallel_size",
		"num-virtual-stages-per-pipeline-rank": "model.virtual_pipeline_model_parallel_size",
		"context-parallel-size":                "model.context_parallel_size",
		"expert-model-parallel-size":           "model.expert_model_parallel_size",
		"expert-tensor-parallel-size":          "model.expert_tensor_parallel_size",
		"micro-batch-size":                     "train.micro_batch_size",
		"global-batch-size":                    "train.global_batch_size", "seq-length": "model.seq_length",
		"decoder-first-pipeline-num-layers": "model.num_layers_in_first_pipeline_stage",
		"decoder-last-pipeline-num-layers":  "model.num_layers_in_last_pipeline_stage",
	} {
		flags[key] = flag
	}
	for key, flag := range map[string]string{
		"dataset.seq_length": "seq-length", "et": "expert-tensor-parallel-size", "gn": "gpus-per-node",
		"gpus_per_node":                        "gpus-per-node",
		"tensor_model_parallel_size":           "tensor-model-parallel-size",
		"pipeline_model_parallel_size":         "pipeline-model-parallel-size",
		"context_parallel_size":                "context-parallel-size",
		"virtual_pipeline_model_parallel_size": "num-virtual-stages-per-pipeline-rank",
		"expert_model_parallel_size":           "expert-model-parallel-size",
		"expert_tensor_parallel_size":          "expert-tensor-parallel-size",
		"global_batch_size":                    "global-batch-size", "micro_batch_size": "micro-batch-size",
		"seq_length": "seq-length",
	} {
		flags[key] = flag
	}
	return flags
}

// isBridge tells the YAML of overrides that run_recipe.py and its scripts take.
func isBridge(has func(string) bool) bool {
	return has("model.tensor_model_parallel_size") && (has("train.micro_batch_size") ||
		has("train.global_batch_size") || has("train.train_iters"))
}

// readBridgeFile reads such a file: what it does not say is a recipe's.
func readBridgeFile(entries []Entry) Reading {
	flags := bridgeKeys()
	var out []Entry
	for _, e := range entries {
		if flag := flags[e.Key]; flag != "" {
			e.Key, e.Value = flag, fmt.Sprint(e.Value)
		}
		out = append(out, e)
	}
	r := readBridgeEntries(out)
	r.finishBridge()
	return r.Reading
}

// readBridge reads a command line of Megatron-Bridge.
func readBridge(name string, data []byte, given Given) Reading {
	flags := bridgeKeys()
	sh := parseScript(name, data, given)
	words := sh.training(func(f shellField) bool {
		key, _, _ := strings.Cut(strings.TrimLeft(f.text, "-"), "=")
		return flags[key] != "" || slices.Contains(recipeKeys(), key)
	})
	entries := sh.bridgeFlags(words.args)
	for i := range entries {
		if flag := flags[entries[i].Key]; flag != "" {
			entries[i].Key = flag
		}
	}
	r := readBridgeEntries(entries)
	r.Problems = append(slices.Clone(sh.problems), r.Problems...)
	r.Ignored = append(r.Ignored, sh.ignored...)
	r.grouped(sh)
	if nodes, each := r.argument("nodes"), r.argument("gpus-per-node"); nodes > 0 && each > 0 &&
		nodes <= layout.MaxGPUs/each {
		r.processes(nodes*each, r.values["nodes"].Line)
	} else if r.Setup["gpus"] == nil {
		r.world(sh, words.starter)
	}
	r.finishBridge()
	return r.Reading
}

// readBridgeEntries reads keys over those of the recipe that they name.
func readBridgeEntries(entries []Entry) *reader {
	entries = withRecipe(entries)
	rows := slices.DeleteFunc(megatronFields(), func(f field) bool {
		return f.read == nil || slices.ContainsFunc(f.from, func(key string) bool {
			return strings.HasPrefix(key, modelPrefix) && f.key != "mtp-num-layers" &&
				f.key != "hybrid-layer-pattern"
		})
	})
	r := readEntries("bridge", append(bridgeRows(), rows...), entries)
	for _, of := range []string{"mtp_layers", "mtp_passes"} { // as the model has them
		delete(r.Setup, modelPrefix+of)
	}
	return r
}

// withRecipe puts what is known of a recipe before the entries of a file, which win over it, and
// leaves out what the file sets to nothing. Virtual stages and a layout exclude each other.
func withRecipe(entries []Entry) []Entry {
	given := map[string]bool{}
	var base []Entry
	for _, e := range entries {
		given[e.Key] = true
		// the performance scripts have layouts of their own
		if known := recipeNamed(fmt.Sprint(e.Value)); known != nil &&
			(e.Key == "recipe" || e.Key == "model") {
			base = known.sets
		}
	}
	given["pipeline-model-parallel-layout"] = given["pipeline-model-parallel-layout"] ||
		given["num-virtual-stages-per-pipeline-rank"]
	base = slices.DeleteFunc(slices.Clone(base), func(e Entry) bool { return given[e.Key] })
	return slices.DeleteFunc(append(base, entries...), func(e Entry) bool {
		return (e.Value == "null" || e.Value == "None") && e.Key != "recompute-granularity"
	})
}

// recipeKeys are the flags that name a recipe, or the stem of its name.
func recipeKeys() []string { return []string{"recipe", "model", "model_recipe_name", "mr"} }

// ofText makes the row of a number one of a command line, where every value is a text.
func (f field) ofText() field {
	f.write, f.read = nil, func(v any, r *reader) error {
		n, err := wholeArgument(v, 1)
		if err == nil {
			r.Setup[f.from[0]] = n
		}
		return err
	}
	return f
}

// performancePrecision is the row of the number format of the performance scripts.
func performancePrecision(key string) field {
	return word(key, "precision", nil, [2]string{string(recipe.BF16), "bf16"},
		[2]string{string(recipe.FP8Tensor), "fp8_cs"},
		[2]string{string(recipe.FP8Megatron), "fp8_mx"}, [2]string{string(recipe.FP8Megatron), "fp8_sc"},
		[2]string{string(recipe.NVFP4), "nvfp4"}).unwritten()
}

// bridgeRows returns the keys that Megatron-LM has not.
func bridgeRows() []field {
	return []field{
		{key: "recipe", from: []string{"model"}, read: part},
		{key: "model", from: []string{"model"}, read: part},
		{key: "model_recipe_name", from: []string{"model"}, read: part},
		{key: "mr", from: []string{"model"}, read: part},
		countField("num_gpus", "gpus", nil).ofText(), countField("ng", "gpus", nil).ofText(),
		performancePrecision("compute_dtype"), performancePrecision("c"),
		{key: "nodes", from: []string{"gpus"}, read: part},
		{key: "gpus-per-node", from: []string{"gpus"}, read: part},
		{key: "ddp.grad_reduce_in_fp32", from: []string{"grad_dtype"}, read: func(v any, r *reader) error {
			on, err := isOn(v)
			if r.Setup["grad_dtype"] = string(recipe.GradFP32); !on {
				r.Setup["grad_dtype"] = string(recipe.GradBF16)
			}
			return err
		}},
		word("mixed_precision", "precision", nil,
			[2]string{string(recipe.BF16), "bf16_mixed"}, [2]string{string(recipe.FP16), "fp16_mixed"},
			[2]string{string(recipe.NVFP4), "bf16_with_nvfp4_mixed"},
			[2]string{string(recipe.FP8Tensor), "bf16_with_fp8_current_scaling_mixed"},
			[2]string{string(recipe.FP8Tensor), "bf16_with_fp8_delayed_scaling_mixed"},
			[2]string{string(recipe.FP8Megatron), "bf16_with_mxfp8_mixed"},
			[2]string{string(recipe.FP8Megatron), "bf16_with_fp8_subchannel_scaling_mixed"}),
	}
}

// finishBridge resolves the recipe, and what the keys mean together.
func (r *reader) finishBridge() {
	name, line := "", 0
	for _, key := range recipeKeys() {
		if e, ok := r.values[key]; ok {
			name, line = r.text(key), e.Line
		}
	}
	if known := recipeNamed(name); known != nil {
		r.Setup["model"] = known.model
	}
	if _, given := r.Setup["model"]; !given && name == "" {
		r.unknown("model", "the recipe that the file is for says it", 0)
	} else if !given {
		r.unknown("model", fmt.Sprintf("the model of recipe %s is not known", shown(path.Base(name))), line)
	}
	if r.Setup["tp"] != nil {
		r.spAlone()
	}
	r.Ignored = append(r.Ignored,
		Ignored{Key: "recipe", Why: "what it sets beyond the keys of this file is not known", Line: line})
	for key, flag := range map[string]string{
		"sp": "sequence-parallel", "dp_overlap": "overlap-grad-reduce",
		"tp_overlap": "tp-comm-overlap", "ep_overlap": "overlap-moe-expert-parallel-comm",
		"loss": "cross-entropy-loss-fusion", "zero": "use-distributed-optimizer",
	} {
		if _, given := r.values[flag]; given {
			r.assume(key, map[string]any{
				"sp": false, "dp_overlap": "off", "tp_overlap": "none",
				"ep_overlap": "off", "loss": "unfused", "zero": 0,
			}[key], "off in the file")
		}
	}
	if r.number("pp", 1) > 1 && r.number("vpp", 1) > 1 {
		r.assume("schedule", "interleaved", "what runs virtual stages")
	}
}

// bridgeFlags returns the entries of words: flags with one or two dashes, and overrides.
func (s *script) bridgeFlags(words []shellField) []Entry {
	var out []Entry
	for _, f := range words {
		key, value, given := strings.Cut(f.text, "=")
		switch {
		case given && !strings.HasPrefix(key, "-"):
			out = append(out, Entry{
				Key: key, Value: valueOf(shellField{text: value, unknown: f.unknown}),
				Line: f.line,
			})
		case strings.HasPrefix(f.text, "-") && len(f.text) > 1 && (f.text[1] < '0' || f.text[1] > '9'):
			e := Entry{Key: strings.TrimLeft(key, "-"), Line: f.line}
			switch {
			case strings.HasPrefix(f.unknown, whether):
				e.Value = unresolved(f.unknown)
			case given:
				e.Value = valueOf(shellField{text: value, unknown: f.unknown})
			}
			out = append(out, e)
		case strings.HasPrefix(f.unknown, whether): // the word of a flag that may be there
		case len(out) > 0 && out[len(out)-1].Value == nil:
			out[len(out)-1].Value = valueOf(f)
		default:
			s.ignored = append(s.ignored, Ignored{Key: f.text, Why: "no flag before it", Line: f.line})
		}
	}
	return out
}
