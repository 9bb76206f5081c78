package published_test

import (
	"regexp"
	"strconv"
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets/published"
)

// fields is everything of a run that a row of the reference material may state.
func fields() []field {
	setup := func(of func(*published.Run) *int) func(*published.Run) *int { return of }
	list := []field{
		{
			name:  "model",
			want:  func(s source) string { return modelOf(s).ID },
			got:   func(r *published.Run) string { return r.Setup.Model.ID },
			alter: func(r *published.Run) { r.Setup.Model.ID += "-other" },
		},
		{
			name: "GPU", want: func(s source) string { return s.Row["gpu_id"] },
			got:   func(r *published.Run) string { return r.Setup.Cluster.GPU.ID },
			alter: func(r *published.Run) { r.Setup.Cluster.GPU.ID = "l4" },
		},
		{
			name: "cluster", want: machineOf,
			got:   func(r *published.Run) string { return r.Setup.Cluster.ID },
			alter: func(r *published.Run) { r.Setup.Cluster.ID = "dgx-h100" },
		},
		number("gpus", func(s source) string { return s.Row["n_gpus"] },
			setup(func(r *published.Run) *int { return &r.Setup.GPUs })),
		number("dp", func(s source) string { return s.Row["dp"] },
			setup(func(r *published.Run) *int { return &r.Setup.DP })),
		number("tp", func(s source) string { return s.Row["tp"] },
			setup(func(r *published.Run) *int { return &r.Setup.TP })),
		number("pp", func(s source) string { return s.Row["pp"] },
			setup(func(r *published.Run) *int { return &r.Setup.PP })),
		number("vpp", func(s source) string { return s.or("vpp", 1) },
			setup(func(r *published.Run) *int { return &r.Setup.VPP })),
		number("cp", func(s source) string { return s.or("cp", 1) },
			setup(func(r *published.Run) *int { return &r.Setup.CP })),
		number("ep", func(s source) string { return s.or("ep", 1) },
			setup(func(r *published.Run) *int { return &r.Setup.EP })),
		number("etp", func(source) string { return "1" },
			setup(func(r *published.Run) *int { return &r.Setup.ETP })),
		number("zero", zeroOf, setup(func(r *published.Run) *int { return &r.Setup.ZeRO })),
		number("mbs", mbsOf, setup(func(r *published.Run) *int { return &r.Setup.MBS })),
		number("micro-batches", func(s source) string { return s.Row["grad_accum"] },
			setup(func(r *published.Run) *int { return &r.Setup.MicroBatches })),
		number("batch", func(s source) string { return s.Row["gbs_sequences"] },
			setup(func(r *published.Run) *int { return &r.Setup.GBS })),
		number("seq", func(s source) string { return s.Row["seq_len"] },
			setup(func(r *published.Run) *int { return &r.Setup.Seq })),
		{
			name: "sp", want: spOf,
			got:   func(r *published.Run) string { return strconv.FormatBool(r.Setup.SP) },
			alter: func(r *published.Run) { r.Setup.SP = !r.Setup.SP },
		},
	}
	list = append(list, modelFields()...)
	list = append(list, recipeFields()...)
	return append(list, figureFields()...)
}

// modelFields are the sizes that rows change, and how layers are dealt to stages.
func modelFields() []field {
	var list []field
	for _, f := range []struct {
		name string
		of   func(r *published.Run) *int
		want func(s source) int
	}{
		{
			"layers", func(r *published.Run) *int { return &r.Setup.Model.Layers },
			func(s source) int { return modelOf(s).Layers },
		},
		{
			"hidden", func(r *published.Run) *int { return &r.Setup.Model.Hidden },
			func(s source) int { return modelOf(s).Hidden },
		},
		{
			"ffn", func(r *published.Run) *int { return &r.Setup.Model.FFN },
			func(s source) int { return modelOf(s).FFN },
		},
		{
			"heads", func(r *published.Run) *int { return &r.Setup.Model.Heads },
			func(s source) int { return modelOf(s).Heads },
		},
		{
			"kv heads", func(r *published.Run) *int { return &r.Setup.Model.KVHeads },
			func(s source) int { return modelOf(s).KVHeads },
		},
		{
			"head size", func(r *published.Run) *int { return &r.Setup.Model.HeadDim },
			func(s source) int { return modelOf(s).HeadDim },
		},
		{
			"vocabulary", func(r *published.Run) *int { return &r.Setup.Model.Vocab },
			func(s source) int { return modelOf(s).Vocab },
		},
		{
			"dense layers", func(r *published.Run) *int { return &r.Setup.Model.FirstDense },
			func(s source) int { return modelOf(s).FirstDense },
		},
		{
			"longest sequence", func(r *published.Run) *int { return &r.Setup.Model.MaxSeq },
			func(s source) int { return modelOf(s).MaxSeq },
		},
	} {
		list = append(list, number(f.name, func(s source) string { return strconv.Itoa(f.want(s)) }, f.of))
	}
	return append(list, field{
		name: "split", want: splitOf,
		got: func(r *published.Run) string {
			if r.Setup.Split == "" {
				return layout.BalancedSplit(r.Setup.Model.Layers, r.Setup.Stages())
			}
			return r.Setup.Split
		},
		alter: func(r *published.Run) {
			r.Setup.Split = "1," + layout.BalancedSplit(r.Setup.Model.Layers-1, r.Setup.Stages())
		},
	})
}

// recipeFields are precision, schedule, recomputation and software.
func recipeFields() []field {
	return []field{
		{
			name: "precision", want: precisionOf,
			got:   func(r *published.Run) string { return string(r.Setup.Precision) },
			alter: func(r *published.Run) { r.Setup.Precision = recipe.FP32 },
		},
		{
			name: "gradients", want: func(s source) string {
				if s.bridge() || strings.Contains(s.Row["note"], "gradients reduced in bf16") ||
					strings.Contains(s.Row["note"], "gradients in bf16") ||
					strings.Contains(s.Row["precision"], "PURE") {
					return string(recipe.GradBF16)
				}
				return ""
			},
			got:   func(r *published.Run) string { return string(r.Setup.GradDtype) },
			alter: func(r *published.Run) { r.Setup.GradDtype = recipe.GradFP32 },
		},
		{
			name: "schedule", want: scheduleOf,
			got:   func(r *published.Run) string { return string(r.Setup.Schedule) },
			alter: func(r *published.Run) { r.Setup.Schedule = schedule.ZB1P },
		},
		{
			name: "recompute", want: recomputeOf,
			got: func(r *published.Run) string { return r.Setup.Recompute.String() },
			alter: func(r *published.Run) {
				r.Setup.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull, Layers: 7}
			},
		},
		{
			name: "recompute unknown", want: func(s source) string {
				word := s.Row["recompute"]
				return strconv.FormatBool((word == "" || word == "not stated") && !s.bridge())
			},
			got:   func(r *published.Run) string { return strconv.FormatBool(r.AnyRecompute) },
			alter: func(r *published.Run) { r.AnyRecompute = !r.AnyRecompute },
		},
		{
			name:  "recompute from recipe",
			want:  func(s source) string { return strconv.FormatBool(s.bridge()) },
			got:   func(r *published.Run) string { return strconv.FormatBool(r.FromRecipe) },
			alter: func(r *published.Run) { r.FromRecipe = !r.FromRecipe },
		},
		{
			name: "stack", want: func(s source) string {
				if s.Row["group"] == "llm-foundry" { // the file speaks of FSDP alone
					return string(recipe.LLMFoundry)
				}
				return strings.TrimPrefix(s.Row["calibration"], "default")
			},
			got:   func(r *published.Run) string { return string(r.Setup.Stack.Resolve()) },
			alter: func(r *published.Run) { r.Setup.Stack = recipe.Textbook },
		},
		{
			name: "attention", want: func(s source) string {
				if strings.HasPrefix(s.Row["calibration"], "megatron-202") {
					return string(recipe.Standard)
				}
				return string(recipe.Flash)
			},
			got:   func(r *published.Run) string { return string(r.Setup.Attention) },
			alter: func(r *published.Run) { r.Setup.Attention += "-other" },
		},
		told("TP overlap", recipe.UserBuffers, "TP overlap by user buffers",
			func(r *published.Run) *recipe.TPOverlap { return &r.Setup.TPOverlap }),
		told("async TP", recipe.AsyncTP, "async TP", func(r *published.Run) *recipe.TPOverlap {
			return &r.Setup.TPOverlap
		}),
		told("fp8 attention", recipe.Attention8, "fp8 attention",
			func(r *published.Run) *recipe.AttentionPrecision { return &r.Setup.Attending }),
		told("data-parallel overlap", recipe.Off, "overlap of data-parallel traffic not asked",
			func(r *published.Run) *recipe.Setting { return &r.Setup.DPOverlap }),
		noted("token drop", "(tokendrop)", func(r *published.Run) *bool { return &r.Software.TokenDrop }),
		told("CUDA graphs", recipe.GraphsLayer, "CUDA graphs", func(r *published.Run) *recipe.CUDAGraphs {
			return &r.Setup.CUDAGraphs
		}),
		told("dispatcher", recipe.DeepEP, "deepep", func(r *published.Run) *recipe.Dispatcher {
			return &r.Setup.Dispatcher
		}),
	}
}

// told is a word of a knob that the note of a row states; a run whose row is silent does
// not have it.
func told[T ~string](name string, word T, note string, of func(*published.Run) *T) field {
	is := func(holds bool) string {
		if holds {
			return string(word)
		}
		return "not " + string(word)
	}
	return field{
		name: name, want: func(s source) string {
			return is(strings.Contains(strings.ToLower(s.Row["note"]), strings.ToLower(note)))
		},
		got: func(r *published.Run) string { return is(*of(r) == word) },
		alter: func(r *published.Run) {
			if *of(r) == word {
				*of(r) = recipe.Auto
			} else {
				*of(r) = word
			}
		},
	}
}

// noted is a switch that the note of a row states.
func noted(name, words string, of func(*published.Run) *bool) field {
	return field{
		name:  name,
		want:  func(s source) string { return strconv.FormatBool(strings.Contains(s.Row["note"], words)) },
		got:   func(r *published.Run) string { return strconv.FormatBool(*of(r)) },
		alter: func(r *published.Run) { *of(r) = !*of(r) },
	}
}

// figureFields are what was measured, and where that is published.
func figureFields() []field {
	return []field{
		{
			name: "step time", want: stepOf,
			got:   func(r *published.Run) string { return text(r.Step) },
			alter: func(r *published.Run) { r.Step = 1.001*r.Step + 1e-9 },
		},
		{
			name: "memory", want: func(s source) string { return s.or0("mem_per_gpu_GiB") },
			got:   func(r *published.Run) string { return text(r.Memory) },
			alter: func(r *published.Run) { r.Memory = 1.001*r.Memory + 1e-9 },
		},
		{
			name: "kind of memory", want: func(s source) string {
				switch kind := s.Row["mem_kind"]; {
				case strings.Contains(kind, "max allocated"), strings.HasPrefix(kind, "peak allocated"):
					return string(published.Allocated)
				// what torchtitan's log calls so is reserved
				case strings.Contains(kind, "reserved"), kind == "peak (max over ranks)":
					return string(published.Reserved)
				case strings.HasPrefix(kind, "nvidia-smi"):
					return string(published.Device)
				}
				return ""
			},
			got:   func(r *published.Run) string { return string(r.Kind) },
			alter: func(r *published.Run) { r.Kind += "-other" },
		},
		{
			name: "rank of memory", want: func(s source) string {
				switch {
				case s.Row["mem_kind"] == "":
					return ""
				case strings.Contains(s.Row["mem_kind"], "rank that logs"):
					return "last"
				case strings.HasPrefix(s.group.ID, "playbook"):
					return "first"
				}
				return "fullest"
			},
			got: func(r *published.Run) string {
				if r.Rank == published.FullestRank {
					return "fullest"
				}
				return string(r.Rank)
			},
			alter: func(r *published.Run) {
				switch r.Rank {
				case published.LastRank:
					r.Rank = published.FirstRank
				case published.FirstRank, published.FullestRank:
					r.Rank = published.LastRank
				}
			},
		},
		{
			name: "source", want: func(s source) string { return s.Row["source"] },
			got:   func(r *published.Run) string { return r.Source },
			alter: func(r *published.Run) { r.Source += "?" },
		},
		{
			name: "release", want: func(s source) string {
				if found := regexp.MustCompile(`ngc(\d+\.\d+)|\((\d\d\.\d\d[.\d]*)\)`).FindStringSubmatch(
					s.Row["source"],
				); found != nil {
					return "v" + found[1] + found[2]
				}
				return ""
			},
			got:   func(r *published.Run) string { return "v" + r.Release },
			alter: func(r *published.Run) { r.Release += ".9" },
		},
	}
}

// or0 returns a figure, 0 where it is blank.
func (s source) or0(key string) string {
	if s.Row[key] == "" {
		return "0"
	}
	return s.Row[key]
}

// stepOf returns the step time that a row states or implies; 0: neither.
func stepOf(s source) string {
	if s.Row["step_time_s"] != "" {
		return s.Row["step_time_s"]
	}
	tokens := float64(s.whole("gbs_sequences") * s.whole("seq_len"))
	for _, key := range []string{
		"tokens_per_s_per_gpu", "derived_step_time_s",
		"derived_tokens_per_s_per_gpu",
	} {
		v, err := strconv.ParseFloat(s.Row[key], 64)
		switch {
		case err != nil || v <= 0:
		case key == "derived_step_time_s":
			return text(v)
		default:
			return text(tokens / v / float64(s.whole("n_gpus")))
		}
	}
	return "0"
}

func zeroOf(s source) string {
	switch word := strings.ToLower(s.Row["sharding"]); {
	case word == "", strings.HasPrefix(word, "not stated"):
		return ""
	case strings.Contains(word, "zero2"), strings.Contains(word, "shard-grad"):
		return "2"
	case strings.Contains(word, "zero3"), strings.Contains(word, "fsdp"):
		return "3"
	case strings.HasPrefix(word, "none"), strings.Contains(word, "zero0"):
		return "0"
	}
	return "1"
}

// mbsOf returns the sequences of a micro-batch. torchtitan has as many micro-batches as
// pipeline ranks where nothing else is given.
func mbsOf(s source) string {
	if pp := s.whole("pp"); s.Row["mbs"] == "" && s.Row["calibration"] == "torchtitan" && pp > 1 {
		return strconv.Itoa(max(1, s.whole("gbs_sequences")/s.whole("dp")/pp))
	}
	return s.Row["mbs"]
}

// spOf returns sequence parallelism: the old stacks say it with recomputation; the
// others have it with TP.
func spOf(s source) string {
	if strings.HasPrefix(s.Row["calibration"], "megatron-202") {
		return strconv.FormatBool(strings.Contains(s.Row["recompute"], "sequence parallel"))
	}
	return strconv.FormatBool(s.whole("tp") > 1)
}

// precisionOf returns the word of a row's number format. On Blackwell one scale per
// tensor keeps one copy of the weights, which is a precision of its own.
func precisionOf(s source) string {
	word, note := s.Row["precision"], s.Row["note"]
	low := strings.ToLower(word)
	switch {
	case s.group.ID == "deepseek-v3": // whose report describes a recipe of its own
		return string(recipe.FP8DeepSeek)
	case low == "nvfp4":
		return string(recipe.NVFP4)
	case low == "fp16":
		return string(recipe.FP16)
	case !strings.Contains(low, "fp8") && !strings.Contains(low, "float8"):
		return string(recipe.BF16)
	}
	blackwell := strings.HasPrefix(s.Row["gpu_id"], "b") || strings.HasPrefix(s.Row["gpu_id"], "gb")
	tensor := s.bridge() && (word == "FP8" || strings.HasPrefix(word, "FP8-CS") ||
		strings.Contains(word, "current scaling")) ||
		strings.HasPrefix(s.group.ID, "mlperf") &&
			(strings.Contains(note, "delayed scaling") || strings.Contains(note, "per tensor") ||
				strings.Contains(note, "fp8 recipe not published")) // whose memory is that of one copy
	if blackwell && tensor {
		return string(recipe.FP8Tensor)
	}
	return string(recipe.FP8)
}

func scheduleOf(s source) string {
	switch word := s.Row["schedule"]; {
	case strings.HasPrefix(word, "DualPipe"):
		return string(schedule.DualPipe)
	case strings.HasPrefix(word, "interleaved"), s.whole("vpp") > 1 && s.whole("pp") > 1:
		return string(schedule.Interleaved)
	}
	return string(schedule.OneFOneB)
}

// recipeRecompute returns what the recipe of a run of Megatron-Bridge recomputes
// (recompute_modules); dense ones and those that are not named recompute nothing.
func recipeRecompute(s source) string {
	id, gpu := s.Row["model_id"], s.Row["gpu_id"]
	switch {
	case id == "deepseek-v3" && gpu == "gb200" && s.group.ID == "mbridge-26.04.01":
		return "none"
	case id == "deepseek-v3", id == "kimi-k2":
		return "modules:mla-up"
	case id == "gpt-oss-120b" && (gpu == "gb200" || gpu == "b200-sxm" || gpu == "h100-sxm"):
		return "modules:norm,moe-act"
	}
	return "none"
}

// recomputeOf returns what a row states; "" where nothing tells it.
func recomputeOf(s source) string {
	switch word := s.Row["recompute"]; {
	case s.bridge():
		return recipeRecompute(s)
	case word == "full", strings.HasPrefix(word, "per layer"):
		return "full"
	case word == "none":
		return "none"
	case strings.HasPrefix(word, "selective"):
		return "selective"
	case word == "select":
		return "modules:norm,moe-act" // "select = layernorm + moe_act"
	case strings.HasPrefix(word, "RMSNorm + MLA up-projection + SwiGLU"):
		return "modules:norm,mla-up,act,moe-act"
	}
	return ""
}
