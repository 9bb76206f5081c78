package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// megatronExport returns a setup as flags of Megatron-LM.
func megatronExport(s *engine.Setup) Document {
	d := Document{
		File: "megatron.sh", Entries: written(megatronFields(), s), Env: megatronEnv(s),
		NotCarried: notCarried(megatronLacks(), s), Program: `pretrain_gpt.py "${ARGS[@]}"`,
		render: shellText,
	}
	if cutOf(s).text != "" && s.TrainMTP && s.Model.MTPLayers > 0 {
		d.Warnings = append(d.Warnings, "multi-token prediction is counted on the last stage, also where "+
			"the layout gives it one before")
	}
	if s.Recompute.Has(recipe.ModuleAct) && !s.Recompute.Has(recipe.ModuleMLP) {
		d.Warnings = append(d.Warnings, "recompute module act: Megatron-LM's mlp recomputes the whole "+
			"dense MLP, of which the activation is counted here")
	}
	if s.Model.Flat() {
		d.Program = `pretrain_hybrid.py "${ARGS[@]}"`
	}
	if s.Model.Has(model.LetterDelta) {
		d.Warnings = append(d.Warnings, "rotary-percent and apply-layernorm-1p are not written, without "+
			"which another model may be trained: give them as the model's config.json says "+
			"(partial_rotary_factor; norms around 1)")
	}
	var unknown []string
	for _, f := range []struct {
		is   bool
		what string
	}{
		{unknownRoPE(s), "rotary-base is a placeholder (rope_theta)"},
		{unknownNorm(s), "norm-epsilon is a placeholder"},
		{unknownNorm(s) && knowsRoPE(s) && s.Model.RopeScaling == "", "RoPE is not scaled (rope_scaling)"},
	} {
		if f.is {
			unknown = append(unknown, f.what)
		}
	}
	if len(unknown) > 0 {
		d.Warnings = append(d.Warnings, strings.Join(unknown, "; ")+": another model may be trained, give "+
			"what the model's config.json has")
	}
	flagged := map[bool]string{true: "yarn", false: "llama3"}[s.Model.IsMLA()]
	if kind := s.Model.RopeScaling; kind != "" && kind != flagged {
		d.Warnings = append(d.Warnings, "scaling of RoPE ("+kind+") is not written, without which another "+
			"model may be trained: give it as the model's config.json does (rope_scaling)")
	}
	if fsdp(s) && (s.TP > 1 || s.CP > 1) && !blackwell(s) {
		d.Warnings = append(d.Warnings, "Megatron-FSDP wants CUDA_DEVICE_MAX_CONNECTIONS other than 1, tp "+
			"and cp want 1 before Blackwell (megatron/training/arguments.py:1443-1480): Megatron-LM warns, "+
			"too")
	}
	return d
}

// fsdp reports whether Megatron-LM runs a setup's ZeRO stage with Megatron-FSDP.
func fsdp(s *engine.Setup) bool { return s.ZeRO >= 2 }

func blackwell(s *engine.Setup) bool { return s.Cluster.GPU.Architecture == "Blackwell" }

// runs returns what the software stack of a setup is told to run, defaults included.
func runs(s *engine.Setup) recipe.Software {
	if c := s.Cluster.Calibration; c != nil {
		return c.For(s.Stack).Run(&s.Software)
	}
	return s.Software
}

// megatronEnv returns the variables that Megatron-LM or its kernels read.
func megatronEnv(s *engine.Setup) []Entry {
	const connections = "CUDA_DEVICE_MAX_CONNECTIONS"
	var env []Entry
	switch overlap := runs(s).EPOverlap == recipe.On; {
	case fsdp(s):
		env = append(env,
			Entry{
				Key: connections,
				Why: "Megatron-FSDP asserts that it is not 1 (megatron/training/arguments.py:1112-1190)",
			})
	case overlap && !blackwell(s):
		env = append(env, Entry{Key: connections, Value: 32, Why: "overlapped expert traffic wants more " +
			"than 1; with tp or cp, Megatron-LM leaves 1 or 32 to you " +
			"(megatron/training/arguments.py:1443-1480)"})
	case (s.TP > 1 || s.CP > 1) && !blackwell(s):
		env = append(env, Entry{Key: connections, Value: 1, Why: "asserted before Blackwell where tp or cp " +
			"is over 1 (megatron/training/arguments.py:1443-1480)"})
	}
	switch {
	case fusedMLP(s):
		env = append(env, Entry{
			Key: fusedVariable, Value: 1, From: []string{"grouped_mlp"},
			Why: "one kernel for the experts of a rank",
		})
	case s.Model.IsMoE() && s.GroupedMLP == recipe.GroupedLoop:
		env = append(env, Entry{
			Key: fusedVariable, Value: 0, From: []string{"grouped_mlp"},
			Why: "a product for each expert of a rank",
		})
	}
	return env
}

// fusedVariable says whether the MLPs of a rank's experts are one kernel.
const fusedVariable = "NVTE_CUTEDSL_FUSED_GROUPED_MLP"

func fusedMLP(s *engine.Setup) bool {
	return s.Model.IsMoE() && runs(s).GroupedMLP == recipe.GroupedFused
}

// megatronFields returns the flags of Megatron-LM, in an order in which each can rely on those
// above it when they are read.
func megatronFields() []field {
	return slices.Concat(megatronDegrees(), megatronShape(), megatronWindows(), megatronWords(),
		megatronExperts(), megatronHybrid(), megatronStages(),
		megatronSharding(), megatronRecompute(), megatronFormats(), megatronSoftware(), megatronForeign(),
		megatronFamily(), megatronTraining())
}

// megatronDegrees returns the flags of degrees and batch.
func megatronDegrees() []field {
	moe := func(s *engine.Setup) bool { return s.Model.IsMoE() || s.EP > 1 || s.ETP > 1 }
	return []field{
		numberField("tensor-model-parallel-size", "tp", func(s *engine.Setup) int { return s.TP }, nil),
		numberField("pipeline-model-parallel-size", "pp", func(s *engine.Setup) int { return s.PP }, nil),
		numberField("context-parallel-size", "cp", func(s *engine.Setup) int { return s.CP }, nil),
		contextExchange(),
		numberField("expert-model-parallel-size", "ep", func(s *engine.Setup) int { return s.EP }, moe),
		numberField("expert-tensor-parallel-size", "etp", func(s *engine.Setup) int { return s.ETP }, moe),
		mark("sequence-parallel", "sp", true, func(s *engine.Setup) bool { return s.SP && s.TP > 1 }),
		numberField("micro-batch-size", "mbs", func(s *engine.Setup) int { return s.MBS }, nil),
		numberField("global-batch-size", "gbs", func(s *engine.Setup) int { return s.GBS }, nil),
		numberField("seq-length", "seq", func(s *engine.Setup) int { return s.Seq }, nil),
		{
			key: "max-position-embeddings", from: []string{modelPrefix + "max_seq"},
			write: func(s *engine.Setup) (any, bool) {
				return s.Model.MaxSeq, s.Model.Position == model.PositionLearned
			},
			read: func(v any, r *reader) error {
				n, err := wholeArgument(v, 0)
				word := r.text("position-embedding-type")
				if err == nil &&
					(word != "" && word != "learned_absolute" || r.has("use-rotary-position-embeddings")) {
					return skip("only learned positions have a table of them")
				}
				if err == nil {
					r.Setup[modelPrefix+"max_seq"] = n
				}
				return err
			},
		},
		{
			key: "max-position-embeddings", from: []string{"seq"}, why: "no table of positions: the sequence",
			write: func(s *engine.Setup) (any, bool) {
				return s.Seq, s.Model.Position != model.PositionLearned
			},
		},
	}
}

// contextExchange returns the flag of how context parallelism communicates; a list has one for each layer.
func contextExchange() field {
	return field{
		key: "cp-comm-type", from: []string{flat(knob.CPComm)},
		write: func(s *engine.Setup) (any, bool) {
			return string(recipe.Ulysses), s.SharesHeads()
		},
		read: func(v any, r *reader) error {
			word, known := fmt.Sprint(single(v)), []string{"p2p", "a2a", "a2a+p2p", "allgather", "all_gather"}
			kinds := slices.Compact(listOf(v))
			if len(kinds) == 1 {
				word = kinds[0]
			}
			switch {
			case len(kinds) < 2 && !slices.Contains(known, word):
				return fmt.Errorf("given %s, allowed are %s", shown(word), strings.Join(known, ", "))
			case r.number("cp", 1) == 1:
				return skip("without effect at cp 1")
			case word == string(recipe.Ulysses):
				r.Setup[flat(knob.CPComm)] = word
				return nil
			}
			return unmodelled("", "context parallelism other than p2p and a2a", "p2p").read(v, r)
		},
	}
}

// megatronSharding returns the flags of the optimizer, its sharding and the overlap of its traffic.
func megatronSharding() []field {
	zero := []string{"zero"}
	overlaps := func(s *engine.Setup) bool { return runs(s).DPOverlap == recipe.On }
	offloads := func(s *engine.Setup) bool { return s.Offload == recipe.OffloadOptimizer }
	return []field{
		mark("use-distributed-optimizer", "zero", 1, func(s *engine.Setup) bool { return s.ZeRO == 1 }),
		{key: "use-megatron-fsdp", from: zero, write: func(s *engine.Setup) (any, bool) {
			return nil, fsdp(s)
		}, read: readFSDP},
		{
			key: "data-parallel-sharding-strategy", from: zero, read: part,
			write: func(s *engine.Setup) (any, bool) { return shardings()[s.ZeRO], fsdp(s) },
		},
		fixed("ckpt-format", "fsdp_dtensor",
			"Megatron-FSDP needs it (megatron/training/arguments.py:1112-1190)", fsdp),
		numberField("num-distributed-optimizer-instances", "hsdp",
			func(s *engine.Setup) int { return s.HSDP },
			func(s *engine.Setup) bool { return s.Replicas() > 1 && s.ZeRO > 0 }),
		fixed("outer-dp-sharding-strategy", "no_shard", "nothing is sharded over replicas",
			func(s *engine.Setup) bool { return s.Replicas() > 1 && fsdp(s) }),
		mark("overlap-grad-reduce", "dp_overlap", "on", overlaps),
		{
			key: "overlap-param-gather", from: []string{"dp_overlap"}, read: readGather,
			write: func(s *engine.Setup) (any, bool) { return nil, overlaps(s) && s.ZeRO > 0 },
		},
		word("optimizer", "optimizer", func(s *engine.Setup) string { return string(s.Optimizer) },
			[2]string{string(recipe.SGDMomentum), "sgd"}, [2]string{string(recipe.Adam), ""},
			[2]string{string(recipe.Adam), "adam"}),
		mark("optimizer-cpu-offload", "offload", string(recipe.OffloadOptimizer), offloads),
		{
			key: "optimizer-offload-fraction", from: []string{"offload"},
			write: func(s *engine.Setup) (any, bool) { return "1.0", offloads(s) },
			read: func(v any, r *reader) error {
				if text := fmt.Sprint(v); strings.TrimRight(text, "0.") != "1" &&
					r.has("optimizer-cpu-offload") {
					return foreignf("%s of the state: all of it is modelled", shown(v))
				}
				return nil
			},
		},
		fixed("use-precision-aware-optimizer", nil, "--optimizer-cpu-offload needs it", offloads),
		numberField("cpu-offloading-num-layers", "offload_layers",
			func(s *engine.Setup) int { return s.OffloadLayers },
			func(s *engine.Setup) bool { return s.OffloadLayers > 0 }),
	}
}

// readGather reads the overlap of gathered weights, which counts with that of gradients.
func readGather(v any, r *reader) error {
	on, err := isOn(v)
	if err == nil && on && r.Launcher == "megatron" && !r.has("overlap-grad-reduce") {
		return errors.New("Megatron-LM asserts --overlap-grad-reduce with it")
	}
	return err
}

// shardings returns --data-parallel-sharding-strategy by ZeRO stage.
func shardings() [4]string {
	return [...]string{"no_shard", "optim", "optim_grads", "optim_grads_params"}
}

// readFSDP reads Megatron-FSDP with its strategy, which shards everything where none is given.
func readFSDP(v any, r *reader) error {
	on, err := isOn(v)
	if err != nil || !on {
		return err
	}
	stage := 3
	if word := r.text("data-parallel-sharding-strategy"); word != "" {
		list := shardings()
		if stage = slices.Index(list[:], word); stage < 0 {
			return fmt.Errorf("data-parallel-sharding-strategy %s is none of %s", shown(word),
				strings.Join(list[:], ", "))
		}
	}
	r.Setup["zero"] = stage
	return nil
}

// megatronRecompute returns the flags of recomputation.
func megatronRecompute() []field {
	from := []string{"recompute"}
	full := func(s *engine.Setup) bool { return s.Recompute.Mode == recipe.RecomputeFull }
	return []field{
		{
			key: "recompute-granularity", from: from, read: readRecompute,
			write: func(s *engine.Setup) (any, bool) {
				if full(s) {
					return "full", true
				}
				return "selective", s.Recompute.Mode == recipe.RecomputeSelective ||
					s.Recompute.Mode == recipe.RecomputeModules
			},
		},
		{key: "recompute-activations", from: from, read: readRecompute},
		{key: "moe-layer-recompute", from: from, read: func(v any, r *reader) error {
			if on, err := isOn(v); err != nil || !on {
				return skip("changes nothing")
			}
			return foreign("the layers of experts are recomputed, which old versions ask for so: " +
				"--recompute-modules moe")
		}},
		{key: "recompute-method", from: from, read: part, write: func(s *engine.Setup) (any, bool) {
			if s.Recompute.Layers > 0 {
				return "block", full(s)
			}
			return "uniform", full(s)
		}},
		{
			key: "recompute-num-layers", from: from, read: part, why: "of each virtual stage",
			write: func(s *engine.Setup) (any, bool) {
				return max(s.Recompute.Layers/max(s.VPP, 1), 1), full(s)
			},
		},
		{key: "recompute-modules", from: from, read: part, write: func(s *engine.Setup) (any, bool) {
			if s.Recompute.Mode == recipe.RecomputeSelective {
				return []any{"core_attn"}, true
			}
			var list []any
			for _, m := range recomputed() {
				if s.Recompute.Has(m.set) || m.set == recipe.ModuleMLP && s.Recompute.Has(recipe.ModuleAct) {
					list = append(list, m.word)
				}
			}
			return list, s.Recompute.Mode == recipe.RecomputeModules
		}},
	}
}

// module is a part of a layer with Megatron-LM's word and that of --recompute modules.
type module struct {
	set       recipe.Modules
	word, own string
}

// recomputed returns the parts of a layer that Megatron-LM recomputes.
func recomputed() []module {
	return []module{
		{recipe.ModuleMLAUp, "mla_up_proj", "mla-up"},
		{recipe.ModuleMLP, "mlp", "mlp"},
		{recipe.ModuleMoE, "moe", "moe"},
		{recipe.ModuleMoEAct, "moe_act", "moe-act"},
		{recipe.ModuleNorm, "layernorm", "norm"},
		{recipe.ModuleShared, "shared_experts", "shared"},
	}
}

// readRecompute reads the flags of recomputation together.
func readRecompute(_ any, r *reader) error {
	granularity := r.text("recompute-granularity")
	switch {
	case granularity == "full":
		r.Setup["recompute"] = "full"
		if n := r.argument("recompute-num-layers"); r.text("recompute-method") == "block" && n > 0 {
			r.Setup["recompute"] = fmt.Sprintf("full:%d", n*r.number("vpp", 1))
		}
		return nil
	case granularity == "null", granularity == "None": // of Megatron-Bridge
		r.Setup["recompute"] = string(recipe.RecomputeNone)
		return nil
	case granularity != "selective" && !r.has("recompute-activations"):
		return fmt.Errorf("%s is neither full nor selective", shown(granularity))
	}
	words := listOf(r.values["recompute-modules"].Value)
	var own []string
	for _, w := range words {
		known := w == "core_attn"
		for _, m := range recomputed() {
			if m.word == w {
				own, known = append(own, m.own), true
			}
		}
		if !known {
			r.wrongf("recompute-modules", "%s is not modelled: counted without it", shown(w))
		}
	}
	switch core := slices.Contains(words, "core_attn"); {
	case len(own) > 0:
		r.Setup["recompute"] = "modules:" + strings.Join(own, ",")
		if core {
			r.Ignored = append(r.Ignored,
				Ignored{
					Key: "recompute-modules core_attn", Why: "not modelled together with other modules",
					Line: r.values["recompute-modules"].Line,
				})
		}
	case core || len(words) == 0:
		r.Setup["recompute"] = "selective"
	default: // what is not modelled alone
		r.Setup["recompute"] = string(recipe.RecomputeNone)
	}
	return nil
}

// listOf returns the words of a value that may be several.
func listOf(v any) []string {
	var out []string
	switch list := v.(type) {
	case nil:
	case []any:
		for _, item := range list {
			out = append(out, fmt.Sprint(item))
		}
	default:
		out = strings.FieldsFunc(fmt.Sprint(v), func(r rune) bool { return strings.ContainsRune(" ,[]", r) })
	}
	return out
}
