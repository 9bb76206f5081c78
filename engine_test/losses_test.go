package engine_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"meshscope/engine/knob"
	"meshscope/engine/ledger"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
)

// TestLossesInParts: what the losses of a part of the tokens at a time keep and make, by hand: a layer of
// Llama 3.2 1B with a narrow MLP and a head of its own, all in bf16, N = 32,768 tokens.
func TestLossesInParts(t *testing.T) {
	const N, h, V = 32768., 2048., 128256.
	m := presetModel(t, "llama3.2-1b")
	m.Tied, m.Layers, m.FFN = false, 1, 64
	code, err := ledger.CodeOf("")
	if err != nil {
		t.Fatal(err)
	}
	after := func(loss recipe.Loss, compile bool, rank int64) ledger.Phases {
		w := &ledger.Way{
			Code: code, Bytes: 2, Loss: loss, Compile: compile, Checkpoint: ledger.Full, Rank: rank,
			Targets: []string{"q"}, Seq: N, MicroBatch: 1, MicroBatches: 1, Steps: 2,
		}
		if rank == 0 {
			w.Targets = nil
		}
		r, err := ledger.Steps(model.Lay(&m, nil), w, new(ledger.Rates))
		if err != nil {
			t.Fatal(err)
		}
		return r.Later
	}
	eager := after(recipe.UnfusedLoss, false, 0)
	adapters := after(recipe.UnfusedLoss, false, 8)
	liger, frozen := after(recipe.LigerLoss, false, 0), after(recipe.LigerLoss, false, 8)
	chunked, compiled := after(recipe.ChunkedLoss, false, 0), after(recipe.ChunkedLoss, true, 0)
	whole := after(recipe.FusedLoss, true, 0)
	const chunk = 1024. // 63 parts of V over h, a power of two from 521 on
	for _, c := range []struct {
		what string
		got  int64
		want float64
	}{
		// probabilities and their input, less the gradients of hidden state and head
		{"kept by liger", eager.AfterForward - liger.AfterForward, 4*N*V - 2*V*h},
		// its input, logits of a chunk, the head's gradient of it in 16 and 32 bits, losses
		{"made by liger", liger.PeakForward - liger.AfterForward, 2*N*h + 2*chunk*V + 6*V*h + 4*N},
		// a frozen head keeps no input and has no gradient
		{"kept by liger, frozen", adapters.AfterForward - frozen.AfterForward, 4*N*V - 2*N*h},
		{"kept by chunked", eager.AfterForward - chunked.AfterForward, 0},
		{"made by chunked", eager.PeakForward - chunked.PeakForward, 4 * N * V * 7 / 8},
		// of 8 parts, and of all: the filled gradient and the one after it
		{"backward of chunked", eager.PeakBackward - chunked.PeakBackward, 8 * N * V * 7 / 8},
		{"kept by chunked, compiled", whole.AfterForward - compiled.AfterForward, 0},
		{"backward of chunked, compiled", whole.PeakBackward - compiled.PeakBackward, 2 * N * V * 7 / 8},
	} {
		if math.Abs(float64(c.got)-c.want) > 32<<20 { // blocks of the allocator
			t.Errorf("%s: %.1f MiB, want %.1f", c.what, float64(c.got)/(1<<20), c.want/(1<<20))
		}
	}
}

// TestLossesRefused: stacks that have no such loss name those that do.
func TestLossesRefused(t *testing.T) {
	refusals(t, map[string]knob.Given{
		"megatron-core has no loss liger": {
			knob.Calibration: recipe.MegatronCore, knob.Loss: recipe.LigerLoss,
		},
		"torchtitan has no loss liger here; transformers, pytorch and deepspeed have": {
			knob.Calibration: recipe.TorchTitan, knob.Loss: recipe.LigerLoss,
		},
		"megatron-core has no loss chunked here; pytorch and torchtitan have": {
			knob.Calibration: recipe.MegatronCore, knob.Loss: recipe.ChunkedLoss,
		},
		"transformers has no loss chunked: its code is torchtune's, on pytorch, and torchtitan's; allowed": {
			knob.Calibration: recipe.Transformers, knob.Loss: recipe.ChunkedLoss,
		},
		"transformers has no loss fused: its classes compute it operation by operation, or by Liger's": {
			knob.Calibration: recipe.Transformers, knob.Loss: recipe.FusedLoss,
		},
		"deepspeed has no loss fused": {
			knob.Calibration: recipe.DeepSpeed, knob.Loss: recipe.FusedLoss,
		},
		"pytorch has no loss native: its code is Megatron-Core's; allowed: fused, unfused, liger, chunked": {
			knob.Calibration: recipe.PyTorch, knob.Loss: recipe.NativeLoss,
		},
	})
}

// TestChunkedTorchTitan: of N tokens an eighth has logits, 12 bytes each, and the gradient of the hidden
// state is summed in fp32; time is that of all tokens.
func TestChunkedTorchTitan(t *testing.T) {
	const N, h, V = 2 * 8192., 4096., 128256.
	given := knob.Given{
		knob.Calibration: recipe.TorchTitan, knob.GPUs: 8, knob.ZeRO: 3, knob.MBS: 2, knob.GBS: 16,
		knob.Seq: 8192, knob.Loss: recipe.UnfusedLoss,
	}
	_, unfused := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
	given[knob.Loss] = recipe.ChunkedLoss
	_, chunked := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
	a, b := &unfused.Memory.Ranks[0], &chunked.Memory.Ranks[0]
	if got, want := float64(a.Logits-b.Logits), 12*N*V*7/8; got != want {
		t.Errorf("logits: %g bytes less, want %g", got, want)
	}
	if got, want := float64(b.Buffers-a.Buffers), 4*N*h; got != want {
		t.Errorf("buffers: %g bytes more, want %g", got, want)
	}
	if unfused.Time.Step != chunked.Time.Step {
		t.Errorf("steps of %v and %v", unfused.Time.Step, chunked.Time.Step)
	}
	s, _ := fineTuned(t, "deepseek-v3", "h100-sxm", knob.Given{
		knob.Calibration: recipe.TorchTitan, knob.Loss: recipe.ChunkedLoss, knob.MTP: true, knob.GPUs: 8,
	})
	refusedBy(t, &s, "torchtitan has no loss chunked here; its modules of multi-token prediction take")
}

// TestLowWeights: torchtitan's training.dtype bf16 halves weights, gradients and moments, and nothing else.
func TestLowWeights(t *testing.T) {
	given := knob.Given{
		knob.Calibration: recipe.TorchTitan, knob.GPUs: 8, knob.PP: 2, knob.ZeRO: 3, knob.MicroBatches: 4,
	}
	_, wide := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
	given[knob.WeightDtype] = recipe.WeightsBF16
	_, low := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
	if !low.Legal {
		t.Fatal(low.Problems)
	}
	for i := range low.Memory.Ranks {
		a, b := &wide.Memory.Ranks[i], &low.Memory.Ranks[i]
		if a.Weights != 2*b.Weights || a.Gradients != 2*b.Gradients || a.Optimizer != 2*b.Optimizer ||
			a.Buffers != b.Buffers || a.Activations != b.Activations {
			t.Errorf("rank %d: %+v in fp32, %+v in bf16", i, a, b)
		}
	}
	if !slices.ContainsFunc(low.Assumptions, func(a string) bool {
		return strings.Contains(a, "gradients summed in fp32, as grad-dtype says")
	}) {
		t.Errorf("nothing says what grad-dtype does: %q", low.Assumptions)
	}
	given[knob.Precision] = recipe.FP16
	s, _ := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
	refusedBy(t, &s, "torchtitan has no weights in bf16 with another precision here; it has with bf16")
}
