package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/presets"
)

// TestOverheadOfOneGPUAndOneNode: one GPU has no communicators, only the driver's context (1.3 GiB), on
// Megatron-Core and on PyTorch; a group within a node takes 0.67 GiB (NVIDIA/nccl#964) and not the 4.7 GiB of
// large jobs, which experts over a node still do.
func TestOverheadOfOneGPUAndOneNode(t *testing.T) {
	const slack = 0.04 // of what Megatron-Core allocates
	cluster, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, model, stack     string
		given                  knob.Given
		context, communicators float64 // GiB
	}{
		{"one GPU", "llama3.2-1b", "megatron-core", knob.Given{knob.GPUs: 1}, 1.3, 0},
		{"replicas", "llama3.2-1b", "megatron-core", knob.Given{knob.GPUs: 8, knob.DP: 8}, 1.3, 0.67},
		{"TP 8", "llama3.1-8b", "megatron-core", knob.Given{knob.GPUs: 8, knob.TP: 8}, 1.3, 3 * 0.67},
		{"experts", "mixtral-8x7b", "megatron-core", knob.Given{knob.GPUs: 8, knob.DP: 8, knob.EP: 8}, 1.3, 4.7},
		{"one GPU", "llama3.2-1b", "pytorch", knob.Given{knob.GPUs: 1, knob.ZeRO: 0}, 1.29, 0},
		{"replicas", "llama3.2-1b", "pytorch", knob.Given{knob.GPUs: 8, knob.DP: 8, knob.ZeRO: 0}, 1.29, 0.67},
		{"one GPU", "llama3.2-1b", "transformers", knob.Given{knob.GPUs: 1, knob.ZeRO: 0}, 1.29, 0},
		{"one GPU", "llama3.2-1b", "deepspeed", knob.Given{knob.GPUs: 1, knob.ZeRO: 1}, 1.29, 0},
	} {
		c.given[knob.Calibration] = c.stack
		d := knob.DraftOf(presetModel(t, c.model), cluster, c.given)
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(c.stack, c.name, err)
		}
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatal(c.stack, c.name, r.Problems)
		}
		rank := &r.Memory.Ranks[0]
		got := rank.OverheadParts
		if math.Abs(got.Context.GiB()-c.context) > .01 ||
			math.Abs(got.Communicators.GiB()-c.communicators) > .01 {
			t.Errorf("%s, %s: driver %.2f GiB, communicators %.2f, want %.2f and %.2f", c.stack, c.name,
				got.Context.GiB(), got.Communicators.GiB(), c.context, c.communicators)
		}
		whole := c.context + c.communicators + slack*rank.Allocated.GiB()
		if taken := (rank.Total - rank.Allocated).GiB(); c.stack == "megatron-core" && math.Abs(taken-whole) > .01 {
			t.Errorf("%s, %s: %.2f GiB beyond what is allocated, want %.2f", c.stack, c.name, taken, whole)
		}
	}
}
