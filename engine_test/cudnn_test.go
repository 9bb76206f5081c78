package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// TestCuDNNByHand: cuDNN's kernel makes a step shorter by what its measured rates and FlashAttention-2's
// differ by in each layer, and keeps what that keeps.
func TestCuDNNByHand(t *testing.T) {
	const (
		s, heads, width, layers = 16384, 32, 128, 32
		queries                 = s * heads * width
		work                    = 2*s*queries + 2*s*128*width*132 // causal, tiles on 132 SMs
		// kernels-pytorch.toml, heads of 128: FLOP/s and seconds of an element of the queries
		flash = work/365e12 + 1.9e-12*queries + 2.5*work/300e12 + 20e-12*queries
		cudnn = work/637e12 + 1.3e-12*queries + 2.5*work/572e12 + 11e-12*queries
	)
	run := func(kernel recipe.Attention) engine.Report {
		_, r := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: 4, knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Attention: kernel, knob.Seq: s,
			knob.Recompute: recipe.RecomputeNone,
		})
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return r
	}
	a, b := run(recipe.Flash), run(recipe.CuDNN)
	near(t, "memory", float64(b.Memory.Peak), float64(a.Memory.Peak), 1e-9)
	near(t, "attention", float64(a.Time.Compute-b.Time.Compute), layers*(flash-cudnn), 1e-6)
}

// TestCuDNNRefused: a stack without that choice, and torch.compile, which runs the other kernel, refuse it.
func TestCuDNNRefused(t *testing.T) {
	refusals(t, map[string]knob.Given{
		"no attention kernel to choose here; pytorch, transformers and deepspeed have": {
			knob.Calibration: recipe.MegatronCore, knob.Attention: recipe.CuDNN,
		},
		"torch.compile runs it where cudnn is asked for; allowed: flash, or compile off": {
			knob.Calibration: recipe.PyTorch, knob.ZeRO: 3, knob.Attention: recipe.CuDNN, "compile": "on",
		},
	})
}
