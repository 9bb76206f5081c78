package engine_test

import (
	"math"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
)

// TestOptimizerInBackward: torchtune prints the peak of allocated memory of Llama 3.2 3B, 2 sequences of
// 4,096 on one A100, compiled, with a loss in chunks: 42.9 GiB, 24.9 with recomputation, 23.1 with the update
// in the backward too (pytorch/torchtune, README.md, "Optimization flags").
func TestOptimizerInBackward(t *testing.T) {
	given := func() knob.Given {
		return knob.Given{
			knob.GPUs: 1, knob.Calibration: recipe.PyTorch, knob.ZeRO: 0,
			knob.WeightDtype: recipe.WeightsBF16,
			knob.Seq:         4096, knob.MBS: 2, knob.GBS: 2, knob.Loss: recipe.ChunkedLoss, "compile": true,
			knob.GradDtype: recipe.GradBF16,
		}
	}
	train := func(g knob.Given) *memory.Rank {
		_, r := fineTuned(t, "llama3.2-3b", "a100-sxm-80g", g)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return &r.Memory.Ranks[0]
	}
	whole, again, now := given(), given(), given()
	whole[knob.Recompute] = recipe.Recompute{Mode: recipe.RecomputeNone}
	again[knob.Recompute] = recipe.Recompute{Mode: recipe.RecomputeFull}
	now[knob.Recompute], now[knob.InBackward] = again[knob.Recompute], true
	for _, c := range []struct {
		given   knob.Given
		printed float64
	}{{whole, 42.9}, {again, 24.9}, {now, 23.1}} {
		if got := train(c.given).Allocated.GiB(); math.Abs(got/c.printed-1) > .025 {
			t.Errorf("%.2f GiB, printed %.1f", got, c.printed)
		}
	}
	// at most the gradient of the largest weight is there, of FSDP2 that of one block's shards
	const embedding, block = 2 * 128256 * 3072, (2*3072*3072 + 2*3072*1024 + 3*3072*8192 + 2*3072) * 4 / 8
	if got := float64(train(now).Gradients); got > embedding {
		t.Errorf("gradients of %.4g bytes", got)
	}
	sharded := given()
	sharded[knob.GPUs], sharded[knob.GBS], sharded[knob.ZeRO], sharded[knob.InBackward] = 8, 16, 3, true
	delete(sharded, knob.WeightDtype)
	delete(sharded, knob.GradDtype)
	if got := float64(train(sharded).Gradients); got > max(embedding*2/8, block)*1.001 {
		t.Errorf("sharded gradients of %.4g bytes", got)
	}
	for word, change := range map[string]knob.Given{
		"one micro-batch":    {knob.GBS: 4, knob.MicroBatches: 2},
		"not adapters":       {knob.LoRA: 16},
		"not DDP":            {knob.GPUs: 8, knob.GBS: 16},
		"each element alone": {knob.Optimizer: recipe.Muon},
		"not offload": {
			knob.GPUs: 8, knob.GBS: 16, knob.ZeRO: 3, knob.Offload: recipe.OffloadWeights,
		},
		"pytorch, as torchtune": {
			knob.Calibration: recipe.Transformers, "compile": false, knob.Loss: recipe.LigerLoss,
		},
		"megatron-core has no update": {
			knob.Calibration: recipe.MegatronCore, "compile": false, knob.Loss: recipe.FusedLoss,
			knob.WeightDtype: nil,
		},
	} {
		g := given()
		g[knob.InBackward] = true
		for id, v := range change {
			if g[id] = v; v == nil {
				delete(g, id)
			}
		}
		_, r := fineTuned(t, "llama3.2-3b", "a100-sxm-80g", g)
		said := ""
		for _, p := range r.Problems {
			if p.Field == string(knob.InBackward) {
				said += p.Message
			}
		}
		if r.Legal || !strings.Contains(said, word) {
			t.Errorf("%s: %q of %+v", word, said, r.Problems)
		}
	}
}
