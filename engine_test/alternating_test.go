package engine_test

import (
	"math"
	"testing"

	"meshscope/engine"
	"meshscope/engine/hardware"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
	"meshscope/engine/search/bound"
	"meshscope/engine/step"
	"meshscope/engine/units"
)

// stagesOf returns what each stage of a pipeline costs in time, in the model as it is or without windows.
func stagesOf(t *testing.T, s engine.Setup, window int) ([]step.Cost, *step.Input) {
	t.Helper()
	s.Model.LocalWindow = window
	if window == 0 {
		s.Model.LocalRatio = ""
	}
	var mem memory.Input
	in := new(step.Input)
	p := model.Lay(&s.Model, nil)
	engine.Inputs(&s, p, nil, &mem, in)
	in.Recompute, in.Groups = s.Recompute, s.Groups(&s.Cluster)
	var err error
	if in.Stages, err = s.Partition(p, nil); err != nil {
		t.Fatal(err)
	}
	return new(step.Parts).Stages(in, nil), in
}

// TestAlternatingStages: a stage costs the sum of its own layers. Layers counted by hand: of gpt-oss
// every second one from the first has a window, of Gemma 3 five of six.
func TestAlternatingStages(t *testing.T) {
	const seq = 8192
	for _, c := range []struct {
		model, split string
		window       int
		core         units.FLOPs // of one token of all heads for each that it sees: 2 x heads x (d + d)
		width        int
		local, again [4]int // with a window: of each stage, of the first three of each
	}{
		{"gpt-oss-120b", "7,9,11,9", 128, 2 * 64 * (64 + 64), 64, [4]int{4, 4, 6, 4}, [4]int{2, 1, 2, 1}},
		{
			"gemma3-27b", "5,17,20,20", 1024, 2 * 32 * (128 + 128), 128,
			[4]int{5, 14, 16, 17},
			[4]int{3, 2, 2, 3},
		},
	} {
		d := textbookDraft(t, c.model, seq)
		s, err := knob.DraftOf(presetModel(t, c.model), d.Cluster(), knob.Given{
			knob.GPUs: 4, knob.DP: 1, knob.TP: 1, knob.PP: 4, knob.Split: c.split, knob.Seq: seq, knob.MBS: 1,
			knob.MicroBatches: 4,
			knob.Recompute:    recipe.Recompute{Mode: recipe.RecomputeFull, Layers: 3},
		}).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		got, in := stagesOf(t, s, c.window)
		plain, _ := stagesOf(t, s, 0)
		// The first w tokens see w/2 tokens on average, the others w.
		w := units.FLOPs(c.window)
		whole := hardware.Core{ // its tiles are unequal, those of a window are not
			FLOPs: record.Lit(float64(c.core * seq * seq / 2)), Width: c.width, Seen: record.Lit(seq),
		}
		longest, longestBack := in.Machine.Attention(&whole)
		full, fullBack := units.Seconds(longest.V), units.Seconds(longestBack.V)
		local, back := attended(&in.Machine, c.core*(w*w/2+w*(seq-w)), c.width)
		factor := in.Machine.Software.Factor
		for i := range got {
			less := func(n int, full, local units.Seconds) float64 {
				return float64(n) * float64(full-local) * factor
			}
			near(t, c.model+" forward", float64(plain[i].Forward-got[i].Forward),
				less(c.local[i], full, local), 1e-9)
			near(t, c.model+" input gradient", float64(plain[i].InputGrad-got[i].InputGrad),
				less(c.local[i], fullBack, back), 1e-9)
			near(t, c.model+" recomputed", float64(plain[i].Recompute-got[i].Recompute),
				less(c.again[i], full, local), 1e-9)
		}
	}
}

// TestAlternatingLayersRecomputed: where dense layers and mixtures alternate, those that run again are
// the first of each stage as they stand. The second stage of Maverick here begins with a mixture, the
// others with a dense layer.
func TestAlternatingLayersRecomputed(t *testing.T) {
	d := textbookDraft(t, "llama4-maverick", 4096)
	resolved := func(given knob.Given) engine.Setup {
		of := knob.Given{
			knob.GPUs: 32, knob.DP: 8, knob.EP: 8, knob.TP: 1, knob.PP: 4, knob.Split: "13,11,12,12",
			knob.Seq: 4096, knob.MBS: 1, knob.MicroBatches: 8,
		}
		for id, v := range given {
			of[id] = v
		}
		s, err := knob.DraftOf(presetModel(t, "llama4-maverick"), d.Cluster(), of).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	none := recipe.Recompute{Mode: recipe.RecomputeNone}
	r, rec := engine.EvaluateRecorded(resolved(knob.Given{knob.Recompute: none}))
	of := func(id string) float64 {
		e, ok := rec.Entry(id)
		if !ok {
			t.Fatalf("no figure %s", id)
		}
		return e.Value * 4096
	}
	dense, moe, input := of("layer.sliding_dense.activations"), of("layer.sliding_moe.activations"),
		2*5120*4096.0
	again := engine.Evaluate(resolved(knob.Given{knob.Recompute: recipe.Recompute{
		Mode:   recipe.RecomputeFull,
		Layers: 1,
	}}))
	away := engine.Evaluate(resolved(knob.Given{knob.Recompute: none, "offload-layers": 1}))
	for i, kept := range []float64{dense, moe, dense, dense} {
		before := r.Memory.Stages[i].Activations
		near(t, "one layer recomputed", float64(before-again.Memory.Stages[i].Activations), kept-input, 1e-9)
		near(t, "one layer offloaded", float64(before-away.Memory.Stages[i].Activations), kept, 1e-9)
	}
}

// TestStageTakesItsFirstLayers: of all ways to cut a stack of alternating kinds, against counting.
func TestStageTakesItsFirstLayers(t *testing.T) {
	for _, id := range []string{
		"gpt-oss-20b", "gemma3-4b", "llama4-maverick", "deepseek-v3", "llama3.1-8b",
		"minimax-m1",
	} {
		m := presetModel(t, id)
		p := model.Lay(&m, nil)
		for pp := 1; pp <= min(m.Layers, 12); pp++ {
			l := layout.Layout{PP: pp, VPP: 1}
			stages, err := l.Partition(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			first := 0
			for i := range stages {
				var want layout.Counts
				for n := range stages[i].Layers() + 2 {
					if got := stages[i].Take(p, n); got != want {
						t.Fatalf("%s, PP %d: %d layers of stage %d are %v, counted %v", id, pp, n, i, got,
							want)
					}
					if n < stages[i].Layers() {
						want[p.At(first+n)]++
					}
				}
				first += stages[i].Layers()
			}
		}
	}
}

// TestMixedStageRecomputedIsBounded: where every layer runs again, the bound of a search is the step of a
// stage that holds dense layers and layers with experts too: which come first does not matter.
func TestMixedStageRecomputedIsBounded(t *testing.T) {
	d := textbookDraft(t, "deepseek-v3", 1024)
	s, err := knob.DraftOf(presetModel(t, "deepseek-v3"), d.Cluster(), knob.Given{
		knob.GPUs: 8, knob.DP: 1, knob.TP: 1, knob.EP: 1, knob.PP: 8, knob.VPP: 3, knob.Seq: 1024,
		knob.MBS:          1,
		knob.MicroBatches: 2, knob.Schedule: schedule.LoopedBFS,
		knob.Recompute: recipe.Recompute{Mode: recipe.RecomputeFull},
	}).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	var f bound.Bounder
	floor, ok := f.Bound(&s)
	if r := engine.Evaluate(s); !ok || !r.Legal || math.Abs(float64(r.Time.Step/floor.Step)-1) > 1e-6 {
		t.Errorf("the step is %v, its floor %v", r.Time.Step, floor.Step)
	}
}
