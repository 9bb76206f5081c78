package launch

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// titanParallel returns the keys of ParallelismConfig, which both versions have.
func titanParallel(prefix string) []field {
	pipelined := func(s *engine.Setup) bool { return s.PP > 1 }
	rows := []field{
		joint(prefix+"data_parallel_replicate_degree", []knob.ID{knob.HSDP, knob.DP},
			ofAll(func(s *engine.Setup) int { n, _ := shards(s); return n })),
		joint(prefix+"data_parallel_shard_degree", []knob.ID{knob.DP, knob.ZeRO, knob.GPUs},
			ofAll(func(s *engine.Setup) int { _, n := shards(s); return n })),
		joint(prefix+"fsdp_reshard_after_forward", []knob.ID{knob.ZeRO}, func(s *engine.Setup) (any, bool) {
			if s.ZeRO == 2 {
				return "never", true
			}
			return "always", s.ZeRO == 3 // default keeps them gathered under a pipeline
		}),
		countField(prefix+"tensor_parallel_degree", knob.TP, func(s *engine.Setup) int { return s.TP }),
		countField(prefix+"pipeline_parallel_degree", knob.PP, func(s *engine.Setup) int { return s.PP }),
		joint(prefix+"pipeline_parallel_schedule", []knob.ID{knob.Schedule, knob.VPP},
			func(s *engine.Setup) (any, bool) {
				of, ok := titanScheduleOf(s.Schedule)
				return of.class, ok
			}),
		joint(prefix+"pipeline_parallel_layers_per_stage", []knob.ID{knob.VPP, knob.Split},
			func(s *engine.Setup) (any, bool) { c := titanCutOf(s); return c.perStage, c.perStage > 0 }),
		joint(prefix+"module_fqns_per_model_part", []knob.ID{knob.VPP, knob.Split},
			func(s *engine.Setup) (any, bool) {
				c := titanCutOf(s)
				return c.modules, c.modules != nil
			}).only(pipelined),
		joint(prefix+"pipeline_parallel_first_stage_less_layers", []knob.ID{knob.Split},
			func(s *engine.Setup) (any, bool) { c := titanCutOf(s); return c.first, c.first != 1 }),
		joint(prefix+"pipeline_parallel_last_stage_less_layers", []knob.ID{knob.Split},
			func(s *engine.Setup) (any, bool) { c := titanCutOf(s); return c.last, c.last != 1 }),
		countField(prefix+"context_parallel_degree", knob.CP, func(s *engine.Setup) int { return s.CP }),
		countField(prefix+"expert_parallel_degree", knob.EP, func(s *engine.Setup) int { return s.EP }),
	}
	return rows
}

// titanMixed returns the key of the number format of products.
func titanMixed(key string) field {
	return words(key, knob.Precision, pair{"bf16", "bfloat16"}, pair{"fp8", "bfloat16"},
		pair{"fp32", "float32"})
}

// titanWeights returns the key of the number format of weights, gradients and moments.
func titanWeights(key string) field {
	f := words(key, knob.WeightDtype, pair{"fp32", "float32"}, pair{"bf16", "bfloat16"})
	f.from = append(f.from, flat(knob.Precision), flat(knob.GradDtype), flat(knob.Optimizer))
	return f
}

// titanMain returns the file of main: a module with one recipe function.
func titanMain() form {
	const p, training = "p.", "config.training."
	rows := []field{
		{key: "recipe", from: []string{"model"}, write: func(s *engine.Setup) (any, bool) {
			f, _ := flavorOf(&s.Model)
			return f.folder + "." + f.recipe, true
		}, read: func(v any, r *reader) error {
			for _, f := range flavors() {
				if v == f.folder+"."+f.recipe {
					r.Setup["model"] = f.model
					return nil
				}
			}
			return fmt.Errorf("%s is no recipe function of a model that is known here", shown(v))
		}},
	}
	rows = append(rows,
		field{key: "def", write: func(s *engine.Setup) (any, bool) { return titanRun(s), true }})
	rows = append(rows, titanParallel(p)...)
	rows = append(rows,
		words(p+"enable_sequence_parallel", knob.SP, pair{"on", true}, pair{"off", false}),
		joint(p+"num_pp_microbatches", []knob.ID{knob.MicroBatches},
			ofAll(func(s *engine.Setup) int { return s.MicroBatches })).only(func(s *engine.Setup) bool {
			return s.PP > 1
		}),
		joint(training+"num_tokens_per_microbatch_per_dp_rank", []knob.ID{knob.MBS, knob.Seq},
			ofAll(func(s *engine.Setup) int { return s.MBS * s.Seq })),
		joint(training+"num_tokens_per_train_step", []knob.ID{knob.GBS, knob.MicroBatches, knob.Seq},
			ofAll(func(s *engine.Setup) int { return s.GBS * s.Seq })),
		countField(training+"max_context_length", knob.Seq, func(s *engine.Setup) int { return s.Seq }),
		titanMixed(training+"mixed_precision_param"),
		titanWeights(training+"dtype"),
		unwritten(training+"enable_cpu_offload", false, "weights, gradients and optimizer stay on the GPU"),
		unwritten(training+"mixed_precision_reduce", "float32", "gradients are summed in fp32"),
		same(training+"disable_cuda_graphs", true,
			"what is predicted; expert parallelism waits for the host"),
		words("config.activation_checkpoint", knob.Recompute, pair{"none", nil},
			pair{"selective", call("SelectiveAC.Config()")}, pair{"full", call("FullAC.Config()")}),
	)
	f := form{
		id: "torchtitan", file: "my_runs.py", rows: rows, parse: parseRecipe, render: recipeText,
		leaves: titanLeaves(),
	}
	f.assumed = []assumed{
		{knob.ETP, 1, "main has no tensor parallelism of experts"},
		{knob.Calibration, string(recipe.TorchTitan), "the software that reads the file"},
		{knob.Optimizer, string(recipe.Adam), "torchtitan's AdamW"},
		{knob.GradDtype, string(recipe.GradFP32), "the format of the weights"},
		{knob.MTP, false, "no multi-token prediction"},
		{knob.Attention, string(recipe.Flash), "scores are never stored"},
		{knob.Offload, string(recipe.OffloadNone), "the optimizer stays on the GPU"},
		{"offload-layers", 0, "activations stay on the GPU"},
	}
	f.finish = finishTitanMain
	return f
}

// titanRun returns the name of the recipe function of a setup.
func titanRun(s *engine.Setup) string {
	f, _ := flavorOf(&s.Model)
	return fmt.Sprintf("%s_tp%d_pp%d_dp%d", f.recipe, s.TP, s.PP, s.DP)
}

// titanLeaves returns the knobs that neither version's file has, and where they are.
func titanLeaves() []lack {
	rows := slices.DeleteFunc(startedAs(recipe.TorchTitan),
		func(l lack) bool { return l.key == flat(knob.WeightDtype) })
	rows = append(rows, ownDefaults()...)
	rows = append(rows, stays("in the recipe: a cross-entropy in chunks, or compiled", nil, knob.Loss)...)
	return append(rows,
		lack{
			flat(knob.GroupSize),
			"without effect where no micro-batches are grouped, and given by pp where they divide",
			func(s *engine.Setup) bool {
				return s.GroupSize != 0 && (!interleaves(s) || s.MicroBatches%s.PP == 0)
			},
		},
		lack{
			flat(knob.Split), "the balanced split, which no word is needed for",
			func(s *engine.Setup) bool { return s.Split != "" && s.Split == balancedSplit(s) },
		})
}

func (r *reader) modelLayers() int {
	id, _ := r.Setup["model"].(string)
	if m, err := presets.Default().Model(id); err == nil {
		return m.Layers
	}
	return 0
}

// readTitan reads what both versions say together: sharding, schedule and stages. It reports
// whether there is a pipeline.
func (r *reader) readTitan(prefix string) (pipeline bool) {
	r.readShards(prefix+"data_parallel_replicate_degree", prefix+"data_parallel_shard_degree",
		prefix+"fsdp_reshard_after_forward", -1)
	pp := r.number("pp", 1)
	class := "1F1B"
	if e, ok := r.values[prefix+"pipeline_parallel_schedule"]; ok {
		class, _ = e.Value.(string)
	}
	for _, s := range titanSchedules() {
		if strings.EqualFold(s.class, class) {
			r.Setup[flat(knob.Schedule)] = "1f1b"
			if r.Setup[flat(knob.VPP)] = 1; pp > 1 {
				r.Setup[flat(knob.Schedule)] = string(s.kind)
				r.readCut(prefix, r.modelLayers(), pp, s.multi)
			}
			return pp > 1
		}
	}
	if e := r.values[prefix+"pipeline_parallel_schedule"]; pp > 1 {
		r.wrongf(e.Key, "%s is no schedule that is known here", shown(e.Value))
	}
	return pp > 1
}

// readGroups gives an interleaved schedule the size of its groups where it is not pp.
func (r *reader) readGroups() {
	m, pp := r.number("microbatches", 1), r.number("pp", 1)
	if k := r.Setup[flat(knob.Schedule)]; pp > 1 && (k == "interleaved" || k == "interleaved-zb") &&
		m%pp != 0 && m%max(1, m/pp) == 0 {
		r.Setup[flat(knob.GroupSize)] = m / max(1, m/pp)
	}
}

// readBatch sets micro-batch size, micro-batches and global batch: perPass micro-batches go
// through the pipeline together, passes of them make a step.
func (r *reader) readBatch(mbs, perPass, gbs int, passKey string) {
	r.Setup[flat(knob.MBS)] = mbs
	dp, known := r.Setup[flat(knob.DP)].(int)
	if !known {
		if gbs > 0 {
			r.Setup[flat(knob.GBS)] = gbs
		} else { // one pass of all, times dp
			r.Setup[flat(knob.MicroBatches)] = perPass
		}
		return
	}
	one := times(mbs, perPass, dp)
	if gbs <= 0 {
		gbs = one
	}
	if gbs%one != 0 {
		r.wrongf(passKey,
			"the global batch of %d sequences is no multiple of %d (micro-batch %d x %d x dp %d)", gbs, one,
			mbs, perPass, dp)
		return
	}
	if passes := gbs / one; passes > 1 && r.number("pp", 1) > 1 {
		r.wrongf(passKey, "%d passes of %d micro-batches through the pipeline per step: read as one pass "+
			"of all, which has a smaller bubble", passes, perPass)
	}
	r.Setup[flat(knob.MicroBatches)] = gbs / times(mbs, dp)
	r.Setup[flat(knob.GBS)] = gbs
	r.readGroups()
}

// times multiplies positive numbers and stops at maxWhole, which no batch has.
func times(factors ...int) int {
	product := 1
	for _, f := range factors {
		if f > 0 && product > maxWhole/f {
			return maxWhole
		}
		product *= max(f, 1)
	}
	return product
}

func finishTitanMain(r *reader) {
	const training = "config.training."
	if v, ok := r.values[training+"mixed_precision_param"]; ok && v.Value == "bfloat16" &&
		r.Setup["model"] == "llama3.1-405b" {
		r.Setup[flat(knob.Precision)] = "fp8" // its recipe's converters
	}
	for _, f := range flavors() {
		if _, said := r.values["config.activation_checkpoint"]; !said && f.recompute != "" &&
			r.Setup["model"] == f.model {
			r.assume(flat(knob.Recompute), string(f.recompute), "what the recipe sets")
		}
	}
	pipeline := r.readTitan("p.")
	perPass := 1
	if pipeline {
		perPass = r.whole("p.num_pp_microbatches", 1, 1)
	}
	seq, tokens := r.whole(training+"max_context_length", 1, 0),
		r.whole(training+"num_tokens_per_microbatch_per_dp_rank", 1, 0)
	if seq == 0 || tokens == 0 {
		return // what the recipe has
	}
	step := r.whole(training+"num_tokens_per_train_step", -1, -1)
	if tokens%seq != 0 || step > 0 && step%seq != 0 {
		r.wrongf(training+"max_context_length",
			"%d tokens a micro-batch and %d a step are no whole sequences of %d", tokens, step, seq)
		return
	}
	r.readBatch(tokens/seq, perPass, max(step, 0)/seq, training+"num_tokens_per_train_step")
}
