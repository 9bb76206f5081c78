package engine_test

import (
	"math"
	"reflect"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
)

// exchanged evaluates Llama 3.1 8B (32 heads, 8 of keys and values) under ZeRO-3 of DeepSpeed, whose CP is
// Ulysses.
func exchanged(t *testing.T, given knob.Given) (engine.Setup, engine.Report) {
	t.Helper()
	d := knob.Given{
		knob.GPUs: 8, knob.CP: 8, knob.Calibration: recipe.DeepSpeed, knob.ZeRO: 3, knob.Seq: 131072,
	}
	for id, v := range given {
		d[id] = v
	}
	return fineTuned(t, "llama3.1-8b", "h100-sxm", d)
}

// overCP returns the row of context parallelism.
func overCP(r *engine.Report) (row engine.Communication) {
	for i := range r.Communication {
		if r.Communication[i].Dimension == "cp" {
			row = r.Communication[i]
		}
	}
	return row
}

// TestUlyssesTraffic: a rank sends (2 a + 2 kv) d T e (c-1)/c for a layer's forward, as much in the backward
// and where it runs again (DeepSpeed-Ulysses, arXiv 2309.14509, section 3); heads of keys and values that are
// fewer than ranks are copied first. All of it is exposed.
func TestUlyssesTraffic(t *testing.T) {
	const layers, width, heads = 32, 128, 32.
	for _, c := range []struct {
		given  knob.Given
		cp, kv float64
		passes float64
	}{
		{nil, 8, 8, 3}, // 280 MiB each
		{knob.Given{knob.CP: 2}, 2, 8, 3},
		{knob.Given{knob.CP: 4, knob.MBS: 2, knob.MicroBatches: 3}, 4, 8, 18},
		{knob.Given{knob.GPUs: 16, knob.CP: 16}, 16, 16, 3},
		{knob.Given{knob.GPUs: 32, knob.CP: 32}, 32, 32, 3},
		{knob.Given{knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeNone}, knob.Seq: 32768}, 8, 8, .5},
		{knob.Given{knob.Calibration: recipe.Transformers, knob.GradDtype: recipe.GradFP32}, 8, 8, 3},
		{knob.Given{knob.Calibration: recipe.PyTorch, knob.GradDtype: recipe.GradFP32}, 8, 8, 3},
	} {
		s, r := exchanged(t, c.given)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		holds(t, s)
		row := overCP(&r)
		once := (2*heads + 2*c.kv) * width * 131072 / c.cp * 2 * (c.cp - 1) / c.cp
		if want := layers * c.passes * once; math.Abs(float64(row.Bytes)/want-1) > 1e-9 {
			t.Errorf("%v: %.6g bytes sent, want %.6g", c.given, row.Bytes, want)
		}
		if row.Exposed != row.Seconds || row.Seconds <= 0 {
			t.Errorf("%v: %v of %v are exposed", c.given, row.Exposed, row.Seconds)
		}
	}
	ring, _ := exchanged(t, knob.Given{
		knob.Calibration: recipe.MegatronCore, knob.ZeRO: 1, knob.GradDtype: recipe.GradFP32,
		knob.CPComm: recipe.Ring,
	})
	heads2 := ring
	heads2.CPComm = recipe.Ulysses
	holds(t, heads2)
	a, b := engine.Evaluate(ring), engine.Evaluate(heads2)
	got, want := float64(overCP(&b).Bytes/overCP(&a).Bytes), 3*280./(2*448+896)
	if math.Abs(got/want-1) > 1e-9 {
		t.Errorf("megatron-core: all-to-alls send %.4g of what a ring does, want %.4g", got, want)
	}
}

// TestUlyssesMemory: a rank keeps its part of the sequence, the ranks of all sequences share the states
// (deepspeed/runtime/engine.py: seq_data_parallel_group), and attention takes as long as a rank's share.
func TestUlyssesMemory(t *testing.T) {
	none := recipe.Recompute{Mode: recipe.RecomputeNone}
	base := knob.Given{knob.Seq: 16384, knob.Recompute: none}
	one, r1 := exchanged(t, knob.Given{knob.Seq: 16384, knob.Recompute: none, knob.CP: 1})
	_, r8 := exchanged(t, base)
	a, b := &r1.Memory.Ranks[0], &r8.Memory.Ranks[0]
	if a.Weights != b.Weights || a.Gradients != b.Gradients ||
		math.Abs(float64(a.Optimizer/b.Optimizer)-1) > 1e-3 {
		t.Errorf("states %v %v %v, with cp 8 %v %v %v", a.Weights, a.Gradients, a.Optimizer, b.Weights,
			b.Gradients, b.Optimizer)
	}
	// the output of attention is kept on both sides of the exchange: 2 h bytes of a token
	more := float64(b.Activations) - float64(a.Activations)/8
	if want := 32 * 2 * 4096. * 16384 / 8; math.Abs(more/want-1) > .05 {
		t.Errorf("activations %v, with cp 8 %v: %.4g beyond an eighth, want %.4g", a.Activations,
			b.Activations, more, want)
	}
	if logits := float64(a.Logits) / float64(b.Logits); math.Abs(logits/8-1) > .01 {
		t.Errorf("logits %v, with cp 8 %v", a.Logits, b.Logits)
	}
	if share := float64(r1.Time.Step / r8.Time.Step); share < 6 || share > 8 {
		t.Errorf("a step of %v, with cp 8 %v", r1.Time.Step, r8.Time.Step)
	}
	word := one
	word.CPComm = recipe.Ulysses
	if r := engine.Evaluate(word); !reflect.DeepEqual(r.Memory, r1.Memory) || r.Time.Step != r1.Time.Step {
		t.Error("cp 1 is not the same with a2a")
	}
}

// TestUlyssesRefused: heads are whole, with the nearest degree at which they are; what a stack has not is
// named.
func TestUlyssesRefused(t *testing.T) {
	for says, given := range map[string]knob.Given{
		"cp 3 does not divide the model's 32 attention heads": {knob.GPUs: 3, knob.CP: 3, knob.Seq: 3072},
		"deepspeed has no cp-comm p2p here; it has a2a":       {knob.CPComm: recipe.Ring},
		"cp 1 alone here, not 8":                              {knob.HPZ: 8},
		"one GPU or FSDP2 (zero 2 or 3), not DDP on 8": {
			knob.Calibration: recipe.PyTorch, knob.ZeRO: 0, "optimizer-in-backward": true,
		},
		"compiled blocks that exchange the sequence": {
			knob.Calibration: recipe.PyTorch, knob.GradDtype: recipe.GradBF16, "compile": true,
			knob.WeightDtype: recipe.WeightsBF16,
		},
		"torchtitan has no cp-comm a2a here; it has p2p": {
			knob.Calibration: recipe.TorchTitan, knob.CPComm: recipe.Ulysses,
		},
		"cp 16 does not divide the model's 8 kv heads": {
			knob.GPUs: 16, knob.CP: 16, knob.Calibration: recipe.MegatronCore, knob.ZeRO: 1,
			knob.GradDtype: recipe.GradFP32, knob.CPComm: recipe.Ulysses,
		},
		"tp x cp = 16 does not divide the model's 8 kv heads": {
			knob.GPUs: 16, knob.CP: 8, knob.TP: 2, knob.Calibration: recipe.MegatronCore, knob.ZeRO: 1,
			knob.GradDtype: recipe.GradFP32, knob.CPComm: recipe.Ulysses,
		},
	} {
		s, _ := exchanged(t, given)
		refusedBy(t, &s, says)
	}
	s, _ := fineTuned(t, "qwen2.5-7b", "h100-sxm", knob.Given{ // 28 heads
		knob.GPUs: 8, knob.CP: 8, knob.Calibration: recipe.DeepSpeed, knob.ZeRO: 3, knob.Seq: 32768,
	})
	for _, p := range engine.Check(s) {
		if p.Code == "cp-heads" && p.Nearest["cp"] != 4 {
			t.Errorf("nearest of 8 for 28 heads: %v", p.Nearest)
		}
	}
	if s, _ := exchanged(t, knob.Given{knob.Seq: 131080}); layout.HasCode(engine.Check(s), "cp-zigzag") {
		t.Error("a part of the sequence need not be two")
	}
	if _, r := exchanged(t, knob.Given{knob.Seq: 1 << 20, knob.MBS: 1024}); !r.Legal {
		t.Error("tensors are bounded by a rank's tokens:", r.Problems)
	}
	s, r := exchanged(t, knob.Given{knob.CP: 1, knob.CPComm: recipe.Ulysses, knob.Seq: 2048})
	if list := engine.NoEffects(&s, &r); len(list) != 1 || list[0].Field != knob.CPComm {
		t.Errorf("an exchange of one rank: %+v", list)
	}
}

// TestUlyssesLongest: of Llama 3.1 8B on 8 H100 of 80 GB under ZeRO-3, with the optimizer on the host and the
// loss a part at a time, 1.1 million tokens ran and 1.2 million took an MLP in parts too (ALST, arXiv
// 2506.13996; snowflakedb/ArcticTraining@b28638e, projects/sequence-parallelism). Its segments are
// expandable, so that what is allocated decides, and what the driver shows beyond it.
func TestUlyssesLongest(t *testing.T) {
	const driver = 1.29
	for tokens, fits := range map[int]bool{800_000: true, 1_100_000: true, 1_200_000: false} {
		_, r := exchanged(t, knob.Given{
			knob.Seq: tokens, knob.Offload: recipe.OffloadOptimizer, knob.Loss: recipe.LigerLoss,
		})
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		if gib := float64(r.Memory.Ranks[0].Allocated)/(1<<30) + driver; (gib < 79.1) != fits {
			t.Errorf("%d tokens: %.1f GiB of 79.1", tokens, gib)
		}
	}
}
