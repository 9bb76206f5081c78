package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

const deepSpeedSource = "deepspeedai/DeepSpeed@edaa7221"

// deepSpeed returns DeepSpeed and its JSON file.
func deepSpeed() Launcher {
	return Launcher{
		ID: "deepspeed", Name: "DeepSpeed", Version: "0.19.6", Source: deepSpeedSource,
		rules: deepSpeedRules(),
		export: func(s *engine.Setup) Document {
			f := deepSpeedFile()
			d := f.document(s)
			d.Program = "YOUR_SCRIPT.py --deepspeed --deepspeed_config ds_config.json"
			if s.EP > 1 {
				d.Warnings = append(d.Warnings, "AutoEP takes DeepSeek-V3's experts without the bias that "+
					"balances them, and needs Transformers 5.0.0")
			}
			if s.SharesHeads() {
				d.Warnings = append(d.Warnings, "the script registers attention by heads: "+
					"UlyssesSPAttentionHF.register_with_transformers, or sp_size of accelerate")
			}
			for _, e := range d.Entries {
				if e.Site { // JSON has no comments
					d.Warnings = append(d.Warnings, e.Key+" is yours to set: "+e.Why)
				}
			}
			return d
		},
		sniff: keyed(".json", parseTemplate, "zero_optimization", "train_micro_batch_size_per_gpu",
			"train_batch_size"),
		read: readsWith(deepSpeedFile),
	}
}

// deepSpeedRules returns what a JSON file of DeepSpeed cannot ask for.
func deepSpeedRules() []Rule {
	const config, experts = deepSpeedSource + ": docs/_pages/config-json.md",
		deepSpeedSource + ": deepspeed/module_inject/auto_ep.py"
	rules := noPipeline(deepSpeedSource+": deepspeed/runtime/config.py:428-441, "+
		"runtime/pipe/engine.py:141-224",
		"stages come from PipelineModule in code: a block pipeline in JSON is read and does nothing")
	rules = append(rules,
		refuses("sequence", knob.CP, config,
			"sequence_parallel_size is Ulysses, which shares heads, not a ring: cp-comm a2a",
			func(s *engine.Setup) bool { return s.CP > 1 && !s.SharesHeads() }),
		refuses("sp", knob.SP, config, "AutoTP keeps what lies between its products whole: sp off",
			func(s *engine.Setup) bool { return s.SP && s.TP > 1 }),
		refuses("expert-tp", knob.ETP, experts, "AutoEP has expert_tensor_parallel_size 1 only",
			func(s *engine.Setup) bool { return s.ETP > 1 }),
		refuses("experts-tp", knob.TP, experts, "AutoEP is not combined with AutoTP: tp 1",
			func(s *engine.Setup) bool { return s.EP > 1 && s.TP > 1 }),
		refuses("experts", knob.EP, experts,
			"AutoEP knows where the experts are in mixtral, qwen3_moe, deepseek_v2 and deepseek_v3 only",
			func(s *engine.Setup) bool { return s.EP > 1 && expertPreset(&s.Model) == "" }),
		refuses("hsdp", knob.HSDP, config, "replicas of shards are MiCS, with zero 3 only",
			func(s *engine.Setup) bool { return s.Replicas() > 1 && s.ZeRO != 3 }),
		refuses("offload-zero", knob.Offload, config, "offload_optimizer needs zero 1 or more",
			func(s *engine.Setup) bool { return s.Offload.Optimizer() && s.ZeRO == 0 }),
		refuses("offload-param", knob.Offload, config, "offload_param needs zero 3",
			func(s *engine.Setup) bool { return s.Offload.Weights() && s.ZeRO != 3 }),
		refuses("offload-activations", knob.Offload, config,
			"activations on the host are not written into its file",
			func(s *engine.Setup) bool { return s.Offload.Activations() }),
		refuses("offload-layers", "offload-layers", config,
			"it keeps no activations of layers in host memory",
			func(s *engine.Setup) bool { return s.OffloadLayers > 0 }),
	)
	return append(rules, append(outsideSearch(
		oneOf(knob.Precision, config, "bf16, fp16 or neither", func(s *engine.Setup) recipe.Precision {
			return s.Precision
		}, recipe.BF16, recipe.FP16, recipe.FP32),
		oneOf(knob.GradDtype, config, "data_types.grad_accum_dtype", func(s *engine.Setup) recipe.GradDtype {
			return s.GradDtype
		}, recipe.GradFP32, recipe.GradBF16),
		refuses("mtp", knob.MTP, config, "the JSON knows no module of multi-token prediction",
			func(s *engine.Setup) bool { return s.TrainMTP }),
	), softwareRules(config, map[string][]string{"dispatcher": {"alltoall"}})...)...)
}

// expertPreset returns AutoEP's name of a family of models; empty: it has none.
func expertPreset(m *model.Model) string {
	switch {
	case strings.HasPrefix(m.ID, "deepseek-v2"):
		return "deepseek_v2"
	case m.Family == "DeepSeek", m.Family == "Kimi":
		return "deepseek_v3"
	case m.Family == "Mixtral" || strings.HasPrefix(m.ID, "mixtral"):
		return "mixtral"
	case m.Family == "Qwen3":
		return "qwen3_moe"
	}
	return ""
}

// tensorPreset returns AutoTP's name of a family of models; empty: it finds the products itself.
func tensorPreset(m *model.Model) string {
	switch {
	case strings.HasPrefix(m.Family, "Llama"):
		return "llama"
	case strings.HasPrefix(m.Family, "Qwen2"):
		return "qwen2"
	case m.Family == "BLOOM":
		return "bloom"
	case strings.HasPrefix(m.ID, "mixtral"):
		return "mixtral"
	case strings.HasPrefix(m.ID, "deepseek-v2"):
		return "deepseek_v2"
	}
	return ""
}

// deepSpeedFile returns the keys of DeepSpeed's JSON file.
func deepSpeedFile() form {
	tensor := func(s *engine.Setup) bool { return s.TP > 1 }
	experts := func(s *engine.Setup) bool { return s.EP > 1 }
	has := func(want recipe.Precision) func(*engine.Setup) (any, bool) {
		return func(s *engine.Setup) (any, bool) { return true, s.Precision == want }
	}
	const gather = "the default that most configurations have: no knob"
	f := form{
		id: "deepspeed", file: "ds_config.json", parse: parseTemplate, render: jsonText,
		finish: func(r *reader) {
			finishDeepSpeed(r)
			r.runsOn(true, false)
		},
	}
	f.rows = []field{
		joint("train_batch_size", []knob.ID{knob.GBS, knob.DP, knob.GPUs},
			ofAll(func(s *engine.Setup) int { return s.GBS })),
		countField("train_micro_batch_size_per_gpu", knob.MBS, func(s *engine.Setup) int { return s.MBS }),
		countField("gradient_accumulation_steps", knob.MicroBatches,
			func(s *engine.Setup) int { return s.MicroBatches }),
		joint("bf16.enabled", []knob.ID{knob.Precision}, has(recipe.BF16)),
		joint("fp16.enabled", []knob.ID{knob.Precision}, has(recipe.FP16)),
		words("data_types.grad_accum_dtype", knob.GradDtype, pair{"fp32", "fp32"}, pair{"bf16", "bf16"}),
		words("zero_optimization.stage", knob.ZeRO, pair{"0", 0}, pair{"1", 1}, pair{"2", 2}, pair{"3", 3}),
		same("zero_optimization.overlap_comm", true, gather),
		same("zero_optimization.contiguous_gradients", true, gather),
		joint("zero_optimization.offload_optimizer.device", []knob.ID{knob.Offload},
			func(s *engine.Setup) (any, bool) { return hostDevice(s.Offload), s.Offload.Optimizer() }),
		joint("zero_optimization.offload_param.device", []knob.ID{knob.Offload},
			func(s *engine.Setup) (any, bool) { return hostDevice(s.Offload), s.Offload.Weights() }),
		drivePath("zero_optimization.offload_optimizer.nvme_path", recipe.Offload.Optimizer),
		drivePath("zero_optimization.offload_param.nvme_path", recipe.Offload.Weights),
		swaps("zero_optimization.offload_optimizer.buffer_count", 4),
		swaps("zero_optimization.offload_optimizer.pipeline_read", false),
		swaps("zero_optimization.offload_optimizer.pipeline_write", false),
		swaps("zero_optimization.offload_param.buffer_count", 5),
		swaps("zero_optimization.offload_param.buffer_size", 100_000_000),
		swaps("zero_optimization.offload_param.max_in_cpu", 1_000_000_000),
		swaps("zero_optimization.sub_group_size", 1_000_000_000),
		joint("zero_optimization.mics_shard_size", []knob.ID{knob.HSDP}, func(s *engine.Setup) (any, bool) {
			return s.DP / s.Replicas(), s.Replicas() > 1
		}),
		countField("tensor_parallel.autotp_size", knob.TP,
			func(s *engine.Setup) int { return s.TP }).only(tensor),
		field{
			key: "tensor_parallel.preset_model", why: "of the script's model",
			write: func(s *engine.Setup) (any, bool) {
				p := tensorPreset(&s.Model)
				return p, p != ""
			},
		}.only(tensor),
		field{key: "expert_parallel.enabled", why: "with ep over 1", write: func(*engine.Setup) (any, bool) {
			return true, true
		}}.only(experts),
		countField("expert_parallel.autoep_size", knob.EP,
			func(s *engine.Setup) int { return s.EP }).only(experts),
		field{
			key: "expert_parallel.preset_model", why: "of the script's model",
			write: func(s *engine.Setup) (any, bool) { return expertPreset(&s.Model), true },
		}.only(experts),
		same("gradient_clipping", 1.0, "of the training recipe, no knob"),
		same("activation_checkpointing.partition_activations", false, "of the script's model"),
		same("steps_per_print", 10, "a line for each ten steps"),
		words("optimizer.type", knob.Optimizer, pair{"adam", "AdamW"}, pair{"adam", "Adam"},
			pair{"adam", "FusedAdam"}, pair{"adam", "DeepSpeedCPUAdam"}).unwritten(),
		secondCopies("zero_optimization.zero_hpz_partition_size"),
		plusPlus("zero_optimization.zero_quantized_weights", knob.QWZ,
			func(s *engine.Setup) bool { return s.QWZ }),
		plusPlus("zero_optimization.zero_quantized_gradients", knob.QGZ,
			func(s *engine.Setup) bool { return s.QGZ }),
		beyond("zero_optimization.zero_quantized_nontrainable_weights", flat(knob.QWZ),
			"frozen weights kept in int8 are not modelled"),
		beyond("zero_optimization.zeropp_loco_param", flat(knob.QGZ),
			"errors of int4 that are carried over (LoCo) are not modelled"),
		unwritten("expert_parallel.expert_tensor_parallel_size", 1, "the only value"),
		ulysses("sequence_parallel_size"),
		countField("data_parallel_size", knob.DP, func(s *engine.Setup) int { return s.DP }).
			only((*engine.Setup).SharesHeads),
		{key: "pipeline", why: "nothing reads its stages"},
		{key: "pipeline.stages", why: "without effect: nothing reads its stages"},
	}
	f.assumed = []assumed{
		{knob.PP, 1, "no JSON has a pipeline"},
		{knob.VPP, 1, "no JSON has a pipeline"},
		{knob.Schedule, "1f1b", "no JSON has a pipeline"},
		{knob.CP, 1, "DeepSpeed's default of sequence_parallel_size"},
		{knob.ETP, 1, "the only value"},
		{knob.SP, false, "AutoTP has none"},
		{"offload-layers", 0, "it has none"},
		{knob.MTP, false, "the JSON knows none"},
	}
	f.leaves = append(slices.DeleteFunc(startedAs(recipe.DeepSpeed), func(l lack) bool {
		return slices.Contains(plusPlusKeys(), l.key)
	}), ownDefaults()...)
	f.leaves = append(f.leaves, scriptLacks()...)
	f.leaves = append(f.leaves, stays("the data of the script", nil, knob.Seq)...)
	f.leaves = append(f.leaves,
		stays("the code of the model: gradient_checkpointing_enable() in Transformers", nil,
			knob.Recompute)...)
	return f
}

// secondCopies returns the row of ZeRO++'s second copy of the weights; a group of one rank has none.
func secondCopies(key string) field {
	return field{
		key: key, from: []string{flat(knob.HPZ)},
		write: func(s *engine.Setup) (any, bool) { return s.HPZ, s.HPZ > 0 },
		read: func(v any, r *reader) error {
			n, err := wholeNumber(v, 0)
			if err == nil && n < 2 {
				return skip("none")
			}
			if err == nil {
				r.Setup[flat(knob.HPZ)] = n
			}
			return err
		},
	}
}

// plusPlusKeys lists the knobs of ZeRO++.
func plusPlusKeys() []string { return flats([]knob.ID{knob.HPZ, knob.QWZ, knob.QGZ}) }

// plusPlus returns the row of a switch of ZeRO++.
func plusPlus(key string, id knob.ID, on func(*engine.Setup) bool) field {
	f := turns(key, id, true, nil)
	f.write = func(s *engine.Setup) (any, bool) { return true, on(s) }
	return f
}

// plusPlus leaves out what ZeRO++ changes of stage 3 where a file has another.
func (r *reader) plusPlus() {
	if r.number(flat(knob.ZeRO), 0) != 3 && !r.lost[flat(knob.ZeRO)] {
		for _, key := range plusPlusKeys() {
			delete(r.Setup, key)
		}
	}
}

// ulysses returns the row of the ranks that share a sequence, and attention by its heads.
func ulysses(key string) field {
	return field{
		key: key, from: flats([]knob.ID{knob.CP, knob.CPComm}), read: readUlysses,
		write: func(s *engine.Setup) (any, bool) { return s.CP, s.SharesHeads() },
	}
}

func readUlysses(v any, r *reader) error {
	n, err := wholeNumber(v, 1)
	if err == nil && n == 1 {
		return skip("one: no sequence parallelism")
	}
	ring := r.Setup[flat(knob.CPComm)] != string(recipe.Ulysses)
	if before := r.number(flat(knob.CP), 1); ring && before > 1 {
		return fmt.Errorf("%d next to a ring of %d: one of the two may be over 1", n, before)
	}
	if err == nil {
		r.Setup[flat(knob.CP)], r.Setup[flat(knob.CPComm)] = n, string(recipe.Ulysses)
	}
	return err
}

// finishDeepSpeed reads what several keys mean together.
func finishDeepSpeed(r *reader) {
	switch {
	case r.values["bf16.enabled"].Value == true && r.values["fp16.enabled"].Value == true:
		r.wrongf("fp16.enabled", "bf16 and fp16 at once: bf16 is read")
		fallthrough
	case r.values["bf16.enabled"].Value == true:
		r.Setup[flat(knob.Precision)] = string(recipe.BF16)
	case r.values["fp16.enabled"].Value == true:
		r.Setup[flat(knob.Precision)] = string(recipe.FP16)
	case !r.auto["bf16.enabled"] && !r.auto["fp16.enabled"]:
		r.assume(flat(knob.Precision), string(recipe.FP32), "neither bf16 nor fp16 is enabled")
	}
	for _, d := range []struct {
		key   string
		id    knob.ID
		value any
	}{
		{"tensor_parallel.autotp_size", knob.TP, 1},
		{"expert_parallel.autoep_size", knob.EP, 1},
		{"zero_optimization.stage", knob.ZeRO, 0},
	} {
		if !r.said(d.key) {
			r.assume(flat(d.id), d.value, "DeepSpeed's default of "+d.key)
		}
	}
	const offload = "zero_optimization.offload_optimizer.device"
	if !r.auto[offload] {
		r.Setup[flat(knob.Offload)] = string(recipe.OffloadNone)
	}
	if v, said := r.values[offload]; said && v.Value != "none" {
		r.Setup[flat(knob.Offload)] = string(recipe.OffloadOptimizer)
		switch v.Value {
		case onNVMe:
			r.Setup[flat(knob.Offload)] = string(recipe.OffloadOptimizerNVMe)
		case "cpu":
		default:
			r.wrongf(offload, "%s: read as the memory of the host", shown(v.Value))
		}
	}
	if r.Setup[flat(knob.HSDP)] = 1; r.number("zero", 0) == 3 {
		r.shard = r.whole("zero_optimization.mics_shard_size", -1, 0)
	}
	r.offGPU(offload, "zero_optimization.offload_param.device")
	r.plusPlus()
	r.deepSpeedBatch()
}

// deepSpeedBatch finds dp from the three figures of the batch.
func (r *reader) deepSpeedBatch() {
	const key = "train_batch_size"
	gbs, mbs, m := r.whole(key, 1, 0), r.whole("train_micro_batch_size_per_gpu", 1, 0),
		r.whole("gradient_accumulation_steps", 1, 0)
	if gbs > 0 {
		r.Setup[flat(knob.GBS)] = gbs
	}
	if gbs == 0 || mbs == 0 || m == 0 {
		return // the number of GPUs says the rest
	}
	one := times(mbs, m)
	if gbs%one != 0 {
		r.wrongf(key, "%d is no multiple of micro-batch %d x accumulation %d", gbs, mbs, m)
		delete(r.Setup, flat(knob.GBS))
		return
	}
	dp := gbs / one
	if given := r.whole("data_parallel_size", 1, dp); given != dp {
		r.wrongf(key, "%d is not micro-batch %d x accumulation %d x data_parallel_size %d", gbs, mbs, m,
			given)
		return
	}
	r.Setup[flat(knob.DP)] = dp
	if shard := r.shard; shard > 0 && shard < dp {
		if r.shard = 0; dp%shard != 0 {
			r.wrongf("zero_optimization.mics_shard_size", "%d does not divide dp %d", shard, dp)
			return
		}
		r.Setup[flat(knob.HSDP)] = dp / shard
	}
}

// scriptLacks returns what is in the script that a file of DeepSpeed or accelerate goes with.
func scriptLacks() []lack {
	rows := []lack{
		{"model", "the script makes the model", always},
		{flat(knob.SP), "without effect with tp 1", func(s *engine.Setup) bool { return s.SP }},
	}
	rows = append(rows, stays("the script makes the optimizer", nil, knob.Optimizer)...)
	rows = append(rows, stays("the code of the model", nil, knob.Attention, knob.Loss)...)
	return append(rows, stays("no pipeline", []string{"0", ""}, knob.GroupSize, knob.Split)...)
}

// placeholders finds what a script puts in for words of a template: ${zero_stage} or ZERO_STAGE without
// quotes.
var placeholders = regexp.MustCompile(`(:[ \t]*)\$?\{?([A-Za-z_]\w*)\}?([ \t]*[,}\r\n])`)

// parseTemplate reads the JSON of DeepSpeed, of which words may be put in by a script.
func parseTemplate(text []byte) ([]Entry, error) {
	return parseJSON(placeholders.ReplaceAllFunc(text, func(m []byte) []byte {
		p := placeholders.FindSubmatch(m)
		if word := string(p[2]); slices.Contains([]string{"true", "false", "null", "NaN", "Infinity"}, word) {
			return m
		}
		return fmt.Appendf(nil, "%s\"${%s}\"%s", p[1], p[2], p[3])
	}))
}
