package engine_test

import (
	"math"
	"slices"
	"testing"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/cards"
	"meshscope/engine/explain"
	"meshscope/engine/figures"
	"meshscope/engine/fit"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/presets"
)

// TestHierarchyOfAnH100: 989 TFLOP/s over 3.35 TB/s of HBM3, 450 GB/s of NVLink and 50 GB/s of InfiniBand
// (NVIDIA's datasheet, both directions of a link halved): the balances that rooflines are drawn with.
func TestHierarchyOfAnH100(t *testing.T) {
	s := claimedSetup(t, "llama3.1-8b dgx-h100 gpus=16")
	levels := cards.Hierarchy(&s)
	want := []float64{295, 2198, 19780}
	var got []float64
	for _, l := range levels {
		if l.Name != "host" {
			got = append(got, l.Balance)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("levels %+v", levels)
	}
	for i := range want {
		near(t, "FLOP per byte", got[i], want[i], 2e-3)
	}
	if levels[0].Holds != 80*units.GiB || levels[1].Holds != 0 {
		t.Errorf("an H100 holds 80 GiB, a link nothing: %+v", levels)
	}
	s.Cluster.Inter.Bandwidth, s.Cluster.GPU.HostBandwidth, s.Cluster.GPU.HostLink = 0, 0, 0
	if levels := cards.Hierarchy(&s); len(levels) != 2 {
		t.Errorf("links that there are not: %+v", levels)
	}
}

// TestCountsOfOrders: what a schedule's plan says of counts and activations in flight is what its list
// of operations says, one by one.
func TestCountsOfOrders(t *testing.T) {
	for _, info := range schedule.Kinds() {
		spec := schedule.Spec{Kind: info.Kind, Ranks: 4, MicroBatches: 8, VirtualStages: max(info.Chunks, 1)}
		if info.Chunks == 0 {
			spec.VirtualStages = 2
		}
		o, err := schedule.Build(spec)
		if err != nil {
			t.Fatalf("%s: %v", info.Kind, err)
		}
		list := schedule.Order{Spec: o.Spec, Placement: o.Placement, Ops: o.Ops, Start: o.Start}
		for rank := range spec.Ranks {
			if planned, listed := o.PeakInFlight(rank), list.PeakInFlight(rank); planned != listed {
				t.Errorf("%s, rank %d: the plan says %d in flight, the list %d", info.Kind, rank, planned,
					listed)
			}
			forwards := 0
			for chunk := range o.Chunks() {
				for _, kind := range []schedule.OpKind{
					schedule.Forward, schedule.Backward,
					schedule.InputGradient, schedule.WeightGradient,
				} {
					if planned, listed := o.Count(rank, chunk, kind),
						list.Count(rank, chunk, kind); planned != listed {
						t.Errorf("%s, rank %d, chunk %d: the plan says %d, the list %d", info.Kind, rank,
							chunk, planned, listed)
					}
				}
				forwards += list.Count(rank, chunk, schedule.Forward)
			}
			// two directions share them
			if want := spec.MicroBatches * o.Chunks(); forwards != want && 2*forwards != want {
				t.Errorf("%s, rank %d: %d forwards of %d", info.Kind, rank, forwards, want)
			}
		}
	}
}

// TestHiddenTraffic: traffic that a near tie rests on is at least 1 % of the step, the largest first.
func TestHiddenTraffic(t *testing.T) {
	r := engine.Report{Time: &engine.Time{Step: 100}, Communication: []engine.Communication{
		{Dimension: "tp", Seconds: 5, Exposed: 5},
		{Dimension: "dp", Seconds: 6, Exposed: 2},
		{Dimension: "pp", Seconds: 7, Exposed: 1},
		{Dimension: "ep", Seconds: search.NearShare * 99, Exposed: 0},
	}}
	got := search.OverlapReliances(&r)
	want := []search.OverlapReliance{
		{Dimension: "pp", Hidden: 6, Share: 0.06},
		{Dimension: "dp", Hidden: 4, Share: 0.04},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestProblemOfAQuery: of 16 GPUs with tp 2 and pp 2 four copies share a batch of 64 in pieces of 2.
func TestProblemOfAQuery(t *testing.T) {
	q := query(t, map[knob.ID]string{knob.GPUs: "16", knob.GBS: "64", knob.Seq: "2048"})
	q.Setup.TP, q.Setup.PP, q.Setup.CP, q.Setup.MBS, q.Setup.GBS = 2, 2, 1, 2, 64
	p, err := q.Problem()
	if s := &p.Setup; err != nil || s.GPUs != 16 || s.DP != 4 || s.MicroBatches != 8 || s.GBS != 64 ||
		s.Seq != 2048 || p.Space.FollowGBS {
		t.Errorf("%+v (%v)", p.Setup.Layout, err)
	}
	// Two batches, two lengths, and tp and pp of 1 or 2 each, of a dense model whose context is not cut.
	p.Space.GBS, p.Space.Seq, p.Space.TP, p.Space.PP, p.Space.CP = []int{64, 128}, []int{2048, 4096},
		[]int{1, 2}, []int{1, 2}, []int{1}
	if cuts := p.Cuts(1000); cuts != 16 {
		t.Errorf("%d cuts, want 16", cuts)
	}
	if cuts := p.Cuts(10); cuts <= 10 {
		t.Errorf("%d cuts are not more than 10", cuts)
	}
}

// TestSwitchedModels: what the new model or machine does not have falls back.
func TestSwitchedModels(t *testing.T) {
	s := presets.DefaultSetup()
	s.Model, s.EP, s.ETP, s.Seq, s.TrainMTP, s.Split = presetModel(t, "deepseek-v3"), 8, 2, 131072, true,
		"3,58"
	dense := knob.WithModel(s, presetModel(t, "gpt2-xl"))
	if dense.EP != 1 || dense.ETP != 1 || dense.Seq != 1024 || dense.TrainMTP || dense.Split != "" ||
		dense.Model.ID != "gpt2-xl" {
		t.Errorf("gpt2-xl, of 1,024 positions: %+v", dense.Layout)
	}
	other := knob.WithModel(s, presetModel(t, "mixtral-8x22b"))
	if other.EP != 8 || other.ETP != 2 || other.TrainMTP {
		t.Errorf("experts stay: %+v", other.Layout)
	}
	same := knob.WithModel(s, s.Model)
	if !same.TrainMTP || same.Seq != 131072 {
		t.Errorf("what the model has stays: %+v", same.Layout)
	}
}

// TestBatchHints: the batches of GPT-3 (3.2 M tokens) and Llama 3 405B (16 M) are usual or near it.
func TestBatchHints(t *testing.T) {
	for _, c := range []struct {
		model    string
		seq, gbs int
		want     string
	}{
		{"llama3.1-405b", 8192, 2048, ""},
		{"llama3.1-405b", 8192, 512, ""}, // 4.2 M
		{"llama3.1-405b", 8192, 128, "1.05 M tokens per step are below the 4 to 60 M of large models."},
		{"llama3.1-405b", 8192, 16384, "134 M tokens per step are above the 4 to 60 M of large models."},
		{
			"llama3.1-405b", 8192, 1 << 17,
			"1.07 billion tokens per step are above the 4 to 60 M of large models.",
		},
		{"llama3.1-405b", 4096, 15360, ""}, // DeepSeek-V3, 62.9 M
		{"llama3.1-8b", 8192, 1, ""},       // a small model may have any
	} {
		s := presets.DefaultSetup()
		s.Model, s.Seq, s.GBS = presetModel(t, c.model), c.seq, c.gbs
		if got := advise.BatchHint(&s); got != c.want {
			t.Errorf("%s, %d of %d: %q, want %q", c.model, c.gbs, c.seq, got, c.want)
		}
		if s.Rank = 16; advise.BatchHint(&s) != "" {
			t.Errorf("of adapters: %s", advise.BatchHint(&s))
		}
	}
}

// TestTooCloseToCall: steps are too close from more than none to a quarter of the wider band, whichever is
// the faster.
func TestTooCloseToCall(t *testing.T) {
	at := func(step, wide float64) *engine.Time {
		return &engine.Time{Step: units.Seconds(step), Evidence: engine.Evidence{ErrorBand: wide}}
	}
	for _, c := range []struct {
		a, b *engine.Time
		want bool
	}{
		{at(1, 0.2), at(1, 0.2), false},
		{at(1, 0.2), at(1.03125, 0.125), true},
		{at(1.03125, 0.125), at(1, 0.2), true},
		{at(1, 0.125), at(1.03125, 0.125), true}, // the quarter itself
		{at(1, 0.125), at(1.04, 0.1), false},
	} {
		if got := c.a.TooClose(c.b); got != c.want {
			t.Errorf("%v and %v: %v", c.a.Step, c.b.Step, got)
		}
	}
}

// TestEvidenceInBrief: the note and the count say what the evidence rests on.
func TestEvidenceInBrief(t *testing.T) {
	nearest := engine.NearestRuns{Title: "Llama 3"}
	for _, c := range []struct {
		of          engine.Evidence
		note, count string
	}{
		{engine.Evidence{}, "no published run is known", "no published run is known"},
		{
			engine.Evidence{ValidatedBy: "x", UserRuns: 2, Runs: 9, Nearest: nearest},
			"2 of your own runs are like this, nearest published Llama 3",
			"2 of your own runs are like this",
		},
		{
			engine.Evidence{ValidatedBy: "x", Runs: 2, Nearest: nearest},
			"few published runs like this, nearest Llama 3", "few published runs like this",
		},
		{
			engine.Evidence{ValidatedBy: "x", Runs: 3, TypicalError: 0.0312, Nearest: nearest},
			"3 similar runs, nearest Llama 3; half within 3.1 %", "3 similar runs; half within 3.1 %",
		},
	} {
		if c.of.Note() != c.note || c.of.Count() != c.count {
			t.Errorf("%q and %q, want %q and %q", c.of.Note(), c.of.Count(), c.note, c.count)
		}
	}
	e := engine.Evidence{ErrorBand: 0.123}
	if got := e.BandOf("steps", "±"); got != "steps ±12 %" {
		t.Error(got)
	}
}

// TestDistanceOfSetups: a setup is as far from another as the other from it, and from itself not at all; more
// differences are further.
func TestDistanceOfSetups(t *testing.T) {
	a := claimedSetup(t, "llama3.1-8b dgx-h100 gpus=16")
	b := a
	b.Seq *= 4
	c := b
	c.Precision = recipe.FP8
	ab, ac := engine.Distance(&a, &b), engine.Distance(&a, &c)
	if engine.Distance(&a, &a) != 0 || ab <= 0 || ac <= ab || math.Abs(engine.Distance(&b, &a)-ab) > 1e-12 {
		t.Errorf("%g to another sequence, %g back, %g to another precision too", ab, engine.Distance(&b, &a),
			ac)
	}
}

// TestExplainedLimits: the longest sequence and the largest micro-batch that are explained leave the margin,
// and one more does not.
func TestExplainedLimits(t *testing.T) {
	s := claimedSetup(t, "llama3.1-8b dgx-h100 gpus=8 gbs=64")
	book, legal := explain.Of(s)
	l, ok := fit.Find(&engine.Evaluator{}, s)
	if !ok || !legal {
		t.Fatal("not legal")
	}
	for i, id := range explain.Limits() {
		e, ok := book.Explain(id)
		if !ok || e.Value != []float64{float64(l.Seq), float64(l.MBS)}[i] {
			t.Fatalf("%s: %+v", id, e)
		}
		for more, fits := range []bool{true, false} {
			with := s
			if i == 0 {
				with.Seq = int(e.Value) + more*l.SeqUnit
			} else {
				with.MBS = int(e.Value) + more
			}
			if m := (&engine.Evaluator{}).Memory(with); m.HasMargin() != fits {
				t.Errorf("%s %g and %d more: margin %v", id, e.Value, more, !fits)
			}
		}
	}
}

// TestWhatFiguresNeed: a run's length needs tokens, its cost a price; the word of a figure is that of its
// path.
func TestWhatFiguresNeed(t *testing.T) {
	s := presets.DefaultSetup()
	s.Budget, s.Price = 0, 0
	for word, want := range map[string]knob.ID{"step": "", "days": knob.Tokens, "no.such": ""} {
		id, _ := figures.ByWord(word)
		if got := figures.Lacking(s, id); got != want {
			t.Errorf("%s needs %q, want %q", word, got, want)
		}
	}
	s.Budget = 1e12
	cost, name := figures.ByWord("cost")
	if figures.Lacking(s, "run.days") != "" || figures.Lacking(s, cost) != knob.Price &&
		s.Cluster.GPU.PriceUSD == 0 || name != "cost of the whole run" {
		t.Errorf("with tokens: %q, %q", figures.Lacking(s, "run.days"), figures.Lacking(s, cost))
	}
	r := engine.Evaluate(s)
	for _, w := range figures.Words() {
		id, name := figures.ByWord(w.Word)
		if path, same := figures.ByWord(w.ID); id != w.ID || path != w.ID || name != same || name == w.Word {
			t.Errorf("%s: %q %q", w.Word, id, name)
		}
	}
	if got := figures.OfRank(&r, figures.FullestRank+"weights"); got == figures.FullestRank+"weights" {
		t.Error(got)
	}
}
