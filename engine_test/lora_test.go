package engine_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/presets"
)

// fineTuned returns a fine-tune on GPUs of one kind.
func fineTuned(t *testing.T, model, gpu string, given knob.Given) (engine.Setup, engine.Report) {
	t.Helper()
	g, err := presets.Default().GPU(gpu)
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(presetModel(t, model), presets.Default().NodeOf(g), knob.Given{
		knob.MBS: 1, knob.MicroBatches: 1, knob.Seq: 2048,
		knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull},
	})
	d.With(given)
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s, engine.Evaluate(s)
}

// refusals checks fine-tunes on four GPUs, each by what its refusal has to say.
func refusals(t *testing.T, cases map[string]knob.Given) {
	t.Helper()
	for says, given := range cases {
		given[knob.GPUs] = 4
		s, _ := fineTuned(t, "llama3.1-8b", "h100-sxm", given)
		refusedBy(t, &s, says)
	}
}

// refusedBy checks what the refusal of a setup has to say.
func refusedBy(t *testing.T, s *engine.Setup, says string) {
	t.Helper()
	if !slices.ContainsFunc(engine.Check(*s), func(p engine.Problem) bool {
		return p.Severity == layout.Error && strings.Contains(p.Message, says)
	}) {
		t.Errorf("%v, want %q", engine.Check(*s), says)
	}
}

// TestLoRA: a rank takes transformers with DDP; frozen weights have neither gradients nor moments, and count
// no gradients in the FLOPs.
func TestLoRA(t *testing.T) {
	s, r := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{knob.GPUs: 2, knob.LoRA: 16})
	if s.Stack != recipe.Transformers || s.ZeRO != 0 || !r.Legal {
		t.Fatalf("stack %s, ZeRO-%d: %v", s.Stack, s.ZeRO, r.Problems)
	}
	on, sharded := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
		knob.GPUs: 2, knob.LoRA: 16, knob.Calibration: recipe.DeepSpeed,
	})
	if on.ZeRO == 0 || !sharded.Legal { // which has no DDP
		t.Errorf("deepspeed, ZeRO-%d: %v", on.ZeRO, sharded.Problems)
	}
	rank := &r.Memory.Ranks[0]
	const adapters = 41.94e6 // 16 * 32 * (4h + 2 (h + k) + 3 (h + f)), k = 1024, f = 14336
	for name, got := range map[string][2]float64{
		"weights":    {float64(rank.Weights), 2*8.03e9 + 4*adapters},
		"moments":    {float64(rank.Optimizer), 8 * adapters},
		"all-reduce": {float64(r.Communication[0].Bytes), 4 * adapters},
	} {
		if math.Abs(got[0]/got[1]-1) > .01 {
			t.Errorf("%s: %.4g bytes, want %.4g", name, got[0], got[1])
		}
	}
	if rank.Gradients > 4*adapters*1.01 {
		t.Errorf("gradients: %v", rank.Gradients)
	}
	whole := s
	whole.Rank = 0
	all := engine.Evaluate(whole).Model.TrainingFLOPs
	if share := r.Model.TrainingFLOPs / all; share < .66 || share > .71 {
		t.Errorf("FLOPs are %.3f of those of all weights", share)
	}
}

// TestQuantisedBase: weights of the blocks' linear layers have 4.127 bits in nf4 and 8 in int8 and fp8; a
// model of 70B fits on two cards of 24 GB by none, one of 8B by all.
func TestQuantisedBase(t *testing.T) {
	blocks := 8.03e9 - 2*128256*4096.
	for base, bits := range map[recipe.BaseDtype]float64{
		recipe.BaseNF4: 4.127, recipe.BaseInt8: 8.01, recipe.BaseFP8: 8 + 32./128/128,
	} {
		s, r := fineTuned(t, "llama3.1-8b", "rtx4090", knob.Given{
			knob.GPUs: 2, knob.LoRA: 16, "base-dtype": base, knob.Loss: recipe.LigerLoss,
		})
		want := blocks*bits/8 + 4*128256*4096 + 4*41.94e6
		if got := float64(r.Memory.Ranks[0].Weights); math.Abs(got/want-1) > .002 || !r.Memory.Fits {
			t.Errorf("%s: weights %.4g bytes, want %.4g; fits %v", s.BaseDtype, got, want, r.Memory.Fits)
		}
	}
	s, _ := fineTuned(t, "llama3.1-8b", "a100-sxm-80g", knob.Given{
		knob.GPUs: 1, knob.LoRA: 16, "base-dtype": recipe.BaseFP8,
	})
	refusedBy(t, &s, "a GPU that multiplies fp8, not A100")
	if _, r := fineTuned(t, "llama3.1-70b", "rtx4090", knob.Given{
		knob.GPUs: 2, knob.LoRA: 16, "base-dtype": recipe.BaseNF4,
	}); !r.Legal || r.Memory.Fits {
		t.Errorf("70B in nf4 on 24 GB: legal %v: %v", r.Legal, r.Memory)
	}
}

// TestLoRASharded: frozen weights are cut over the ranks by FSDP2 and ZeRO-3, adapters alone by ZeRO-2; what
// travels are the adapters' gradients, and under FSDP2 and ZeRO-3 the weights as they are kept, twice a step.
func TestLoRASharded(t *testing.T) {
	const adapters, rest = 41.94e6, 2 * 128256 * 4096.
	blocks := 8.03e9 - rest
	for _, c := range []struct {
		stack           recipe.Stack
		zero            int
		base            recipe.BaseDtype
		weights, states float64 // bytes on one of 4 GPUs
		sent            float64 // 3/4 of what is gathered and reduced
	}{
		{recipe.PyTorch, 2, "", (2*8.03e9 + 4*adapters) / 4, 8 * adapters / 4, .75 * 2 * 8.03e9},
		{recipe.PyTorch, 3, "", (2*8.03e9 + 4*adapters) / 4, 8 * adapters / 4, .75 * 4 * 8.03e9},
		{
			recipe.Transformers, 3, recipe.BaseNF4, (blocks*4.127/8 + 2*rest + 4*adapters) / 4,
			8 * adapters / 4,
			.75 * 2 * (blocks*4.127/8 + 2*rest),
		},
		{recipe.DeepSpeed, 2, "", 2*8.03e9 + 2*adapters, 12 * adapters / 4, .75 * 4 * adapters},
		{
			recipe.DeepSpeed, 3, recipe.BaseInt8, (blocks + 2*rest + 2*adapters) / 4, 12 * adapters / 4,
			.75 * 2 * (blocks + 2*rest),
		},
	} {
		_, r := fineTuned(t, "llama3.1-8b", "a100-sxm-80g", knob.Given{
			knob.GPUs: 4, knob.LoRA: 16, knob.Calibration: c.stack, knob.ZeRO: c.zero,
			"base-dtype": cmp.Or(c.base, recipe.BaseBF16),
		})
		if !r.Legal {
			t.Fatalf("%s, ZeRO-%d: %v", c.stack, c.zero, r.Problems)
		}
		rank := &r.Memory.Ranks[0]
		for name, got := range map[string][2]float64{
			"weights": {float64(rank.Weights), c.weights}, "moments": {float64(rank.Optimizer), c.states},
			"sent": {float64(r.Communication[0].Bytes), c.sent},
		} {
			if math.Abs(got[0]/got[1]-1) > .04 {
				t.Errorf("%s, ZeRO-%d, %s: %s %.4g bytes, want %.4g", c.stack, c.zero, c.base, name, got[0], got[1])
			}
		}
	}
}

// TestAdaptersOfSixteenBits: with adam-no-master, as torchtune trains, adapters, gradients and moments have
// two bytes each, and no product is made on a copy of its input in fp32.
func TestAdaptersOfSixteenBits(t *testing.T) {
	const adapters = 41.94e6
	train := func(o recipe.Optimizer) *memory.Rank {
		_, r := fineTuned(t, "llama3.1-8b", "a100-sxm-80g", knob.Given{
			knob.GPUs: 1, knob.LoRA: 16, knob.Calibration: recipe.PyTorch, knob.Optimizer: o, knob.ZeRO: 0,
			knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeNone}, knob.MicroBatches: 16,
		})
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return &r.Memory.Ranks[0]
	}
	low, high := train(recipe.AdamNoMaster), train(recipe.Adam)
	for name, got := range map[string][2]float64{
		"weights":   {float64(low.Weights), 2*8.03e9 + 2*adapters},
		"gradients": {float64(low.Gradients), 2 * adapters},
		"moments":   {float64(low.Optimizer), 4 * adapters},
	} {
		if math.Abs(got[0]/got[1]-1) > .01 {
			t.Errorf("%s: %.4g bytes, want %.4g", name, got[0], got[1])
		}
	}
	if low.Activations >= high.Activations {
		t.Errorf("activations %v, with copies in fp32 %v", low.Activations, high.Activations)
	}
}

// TestDoRAByHand: each adapted product has a trained magnitude of each output, keeps its base output in 16
// bits and its adapter's in fp32, and makes four fp32 copies of its weight beside an identity matrix.
func TestDoRAByHand(t *testing.T) {
	const (
		h, k, f, layers, rank, seq = 4096, 1024, 14336, 32, 16, 2048

		outputs = 2*h + 2*k + 2*f + h // of q and o, k and v, gate and up, down
		norms   = 4*4*h*f + 4*f*f + 4*f*rank
	)
	train := func(dora bool, targets string, seq int, mode recipe.RecomputeMode,
	) (*memory.Rank, engine.Report) {
		_, r := fineTuned(t, "llama3.1-8b", "h100-sxm", knob.Given{
			knob.GPUs: 1, knob.LoRA: rank, knob.DoRA: dora, "lora-targets": targets, knob.Seq: seq,
			knob.Recompute: recipe.Recompute{Mode: mode},
		})
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return &r.Memory.Ranks[0], r
	}
	with, _ := train(true, "all", seq, recipe.RecomputeNone)
	without, _ := train(false, "all", seq, recipe.RecomputeNone)
	for name, got := range map[string][2]float64{
		"weights":     {float64(with.Weights - without.Weights), 4 * outputs * layers},
		"moments":     {float64(with.Optimizer - without.Optimizer), 8*outputs*layers + 512*7*layers},
		"activations": {float64(with.Activations - without.Activations), 6 * outputs * layers * seq},
	} {
		if math.Abs(got[0]/got[1]-1) > .01 {
			t.Errorf("%s: %.5g bytes more than LoRA's, want %.5g", name, got[0], got[1])
		}
	}
	down, _ := train(true, "down", 64, recipe.RecomputeFull)
	if got := float64(down.Activations); got < norms || got > 1.02*norms {
		t.Errorf("%.5g bytes are alive at the peak, want %.5g of the norm", got, float64(norms))
	}
	_, slow := train(true, "down", seq, recipe.RecomputeFull)
	_, fast := train(false, "down", seq, recipe.RecomputeFull)
	const moved = layers * (4*f*f + 30*h*f) // identity; cast, scale, sum and norm of a weight
	const least = 2 * moved / 3.35e12       // in the forward, and again in the backward
	if took := float64(slow.Time.Step - fast.Time.Step); took < least || took > 2.5*least {
		t.Errorf("%.4f s longer than LoRA, at least %.4f of norms", took, least)
	}
}

// TestTrainingRefuses: what a stack or a model lacks is refused by name.
func TestTrainingRefuses(t *testing.T) {
	refusals(t, map[string]knob.Given{
		"allowed: q, k, v, o, gate, up, down":  {knob.LoRA: 8, "lora-targets": "qkv"},
		"magnitudes of adapters only with":     {knob.DoRA: true, knob.Calibration: recipe.Transformers},
		"megatron-core has no DoRA":            {knob.DoRA: true, knob.Calibration: recipe.MegatronCore},
		"megatron-core has no LoRA":            {knob.LoRA: 8, knob.Calibration: recipe.MegatronCore},
		"nf4 only with --lora, such as":        {"base-dtype": "nf4", knob.Calibration: recipe.Transformers},
		"compiled blocks":                      {"compile": "on", knob.Calibration: recipe.Transformers},
		"megatron-core has no switch of torch": {"compile": "on", knob.Calibration: recipe.MegatronCore},
		"fp8 only with classes of transformers": {
			knob.LoRA: 8, "base-dtype": "fp8", knob.Calibration: recipe.PyTorch,
		},
		"as Unsloth trains, not zero 3":     {knob.LoRA: 8, "base-dtype": "fp8", knob.ZeRO: 3},
		"fp8 only with LoRA: nothing makes": {knob.LoRA: 8, "base-dtype": "fp8", knob.DoRA: true},
		"bf16 and fp16 here, not fp8":       {knob.LoRA: 8, "base-dtype": "nf4", knob.Precision: recipe.FP8},
	})
	for text, ok := range map[string]bool{"0": false, "16": true, "16.5": false, "none": true, "5000": false} {
		k, _ := knob.Find(knob.LoRA)
		if _, err := k.Set(engine.Setup{}, text); (err == nil) != ok {
			t.Errorf("--lora %s: %v", text, err)
		}
	}
}

// TestNearestKeepsAdapters: what a stack has no rules for is refused by the knob that asks for it, and the
// nearest legal value keeps stack and adapters, or the adapters on a stack that trains them.
func TestNearestKeepsAdapters(t *testing.T) {
	type near = map[string]any
	for _, c := range []struct {
		given knob.Given
		field knob.ID
		want  near
	}{
		{
			knob.Given{knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeSelective}, knob.ZeRO: 3},
			knob.Recompute,
			near{"recompute": "full"},
		},
		{
			knob.Given{knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull, Layers: 4}},
			knob.Recompute,
			near{"recompute": "full"},
		},
		{knob.Given{"compile": "on"}, "compile", near{"compile": false}},
		{knob.Given{knob.Calibration: recipe.TorchTitan}, knob.LoRA, near{"calibration": "transformers"}},
		{knob.Given{knob.Calibration: recipe.Nanotron}, knob.LoRA, near{"calibration": "transformers"}},
		{knob.Given{knob.Calibration: recipe.MegatronCore}, knob.LoRA, near{"calibration": "transformers"}},
		{
			knob.Given{knob.Calibration: recipe.MegatronCore, knob.ZeRO: 1},
			knob.LoRA,
			near{"calibration": "deepspeed", "grad-dtype": "bf16"},
		},
	} {
		if c.given[knob.LoRA] = 8; c.given[knob.Calibration] == nil {
			c.given[knob.Calibration] = recipe.Transformers
		}
		s, _ := fineTuned(t, "qwen3-8b", "h100-sxm", c.given)
		problems := slices.DeleteFunc(engine.Check(s),
			func(p engine.Problem) bool { return p.Severity != layout.Error })
		if len(problems) != 1 || problems[0].Field != string(c.field) ||
			fmt.Sprint(problems[0].Nearest) != fmt.Sprint(c.want) {
			t.Errorf("%v: %+v, want %s and %v", c.given, problems, c.field, c.want)
		}
	}
}

// TestTrainerOptimizers: names that transformers.TrainingArguments has for optimizers are taken for these.
func TestTrainerOptimizers(t *testing.T) {
	k, _ := knob.Find(knob.Optimizer)
	for word, want := range map[string]recipe.Optimizer{
		"paged_adamw_8bit": recipe.AdamPaged8Bit, "adamw_bnb_8bit": recipe.Adam8Bit,
		"adamw_8bit": recipe.Adam8Bit, "paged_adamw_32bit": recipe.AdamPaged,
		"paged_adamw": recipe.AdamPaged, "adamw_torch": recipe.AdamForeach,
		"adamw_torch_fused": recipe.Adam, "adamw": recipe.Adam,
	} {
		if s, err := k.Set(engine.Setup{}, word); err != nil || s.Optimizer != want {
			t.Errorf("--optimizer %s: %s, %v; want %s", word, s.Optimizer, err, want)
		}
	}
	if s, err := k.Set(engine.Setup{}, "adamw_torch_xla"); err == nil {
		t.Errorf("adamw_torch_xla is taken for %s", s.Optimizer)
	}
}

// TestCompile: compiled blocks and loss take less memory and time.
func TestCompile(t *testing.T) {
	given := knob.Given{knob.GPUs: 1, knob.Calibration: recipe.PyTorch, knob.ZeRO: 3}
	_, eager := fineTuned(t, "llama3.2-1b", "h100-sxm", given)
	given["compile"] = "on"
	s, compiled := fineTuned(t, "llama3.2-1b", "h100-sxm", given)
	if !s.Compile || !compiled.Legal || compiled.Memory.Peak >= eager.Memory.Peak ||
		compiled.Time.Step >= eager.Time.Step {
		t.Errorf("%v: %v and %v s, %.2f and %.2f GiB", compiled.Problems, compiled.Time, eager.Time,
			compiled.Memory.Peak.GiB(), eager.Memory.Peak.GiB())
	}
}

// TestNobodyShardsOverOneGPU: a search for one GPU takes plain training, and FSDP where a stage is asked for.
func TestNobodyShardsOverOneGPU(t *testing.T) {
	for _, stack := range []recipe.Stack{recipe.PyTorch, recipe.Transformers} {
		s, _ := fineTuned(t, "llama3.1-8b", "h100-sxm",
			knob.Given{knob.GPUs: 1, knob.LoRA: 16, knob.Calibration: stack})
		p := search.Problem{Setup: s, Top: 9}
		best := search.Run(t.Context(), p, nil).Best
		if len(best) == 0 {
			t.Errorf("%s: no layout", stack)
		}
		for _, found := range best {
			if found.Setup.ZeRO != 0 {
				t.Errorf("%s: ZeRO-%d was not asked for", stack, found.Setup.ZeRO)
			}
		}
		p.Space.ZeRO = []int{3}
		if found := search.Run(t.Context(), p, nil).Best; len(found) == 0 || found[0].Setup.ZeRO != 3 {
			t.Errorf("%s: ZeRO-3 was asked for, found %d layouts", stack, len(found))
		}
	}
}
