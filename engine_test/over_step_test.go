package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/fit"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
	"meshscope/engine_test/draws"

	"pgregory.net/rapid"
)

// Over a step no rank ever has more than its peak, in a later step exactly that
// unless gradients are made late; time never runs backwards, nothing is negative
// and what was kept is freed.
func TestMemoryOverStepMeetsThePeak(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 10, func(t *rapid.T) {
		s := w.legalSetup(t)
		if s.MicroBatches*s.PP*s.VPP > 20_000 {
			s.MicroBatches, s.GBS = 4*s.PP, 4*s.PP*s.MBS*s.DP
			if !engine.Legal(s) {
				t.Skip("no shorter pipeline")
			}
		}
		checkOverStep(t, s)
	})
}

// atRounding is what blocks of the allocator may make the first step's peak larger, bytes.
const atRounding = 64 << 10

// checkOverStep holds it of one setup.
func checkOverStep(t failer, s engine.Setup) {
	r := engine.Evaluate(s)
	over, ok := engine.MemoryOverStep(s)
	if !ok || len(over.Ranks) != s.PP {
		t.Fatalf("%d ranks of %d", len(over.Ranks), s.PP)
	}
	stack, _ := memory.For(s.Stack)
	for i, rank := range over.Ranks {
		peak := float64(r.Memory.Ranks[i].Allocated)
		lists := [2][]memory.Sample{
			slices.Collect(rank.Profiles[0].All()),
			slices.Collect(rank.Profiles[1].All()),
		}
		first, later := highest(t, lists[0]), highest(t, lists[1])
		if later > peak*(1+1e-9) || first > later*(1+1e-9)+atRounding {
			t.Fatalf("rank %d: first %g, later %g, peak %g", i, first, later, peak)
		}
		if !stack.LazyGradients() && !same(later, peak) {
			t.Fatalf("rank %d: at most %g over the step, peak %g", i, later, peak)
		}
		for _, list := range lists {
			end, begin := list[len(list)-1], list[0]
			// Exactly: a setup whose temporaries are 10^19 bytes once gave back its 8 GB
			// of buffers with 4096 bytes less, when these were added and taken away again.
			// Activations of stages of different size are added and taken away.
			kept := float64(end.Activations) > 1e-12*peak || end.Buffers != begin.Buffers ||
				end.Logits != begin.Logits
			if s.Stack.Traits().Ledger { // inputs stay, and a forward's first sample has more than those
				kept = end.Activations > begin.Activations || end.Buffers > begin.Buffers ||
					end.Logits > begin.Logits
			}
			if kept {
				t.Fatalf("rank %d ends with %+v, began with %+v", i, end, begin)
			}
		}
	}
	if over.Fits[1] && !over.Fits[0] {
		t.Fatalf("fits later but not at first")
	}
}

func highest(t failer, list []memory.Sample) (most float64) {
	at := units.Seconds(0)
	for i, s := range list {
		if s.At < at {
			t.Fatalf("sample %d at %v after %v", i, s.At, at)
		}
		at = s.At
		if s.Weights < 0 || s.Gradients < 0 || s.Optimizer < 0 || s.Activations < 0 || s.Logits < 0 ||
			s.Buffers < 0 {
			t.Fatalf("sample %d: %+v", i, s)
		}
		most = max(most, float64(s.Allocated()))
	}
	return most
}

// M4: the playbook's picture of predict_memory, of a run on one data-parallel
// rank: weights alone 12,746 MiB, with fp32 weights and gradients five times
// that, after the first update nine times, and the same forward and backward on
// top of both: 75,142 MiB in the first step, 126,126 in the second.
func TestPlaybookStartOfTraining(t *testing.T) {
	const mib = float64(units.MiB)
	model, pass := 12_746.0, 11_412.0
	d := textbookDraft(t, "llama3.1-8b", 4096)
	d.With(knob.Given{knob.Calibration: recipe.Nanotron, knob.ZeRO: 0, knob.Attention: recipe.Flash})
	d.With(knob.Given{knob.GradDtype: recipe.GradFP32, knob.Optimizer: recipe.Adam})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	over, _ := engine.MemoryOverStep(s)
	m := over.Milestones
	near(t, "fp32 weights and gradients", float64(m.States/m.Model), 63_730/model, 1e-12)
	near(t, "after the update", float64(m.AfterUpdate/m.Model), 114_714/model, 1e-12)
	near(t, "first pass", float64(m.FirstPeak-m.States), float64(m.Compute), 1e-12)
	near(t, "second pass", float64(m.LaterPeak-m.AfterUpdate), float64(m.Compute), 1e-12)
	// The picture's own numbers keep the same rules.
	scale := model * mib / float64(m.Model)
	near(t, "first step", float64(m.States)*scale+pass*mib, 75_142*mib, 1e-12)
	near(t, "second step", float64(m.AfterUpdate)*scale+pass*mib, 126_126*mib, 1e-12)
}

// The lesson of the memory profile: a run that fits its first step and not its
// second.
func TestFitsTheFirstStepOnly(t *testing.T) {
	d := textbookDraft(t, "llama3.2-3b", 4096)
	d.With(knob.Given{knob.Precision: recipe.FP32, knob.Optimizer: recipe.Adam})
	s, err := d.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	over, _ := engine.MemoryOverStep(s)
	first, later := over.Ranks[0].Peaks[0], over.Ranks[0].Peaks[1]
	if later <= first {
		t.Fatalf("peaks %.1f and %.1f GiB", first.GiB(), later.GiB())
	}
	s.Cluster.GPU.MemoryUsable = (first + later) / 2
	if over, _ = engine.MemoryOverStep(s); over.Fits != [2]bool{true, false} {
		t.Errorf("fits %v with %.1f GiB: peaks %.1f and %.1f", over.Fits, s.Cluster.GPU.MemoryUsable.GiB(),
			first.GiB(), later.GiB())
	}
}

// The largest sequence and micro-batch fit with their margin, the next ones do not.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 8, func(t *rapid.T) {
		s := w.legalSetup(t)
		limits, ok := fit.Find(new(engine.Evaluator), s)
		if !ok {
			t.Fatalf("no limits of a legal setup")
		}
		fits := func(change func(*engine.Setup)) bool {
			u := s
			change(&u)
			u.GBS = u.MBS * u.MicroBatches * u.DP
			r := engine.Evaluate(u)
			return r.Legal && r.Memory.HasMargin()
		}
		seq := func(n int) bool { return fits(func(u *engine.Setup) { u.Seq = n }) }
		mbs := func(n int) bool { return fits(func(u *engine.Setup) { u.MBS = n }) }
		if limits.Seq > 0 && !seq(limits.Seq) || !limits.SeqOpen && seq(limits.Seq+limits.SeqUnit) {
			t.Fatalf("sequence %+v", limits)
		}
		if limits.MBS > 0 && !mbs(limits.MBS) || !limits.MBSOpen && mbs(limits.MBS+1) {
			t.Fatalf("micro-batch %+v", limits)
		}
	})
}

// The parts of the layers are what a stage has: parameters, states, activations.
func TestPartsAddUp(t *testing.T) {
	w := newWorld(t)
	draws.CheckFew(t, 8, func(t *rapid.T) {
		s := w.legalSetup(t)
		s.PP, s.VPP, s.Split, s.Schedule = 1, 1, "", "1f1b"
		s.GroupSize, s.TrainMTP = 0, false
		s.GPUs = s.Ranks()
		s.Recompute.Mode = recipe.RecomputeNone
		if !engine.Legal(s) || s.Offload.Activations() { // what parts keep is then in host memory
			t.Skip("not legal without the pipeline")
		}
		kinds, ok := new(engine.Evaluator).Layers(s)
		if !ok {
			t.Fatalf("no parts")
		}
		var parameters, activations float64
		for _, kind := range kinds {
			for _, part := range kind.Operations {
				parameters += float64(kind.Layers) * part.Parameters
				activations += float64(kind.Layers) * float64(part.Activations)
			}
		}
		r := engine.Evaluate(s).Memory.Ranks[0]
		// the final norm, and what fits no other part
		rest := r.Parameters - r.EmbeddingParameters - parameters
		if rest < 0 || rest > 0.02*r.Parameters+float64(s.Model.Extra()) {
			t.Fatalf("parts have %g parameters of %g", parameters, r.Parameters-r.EmbeddingParameters)
		}
		if s.Stack.Traits().Ledger { // it has the peak's: of layers whose backward is still to come
			activations *= float64(whole(r.Moment, s.Model.Layers)) / float64(s.Model.Layers)
		}
		if r.Activations > 0 && float64(r.Activations) < activations*(1-1e-9) {
			t.Fatalf("parts keep %g bytes, the rank %g", activations, float64(r.Activations))
		}
	})
}

// whole returns how many layers have all that they keep at the moment of a ledger's peak.
func whole(moment string, layers int) int {
	before := 0
	switch part, _, _ := strings.Cut(moment, ", "); part {
	case "forward of the head", "forward of the loss", "backward of the loss", "backward of the head":
		return layers
	case "forward of the last layer", "backward of the last layer":
		return layers - 1
	default:
		_, _ = fmt.Sscanf(part, "backward of layer %d", &before)
	}
	return before
}

// Overhead has names.
func TestOverheadParts(t *testing.T) {
	for _, stack := range recipe.Stacks() {
		d := textbookDraft(t, "llama3.1-8b", 4096)
		d.With(knob.Given{
			knob.Calibration: stack,
			knob.Recompute:   recipe.Recompute{Mode: recipe.RecomputeNone},
		})
		if stack == recipe.DeepSpeed { // which has neither ZeRO-0 nor 16-bit moments
			d.With(knob.Given{knob.ZeRO: 2, knob.Optimizer: recipe.Adam, knob.GradDtype: recipe.GradBF16})
		}
		r := evaluate(t, d).Memory.Ranks[0]
		near(t, string(stack), float64(r.OverheadParts.Sum()), float64(r.Overhead), 1e-12)
		if (r.Overhead == 0) != (stack == recipe.Textbook) {
			t.Errorf("%s: overhead %v", stack, r.Overhead)
		}
	}
}

// Only what a stack offers comes without a warning, and it warns by name.
func TestStacksSayWhatTheyOffer(t *testing.T) {
	offers := map[recipe.Stack][4]bool{
		recipe.MegatronCore: {true, true, true, true}, recipe.Textbook: {true, true, true, true},
		recipe.Megatron2021: {true, false, false, false}, recipe.Megatron2022: {true, false, false, false},
		recipe.Nanotron: {true, true, false, false}, recipe.TorchTitan: {true, false, true, true},
		recipe.LLMFoundry: {true, false, true, true},
		recipe.PyTorch:    {true, false, true, true}, recipe.Transformers: {true, false, true, true},
		recipe.DeepSpeed: {false, true, true, true},
	}
	for _, stack := range recipe.Stacks() {
		for stage, offered := range offers[stack.Resolve()] {
			d := textbookDraft(t, "llama3.1-8b", 4096)
			d.With(knob.Given{knob.Calibration: stack, knob.ZeRO: stage, knob.DP: 8})
			s, err := d.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			var said []layout.Severity
			for _, p := range engine.Check(s) {
				if p.Code == "zero-not-offered" {
					said = append(said, p.Severity)
				}
			}
			want := []layout.Severity{layout.Warning}
			if stack.Traits().Ledger { // it has no rules for others
				want = []layout.Severity{layout.Error}
			}
			if offered {
				want = nil
			}
			if !slices.Equal(said, want) {
				t.Errorf("%s, ZeRO-%d: said %v, want %v", stack, stage, said, want)
			}
		}
	}
}

// TestDataParallelOnly: a stack without other parallelism warns of each degree by name.
func TestDataParallelOnly(t *testing.T) {
	for stack, wanted := range map[recipe.Stack]int{recipe.LLMFoundry: 2, recipe.TorchTitan: 0} {
		d := textbookDraft(t, "llama3.1-8b", 4096)
		d.With(knob.Given{knob.Calibration: stack, knob.TP: 2, knob.PP: 2, knob.DP: 2})
		s, err := d.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		warned := 0
		for _, p := range engine.Check(s) {
			if p.Code == "degree-not-offered" && p.Severity == layout.Warning {
				warned++
			}
		}
		if warned != wanted {
			t.Errorf("%s with TP and PP: %d warnings, wanted %d", stack, warned, wanted)
		}
	}
}
