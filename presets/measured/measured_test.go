package measured_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine_test/draws"
	"meshscope/presets"
	"meshscope/presets/measured"
	"meshscope/presets/published"
)

func unnamed(*engine.Setup) string { return "" }

// TestUnfittedGroup: constants fitted to all runs of a published group but one predict that one
// better than the built-in ones, which no run of the group was used for.
func TestUnfittedGroup(t *testing.T) {
	groups, err := published.Groups(presets.Default())
	if err != nil {
		t.Fatal(err)
	}
	var runs []measured.Run
	for i := range groups {
		if g := &groups[i]; g.ID == "zero-bubble" {
			if g.Fitted {
				t.Fatal("constants were fitted to this group")
			}
			for k := range g.Runs {
				if r := &g.Runs[k]; r.Step > 0 && (draws.Deep() || k%3 == 0) {
					runs = append(runs, measured.Run{Name: r.ID, Setup: r.Setup, Seconds: r.Step})
				}
			}
		}
	}
	f, err := measured.Do(&engine.Evaluator{SkipTimeline: true}, runs, unnamed)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs: error %.1f %% before, %.1f after, %.1f left out", f.Fitted, 100*f.Before, 100*f.After,
		100*f.LeftOut)
	if f.LeftOut > 0.8*f.Before || f.After > f.LeftOut {
		t.Errorf("%d runs: error %.3f before, %.3f after, %.3f left out", f.Fitted, f.Before, f.After,
			f.LeftOut)
	}
	for _, c := range f.Constants {
		if c.Fitted != (c.Error > 0) || !c.Fitted && (c.After != c.Before || c.Why == "") {
			t.Errorf("%+v", c)
		}
	}
}

// setups returns a few layouts of a small model.
func setups(t *testing.T) (out []engine.Setup) {
	t.Helper()
	m, err := presets.Default().Model("llama3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	c, err := presets.Default().Cluster("dgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	for _, tp := range []int{1, 2, 4, 8} {
		for _, seq := range []int{2048, 16384} {
			s, err := knob.DraftOf(m, c, knob.Given{
				knob.GPUs: 8, knob.TP: tp, knob.Seq: seq,
				knob.GBS: 16,
			}).Resolve()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
	}
	return out
}

// TestPreset: the file of a fit is a preset that predicts what the fit does, on its machine and
// for its stack alone, and a second fit on top of it changes nothing.
func TestPreset(t *testing.T) {
	e := &engine.Evaluator{SkipTimeline: true}
	var runs []measured.Run
	for i, s := range setups(t) {
		runs = append(runs,
			measured.Run{
				Name: fmt.Sprint(i), Setup: s, Seconds: 1.2 * float64(e.Evaluate(s).Time.Step),
				Allocated: 40, Reserved: 40 * (1.06 + 0.02*float64(i%2)),
			})
	}
	other := runs[0]
	other.Setup.Stack = "nanotron"
	illegal := runs[0]
	illegal.Setup.TP = 7
	f, err := measured.Do(e, append(runs, other, illegal), unnamed)
	if err != nil || !f.Changed() || f.Fitted != len(runs) {
		t.Fatalf("%+v, %v", f, err)
	}
	if n := len(runs); !strings.Contains(f.Runs[n].Why, "another machine or stack") ||
		!strings.Contains(f.Runs[n+1].Why, "illegal") {
		t.Errorf("not fitted: %q, %q", f.Runs[n].Why, f.Runs[n+1].Why)
	}
	text, err := f.Preset(presets.Default(), "ours", "a test")
	if err != nil {
		t.Fatal(err)
	}
	lib, stack, err := presets.WithFitted("ours.toml", text, presets.Default())
	if err != nil || stack != "megatron-core" {
		t.Fatalf("%s: %v\n%s", stack, err, text)
	}
	for i := range runs {
		s := runs[i].Setup
		s.Cluster = lib.Calibrate(s.Cluster)
		now, then := e.Evaluate(s), e.Evaluate(runs[i].Setup)
		if got := float64(now.Time.Step); math.Abs(got/f.Runs[i].After-1) > 1e-9 {
			t.Errorf("run %d: %v s by the preset, %v by the fit", i, got, f.Runs[i].After)
		}
		if now.Time.ErrorBand > then.Time.ErrorBand*1.001 ||
			now.Memory.ErrorBand > then.Memory.ErrorBand*1.001 || now.Time.UserRuns == 0 {
			t.Errorf("run %d: bands of %v and %v, without the fit %v and %v", i, now.Time.Words(),
				now.Memory.ErrorBand, then.Time.ErrorBand, then.Memory.ErrorBand)
		}
		s.Stack = "nanotron"
		before := runs[i].Setup
		before.Stack = s.Stack
		if s, b := e.Evaluate(s).Time, e.Evaluate(before).Time; float64(s.Step) > 1.25*float64(b.Step) {
			t.Errorf("run %d: nanotron takes %v s, before %v", i, s.Step, b.Step)
		}
		runs[i].Setup.Cluster = lib.Calibrate(runs[i].Setup.Cluster)
	}
	if c := f.Constants[len(f.Constants)-1]; c.ID != "allocator" || !c.Fitted ||
		math.Abs(c.After-0.07) > 1e-9 || c.Error > 0.01 {
		t.Errorf("%+v", c)
	}
	folder, errs := presets.Load(fstest.MapFS{"calibrations/ours.toml": {Data: text}}, presets.Default())
	if len(errs) > 0 || len(published.Own(folder)) != 1 ||
		folder.Calibrate(runs[0].Setup.Cluster).Calibration.Ops != lib.Calibrate(
			runs[0].Setup.Cluster,
		).Calibration.Ops {
		t.Errorf("in a folder of presets: %v", errs)
	}
	if own := published.Own(lib); len(own) != 1 || own[0].ID != "ours" {
		t.Errorf("the preset has %d groups of runs", len(own))
	} else if _, rows := published.Compare(e, &own[0]); len(rows) != 2*len(runs) { // time and memory
		t.Errorf("the preset has %d runs", len(rows))
	} else {
		for i := range runs {
			if math.Abs(rows[i].Predicted/f.Runs[i].After-1) > 1e-6 ||
				rows[i].Measured != f.Runs[i].Measured {
				t.Errorf("run %d of the preset: %v s, measured %v, want %v and %v", i, rows[i].Predicted,
					rows[i].Measured, f.Runs[i].After, f.Runs[i].Measured)
			}
		}
	}
	again, err := measured.Do(e, runs, unnamed)
	if err != nil || again.Before > 0.01 {
		t.Errorf("the second fit begins with an error of %v, %v", again.Before, err)
	}
	if text, err = again.Preset(lib, "ours", "a test"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := presets.WithFitted("ours.toml", text, lib); err != nil {
		t.Errorf("on top of itself: %v\n%s", err, text)
	}
	for wrong, want := range map[string]string{
		strings.Replace(string(text), "'fitted'", "'gpu'", 1):          "kind",
		strings.Replace(string(text), "'megatron-core'", "'other'", 1): "unknown stack",
		string(text) + "\n[[part]]\nkind = 'gpu'\n":                    "each once",
		"id = 'x'\nkind = 'fitted'\n":                                  "part",
		strings.Repeat("[", 100):                                       "ours.toml",
	} {
		if _, _, err := presets.WithFitted("ours.toml", []byte(wrong), lib); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func evaluator() *engine.Evaluator { return &engine.Evaluator{SkipTimeline: true} }

// table reads a table of runs whose rows say the TP and the batch.
func table(t testing.TB, text string) ([]measured.Run, []error, error) {
	t.Helper()
	s := presets.DefaultSetup()
	return measured.ReadTable("runs.csv", strings.NewReader(text), evaluator(),
		func(cells []measured.Cell) (engine.Setup, error) {
			for _, c := range cells {
				if c.Key != "tp" {
					return s, fmt.Errorf("unknown key %q", c.Key)
				}
			}
			return s, nil
		})
}

// TestRowTooLong: a row with more cells than the header, as of a number with commas, is a problem
// with its line.
func TestRowTooLong(t *testing.T) {
	runs, problems, err := table(t, "tp,step_seconds\n8,1,234.5\n8,2\n4\n")
	if err != nil || len(runs) != 2 || runs[0].Seconds != 2 || len(problems) != 1 ||
		!strings.Contains(problems[0].Error(), "runs.csv:2:1: 3 cells, and the header has 2") {
		t.Errorf("%+v, %v, %v", runs, problems, err)
	}
}

// TestTable: each measurement becomes a step time; what is wrong is named by its line, and the
// rest is kept.
func TestTable(t *testing.T) {
	s := presets.DefaultSetup()
	r := engine.Evaluate(s)
	want := float64(r.Time.Step)
	text := fmt.Sprintf("\ufefftp, name,step_seconds,tokens_per_second,tokens_per_second_per_gpu,tflops_per_gpu,reserved_GiB\n"+
		"8,one,%g,,,,60\n# a comment\n8,,,%g\n8,,,,%g\n\"8\",,,,,%g\n8,,-1\n8,,fast\n", want,
		r.Throughput.TokensPerSecond, r.Throughput.TokensPerSecondPerGPU, r.Throughput.ModelTFLOPSPerGPU)
	runs, problems, err := table(t, text)
	if err != nil || len(runs) != 4 || runs[0].Name != "one" || runs[1].Name != "runs.csv:4" ||
		runs[0].Reserved != 60 {
		t.Fatalf("%+v, %v", runs, err)
	}
	for _, run := range runs {
		if math.Abs(run.Seconds/want-1) > 1e-4 {
			t.Errorf("%s: %v s, want %v", run.Name, run.Seconds, want)
		}
	}
	if len(problems) != 2 ||
		!strings.Contains(problems[0].Error(), "runs.csv:7:1: step_seconds: given \"-1\"") {
		t.Errorf("%v", problems)
	}
	for text, want := range map[string]string{
		"":                         "runs.csv:1:1: empty",
		"tp,gbs\n8,1\n":            "no measurement",
		"tp,tp,step_seconds\n":     "runs.csv:1:4: tp: comes twice",
		"tp,step_seconds\n8,\"1\n": "runs.csv:2:",
		"step_seconds\n" + strings.Repeat("1\n",
			1001): "more than 1000 runs",
		// one problem each
		"step_seconds,x\n" + strings.Repeat("1,"+strings.Repeat("y", 1000)+"\n", 11_000): "",
		"step_seconds\n1\x00\n": "",
	} {
		if _, problems, err := table(t, text); want == "" && err == nil && len(problems) == 0 ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40q: %v, %v, want %q", text, problems, err, want)
		}
	}
	if _, _, err := table(t, "step_seconds\n"+strings.Repeat(strings.Repeat(" ", 12_000)+"1\n",
		900)); err == nil || !strings.Contains(err.Error(), "longer than 10 MB") {
		t.Errorf("a long table: %v", err)
	}
}

// FuzzTable: whatever a table holds, no panic, and no run without a positive, finite step time
// unless it has none.
func FuzzTable(f *testing.F) {
	f.Add("tp,step_seconds\n8,1.5\n")
	f.Add("name,tokens_per_second_per_gpu,tflops_per_gpu\n\"a\nb\",1e3\n# c\n,,400\n")
	f.Fuzz(func(t *testing.T, text string) {
		runs, _, _ := table(t, text)
		for _, r := range runs {
			if !(r.Seconds >= 0) || math.IsInf(r.Seconds, 0) {
				t.Errorf("%v seconds", r.Seconds)
			}
		}
	})
}
