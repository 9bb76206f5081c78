package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
)

// TestMomentsOfOptimizers: what each optimizer keeps of Llama 3.1 8B on a GPU, by hand.
func TestMomentsOfOptimizers(t *testing.T) {
	const (
		all       = 8030261248.
		embedding = 128256 * 4096.
		norms     = 65 * 4096. // of 4,096 elements each, so that their moments have 8 bits
		narrow    = 1 + 4./256
	)
	for _, c := range []struct {
		stack     recipe.Stack
		zero      int
		gpus      int
		optimizer recipe.Optimizer
		weights   recipe.WeightDtype
		want      float64 // bytes of the optimizer's state on a GPU
	}{
		{recipe.PyTorch, 0, 1, recipe.Adam, recipe.WeightsFP32, 8 * all},
		{recipe.PyTorch, 0, 1, recipe.Adam, recipe.WeightsBF16, 4 * all},
		{recipe.PyTorch, 0, 1, recipe.AdamNoMaster, recipe.WeightsFP32, 4 * all},
		{recipe.PyTorch, 3, 4, recipe.AdamForeach, recipe.WeightsBF16, all},
		{recipe.PyTorch, 0, 1, recipe.Adam8Bit, recipe.WeightsBF16, 2 * narrow * all},
		{
			recipe.Transformers, 0, 2, recipe.Adam8Bit, recipe.WeightsBF16,
			2*narrow*(all-embedding) + 8*embedding,
		},
		{recipe.Transformers, 0, 1, recipe.AdamPaged, recipe.WeightsBF16, 8 * norms},
		{
			recipe.Transformers, 0, 1, recipe.AdamPaged8Bit, recipe.WeightsFP32,
			2*4./256*(all-embedding) + 2*norms,
		},
		{recipe.Transformers, 0, 1, recipe.Lion, recipe.WeightsBF16, 4 * all},
		{recipe.PyTorch, 0, 1, recipe.Lion8Bit, recipe.WeightsFP32, narrow * all},
		{recipe.PyTorch, 0, 1, recipe.SGDMomentum, recipe.WeightsBF16, 2 * all},
		{recipe.PyTorch, 0, 1, recipe.SGDPlain, recipe.WeightsBF16, 0},
		{recipe.DeepSpeed, 2, 4, recipe.Adam8Bit, recipe.WeightsFP32, (4 + 2*narrow) * all / 4},
		{recipe.DeepSpeed, 3, 4, recipe.AdamPaged, recipe.WeightsFP32, 4 * all / 4},
	} {
		_, r := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: c.gpus, knob.Calibration: c.stack, knob.ZeRO: c.zero, knob.Optimizer: c.optimizer,
			knob.WeightDtype: c.weights,
		})
		if !r.Legal {
			t.Errorf("%s with %s: %v", c.stack, c.optimizer, r.Problems)
			continue
		}
		if got := float64(r.Memory.Ranks[0].Optimizer); math.Abs(got-c.want) > .001*all {
			t.Errorf("%s with %s and weights in %s: %.4g bytes, want %.4g", c.stack, c.optimizer, c.weights,
				got, c.want)
		}
	}
}

// TestOptimizerTemporaries: AdamW over lists of tensors makes the square roots of all second moments in its
// update, which the fused one does not; moments that are paged make the update longer than narrow ones.
func TestOptimizerTemporaries(t *testing.T) {
	run := func(o recipe.Optimizer) engine.Report {
		_, r := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: 1, knob.Calibration: recipe.PyTorch, knob.ZeRO: 0, knob.Optimizer: o, knob.Seq: 512,
			knob.WeightDtype: recipe.WeightsBF16,
		})
		return r
	}
	const all = 8030261248.
	update := run(recipe.AdamForeach).Memory.Ranks[0] // its peak: 2 of weights, 2 of gradients, 4, 2
	if got := float64(update.Allocated); math.Abs(got/(10*all)-1) > .01 {
		t.Errorf("foreach: %.4g bytes at the peak, want %.4g", got, 10*all)
	}
	fused, narrow, paged := run(recipe.Adam).Time, run(recipe.Adam8Bit).Time, run(recipe.AdamPaged).Time
	if narrow.Optimizer >= fused.Optimizer || paged.Optimizer <= fused.Optimizer {
		t.Errorf("updates of %v, %v in 8 bits, %v paged", fused.Optimizer, narrow.Optimizer, paged.Optimizer)
	}
}

// TestPagedMoments: moments in unified memory come over the link to the host and go back in each update, and
// nothing runs meanwhile: twice two of 4 bytes or of one, of all parameters but those of norms, which are too
// small. They are the part offload of a step, each GPU has a row of them, and between updates host memory.
func TestPagedMoments(t *testing.T) {
	const paged, link = 8030261248. - 65*4096, 55e9 // measured
	for o, bytes := range map[recipe.Optimizer]float64{
		recipe.AdamPaged: 16 * paged, recipe.AdamPaged8Bit: 4 * paged, recipe.Adam8Bit: 0,
	} {
		s, r := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: 1, knob.Calibration: recipe.PyTorch, knob.ZeRO: 0, knob.Optimizer: o, knob.Seq: 512,
			knob.WeightDtype: recipe.WeightsBF16,
		})
		row := engine.Communication{Operation: "moments to the host and back"}
		for _, c := range r.Communication {
			if c.Copies() {
				row = c
			}
		}
		near(t, string(o)+": bytes", float64(row.Bytes), bytes, 1e-9)
		near(t, string(o)+": offload", float64(r.Time.Offload), bytes/link, 1e-9)
		near(t, string(o)+": host", float64(r.Memory.Host), bytes/2, 1e-9)
		if row.Exposed != r.Time.Offload || row.Operation != "moments to the host and back" {
			t.Errorf("%s: %+v", o, row)
		}
		agrees(t, s)
	}
	_, both := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
		knob.GPUs: 1, knob.Calibration: recipe.PyTorch, knob.ZeRO: 0, knob.Optimizer: recipe.AdamPaged,
		knob.Seq: 512, knob.WeightDtype: recipe.WeightsBF16, knob.Offload: recipe.OffloadActivations,
		knob.Recompute: recipe.RecomputeFull,
	})
	if row := both.Communication[0]; row.Operation != "moments, activations to the host and back" ||
		float64(both.Memory.Host) <= 8*paged {
		t.Errorf("with activations: %+v, %v on the host", row, both.Memory.Host)
	}
}

// TestOptimizersRefused: what a stack cannot run is refused by name, with what it can.
func TestOptimizersRefused(t *testing.T) {
	refusals(t, map[string]knob.Given{
		"no adamw-8bit under FSDP2": {
			knob.Calibration: recipe.Transformers, knob.ZeRO: 3, knob.Optimizer: recipe.Adam8Bit,
		},
		"megatron-core has no adamw-8bit": {
			knob.Calibration: recipe.MegatronCore, knob.Optimizer: recipe.Adam8Bit,
		},
		"DeepSpeedCPUAdam on the host, not adamw-paged": {
			knob.Calibration: recipe.DeepSpeed, knob.Offload: recipe.OffloadOptimizer,
			knob.Optimizer: recipe.AdamPaged,
		},
		"megatron-core has no weights in bf16": {
			knob.Calibration: recipe.MegatronCore, knob.WeightDtype: recipe.WeightsBF16,
		},
		"DeepSpeed's ZeRO keeps fp32 copies": {
			knob.Calibration: recipe.DeepSpeed, knob.WeightDtype: recipe.WeightsBF16,
		},
		"weights of bf16 with precision bf16": {
			knob.Calibration: recipe.PyTorch, knob.WeightDtype: recipe.WeightsBF16,
			knob.Precision: recipe.FP16,
		},
	})
}
