package engine_test

import (
	"slices"
	"strings"
	"sync"

	"meshscope/engine"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/presets/published"
)

// What Megatron-Bridge's performance recipes state beside the layouts that its
// tables print: NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs
// (*_workload_base_configs.py, *_llm_pretrain.py, in the version of the release that a
// table belongs to as far as the layouts of both are the same).

// A table of starts of "model gpu release": the runs whose recipe states something.
type starts []string

func (list starts) has(r *run) bool {
	key := r.row["model_id"] + " " + r.row["gpu_id"] + " " + r.group
	return slices.ContainsFunc(list, func(start string) bool { return strings.HasPrefix(key, start) })
}

// shardsWeights says whether the release of a run shards weights over the data-parallel
// ranks (Megatron-FSDP, ZeRO 2 and 3 here). For models with experts it came with
// Megatron-Core 0.15, the release of 25.11 (its notes: "Support FSDP with EP for MoE
// models"), for MXFP8 after that (NVIDIA-NeMo/Megatron-Bridge issue 1213).
func (r *run) shardsWeights() bool {
	if !strings.HasPrefix(r.group, "mbridge") || !r.setup.Model.IsMoE() {
		return true
	}
	return r.group != "mbridge-25.09" && (r.group != "mbridge-25.11" || r.row["precision"] != "FP8-MX")
}

// perTensor says whether a run in fp8 has one scale per tensor and a GPU that keeps one
// copy of the weights then: the tables' "current scaling" and "FP8-CS", and "FP8" of 26.02
// and later, where the other recipe is called MXFP8.
func (r *run) perTensor() bool {
	word := r.row["precision"]
	blackwell := strings.HasPrefix(r.row["gpu_id"], "b") || strings.HasPrefix(r.row["gpu_id"], "gb")
	return strings.HasPrefix(r.group, "mbridge") && blackwell && (word == "FP8" || strings.HasPrefix(word, "FP8-CS") || strings.Contains(word, "current scaling"))
}

// superseded are the rows whose recipe a later release of the tables runs with more
// sequences in a micro-batch, everything else but the pipeline being the same.
func superseded() []string {
	return []string{"mbridge-25.09-019", "mbridge-25.11-008", "mbridge-26.02.01-030", "mbridge-26.04-016"}
}

// parts is what the recipe of a run with experts recomputes (recompute_modules); the
// feed-forward of DeepSeek-V3's three dense layers ("mlp") is left out. known is false
// for the others, whose tables and recipes are silent.
func (r *run) parts() (what recipe.Recompute, known bool) {
	if !strings.HasPrefix(r.group, "mbridge") || !r.setup.Model.IsMoE() {
		return what, false
	}
	what.Mode = recipe.RecomputeModules
	switch {
	case (starts{"deepseek-v3 gb200 mbridge-26.04.01"}).has(r):
		what.Mode = recipe.RecomputeNone
	case (starts{"deepseek-v3", "kimi-k2"}).has(r):
		what.Modules = recipe.ModuleMLAUp
	case (starts{"gpt-oss-120b gb200", "gpt-oss-120b b200-sxm", "gpt-oss-120b h100-sxm"}).has(r):
		what.Modules = recipe.ModuleNorm | recipe.ModuleMoEAct
	default:
		what.Mode = recipe.RecomputeNone
	}
	return what, true
}

// corrected are the cells in which a printed table contradicts itself and the recipe.
// 25.09-004 prints 16 micro-batches, which only one sequence each gives; 26.02.01-003
// and -001 lack the virtual stages of their recipe, which had them before and after
// that release (one sequence, four pipeline ranks of five stages), and -001 would need
// 913 GiB as printed. 25.11-030 prints 2 micro-batches, which 4 sequences and 4 pipeline
// ranks contradict (8); its recipe has 4 ranks and 1 sequence.
func corrected() map[string]map[string]string {
	return map[string]map[string]string{
		"mbridge-25.09-004":    {"mbs": "1"},
		"mbridge-25.11-030":    {"mbs": "1"},
		"mbridge-26.02.01-003": {"mbs": "1", "vpp": "5"},
		"mbridge-26.02.01-001": {"mbs": "1", "pp": "4", "vpp": "5", "dp": "16"},
	}
}

// correct puts them into a row.
func correct(row map[string]string) {
	for key, value := range corrected()[row["id"]] {
		row[key] = value
	}
}

// offloaded is on how many layers the recipe of a run with Megatron-FSDP keeps
// activations in host memory (cpu_offloading_num_layers); 0: none.
func (r *run) offloaded() int {
	if !strings.HasPrefix(r.group, "mbridge") || r.setup.ZeRO != 3 {
		return 0
	}
	return map[string]int{"llama3-70b gb300": 20, "llama3-70b gb200": 40, "llama3.1-405b gb200": 92}[r.row["model_id"]+" "+r.row["gpu_id"]]
}

// linkToGrace is what one GPU of a Grace Blackwell superchip moves to or from its
// host: NVLink-C2C carries 900 GB/s both ways for two GPUs (NVIDIA's datasheet).
const linkToGrace = 225 * units.GBps

// offload evaluates a run whose activations of some layers are kept in host memory,
// which the engine does not model: it holds what recomputing these layers would
// leave, computes what recomputing none does, and waits for what the link to the host
// cannot carry beside the forward and again beside the backward.
func (r *run) offload(layers int) engine.Report {
	kept, again := r.setup, r.setup
	kept.Recompute = recipe.Recompute{Mode: recipe.RecomputeNone}
	again.Recompute = recipe.Recompute{Mode: recipe.RecomputeFull, Layers: layers}
	out, whole := engine.Evaluate(again), engine.Evaluate(kept)
	if out.Time == nil || whole.Time == nil {
		return out
	}
	m := units.Seconds(r.setup.MicroBatches)
	away := (whole.Memory.Peak - out.Memory.Peak).Over(linkToGrace)
	forward := whole.Time.Compute / m / 3
	wait := m * (max(0, away-forward) + max(0, away-2*forward))
	t := *whole.Time
	t.Exposed += wait
	t.Step += wait
	out.Time, out.Communication = &t, whole.Communication
	return out
}

// typedSoftware is what each typed run is told to run, by its id.
var typedSoftware = sync.OnceValue(func() map[string]recipe.Software {
	groups, err := published.Groups(presets.Default())
	if err != nil {
		panic(err)
	}
	out := map[string]recipe.Software{}
	for i := range groups {
		for k := range groups[i].Runs {
			out[groups[i].Runs[k].ID] = groups[i].Runs[k].Setup.Software
		}
	}
	return out
})

// software gives a run what its recipe tells the stack to run, as it is typed.
func (r *run) software() {
	if told, ok := typedSoftware()[r.id]; ok {
		r.setup.Software = told
	}
}
