package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/ring"
	"meshscope/engine/schedule"
	"meshscope/presets"
	"meshscope/report"
)

// TestRowsOfHybrids: what runs has a row with its time in INSIDE A LAYER, also what only copies.
func TestRowsOfHybrids(t *testing.T) {
	var e engine.Evaluator
	kinds, ok := e.Layers(hybrid(t, "qwen3-next-80b-a3b", knob.Given{knob.GPUs: 8, knob.EP: 8}))
	if !ok {
		t.Fatal("illegal")
	}
	for i := range kinds {
		k := &kinds[i]
		if row := k.Operation("repeat"); (k.ID == "delta_moe") != (row != nil && row.Forward > 0 &&
			row.Backward > 0) {
			t.Errorf("%s: repeated queries and keys %+v", k.ID, row)
		}
	}
}

// TestRingOfHybrids: the ring is that of the layers with attention, whatever stands beside them.
func TestRingOfHybrids(t *testing.T) {
	s := hybrid(t, "nemotron3-nano-30b-a3b", knob.Given{knob.GPUs: 8, knob.CP: 2, knob.EP: 4})
	f, ok := ring.Of(&s)
	if !ok {
		t.Fatalf("%v", engine.Check(s))
	}
	if f.Forward.Attention <= 0 || f.Forward.Message <= 0 ||
		!slices.ContainsFunc(f.Groups, func(g ring.Group) bool { return g.Dimension == "cp" }) {
		t.Errorf("%+v", f)
	}
}

// TestPatternSaysWhichAreMixtures: a pattern of sub-layers refuses a second rule of which layers are
// mixtures.
func TestPatternSaysWhichAreMixtures(t *testing.T) {
	for _, change := range []func(*model.Model){
		func(m *model.Model) { m.FirstDense = 3 },
		func(m *model.Model) { m.MoEFreq = 2 },
	} {
		m := presetModel(t, "nemotron3-nano-30b-a3b")
		if change(&m); m.Check().Err() == nil {
			t.Errorf("first_k_dense_layers %d, moe_layer_freq %d are accepted", m.FirstDense, m.MoEFreq)
		}
	}
}

// TestStagesOfHybridsBalanceCost: stages of layers of several kinds take no longer than equally many layers
// would, and where an MLP is a layer of its own far less; models whose layers have one mixer keep stages of
// equally many layers.
func TestStagesOfHybridsBalanceCost(t *testing.T) {
	gain := 0.0
	for _, preset := range presets.Default().Models() {
		m := preset.Model
		if m.Layers < 8 {
			continue
		}
		l := layout.Layout{PP: 8, VPP: 1, CP: 1, EP: 1, Seq: 4096}
		if stages, err := l.Partition(model.Lay(&m, nil), nil); err != nil || !layout.SplitsByCost(&m) &&
			layout.SplitOf(stages) != layout.BalancedSplit(m.Layers, 8) {
			t.Errorf("%s: %s, %v", m.ID, layout.SplitOf(stages), err)
		}
		if !layout.SplitsByCost(&m) {
			continue
		}
		for _, pp := range []int{2, 4, 8} {
			given := knob.Given{knob.GPUs: 64, knob.PP: pp, knob.GBS: 128}
			if m.IsMoE() {
				given[knob.EP] = 8
			}
			s := hybrid(t, m.ID, given)
			r := engine.Evaluate(s)
			counted := s
			counted.Split = layout.NearestSplit(&m, layout.BalancedSplit(m.Layers, pp), pp)
			q := engine.Evaluate(counted)
			// runs of layers that stay together leave so few splits that other costs than the pipeline's
			// decide
			pipeline := m.Has(model.LetterShared) && r.Pipeline.Makespan < q.Pipeline.Makespan
			if !r.Legal || !q.Legal || r.Time.Step > 1.01*q.Time.Step && !pipeline {
				t.Errorf("%s, PP %d: %v, by number %v", m.ID, pp, r.Time, q.Time)
			}
			gain = max(gain, float64(1-r.Time.Step/q.Time.Step))
			if text := strings.Join(r.Assumptions, "\n"); !strings.Contains(text,
				"balance what they cost and not their number: ") ||
				strings.Contains(strings.Join(q.Assumptions, "\n"), "balance what") {
				t.Errorf("%s: which split is taken is not said", m.ID)
			}
		}
	}
	if gain < 0.2 {
		t.Errorf("at most %.0f %% faster", 100*gain)
	}
}

// TestRanksTellTheirKinds: a stage of a hybrid has the layers that its pattern has there, in the report, in
// its text and in its JSON; one of a model whose layers are all alike says nothing of kinds.
func TestRanksTellTheirKinds(t *testing.T) {
	s := hybrid(t, "nemotron3-nano-30b-a3b", knob.Given{
		knob.GPUs: 64, knob.EP: 8, knob.PP: 2, knob.GBS: 64, knob.Split: "6,46",
	}) // MEMEM* and the rest of 23 M, 23 E and 6 *
	for _, vpp := range []int{1, 2} {
		want := []string{"3 Mamba 2, 2 MoE, 1 full", "20 Mamba 2, 21 MoE, 5 full"}
		if s.VPP = vpp; vpp == 2 { // the third chunk is on the first rank too: EM
			s.Schedule, s.Split = schedule.Interleaved, "6,42,2,2"
			want = []string{"4 Mamba 2, 3 MoE, 1 full", "19 Mamba 2, 20 MoE, 5 full"}
		}
		r := engine.Evaluate(s)
		if !r.Legal {
			t.Fatal(r.Problems)
		}
		for i, m := range r.Memory.Ranks {
			if got := report.Kinds(&m); got != want[i] {
				t.Errorf("vpp %d, rank %d: %s, not %s", vpp, i, got, want[i])
			}
		}
		text, err := json.Marshal(r.Memory.Ranks[0])
		if err != nil || !strings.Contains(string(text), `"layer_kinds":[{"name":"Mamba 2","layers":`) {
			t.Errorf("%s, %v", text, err)
		}
		if got := report.KindsOfRanks(r.Memory); len(got) != 2 || got[1] != "rank 1: "+want[1] {
			t.Errorf("%q", got)
		}
	}
	r := engine.Evaluate(hybrid(t, "llama3.1-8b", knob.Given{knob.GPUs: 8, knob.PP: 2}))
	if text, err := json.Marshal(r.Memory.Ranks[0]); err != nil || strings.Contains(string(text), "kinds") ||
		report.KindsOfRanks(r.Memory) != nil {
		t.Errorf("%s, %v", text, err)
	}
}

// TestStagesBeginWithTheChoiceOfTokens: layers that attend to the tokens which an earlier layer chose begin
// no stage, in the program's own split, in a typed one, which is refused with the nearest that is legal, and
// in what search finds; a module for multi-token prediction chooses its own.
func TestStagesBeginWithTheChoiceOfTokens(t *testing.T) {
	s := hybrid(t, "glm-5.2", knob.Given{knob.GPUs: 512, knob.EP: 32, knob.PP: 8, knob.TP: 2, knob.GBS: 512})
	for _, vpp := range []int{1, 2} {
		s.VPP = vpp
		if vpp > 1 {
			s.Schedule = schedule.Interleaved
		}
		stages, err := s.StagesOfStack(nil, nil)
		if err != nil || !engine.Evaluate(s).Legal {
			t.Fatalf("vpp %d: %v, %v", vpp, err, engine.Check(s))
		}
		layer := 0
		for i := range stages {
			if s.Model.Letter(layer) != model.LetterSparse {
				t.Errorf("%s: stage %d begins with layer %d, an %c", layout.SplitOf(stages), i, layer,
					s.Model.Letter(layer))
			}
			layer += stages[i].Layers()
		}
	}
	s.VPP, s.Schedule = 1, schedule.OneFOneB
	s.Split = layout.BalancedSplit(s.Model.Layers, s.PP)
	for _, p := range engine.Check(s) {
		if p.Code == "split-selection" {
			if p.Nearest["split"] != "10,8,12,8,12,8,12,8" || !strings.Contains(p.Message,
				"stage 1 begins with layer 9, which attends to the tokens that an earlier one chose") {
				t.Errorf("%+v", p)
			}
			s.Split = p.Nearest["split"].(string)
		}
	}
	if !engine.Legal(s) {
		t.Errorf("the nearest split %s is illegal: %v", s.Split, engine.Check(s))
	}
	m := s.Model // whose last kind of layer with experts reuses a choice
	m.Pattern, m.FirstDense = "DDR", 1
	if l := model.Lay(&m, nil).Module(); !strings.HasPrefix(l.ID, "sparse") || !l.MoE {
		t.Errorf("the module for multi-token prediction has %s", l.ID)
	}
}

// TestIndexerTrainsLess: of an indexer the products count twice in training, the scores once and twice of the
// chosen tokens, everything else three times.
func TestIndexerTrainsLess(t *testing.T) {
	m := presetModel(t, "deepseek-v3.2")
	const seq, layers, top = 8192, 61, 2048.
	const products = 2 * (1536*64*128 + 7168*(128+64))
	const scores = 2 * 64 * 129 * seq / 2 // causal
	chosen := (2*seq - top) * top / (seq * seq)
	want := 3*float64(m.ForwardFLOPs(seq, true).Total()) - layers*(products+2*scores*(1-chosen))
	if got := float64(m.TrainingFLOPs(seq, true, false)); !same(got, want) {
		t.Errorf("%v FLOPs of a token, by hand %v", got, want)
	}
	v3 := presetModel(t, "deepseek-v3")
	if v3.TrainingFLOPs(seq, true, false) != 3*v3.ForwardFLOPs(seq, true).Total() {
		t.Error("a model without an indexer counts three times its forward")
	}
}
