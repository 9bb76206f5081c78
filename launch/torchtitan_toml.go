package launch

import (
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
)

// balancedSplit returns the split that no word is needed for.
func balancedSplit(s *engine.Setup) string { return layout.BalancedSplit(s.Model.Layers, s.Stages()) }

// titanTOML returns the file of 0.2.2.
func titanTOML() form {
	const p, notKnob = "parallelism.", "of the training recipe, no knob"
	rows := []field{
		same("job.dump_folder", "./outputs", notKnob),
		{key: "job.description", why: "a name", write: func(s *engine.Setup) (any, bool) {
			f, _ := flavorOf(&s.Model)
			_, shard := shards(s)
			return fmt.Sprintf("%s %s TP%d PP%d FSDP%d", f.folder, f.name, s.TP, s.PP, shard), true
		}},
		joint("model.name", []knob.ID{"model"}, func(s *engine.Setup) (any, bool) {
			f, _ := flavorOf(&s.Model)
			return f.folder, true
		}),
		joint("model.flavor", []knob.ID{"model"}, func(s *engine.Setup) (any, bool) {
			f, _ := flavorOf(&s.Model)
			return f.name, true
		}),
		{key: "model.converters", from: []string{"precision"}, write: func(s *engine.Setup) (any, bool) {
			return []any{"float8"}, s.Precision == recipe.FP8
		}, read: readConverters},
		yours("model.hf_assets_path", "./assets/hf/MODEL", "the tokenizer"),
		words("optimizer.name", knob.Optimizer, pair{"adam", "AdamW"}, pair{"adam", "Adam"}),
		same("optimizer.lr", 1.5e-4, notKnob),
		same("optimizer.eps", 1e-8, notKnob),
		same("lr_scheduler.warmup_steps", 200, notKnob),
		joint("training.local_batch_size", []knob.ID{knob.MBS, knob.MicroBatches},
			ofAll(func(s *engine.Setup) int {
				if s.PP > 1 {
					return s.MBS * s.MicroBatches
				}
				return s.MBS
			})),
		joint("training.global_batch_size", []knob.ID{knob.GBS, knob.MicroBatches},
			ofAll(func(s *engine.Setup) int { return s.GBS })),
		countField("training.seq_len", knob.Seq, func(s *engine.Setup) int { return s.Seq }),
		together("training.batch_size", "mbs", "microbatches"),
		titanMixed("training.mixed_precision_param"),
		titanWeights("training.dtype").only(func(s *engine.Setup) bool { return s.WeightDtype != "" }),
		unwritten("training.enable_cpu_offload", false, "weights, gradients and optimizer stay on the GPU"),
		unwritten("training.mixed_precision_reduce", "float32", "gradients are summed in fp32"),
		same("training.max_norm", 1.0, notKnob),
		same("training.steps", 1000, notKnob),
		yours("training.dataset", "c4", "the data"),
	}
	rows = append(rows, titanParallel(p)...)
	rows = append(rows,
		joint(p+"enable_async_tensor_parallel", []knob.ID{"tp-overlap"}, func(s *engine.Setup) (any, bool) {
			return s.TPOverlap == recipe.AsyncTP, true
		}),
		joint(p+"pipeline_parallel_microbatch_size", []knob.ID{knob.MBS},
			ofAll(func(s *engine.Setup) int { return s.MBS })),
		countField(p+"expert_tensor_parallel_degree", knob.ETP, func(s *engine.Setup) int { return s.ETP }),
		words("activation_checkpoint.mode", knob.Recompute, pair{"none", "none"},
			pair{"selective", "selective"}, pair{"full", "full"}),
		must("activation_checkpoint.selective_ac_option", "op",
			"every second product of a layer is kept, as predicted").only(func(s *engine.Setup) bool {
			return s.Recompute.Mode == recipe.RecomputeSelective
		}),
		field{
			key: p + "pipeline_parallel_split_points", from: []string{flat(knob.Split), flat(knob.VPP)},
			read: beyond("", "", "stages by names of layers are not read", "").read,
		},
		together(p+"pipeline_parallel_microbatches", "mbs", "microbatches"),
		turns("float8.enable_float8_linear", knob.Precision, string(recipe.FP8), nil),
		joint("compile.enable", []knob.ID{"tp-overlap"}, func(s *engine.Setup) (any, bool) {
			return s.TPOverlap == recipe.AsyncTP, true
		}),
	)
	f := form{
		id: "torchtitan-toml", file: "torchtitan.toml", rows: rows, parse: parseTOML, render: tomlText,
		leaves: titanLeaves(),
	}
	f.leaves = append(f.leaves,
		lack{
			flat(knob.SP), "without effect with tp 1",
			func(s *engine.Setup) bool { return s.TP == 1 && s.SP },
		})
	f.assumed = titanMain().assumed[1:]
	f.rename, f.finish = titanOldKeys(), finishTitanTOML
	return f
}

// titanOldKeys returns today's keys by those of 2024 (pytorch/torchtitan@238fa995:
// torchtitan/config_manager.py).
func titanOldKeys() map[string]string {
	out := map[string]string{
		"training.data_parallel_degree": "parallelism.data_parallel_shard_degree",
		"training.enable_float8_linear": "float8.enable_float8_linear",
	}
	for key := range strings.FieldsSeq("data_parallel_shard_degree data_parallel_replicate_degree " +
		"tensor_parallel_degree") {
		out["training."+key] = "parallelism." + key
	}
	for key := range strings.FieldsSeq("pipeline_parallel_degree pipeline_parallel_schedule " +
		"pipeline_parallel_microbatches pipeline_parallel_split_points context_parallel_degree " +
		"enable_async_tensor_parallel") {
		out["experimental."+key] = "parallelism." + key
	}
	return out
}

// readConverters reads which products run in fp8.
func readConverters(v any, r *reader) error {
	list, _ := v.([]any)
	for _, c := range list {
		if c != "float8" {
			return fmt.Errorf("%s is no converter that is known here", shown(c))
		}
		r.Setup[flat(knob.Precision)] = string(recipe.FP8)
	}
	return nil
}

func finishTitanTOML(r *reader) {
	for _, f := range flavors() {
		if r.values["model.name"].Value == f.folder && r.values["model.flavor"].Value == f.name {
			r.Setup["model"] = f.model
		}
	}
	if _, known := r.Setup["model"]; !known {
		r.unknown("model", fmt.Sprintf("model.flavor: %s %s is no flavour of a published model",
			shown(r.values["model.name"].Value), shown(r.values["model.flavor"].Value)),
			r.values["model.flavor"].Line)
	}
	if list, _ := r.values["model.converters"].Value.([]any); len(list) > 0 && list[0] == "float8" {
		r.Setup[flat(knob.Precision)] = string(recipe.FP8)
	}
	r.without("torchtitan", map[string]any{"tp": 1, "pp": 1, "cp": 1, "ep": 1})
	pipeline := r.readTitan("parallelism.")
	if r.Setup[flat(knob.ZeRO)] != 0 {
		r.assume(flat(knob.Precision), string(recipe.BF16), "torchtitan's default of FSDP")
	}
	if e, said := r.values["activation_checkpoint.selective_ac_option"]; e.Value != "op" &&
		r.Setup[flat(knob.Recompute)] == string(recipe.RecomputeSelective) {
		why := "activation_checkpoint.selective_ac_option: 2, the default: every second layer is recomputed"
		if said {
			why = fmt.Sprintf("activation_checkpoint.selective_ac_option: %s: only \"op\" is modelled",
				shown(e.Value))
		}
		r.lost[flat(knob.Recompute)] = true
		r.unknown(flat(knob.Recompute), why, e.Line)
		r.guess(flat(knob.Recompute), string(recipe.RecomputeSelective))
	}
	r.assume(flat(knob.SP), r.number("tp", 1) > 1, "with tp the sequence is sharded")
	if r.values["parallelism.enable_async_tensor_parallel"].Value == true {
		r.Setup["tp_overlap"] = string(recipe.AsyncTP)
	}
	const key, old = "training.local_batch_size", "training.batch_size"
	local, gbs := r.whole(key, 1, r.whole(old, 1, 8)), max(r.whole("training.global_batch_size", -1, -1), 0)
	if !pipeline {
		r.readBatch(local, 1, gbs, "training.global_batch_size")
		return
	}
	mbs := r.whole("parallelism.pipeline_parallel_microbatch_size", 1, 1)
	if r.said(old) {
		mbs = max(1, local/r.whole("parallelism.pipeline_parallel_microbatches", 1, r.number("pp", 1)))
	}
	if local%mbs != 0 {
		r.wrongf(key, "%d sequences are no multiple of the micro-batch size %d", local, mbs)
		return
	}
	r.readBatch(mbs, local/mbs, gbs, key)
}
