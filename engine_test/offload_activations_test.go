package engine_test

import (
	"math"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// hostActivations evaluates Llama-3.1 8B with one sequence of 2,048 tokens under FSDP2 on four GPUs.
func hostActivations(t *testing.T, given knob.Given) (engine.Setup, engine.Report) {
	t.Helper()
	given[knob.GPUs], given[knob.ZeRO], given[knob.Calibration] = 4, 3, recipe.PyTorch
	return fineTuned(t, "llama3.1-8b", "h100-sxm", given)
}

// TestActivationsOnHostByHand: with full recomputation the host has the input of each block and its rotary
// positions, and what the last norm, head and loss save; without, what the operations of each block save.
func TestActivationsOnHostByHand(t *testing.T) {
	const (
		s, h, k, f, layers, vocab = 2048, 4096, 1024, 14336, 32, 128256

		rotary = 8 * s * 64        // complex numbers of half a head's width
		last   = 2*s*h + 4*s + 2*h // input of the norm, its deviations, its weight
		head   = 2*s*h + 2*h*vocab // the product's input, and its weight
		loss   = 2*4*s*vocab + 8*s // log-probabilities, twice: each operation saves its own; targets
		full   = layers*(2*s*h+rotary) + last + head + loss
		norms  = 2 * (2*s*h + 4*s + 2*h)
		// inputs of q, k and v each, of o, gate, up and down, and all weights
		products = 2 * (3*s*h + s*h + 2*s*h + s*f + 2*h*h + 2*h*k + 3*h*f)
		// positions with queries and keys; queries, keys and values repeated for all heads, output, sums
		attention = 2*rotary + 2*(4*s*h) + 4*32*s
		silu      = 2*s*f + 2*2*s*f // its input; both factors of the product behind it
		none      = layers*(norms+products+attention+silu) + last + head + loss
	)
	for mode, want := range map[recipe.RecomputeMode]float64{
		recipe.RecomputeFull: full, recipe.RecomputeNone: none,
	} {
		_, r := hostActivations(t, knob.Given{
			knob.Offload: recipe.OffloadActivations, knob.Recompute: recipe.Recompute{Mode: mode},
		})
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		if got := float64(r.Memory.Ranks[0].Offloaded); math.Abs(got/want-1) > .01 {
			t.Errorf("%s: %.4g bytes in host memory, want %.4g", mode, got, want)
		}
	}
}

// TestActivationsOnHostLeaveTheGPU: a layer more adds its weights, gradients and moments alone; with these on
// the host too, nothing but what is alive around one layer.
func TestActivationsOnHostLeaveTheGPU(t *testing.T) {
	const layer = 218112000 // parameters
	peak := func(layers int, offload recipe.Offload, mode recipe.RecomputeMode) float64 {
		s, _ := hostActivations(t, knob.Given{
			knob.Offload: offload, knob.Recompute: recipe.Recompute{Mode: mode},
		})
		s.Model.Layers = layers
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return float64(r.Memory.Ranks[0].Allocated)
	}
	for _, mode := range []recipe.RecomputeMode{recipe.RecomputeNone, recipe.RecomputeFull} {
		for offload, each := range map[recipe.Offload]float64{
			recipe.OffloadActivations: 16 * layer / 4., // fp32 shards of four ranks
			recipe.OffloadEverything:  0,
		} {
			grown := (peak(64, offload, mode) - peak(48, offload, mode)) / 16
			if math.Abs(grown-each) > .002*16*layer/4 {
				t.Errorf("%s, %s: a layer adds %.4g bytes, want %.4g", offload, mode, grown, each)
			}
		}
	}
}

// TestActivationsOnHostTakeTime: what the backward reads goes and comes over the host's link, waited for.
func TestActivationsOnHostTakeTime(t *testing.T) {
	for _, mode := range []recipe.RecomputeMode{recipe.RecomputeNone, recipe.RecomputeFull} {
		given := knob.Given{knob.Recompute: recipe.Recompute{Mode: mode}}
		_, on := hostActivations(t, given)
		given[knob.Offload] = recipe.OffloadActivations
		s, off := hostActivations(t, given)
		least := 2 * float64(off.Memory.Ranks[0].Offloaded) / float64(s.Cluster.GPU.Host())
		if got := float64(off.Time.Step - on.Time.Step); got < least {
			t.Errorf("%s: the copies take %.3f s, want %.3f at least", mode, got, least)
		}
	}
}

// TestActivationsOnHostRefused: what a stack cannot keep on the host is refused by name.
func TestActivationsOnHostRefused(t *testing.T) {
	refusals(t, map[string]knob.Given{
		"none, optimizer, and with zero 3 weights, optimizer-nvme, weights-nvme": {
			knob.Calibration: recipe.DeepSpeed, knob.Offload: recipe.OffloadActivations,
		},
		"under DDP; allowed: none, activations": {
			knob.ZeRO: 0, knob.Calibration: recipe.PyTorch, knob.Offload: recipe.OffloadEverything,
		},
		"has no offload activations here; pytorch and transformers have": {
			knob.Calibration: recipe.MegatronCore, knob.Offload: recipe.OffloadActivations,
		},
		"compiled blocks whose saved tensors are in host memory": {
			knob.Calibration: recipe.PyTorch, knob.Offload: recipe.OffloadActivations, "compile": true,
		},
	})
}

// TestWindowsOnALedgerAreLeftOut: where attention runs over the whole sequence, the text does not say that
// the step time includes what windows save.
func TestWindowsOnALedgerAreLeftOut(t *testing.T) {
	for stack, want := range map[recipe.Stack]string{
		recipe.PyTorch:      "windows in model FLOPs and in the step time",
		recipe.MegatronCore: "windows in model FLOPs; the step time includes them",
	} {
		_, r := fineTuned(t, "mistral-7b", "h100-sxm", knob.Given{knob.GPUs: 8, knob.Calibration: stack})
		if text := strings.Join(r.NotModelled, "\n"); !strings.Contains(text, want) {
			t.Errorf("%s: %s", stack, text)
		}
	}
}
