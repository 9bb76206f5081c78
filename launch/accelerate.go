package launch

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

const accelerateSource = "huggingface/accelerate@16cb6eb8"

// accelerate returns Hugging Face's accelerate and its YAML file.
func accelerate() Launcher {
	return Launcher{
		ID: "accelerate", Name: "accelerate", Version: "main of 2026", Source: accelerateSource,
		rules: accelerateRules(),
		export: func(s *engine.Setup) Document {
			f := accelerateFile(false)
			d := f.document(s)
			d.Starter = `accelerate launch --config_file accelerate.yaml --main_process_ip "$MASTER_ADDR"`
			d.Program = "YOUR_SCRIPT.py"
			if s.Model.IsMoE() {
				d.Warnings = append(d.Warnings, "every rank gathers all experts of a layer")
			}
			return d
		},
		sniff: keyed(".yaml", parseYAML, "distributed_type", "compute_environment"),
		read:  readsWith(func() form { return accelerateFile(false) }),
	}
}

// accelerateDeepSpeed returns accelerate with DeepSpeed in its file, in place of FSDP.
func accelerateDeepSpeed() Launcher {
	l := accelerate()
	const plugin = accelerateSource + ": src/accelerate/utils/dataclasses.py, DeepSpeedPlugin"
	l.ID, l.Name = "accelerate-deepspeed", "accelerate with DeepSpeed"
	l.rules = slices.DeleteFunc(l.rules, func(r Rule) bool {
		return slices.Contains([]string{
			"sp", "replicas", "recompute", "zero", "ddp", "hsdp", "offload",
			"offload-weights", "offload-nvme", ringID,
		},
			r.ID)
	})
	l.rules = append(l.rules,
		refuses("tp", knob.TP, plugin, "it has none", func(s *engine.Setup) bool { return s.TP > 1 }),
		refuses("cp", knob.CP, plugin, "its sp_size is Ulysses, not a ring: cp-comm a2a",
			func(s *engine.Setup) bool { return s.CP > 1 && !s.SharesHeads() }),
		refuses("hsdp", knob.HSDP, plugin, "it has no replicas of shards",
			func(s *engine.Setup) bool { return s.Replicas() > 1 }),
		refuses("offload-zero", knob.Offload, plugin, "offload_optimizer_device needs zero 1 or more",
			func(s *engine.Setup) bool { return s.Offload.Optimizer() && s.ZeRO == 0 }),
		refuses("offload-param", knob.Offload, plugin, "offload_param_device needs zero 3",
			func(s *engine.Setup) bool { return s.Offload.Weights() && s.ZeRO != 3 }))
	export := l.export
	l.export = func(s *engine.Setup) Document {
		f := accelerateFile(true)
		d := export(s)
		d.Entries, d.NotCarried, d.Warnings = written(f.rows, s), notCarried(f.leaves, s), nil
		return d
	}
	l.sniff = func(name string, data []byte) bool {
		return accelerate().sniff(name, data) && plugged.Match(data)
	}
	l.read = readsWith(func() form { return accelerateFile(true) })
	return l
}

// plugged finds DeepSpeed in the file of accelerate.
var plugged = regexp.MustCompile(`(?m)^distributed_type:\s*["']?DEEPSPEED\b`)

// accelerateRules returns what accelerate's file cannot ask for.
func accelerateRules() []Rule {
	const config = accelerateSource + ": src/accelerate/parallelism_config.py:70-84"
	rules := noPipeline(config, "it has no pipeline parallelism for training")
	rules = append(rules,
		refuses("experts", knob.EP, config,
			"it has no expert parallelism: FSDP gathers every expert of a layer",
			func(s *engine.Setup) bool { return s.EP > 1 }),
		refuses("expert-tp", knob.ETP, config, "it has no expert parallelism",
			func(s *engine.Setup) bool { return s.ETP > 1 }),
		refuses("sp", knob.SP, config, "tp_size shards products alone; its sp_size is Ulysses: sp off",
			func(s *engine.Setup) bool { return s.SP && s.TP > 1 }),
		refuses("replicas", knob.HSDP, accelerateSource+": src/accelerate/parallelism_config.py:290-330",
			"tp or cp with dp_replicate_size over 1 needs dp_shard_size over 1",
			func(s *engine.Setup) bool {
				replicas, shard := shards(s)
				return s.ZeRO > 0 && replicas > 1 && shard == 1 && (s.TP > 1 || s.CP > 1)
			}),
		onlyRing(config, "cp_size is a ring of FSDP2"),
		wholeLayers(accelerateSource+": fsdp_activation_checkpointing", recipe.RecomputeNone,
			recipe.RecomputeFull),
	)
	rules = append(rules, fsdpRules(accelerateSource+": src/accelerate/parallelism_config.py:290-330; "+
		"utils/dataclasses.py, FullyShardedDataParallelPlugin")...)
	rules = append(rules, unless(noHostMemory(accelerateSource,
		"fsdp_offload_params moves weights and gradients to the host too, not the optimizer alone"),
		"offload-weights", "fsdp_offload_params needs FSDP: zero 2 or 3",
		func(s *engine.Setup) bool { return s.ZeRO >= 2 })...)
	return append(rules, append(outsideSearch(
		oneOf(knob.Precision, accelerateSource, "mixed_precision", func(s *engine.Setup) recipe.Precision {
			return s.Precision
		}, recipe.BF16, recipe.FP16, recipe.FP32),
		refuses("mtp", knob.MTP, accelerateSource, "the file knows no module of multi-token prediction",
			func(s *engine.Setup) bool { return s.TrainMTP }),
	), softwareRules(accelerateSource, nil)...)...)
}

// accelerateFile returns the keys of accelerate's YAML file, with the keys of FSDP or of DeepSpeed.
func accelerateFile(plugged bool) form {
	const mesh, fixed = "parallelism_config.parallelism_config_", "the same for every layout"
	const plugin = "deepspeed_config."
	sharded := func(s *engine.Setup) bool { return s.ZeRO > 0 && !plugged }
	plugs := func(*engine.Setup) bool { return plugged }
	meshed := func(s *engine.Setup) bool { return !plugged && meshed(s) }
	plugUlysses := func(s *engine.Setup) bool { return plugged && s.SharesHeads() }
	f := form{
		id:   map[bool]string{true: "accelerate-deepspeed", false: "accelerate"}[plugged],
		file: "accelerate.yaml", parse: parseYAML, render: yamlText, finish: func(r *reader) {
			finishAccelerate(r)
			r.runsOn(r.values["distributed_type"].Value == "DEEPSPEED",
				r.values["fsdp_config.fsdp_version"].Value == 2 || meshedFile(r))
		},
	}
	f.rows = []field{
		same("compute_environment", "LOCAL_MACHINE", fixed),
		same("debug", false, fixed),
		joint("distributed_type", []knob.ID{knob.ZeRO}, func(s *engine.Setup) (any, bool) {
			switch {
			case plugged:
				return "DEEPSPEED", true
			case sharded(s):
				return "FSDP", true
			}
			return "MULTI_GPU", true
		}),
		words("mixed_precision", knob.Precision, pair{"bf16", "bf16"}, pair{"fp16", "fp16"},
			pair{"fp32", "no"}),
		same("fsdp_config.fsdp_version", 2, "with a mesh of parallel dimensions").only(sharded),
		joint("fsdp_config.fsdp_reshard_after_forward", []knob.ID{knob.ZeRO},
			func(s *engine.Setup) (any, bool) { return s.ZeRO == 3, true }).only(sharded),
		same("fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP", fixed).only(sharded),
		words("fsdp_config.fsdp_activation_checkpointing", knob.Recompute, pair{"none", false},
			pair{"full", true}).only(sharded),
		hostParams().only(sharded),
		{
			key: "fsdp_config.fsdp_sharding_strategy", from: []string{flat(knob.ZeRO), flat(knob.HSDP)},
			read: part,
		},
		words(plugin+"zero_stage", knob.ZeRO, pair{"0", 0}, pair{"1", 1}, pair{"2", 2},
			pair{"3", 3}).only(plugs),
		countField(plugin+"gradient_accumulation_steps", knob.MicroBatches,
			func(s *engine.Setup) int { return s.MicroBatches }).only(plugs),
		words(plugin+"offload_optimizer_device", knob.Offload, pair{"none", "none"}, pair{"optimizer", "cpu"},
			pair{"optimizer-nvme", "nvme"}, pair{"weights", "cpu"}, pair{"weights-nvme", "nvme"}).only(plugs),
		weightsDevice(plugin + "offload_param_device").only(plugs),
		drivePath(plugin+"offload_optimizer_nvme_path", recipe.Offload.Optimizer).only(plugs),
		drivePath(plugin+"offload_param_nvme_path", recipe.Offload.Weights).only(plugs),
		same(plugin+"zero3_init_flag", true,
			"weights are made in their shards").only(func(s *engine.Setup) bool {
			return plugged && s.ZeRO == 3
		}),
		same("fsdp_config.fsdp_cpu_ram_efficient_loading", true, fixed).only(sharded),
		same("fsdp_config.fsdp_state_dict_type", "SHARDED_STATE_DICT", fixed).only(sharded),
		joint(mesh+"dp_replicate_size", []knob.ID{knob.HSDP, knob.DP},
			ofAll(func(s *engine.Setup) int { n, _ := shards(s); return n })).only(sharded),
		joint(mesh+"dp_shard_size", []knob.ID{knob.DP, knob.ZeRO},
			ofAll(func(s *engine.Setup) int { _, n := shards(s); return n })).only(sharded),
		countField(mesh+"tp_size", knob.TP, func(s *engine.Setup) int { return s.TP }).only(meshed),
		countField(mesh+"cp_size", knob.CP, func(s *engine.Setup) int { return s.CP }).only(meshed),
		ulysses(mesh + "sp_size").only(plugs),
		same(mesh+"sp_backend", "deepspeed", "the one that there is").only(plugUlysses),
		{key: mesh + "cp_backend", from: []string{flat(knob.CPComm)}, read: readBackend},
		joint("num_machines", []knob.ID{knob.Nodes}, ofAll(func(s *engine.Setup) int { return s.Nodes() })),
		countField("num_processes", knob.GPUs, func(s *engine.Setup) int { return s.GPUs }),
		yours("machine_rank", 0, "the number of this machine, from 0"),
		yours("main_process_ip", "MASTER_ADDR", "the first machine"),
		yours("main_process_port", 29500, "a free port of the first machine"),
		same("rdzv_backend", "c10d", fixed),
		same("same_network", true, fixed),
		same("main_training_function", "main", fixed),
		same("use_cpu", false, fixed),
	}
	f.assumed = []assumed{
		{knob.PP, 1, "accelerate has no pipeline"},
		{knob.VPP, 1, "accelerate has no pipeline"},
		{knob.Schedule, "1f1b", "accelerate has no pipeline"},
		{knob.EP, 1, "accelerate has no expert parallelism"},
		{knob.ETP, 1, "accelerate has no expert parallelism"},
		{knob.SP, false, "tp shards products alone"},
		// DeepSpeed's has a key
		{knob.Offload, string(recipe.OffloadNone), "the optimizer stays where the weights are"},
		{"offload-layers", 0, "it has none"},
		{knob.MTP, false, "the file knows none"},
	}
	f.leaves = append(startedAs(map[bool]recipe.Stack{
		true: recipe.DeepSpeed, false: recipe.Transformers,
	}[plugged]), ownDefaults()...)
	f.leaves = append(f.leaves, scriptLacks()...)
	f.leaves = append(f.leaves, stays("the script's DataLoader and gradient_accumulation_steps", nil,
		knob.MBS, knob.GBS, knob.Seq)...)
	if !plugged {
		f.leaves = append(f.leaves, stays("the script's DataLoader and gradient_accumulation_steps", nil,
			knob.MicroBatches)...)
	}
	f.leaves = append(f.leaves, stays("what the script's optimizer keeps", nil, knob.GradDtype)...)
	f.leaves = append(f.leaves, lack{
		flat(knob.Recompute), "without FSDP the code of the model recomputes",
		func(s *engine.Setup) bool { return s.ZeRO == 0 || plugged },
	})
	return f
}

// readBackend reads what exchanges the sequence, after the sizes of the mesh.
func readBackend(v any, r *reader) error {
	switch v = single(v); {
	case v != nil && v != "torch" && v != "deepspeed":
		return fmt.Errorf("given %s, allowed are torch, deepspeed", shown(v))
	case r.number(flat(knob.CP), 1) == 1 && !r.lost[flat(knob.CP)]:
		return skip("no effect at cp 1")
	case v != "deepspeed":
		return skip("a ring")
	case r.values["distributed_type"].Value != "DEEPSPEED":
		return errors.New("deepspeed needs distributed_type DEEPSPEED: torch, a ring, or cp_size 1")
	}
	r.Setup[flat(knob.CPComm)] = string(recipe.Ulysses)
	return nil
}

// meshed reports whether the file has a mesh of parallel dimensions: one process and DDP have none.
func meshed(s *engine.Setup) bool { return s.ZeRO > 0 || s.TP > 1 || s.CP > 1 }

// meshedFile reports whether a file has a mesh of parallel dimensions, which FSDP2 alone takes.
func meshedFile(r *reader) bool {
	return slices.ContainsFunc(sortedKeys(r.values), func(key string) bool {
		return strings.HasPrefix(key, "parallelism_config.")
	})
}

// finishAccelerate reads what several keys mean together.
func finishAccelerate(r *reader) {
	const mesh = "parallelism_config.parallelism_config_"
	gpus := r.whole("num_processes", 1, 0)
	kind := r.values["distributed_type"]
	if kind.Key != "" && kind.Value != "FSDP" && kind.Value != "MULTI_GPU" && kind.Value != "NO" &&
		kind.Value != "DEEPSPEED" {
		r.lost[flat(knob.ZeRO)] = true
		r.unknown(flat(knob.ZeRO), shown(kind.Value)+": FSDP, DEEPSPEED and MULTI_GPU are understood",
			kind.Line)
		return
	}
	if kind.Value == "DEEPSPEED" {
		r.finishDeepSpeedPlugin(gpus)
		return
	}
	if version := r.values["fsdp_config.fsdp_version"]; kind.Value == "FSDP" &&
		(version.Key == "" || version.Value == 1) &&
		r.values["fsdp_config.fsdp_reshard_after_forward"].Value != true &&
		!r.said("parallelism_config.parallelism_config_dp_shard_size") {
		r.finishShards1(gpus)
		return
	}
	for _, d := range []knob.ID{knob.TP, knob.CP} {
		if _, said := r.Setup[flat(d)]; !said {
			r.assume(flat(d), 1, "accelerate's default")
		}
	}
	if r.values["distributed_type"].Value != "FSDP" {
		r.Setup[flat(knob.ZeRO)], r.Setup[flat(knob.HSDP)] = 0, 1
		r.onHostWithoutShards("fsdp_config.fsdp_offload_params")
		if rest := times(r.number("tp", 1), r.number("cp", 1)); gpus > 0 && gpus%rest == 0 {
			r.Setup[flat(knob.DP)] = gpus / rest
		}
		return
	}
	left := gpus / times(r.number("tp", 1), r.number("cp", 1), r.whole(mesh+"dp_replicate_size", 1, 1))
	if _, said := r.values[mesh+"dp_shard_size"]; !said && left > 0 {
		r.assume(flat(knob.DP), left, "num_processes over the other dimensions")
	}
	r.readShards(mesh+"dp_replicate_size", mesh+"dp_shard_size", "fsdp_config.fsdp_reshard_after_forward",
		max(left, 1))
	if product := times(r.number("dp", 1), r.number("tp", 1), r.number("cp", 1)); gpus > 0 &&
		product != gpus {
		r.wrongf("num_processes", "%s",
			fmt.Sprintf("dp_replicate x dp_shard x tp x cp = %d, not the %d processes", product, gpus))
		delete(r.Setup, flat(knob.GPUs))
	}
}

// hostParams is the row of weights, gradients and optimizer on the host.
func hostParams() field {
	return words("fsdp_config.fsdp_offload_params", knob.Offload, pair{"none", false}, pair{"weights", true},
		pair{"none", "false"}, pair{"weights", "true"})
}

// finishShards1 reads the words of FSDP 1, which accelerate takes where the file names no version.
func (r *reader) finishShards1(gpus int) {
	const strategy, replicas = "fsdp_config.fsdp_sharding_strategy", "num_machines"
	for _, d := range []knob.ID{knob.TP, knob.CP} {
		r.assume(flat(d), 1, "FSDP 1 has none")
	}
	if gpus > 0 {
		r.Setup[flat(knob.DP)] = gpus
	}
	e, said := r.values[strategy]
	stage, hybrid := 3, false
	switch word := strings.ToUpper(fmt.Sprint(e.Value)); {
	case !said, word == "FULL_SHARD", word == "1":
	case word == "SHARD_GRAD_OP", word == "2":
		stage = 2
	case word == "NO_SHARD", word == "3":
		stage = 0
	case word == "HYBRID_SHARD", word == "4":
		hybrid = true
	case word == "HYBRID_SHARD_ZERO2", word == "_HYBRID_SHARD_ZERO2", word == "5":
		stage, hybrid = 2, true
	default:
		r.lost[flat(knob.ZeRO)] = true
		r.unknown(flat(knob.ZeRO), shown(e.Value)+" is no strategy of FSDP 1", e.Line)
		return
	}
	if !said {
		r.assume(flat(knob.ZeRO), stage, "accelerate's default of FSDP 1: FULL_SHARD")
	}
	r.Setup[flat(knob.ZeRO)], r.Setup[flat(knob.HSDP)] = stage, 1
	if stage == 0 {
		r.onHostWithoutShards("fsdp_config.fsdp_offload_params")
	}
	// a node is a shard
	if machines := r.whole(replicas, 1, 1); hybrid && gpus > 0 && machines > 1 && gpus%machines == 0 {
		r.Setup[flat(knob.HSDP)] = machines
	}
}

// finishDeepSpeedPlugin reads DeepSpeed's keys in the file of accelerate.
func (r *reader) finishDeepSpeedPlugin(gpus int) {
	for _, d := range []knob.ID{knob.TP, knob.CP} {
		r.assume(flat(d), 1, "accelerate starts DeepSpeed without")
	}
	r.Setup[flat(knob.HSDP)] = 1
	if cp := r.number(flat(knob.CP), 1); gpus > 0 && !r.lost[flat(knob.DP)] {
		if r.Setup[flat(knob.DP)] = gpus / cp; gpus%cp != 0 {
			r.wrongf("num_processes", "%d is no multiple of sp_size %d", gpus, cp)
			delete(r.Setup, flat(knob.DP))
		}
	}
	if file, said := r.values["deepspeed_config.deepspeed_config_file"]; said {
		if name, _ := file.Value.(string); r.beside(deepSpeedFile(), name, append(plusPlusKeys(),
			flat(knob.ZeRO), flat(knob.Offload), flat(knob.Precision), flat(knob.MicroBatches))...) {
			return
		}
		r.lost[flat(knob.ZeRO)] = true
		r.unknown(flat(knob.ZeRO), shown(file.Value)+" says it, which is another file: import that one",
			file.Line)
		return
	}
	r.assume(flat(knob.ZeRO), 2, "accelerate's default of zero_stage")
	r.offGPU("deepspeed_config.offload_optimizer_device", "deepspeed_config.offload_param_device")
}

// weightsDevice returns the row of where the plugin keeps weights.
func weightsDevice(key string) field {
	return joint(key, []knob.ID{knob.Offload}, func(s *engine.Setup) (any, bool) {
		if s.Offload.Weights() {
			return hostDevice(s.Offload), true
		}
		return "none", true
	})
}
