package report

import (
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/presets"
	"meshscope/presets/measured"
	"meshscope/presets/published"
	"meshscope/presets/steps"
)

// TestCalibrationSaysWhatItFitted: runs next to both predictions, each constant with its error or why it has
// none, what was left out, and how the ranking changed.
func TestCalibrationSaysWhatItFitted(t *testing.T) {
	groups, err := published.Groups(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	var runs []measured.Run
	for i := range groups {
		for k := range groups[i].Runs {
			if r := &groups[i].Runs[k]; groups[i].ID == "zero-bubble" && r.Step > 0 && k%3 == 0 {
				runs = append(runs, measured.Run{Name: r.ID, Setup: r.Setup, Seconds: r.Step, Reserved: 60})
			}
		}
	}
	runs[1].Reserved, runs[1].Allocated, runs[2].Reserved = 0, 50, 0
	fit, err := measured.Do(&engine.Evaluator{SkipTimeline: true}, runs,
		func(*engine.Setup) string { return "--tp 8" })
	if err != nil {
		t.Fatal(err)
	}
	c := Calibration{
		Header: NewHeader("test"), Fit: fit,
		LeftOut: []LeftOutLine{{"a.log", 7, "no step"}, {"b.log", 0, "empty"}},
		Ranking: []Ranked{{1, 3, "--tp 4 ", 1.5, 2}, {2, 0, "--tp 8", 1.75, 2.25}},
	}
	wellFormed(t, "calibrate", &Answer{Document: c.Document, Data: func() any { return &c }})
	got := piped(t, c.Document())
	for _, want := range []string{
		"step time of ", " before, ", " of each run predicted by a fit without it", "a.log:7 no step",
		"b.log empty", "± ", "would tell: ", "1 3 1.5 2 --tp 4", "2 - 1.75 2.25 --tp 8", " 60.0 ", " 50.0 ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	none := Calibration{Fit: &measured.Fit{Runs: []measured.Compared{{Name: "one", Why: "no prediction"}}}}
	if got := piped(t, none.Document()); !strings.Contains(got, "no run could be compared") ||
		!strings.Contains(got, "not fitted: no prediction") {
		t.Error(got)
	}
}

// TestStepsByKind: the mean and the largest absolute error of all steps and of each kind, to the digit.
func TestStepsByKind(t *testing.T) {
	of := func(kind string, off float64) steps.Step {
		p := steps.Pair{Measured: 100, Predicted: 100 * (1 + off)}
		return steps.Step{
			Name: "step of " + kind, Kind: kind, PeakAllocated: p, AfterForward: p, Reserved: p, Forward: p,
			Backward: p, Optimizer: p, Step: p, Moment: "backward",
			Phases: []steps.Phase{{Name: "start", Pair: p}},
		}
	}
	v := StepValidation{
		Rows:     []steps.Step{of("eager", .03), of("eager", -.01), of("compiled", 0)},
		Unmapped: []steps.Unmapped{{Name: "odd", Reason: "no rules"}},
	}
	v.Rows[2].ComparedAs = "Llama"
	got := piped(t, v.Document())
	for _, want := range []string{
		"all 3 1.33 / 3.00 %", "eager 2 2.00 / 3.00 %", "compiled 1 0.00 / 0.00 %", "+3.00 %", "-1.00 %",
		"the peak is in the backward", "compared as Llama: there are no rules for its class", "odd no rules",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// TestRunsOfAccuracy: figures that are met or not, with what others reach, and classes of bands.
func TestRunsOfAccuracy(t *testing.T) {
	left, constant, peer := .06, .09, .12
	v := Validation{
		Header: NewHeader("test"),
		Spreads: []published.Spread{
			{Name: "not fitted", Rows: 10, Median: .05, Within5: .5, Within10: .8, Within20: 1},
		},
		Figures: []published.Figure{
			{Number: 1, Name: "steps", Measure: "mean", Unit: "%", Value: .0304, Wanted: .03},
			{
				Number: 2, Name: "ranks", Measure: "correlation", Value: .98, Wanted: .95, AtLeast: true,
				LeftOut: &left, Constant: &constant, PeerAt: &peer, Peer: "Calculon",
			},
		},
		Bands: []published.Class{
			{
				Metric: "step", Generation: "Hopper", Stack: "nanotron", Runs: 12, Releases: 3, Inside: .9,
				Width: .2,
			},
		},
		Intervals: []published.Interval{{Group: "playbook", Runs: 4, Inside: 3}},
		LeftOut: []published.Omission{{
			Group: "playbook", LeftOut: published.LeftOut{Runs: []string{"a", "b"}, Reason: "no batch"},
		}},
	}
	got := piped(t, v.Document(false))
	for _, want := range []string{
		"not fitted 10 5.0 % 50 % 80 % 100 %", "0.980", "0.120 Calculon", "not met", "90 %", "playbook 4 3",
		"playbook 2 no batch",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// TestPrefaceComesFirst: what was decided before a document is its first keys; nothing was, nothing is.
func TestPrefaceComesFirst(t *testing.T) {
	type document struct {
		Step float64 `json:"step"`
	}
	for want, p := range map[string]Preface{
		`{ "step": 2 }`: {},
		`{ "notices": [ "own preset refused" ], "step": 2 }`: {Notices: []string{"own preset refused"}},
		`{ "layout_chosen": { "layouts": 5, "found": true }, "step": 2 }`: {
			Chosen: &search.Chosen{Layouts: 5, Found: true},
		},
	} {
		var out strings.Builder
		if err := WriteJSON(&out, p.Before(document{2})); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(out.String()), " "); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// TestEvaluationSaysHowItWasChosen: behind the layout and the batch stands where they come from.
func TestEvaluationSaysHowItWasChosen(t *testing.T) {
	s := setups(t)["fits"]
	r := engine.Evaluate(s)
	d := NewEvaluation("test", s, r)
	d.UnsetBatch = true
	if got := piped(t, d.Answer().Document()); !strings.Contains(got, "global batch not given; using") {
		t.Error(got)
	}
	d.Chosen = &search.Chosen{
		Layouts: 70, Found: true, ForMargin: true, Own: "--tp 2", Batch: "64 sequences",
		Tighter: &search.Found{Report: engine.Evaluate(s), Free: units.Bytes(2 << 30)},
	}
	got := piped(t, d.Answer().Document())
	for _, want := range []string{
		"layout not given: best of 70, " + search.MarginBrief + "; --tp 2 to set one yourself",
		search.MarginRule, "a tight one, 2.0 GiB free, takes", "global batch not given; using 64 sequences",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	overview := piped(t, Overview(&s, &r))
	if !strings.Contains(overview, "MEMORY") || strings.Contains(overview, "COMMUNICATION") {
		t.Error(overview)
	}
	if got := BatchDepth(&s); !strings.HasPrefix(got, "16 ") {
		t.Errorf("128 sequences over dp 4 and pp 2: %s", got)
	}
}

// TestFitNotes: a file says that its layout does not fit, or by how little it does.
func TestFitNotes(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		memory *engine.Memory
		want   string
	}{
		{nil, ""},
		{&engine.Memory{Fit: engine.Fits}, ""},
		{&engine.Memory{Fit: engine.Over, Reason: "weights are 90 GiB"}, "does not fit: weights are 90"},
		{&engine.Memory{Fit: engine.Tight, Fits: true, Usable: 8 * gib, Peak: 7 * gib}, "1.0 GiB free"},
		{&engine.Memory{Fit: engine.Tight, Usable: 80 * gib, Peak: 82 * gib}, "tight, 2.0 GiB over"},
	} {
		got := strings.Join(FitNote(c.memory), "")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
