package launch

import (
	"cmp"
	"fmt"
	"path"
	"regexp"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/presets"
)

// Where torchtitan's rules were read: main, with its recipe functions, and the last release
// with TOML files.
const (
	titanSource     = "pytorch/torchtitan@b5bcd76c"
	titanTOMLSource = "pytorch/torchtitan v0.2.2 (73a0e697)"
)

// torchTitan returns torchtitan's main, whose configuration is a Python function.
func torchTitan() Launcher {
	return Launcher{
		ID: "torchtitan", Name: "torchtitan", Version: "main of 2026", Source: titanSource,
		rules: append(titanRules(), titanMainRules()...),
		stack: recipe.TorchTitan,
		export: func(s *engine.Setup) Document {
			return titanDocument(s, titanMain(), "-m torchtitan.train --module my_runs --config "+titanRun(s))
		},
		sniff: func(name string, data []byte) bool { return isPython(name) && titanImport.Match(data) },
		read:  readsWith(titanMain),
	}
}

// torchTitanTOML returns torchtitan 0.2.2, the last release that reads TOML files.
func torchTitanTOML() Launcher {
	return Launcher{
		ID: "torchtitan-toml", Name: "torchtitan", Version: "0.2.2", Source: titanTOMLSource,
		rules: append(titanRules(), titanTOMLRules()...),
		stack: recipe.TorchTitan,
		export: func(s *engine.Setup) Document {
			return titanDocument(s, titanTOML(), "-m torchtitan.train --job.config_file torchtitan.toml")
		},
		sniff: keyed(".toml", parseTOML, "parallelism", "model.flavor"),
		read:  readsWith(titanTOML),
	}
}

// titanImport finds what every recipe of torchtitan begins with.
var titanImport = regexp.MustCompile(`(?m)^\s*(?:from|import) torchtitan\b`)

// isPython reports whether a name may be that of a Python file.
func isPython(name string) bool {
	ext := path.Ext(name)
	return ext == ".py" || ext == ""
}

// titanDocument adds to a document what starts it.
func titanDocument(s *engine.Setup, f form, program string) Document {
	d := f.document(s)
	d.Program = program
	return d
}

// flavor is a model whose architecture torchtitan has: its folder, its name in the registry, and
// the recipe function of main, empty where main has none.
type flavor struct {
	model, folder, name, recipe string
	recompute                   recipe.RecomputeMode // what the recipe sets, where it was read
}

// flavors returns the published models that torchtitan has (torchtitan/models/*/__init__.py and
// config_registry.py).
func flavors() []flavor {
	const sel, full = recipe.RecomputeSelective, recipe.RecomputeFull
	return []flavor{
		{"llama3.1-8b", "llama3", "8B", "llama3_8b", sel},
		{"llama3.1-70b", "llama3", "70B", "llama3_70b", full},
		{"llama3.1-405b", "llama3", "405B", "llama3_405b", full},
		{"deepseek-v2-lite", "deepseek_v3", "16B", "deepseek_v3_16b", ""},
		{"deepseek-v2", "deepseek_v3", "236B", "", ""},
		{"deepseek-v3", "deepseek_v3", "671B", "deepseek_v3_671b", ""},
		{"qwen3-8b", "qwen3", "8B", "", ""},
		{"qwen3-14b", "qwen3", "14B", "qwen3_14b", full},
		{"qwen3-32b", "qwen3", "32B", "qwen3_32b", full},
		{"qwen3-30b-a3b", "qwen3", "30B-A3B", "qwen3_30b_a3b", full},
		{"qwen3-235b-a22b", "qwen3", "235B-A22B", "", ""},
		{"gpt-oss-20b", "gpt_oss", "20b", "gpt_oss_20b", full},
		{"gpt-oss-120b", "gpt_oss", "120b", "gpt_oss_120b", full},
	}
}

// flavorOf returns the flavour of a model, if torchtitan has its architecture unchanged.
func flavorOf(m *model.Model) (flavor, bool) {
	for _, f := range flavors() {
		if f.model == m.ID {
			preset, err := presets.Default().Model(f.model)
			return f, err == nil && preset == *m
		}
	}
	return flavor{}, false
}

// titanSchedule is a schedule by PyTorch's name, and whether its ranks have several stages
// (torch/distributed/pipelining/schedules.py, get_schedule_class).
type titanSchedule struct {
	kind  schedule.Kind
	class string
	multi bool
}

func titanSchedules() [7]titanSchedule {
	return [...]titanSchedule{
		{schedule.OneFOneB, "1F1B", false},
		{schedule.AFAB, "GPipe", false},
		{schedule.Interleaved, "Interleaved1F1B", true},
		{schedule.LoopedBFS, "LoopedBFS", true},
		{schedule.InterleavedZB, "InterleavedZeroBubble", true},
		{schedule.ZBV, "ZBVZeroBubble", true},
		{schedule.DualPipeV, "DualPipeV", true},
	}
}

func titanScheduleOf(k schedule.Kind) (titanSchedule, bool) {
	table := titanSchedules()
	for i := range table {
		if table[i].kind == k {
			return table[i], true
		}
	}
	return titanSchedule{}, false
}

// titanRounds returns how many groups of micro-batches PyTorch's interleaved schedules make.
func titanRounds(s *engine.Setup) int { return max(1, s.MicroBatches/s.PP) }

// interleaves reports whether a setup has groups of micro-batches.
func interleaves(s *engine.Setup) bool {
	return s.PP > 1 && (s.Schedule == schedule.Interleaved || s.Schedule == schedule.InterleavedZB)
}

// titanPipeline returns what both versions refuse of a pipeline.
func titanPipeline() []Rule {
	const pp = titanSource + ": distributed/pipeline_parallel.py:204-262"
	const torch = "torch/distributed/pipelining/schedules.py"
	return []Rule{
		refusesWith("order", knob.Schedule, torch+", get_schedule_class",
			func(s *engine.Setup) bool {
				_, ok := titanScheduleOf(s.Schedule)
				return !ok || s.PP == 1 && s.Schedule != schedule.OneFOneB
			},
			func(s *engine.Setup) string {
				if s.PP == 1 {
					return "without a pipeline each micro-batch goes forward and backward before the next: " +
						"1f1b"
				}
				return fmt.Sprintf("PyTorch has no %s; it has 1f1b, afab, interleaved, looped-bfs, "+
					"interleaved-zb, zb-v and dualpipe-v", s.Schedule)
			}),
		refusesWith("stages", knob.VPP, pp,
			func(s *engine.Setup) bool {
				of, ok := titanScheduleOf(s.Schedule)
				return s.VPP > 1 && s.PP == 1 || s.PP > 1 && ok && of.multi != (s.VPP > 1)
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("vpp %d with %s and pp %d: 1f1b and afab have one stage per rank, the "+
					"others two or more, and only in a pipeline", s.VPP, s.Schedule, s.PP)
			}),
		refusesWith("rounds", knob.MicroBatches, torch+", ScheduleInterleaved1F1B",
			func(s *engine.Setup) bool { return interleaves(s) && s.MicroBatches%titanRounds(s) != 0 },
			func(s *engine.Setup) string {
				return fmt.Sprintf("%d micro-batches do not divide into %d rounds (micro-batches over pp, "+
					"rounded down)", s.MicroBatches, titanRounds(s))
			}),
		refusesWith("group", knob.GroupSize, torch+", ScheduleInterleaved1F1B",
			func(s *engine.Setup) bool {
				return interleaves(s) && s.MicroBatches%titanRounds(s) == 0 &&
					cmp.Or(s.GroupSize, s.PP) != s.MicroBatches/titanRounds(s)
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("its groups are of micro-batches over rounds: %d here",
					s.MicroBatches/titanRounds(s))
			}),
		refuses("tied", knob.PP, titanSource+": models/llama3/model.py, update_from_config",
			"tied embeddings are not combined with a pipeline",
			func(s *engine.Setup) bool { return s.PP > 1 && s.Model.Tied }),
	}
}

// titanRules returns what both versions refuse.
func titanRules() []Rule {
	rules := append(titanPipeline(), []Rule{
		refusesWith("kv-heads", knob.TP, titanSource+": models/llama3/model.py, update_from_config",
			func(s *engine.Setup) bool { return s.TP > 1 && !s.Model.IsMLA() && s.Model.KVHeads%s.TP != 0 },
			func(s *engine.Setup) string {
				return fmt.Sprintf("tp %d does not divide the %d kv heads", s.TP, s.Model.KVHeads)
			}),
		refusesWith("sequence", knob.CP, titanSource+": distributed/parallel_dims.py, seq_len_divisor",
			func(s *engine.Setup) bool { return s.Seq%(2*s.TP*s.CP) != 0 },
			func(s *engine.Setup) string {
				return fmt.Sprintf("2 x tp x cp = %d does not divide the sequence of %d", 2*s.TP*s.CP, s.Seq)
			}),
		onlyRing(titanSource+": distributed/context_parallel.py", "its context parallelism is a ring"),
		wholeLayers(titanSource+": distributed/activation_checkpoint.py", recipe.RecomputeNone,
			recipe.RecomputeSelective, recipe.RecomputeFull),
	}...)
	rules = append(rules, fsdpRules(titanSource+": models/llama3/parallelize.py")...)
	rules = append(rules,
		noHostMemory(titanSource,
			"enable_cpu_offload moves weights and gradients to the host too, not the optimizer alone")...)
	rules = append(rules, noAdapters(titanSource)...)
	return append(rules, outsideSearch(
		refuses("mtp", knob.MTP, titanSource, "its DeepSeek-V3 has no multi-token prediction",
			func(s *engine.Setup) bool { return s.TrainMTP }),
		oneOf(knob.Optimizer, titanSource, "weights are fp32, and AdamW keeps two moments",
			func(s *engine.Setup) recipe.Optimizer { return s.Optimizer }, recipe.Adam),
		oneOf(knob.GradDtype, titanSource, "gradients have the format of the fp32 weights",
			func(s *engine.Setup) recipe.GradDtype { return s.GradDtype }, recipe.GradFP32),
		oneOf(knob.Attention, titanSource, "its attention never stores the scores",
			func(s *engine.Setup) recipe.Attention { return s.Attention }, recipe.Flash),
	)...)
}

// titanFolds returns over how many ranks experts fold.
func titanFolds(s *engine.Setup) int {
	_, shard := shards(s)
	return shard * s.CP * s.TP
}

// titanMainRules returns what main refuses on top.
func titanMainRules() []Rule {
	const dims = titanSource + ": distributed/parallel_dims.py:166-192"
	rules := []Rule{
		refuses("expert-tp", knob.ETP, dims, "main has no tensor parallelism of experts: etp 1",
			func(s *engine.Setup) bool { return s.ETP > 1 }),
		refusesWith("experts", knob.EP, dims,
			func(s *engine.Setup) bool { return titanFolds(s)%s.EP != 0 },
			func(s *engine.Setup) string {
				return fmt.Sprintf("ep %d does not divide dp of a replica x cp x tp = %d", s.EP,
					titanFolds(s))
			}),
	}
	rules = append(rules, outsideSearch(
		refusesWith("model", "model", titanSource+": models/*/config_registry.py",
			func(s *engine.Setup) bool { f, ok := flavorOf(&s.Model); return !ok || f.recipe == "" },
			func(s *engine.Setup) string {
				if f, ok := flavorOf(&s.Model); ok {
					return fmt.Sprintf("main has no recipe function of %s, only its flavour %s; "+
						"torchtitan-toml can name that", s.Model.ID, f.name)
				}
				return noFlavor(s)
			}),
		refusesWith("precision", knob.Precision, titanSource+": models/llama3/config_registry.py",
			func(s *engine.Setup) bool {
				if s.Model.ID == "llama3.1-405b" {
					return s.Precision != recipe.FP8
				}
				return s.Precision != recipe.BF16 && s.Precision != recipe.FP32
			},
			func(s *engine.Setup) string {
				if s.Model.ID == "llama3.1-405b" {
					return "the recipe of the 405B converts its layers to fp8 and overlaps TP: precision " +
						"fp8; torchtitan-toml has bf16"
				}
				return fmt.Sprintf("bf16 and fp32 are fields of the configuration; %s takes converters of "+
					"the model in its recipe", s.Precision)
			}),
	)...)
	return append(rules, softwareRules(titanSource, map[string][]string{"dispatcher": {"alltoall"}})...)
}

// titanTOMLRules returns what 0.2.2 refuses on top.
func titanTOMLRules() []Rule {
	const dims = titanTOMLSource + ": distributed/parallel_dims.py, _validate"
	rules := []Rule{
		refuses("expert-tp", knob.ETP, dims, "etp is 1 or tp",
			func(s *engine.Setup) bool { return s.ETP > 1 && s.ETP != s.TP }),
		refusesWith("experts", knob.EP, dims,
			func(s *engine.Setup) bool {
				return s.EP > 1 && (titanFolds(s)/s.ETP%s.EP != 0 || s.EP%titanInner(s) != 0)
			},
			func(s *engine.Setup) string {
				return fmt.Sprintf("ep %d takes all ranks of cp (and of tp, where etp is 1) and some of "+
					"dp: a multiple of %d that divides %d", s.EP, titanInner(s), titanFolds(s)/s.ETP)
			}),
		refuses("sp", knob.SP, titanTOMLSource, "with tp the sequence is sharded too: sp on",
			func(s *engine.Setup) bool { return s.TP > 1 && !s.SP }),
	}
	rules = append(rules, outsideSearch(
		refusesWith("model", "model", titanTOMLSource+": models/*/__init__.py",
			func(s *engine.Setup) bool { _, ok := flavorOf(&s.Model); return !ok }, noFlavor),
		oneOf(knob.Precision, titanTOMLSource, "it has bf16, fp32 and float8 converters",
			func(s *engine.Setup) recipe.Precision { return s.Precision }, recipe.BF16, recipe.FP32,
			recipe.FP8),
	)...)
	return append(rules,
		softwareRules(titanTOMLSource,
			map[string][]string{"dispatcher": {"alltoall"}, "tp-overlap": {"none", "async"}})...)
}

// noFlavor says that torchtitan has no definition of a model.
func noFlavor(s *engine.Setup) string {
	return fmt.Sprintf("the flavour fixes the architecture, and none is %s as it is here: it needs a model "+
		"definition in Python", s.Model.ID)
}

// titanInner returns the ranks of cp and tp that experts always take in 0.2.2.
func titanInner(s *engine.Setup) int { return max(s.CP*s.TP/s.ETP, 1) }
