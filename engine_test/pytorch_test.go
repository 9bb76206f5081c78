package engine_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/ledger"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/presets"
)

// onOneGPU returns a small model on one GPU of 24 GB, tied, all layers run again, one sequence.
func onOneGPU(t *testing.T, given knob.Given) engine.Setup {
	t.Helper()
	gpu, err := presets.Default().GPU("rtx4090")
	if err != nil {
		t.Fatal(err)
	}
	d := knob.DraftOf(presetModel(t, "llama3.2-1b"), presets.Default().NodeOf(gpu), knob.Given{
		knob.GPUs: 1, knob.Calibration: recipe.PyTorch, knob.ZeRO: 0, knob.MBS: 1, knob.GBS: 1,
		knob.Seq:       1024,
		knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull},
	})
	d.With(given)
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPyTorchOn24GB: Llama 3.2 1B in the ways that people train it. The figures are those of a ledger that
// measured steps confirmed: allocated and reserved, GiB.
func TestPyTorchOn24GB(t *testing.T) {
	for _, c := range []struct {
		name                string
		given               knob.Given
		allocated, reserved float64
	}{
		{"autocast", nil, 19.46, 19.88},
		{"all bf16, 2k", knob.Given{
			knob.Optimizer: recipe.AdamNoMaster, knob.Seq: 2048,
			knob.Calibration: recipe.Transformers,
		}, 10.06, 12.21},
		{"FSDP2, 2k", knob.Given{knob.ZeRO: 3, knob.Seq: 2048}, 19.46, 23.91},
	} {
		s := onOneGPU(t, c.given)
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Errorf("%s: %v", c.name, r.Problems)
			continue
		}
		rank := &r.Memory.Ranks[0]
		for name, got := range map[string][2]float64{
			"allocated": {rank.Allocated.GiB(), c.allocated},
			"reserved":  {rank.Reserved.GiB(), c.reserved},
		} {
			if math.Abs(got[0]/got[1]-1) > .02 {
				t.Errorf("%s: %s %.2f GiB, want %.2f", c.name, name, got[0], got[1])
			}
		}
		if sum := rank.Reserved + rank.Driver; math.Abs(float64(rank.Total-sum)) > 1 ||
			rank.FirstStepPeak >= rank.Allocated || !strings.HasSuffix(rank.Moment, "step 2") {
			t.Errorf("%s: total %v, reserved and driver %v, first peak %v of %v, %q", c.name, rank.Total, sum,
				rank.FirstStepPeak, rank.Allocated, rank.Moment)
		}
	}
}

// TestPyTorchRefuses: what the stack has no rules for is an error by name, with what it has.
func TestPyTorchRefuses(t *testing.T) {
	for _, c := range []struct {
		given knob.Given
		says  string
	}{
		{knob.Given{knob.ZeRO: 1}, "pytorch has ZeRO 0 (DDP), 2 and 3 (FSDP2), not 1"},
		{knob.Given{knob.GradDtype: recipe.GradBF16}, "gradients in the weights' type"},
		{knob.Given{knob.Precision: recipe.FP32}, "bf16 and fp16 here, not fp32"},
		{knob.Given{knob.Attention: recipe.Standard}, "no attention standard here"},
		{knob.Given{knob.Offload: recipe.OffloadOptimizer}, "no optimizer alone on the host"},
		{
			knob.Given{
				knob.Calibration: recipe.Transformers,
				knob.Recompute:   recipe.Recompute{Mode: recipe.RecomputeSelective},
			},
			"selective checkpointing in transformers",
		},
		{
			knob.Given{
				knob.Calibration: recipe.Transformers,
				knob.Recompute:   recipe.Recompute{Mode: recipe.RecomputeFull, Layers: 4},
			},
			"checkpointing of some layers in transformers",
		},
	} {
		s := onOneGPU(t, c.given)
		found := false
		for _, p := range engine.Check(s) {
			found = found || p.Severity == layout.Error && strings.Contains(p.Message, c.says)
		}
		if !found {
			t.Errorf("%v: %v, want %q", c.given, engine.Check(s), c.says)
		}
	}
	s := onOneGPU(t, nil)
	s.Model = presetModel(t, "lfm2-350m")
	for _, c := range []struct {
		pattern, says string
		scalar        bool
	}{
		{"C", "no rules for short convolution", false}, // alike, so the kind has the name of its MLP
		{"*C", "no rules for short convolution", false},
		{"", "no rules for scalar of the layer", true},
	} {
		if s.Model.Pattern, s.Model.LayerScalar = c.pattern, c.scalar; c.scalar {
			s.Model.ConvWidth = 0
		}
		if problems := engine.Check(s); !strings.Contains(fmt.Sprint(problems), c.says) {
			t.Errorf("%q: %v, want %q", c.pattern, problems, c.says)
		}
	}
	for _, id := range []string{"gpt2-xl", "qwen3-8b", "qwen2.5-7b"} {
		s := onOneGPU(t, knob.Given{"compile": true, knob.ZeRO: 3})
		s.Model = presetModel(t, id)
		if problems := engine.Check(s); !strings.Contains(fmt.Sprint(problems), "biases or norms of") {
			t.Errorf("compiled %s: %v", id, problems)
		}
	}
}

// TestPyTorchClass: the class that stands in for a model is named.
func TestPyTorchClass(t *testing.T) {
	for id, class := range map[string]string{
		"llama3.2-1b": "Llama", "qwen2.5-7b": "Llama", "gpt2-124m": "GPT2",
	} {
		s := onOneGPU(t, knob.Given{knob.Calibration: recipe.Transformers})
		s.Model = presetModel(t, id)
		r := engine.Evaluate(s)
		said := slices.ContainsFunc(r.Assumptions, func(a string) bool {
			return strings.HasPrefix(a, "operations are those of the class "+class+" of transformers")
		})
		if !r.Legal || !said {
			t.Errorf("%s: %v, %v", id, r.Problems, r.Assumptions)
		}
	}
	s := onOneGPU(t, nil)
	if r := engine.Evaluate(s); strings.Contains(strings.Join(r.Assumptions, "\n"), "of the class") {
		t.Error(r.Assumptions)
	}
}

// TestSGDTakesLess: its update reads and writes one state less than Adam's.
func TestSGDTakesLess(t *testing.T) {
	h100, err := presets.Default().GPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	seconds := func(o recipe.Optimizer) float64 {
		s := onOneGPU(t, knob.Given{knob.Optimizer: o})
		s.Cluster = presets.Default().NodeOf(h100)
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return float64(r.Time.Optimizer)
	}
	adam, sgd := seconds(recipe.Adam), seconds(recipe.SGDMomentum)
	if two := 1.2358e9 * 8 / 2.6e12; math.Abs(adam-sgd-two) > .02*two { // passes over fp32 of seven
		t.Errorf("Adam takes %.4g s and SGD %.4g s, want a difference of %.4g s", adam, sgd, two)
	}
}

// TestPyTorchShards: FSDP2 keeps a share of the states on each rank, DDP buckets as large as the gradients.
func TestPyTorchShards(t *testing.T) {
	peak := func(zero, gpus int) float64 {
		s := onOneGPU(t, knob.Given{knob.ZeRO: zero, knob.GPUs: gpus, knob.GBS: gpus})
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		return r.Memory.Ranks[0].Allocated.GiB()
	}
	states := 16 * 1.2358 / 1.0737 // GiB
	if one, eight := peak(3, 1), peak(3, 8); one-eight < states*.4 || eight < states/8 {
		t.Errorf("FSDP2 on 1 and 8 GPUs: %.1f and %.1f GiB", one, eight)
	}
	const parameters = 1.2358e9 / (1 << 30)
	for gpus, want := range map[int]float64{1: 4 * parameters, 8: parameters / 2} { // moments of 2 B
		s := onOneGPU(t, knob.Given{
			knob.ZeRO: 3, knob.GPUs: gpus, knob.GBS: gpus, knob.Optimizer: recipe.AdamNoMaster,
		})
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		rank := &r.Memory.Ranks[0]
		if got := rank.Optimizer.GiB(); math.Abs(got/want-1) > .01 || rank.Weights.GiB() < want/2*.99 ||
			rank.Allocated.GiB() > peak(3, gpus)*.8 {
			t.Errorf("all bf16 under FSDP2 on %d: states %.2f GiB, want %.2f; weights %.2f; %.2f in all", gpus,
				got, want, rank.Weights.GiB(), rank.Allocated.GiB())
		}
	}
	if one, two := peak(0, 1), peak(0, 2); math.Abs(two-one-states/4) > .1 {
		t.Errorf("DDP on 1 and 2 GPUs: %.1f and %.1f GiB", one, two)
	}
}

// TestPyTorchCounts: the ledger of every preset that it has rules for has that model's parameters.
func TestPyTorchCounts(t *testing.T) {
	counted := 0
	for _, class := range []string{"", "Llama", "compiled"} {
		code, err := ledger.CodeOf(strings.TrimPrefix(class, "compiled"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range presets.Default().Models() {
			program := model.Lay(&p.Model, nil)
			r, err := ledger.Steps(program, &ledger.Way{
				Code: code, Bytes: 4, FSDP: true, Ranks: 512, Compile: class == "compiled",
				Seq: 512, MicroBatch: 1, MicroBatches: 1, Steps: 1,
			}, new(ledger.Rates))
			if err != nil {
				continue
			}
			counted++
			if off := float64(r.Parameters)/program.Total() - 1; math.Abs(off) > 1e-4 {
				t.Errorf("%q, %s: %+.4f %% parameters", class, p.ID, 100*off)
			}
		}
	}
	if counted < 100 {
		t.Errorf("only %d of the presets have rules", counted)
	}
}

// TestPyTorchKeeps: what the operations of a layer keep is what a longer model has more of after its forward,
// but for blocks of the allocator that are up to 1 MiB larger than what is in them.
func TestPyTorchKeeps(t *testing.T) {
	ways := 0
	for _, id := range []string{"llama3.2-1b", "qwen3-30b-a3b", "mixtral-8x7b", "gpt2-xl"} {
		for _, code := range ledger.Codes() {
			for _, w := range []ledger.Way{
				{Bytes: 4, Autocast: true},
				{Bytes: 2},
				{Bytes: 4, FSDP: true, Ranks: 8},
				{Bytes: 4, FSDP: true, Checkpoint: ledger.Selective},
				{Bytes: 2, Checkpoint: ledger.Selective},
			} {
				w.Code, w.Seq, w.MicroBatch, w.MicroBatches, w.Steps = &code, 512, 8, 1, 2
				var after [2]int64
				var kept int64
				refused := false
				for i, layers := range []int{3, 5} {
					m := presetModel(t, id)
					if code.Set(&m); id == "mixtral-8x7b" {
						m.SharedFFN = 256
					}
					m.Layers, m.FirstDense, m.Vocab, m.MaxSeq = layers, 0, 1024, 1024
					p := model.Lay(&m, nil)
					res, err := ledger.Steps(p, &w, new(ledger.Rates))
					refused = refused || err != nil
					after[i] = res.Later.AfterForward - res.Later.Start
					kept = 0
					if err == nil {
						for _, bytes := range ledger.Saved(p, &p.Layers[0], &w) {
							kept += bytes
						}
					}
				}
				if refused {
					continue
				}
				ways++
				if got := (after[1] - after[0]) / 2; math.Abs(float64(got)/float64(kept)-1) > .015 {
					t.Errorf("%s, %q: a layer keeps %d bytes, its operations %d: %+v", id, code.Name, got,
						kept, w)
				}
			}
		}
	}
	if ways < 35 {
		t.Errorf("only %d ways have rules", ways)
	}
}

// TestClassesOfTransformers: a model that no class of transformers is like is refused, not taken for GPT-2.
func TestClassesOfTransformers(t *testing.T) {
	for id, legal := range map[string]bool{
		"gpt2-xl": true, "llama3.2-1b": true, "qwen3-8b": true, "opt-175b": false, "mpt-7b": false,
		"bloom-176b": false, "nemotron4-15b": false,
	} {
		s := onOneGPU(t, knob.Given{knob.Calibration: recipe.Transformers})
		s.Model = presetModel(t, id)
		if got := engine.Legal(s); got != legal {
			t.Errorf("%s: legal %v: %v", id, got, engine.Check(s))
		}
	}
	s := onOneGPU(t, nil)
	s.Model = presetModel(t, "llama3.2-1b")
	s.Model.LocalHeads = 16
	if engine.Legal(s) {
		t.Error("attention of several widths is legal")
	}
}

// TestOtherMicroBatchesAreLikeTheSecond: a step whose middle micro-batches follow from what one makes of
// the host's and the GPU's time takes as long as one that runs all, from where the host is late to where
// the GPU is; and a faster GPU is never later.
func TestOtherMicroBatchesAreLikeTheSecond(t *testing.T) {
	gpu, err := presets.Default().GPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	node := presets.Default().NodeOf(gpu)
	rates, ok := node.Rates(recipe.BF16)
	if !ok {
		t.Fatal("no rates of PyTorch on H100")
	}
	code, err := ledger.CodeOf("Llama")
	if err != nil {
		t.Fatal(err)
	}
	m, err := presets.Default().Model("llama3.2-1b")
	if err != nil {
		t.Fatal(err)
	}
	program := model.Lay(&m, nil)
	for _, checkpoint := range []ledger.Checkpoint{ledger.Keep, ledger.Full} {
		last := math.Inf(1)
		for _, by := range []float64{.2, .5, 1, 1.5, 2, 3, 5, 20} {
			faster := rates.Times([...]float64{1, by, by, by, 1})
			w := ledger.Way{
				Code: code, Bytes: 4, Autocast: true, Seq: 1024, Checkpoint: checkpoint,
				MicroBatch: 1, MicroBatches: ledger.MaxMicroBatches,
			}
			all, err := ledger.Steps(program, &w, &faster)
			if err != nil {
				t.Fatal(err)
			}
			w.Steps = 3
			some, err := ledger.Steps(program, &w, &faster)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				what      string
				all, some float64
			}{
				{"forward", all.Forward, some.Forward},
				{"backward", all.Backward, some.Backward},
				{"step", all.Step, some.Step},
			} {
				if math.Abs(c.some/c.all-1) > 1e-9 {
					t.Errorf("checkpoint %d, GPU times %g: %s of 16 micro-batches %g s, from three %g", checkpoint, by,
						c.what, c.all, c.some)
				}
			}
			if some.Step > last {
				t.Errorf("checkpoint %d, GPU times %g: %g s, slower than a slower one's %g", checkpoint, by, some.Step, last)
			}
			last = some.Step
		}
	}
}
