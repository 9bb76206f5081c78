package engine_test

import (
	"strings"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// What Megatron-Bridge's performance recipes state beside the layouts that its
// tables print: NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs
// (*_workload_base_configs.py, *_llm_pretrain.py, in the version of the release that a
// table belongs to as far as the layouts of both are the same).

// overlapped are the runs whose recipe overlaps the expert all-to-all of one
// micro-batch with the work of another (overlap_moe_expert_parallel_comm).
func overlapped() []string {
	return []string{
		"deepseek-v3 h100-sxm mbridge-25.09", "qwen3-235b-a22b h100-sxm mbridge-25.09", "qwen3-235b-a22b h100-sxm mbridge-25.11",
		"qwen3-235b-a22b h100-sxm mbridge-26", "deepseek-v3 b200-sxm mbridge-26.04.01",
	}
}

// plainDispatch are those that dispatch tokens by a plain all-to-all
// (moe_token_dispatcher_type alltoall), where every copy of a token travels; the
// others' dispatcher is DeepEP or HybridEP.
func plainDispatch() []string {
	return []string{
		"deepseek-v3 gb200 mbridge-25", "deepseek-v3 b200-sxm mbridge-25",
		"qwen3-235b-a22b h100-sxm mbridge", "qwen3-235b-a22b b200-sxm mbridge", "qwen3-235b-a22b b300-sxm mbridge",
	}
}

// corrected are the cells in which a printed table contradicts itself and the recipe.
// 25.09-004 prints 16 micro-batches, which only one sequence each gives; 26.02.01-003
// and -001 lack the virtual stages of their recipe, which had them before and after
// that release (one sequence, four pipeline ranks of five stages), and -001 would need
// 913 GiB as printed.
func corrected() map[string]map[string]string {
	return map[string]map[string]string{
		"mbridge-25.09-004":    {"mbs": "1"},
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

// hiddenAllToAll is the share of an overlapped all-to-all that is felt: assumed.
const hiddenAllToAll = 0.2

// bridge gives a run of Megatron-Bridge the settings that its recipe states: those
// of the software, for every layout of the run alike.
func (r *run) bridge(c *hardware.Cluster) {
	if !strings.HasPrefix(r.group, "mbridge") || c.Calibration == nil {
		return
	}
	key := r.row["model_id"] + " " + r.row["gpu_id"] + " " + r.group
	is := func(list []string) bool {
		for _, start := range list {
			if strings.HasPrefix(key, start) {
				return true
			}
		}
		return false
	}
	own := *c.Calibration
	own.Software = append([]hardware.Software(nil), own.Software...)
	for i := range own.Software {
		soft := &own.Software[i]
		if soft.Stack != recipe.MegatronCore {
			continue
		}
		if is(overlapped()) {
			soft.EP = hiddenAllToAll
		}
		if is(plainDispatch()) {
			soft.Once = false
		}
	}
	c.Calibration = &own
}
