package measured

import (
	"fmt"

	"meshscope/engine/hardware"
)

// constant is a figure of the calibration that a fit may change, with those that change in
// proportion to it: more would not be told apart by whole steps.
type constant struct {
	id   string
	what string // for a table
	keys []string
	unit float64 // of what adds to a step and may be zero, in the unit of the key; 0: a ratio
	// tells says which runs would determine it.
	tells string
}

// constants lists what is fitted. The factor of a stack is not among them: it cannot be told from
// all others together.
func constants() []constant {
	inter := []string{"inter_ring_efficiency", "inter_all_to_all_efficiency"}
	for i := range hardware.CurvePoints {
		inter = append(inter, fmt.Sprintf("all_reduce_%dnode_GBps", 1<<i),
			fmt.Sprintf("gather_%dnode_GBps", 1<<i))
	}
	return []constant{
		{
			"matmul", "matrix products, share of peak",
			[]string{
				"gemm_efficiency", "gemm_fp8_efficiency",
				"gemm_fp4_efficiency",
			},
			0,
			"runs with large micro-batches and little communication: TP 1, few stages",
		},
		{
			"attention", "attention forward, share of peak",
			[]string{"attention_forward_efficiency", "attention_backward_efficiency"},
			0,
			"runs of the same model with sequences of 4 and 32 k tokens",
		},
		{
			"memory", "element-wise, share of bandwidth",
			[]string{"memory_efficiency"},
			0,
			"runs with and without recomputation, of a model with a small hidden size",
		},
		{
			"experts", "expert products, share of peak",
			[]string{"grouped_efficiency", "grouped_memory_efficiency"},
			0,
			"runs of a model with experts, with few and many tokens per expert",
		},
		{
			"intra-node", "links inside the node",
			[]string{
				"gather_efficiency", "all_reduce_efficiency",
				"all_to_all_efficiency", "dispatch_efficiency", "send_efficiency",
			},
			0,
			"runs with TP 1 and TP 8, or with experts inside and across nodes",
		},
		{"inter-node", "network between nodes", inter, 0, "runs on several nodes with few micro-batches " +
			"per step, so that gradients or ZeRO-3 are not hidden, or with TP, CP or EP across nodes"},
		{
			"step", "host time per step, us",
			[]string{"host_step_us"},
			10_000,
			"runs with very short steps: a small batch on many GPUs",
		},
		{"layer", "host time per layer, us", []string{"host_layer_us"}, 100, "runs whose kernels are " +
			"short: a small model with TP 8 and micro-batches of one short sequence"},
	}
}
