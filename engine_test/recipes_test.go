package engine_test

import (
	"strings"
	"sync"

	"meshscope/engine"
	"meshscope/engine/recipe"
	"meshscope/presets"
	"meshscope/presets/published"
)

// What Megatron-Bridge's performance recipes state beside the layouts that its
// tables print: NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs
// (*_workload_base_configs.py, *_llm_pretrain.py, in the version of the release that a
// table belongs to as far as the layouts of both are the same).

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

// superseded are the rows whose recipe a later release of the tables runs with more
// sequences in a micro-batch, everything else but the pipeline being the same.
func superseded() []string {
	return []string{"mbridge-25.09-019", "mbridge-25.11-008", "mbridge-26.02.01-030", "mbridge-26.04-016"}
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

// typedSetups are the setups of the typed runs, by their id.
var typedSetups = sync.OnceValue(func() map[string]engine.Setup {
	groups, err := published.Groups(presets.Default())
	if err != nil {
		panic(err)
	}
	out := map[string]engine.Setup{}
	for i := range groups {
		for k := range groups[i].Runs {
			out[groups[i].Runs[k].ID] = groups[i].Runs[k].Setup
		}
	}
	return out
})

// asTyped gives a run what its recipe tells the stack to run, as it is typed: software, scaling
// of fp8, activations in host memory and, of Megatron-Bridge, what runs again.
func (r *run) asTyped() {
	typed, ok := typedSetups()[r.id]
	if !ok {
		return
	}
	r.setup.Software, r.setup.OffloadLayers = typed.Software, typed.OffloadLayers
	if strings.HasPrefix(r.group, "mbridge") {
		r.setup.Precision = typed.Precision
	}
}

// parts is what the recipe of a run with experts recomputes (recompute_modules); the
// feed-forward of DeepSeek-V3's three dense layers ("mlp") is left out. known is false
// for the others, whose tables and recipes are silent.
func (r *run) parts() (what recipe.Recompute, known bool) {
	typed, ok := typedSetups()[r.id]
	return typed.Recompute, ok && strings.HasPrefix(r.group, "mbridge") && r.setup.Model.IsMoE()
}
