package report

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/recipe"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/launch"
	"meshscope/presets"
	"meshscope/report/figure"
)

// decided is the page of a layout of Llama-3.1 8B on 8 GPUs.
func decided(t *testing.T, given knob.Given) *Decision {
	t.Helper()
	given[knob.GPUs], given[knob.GBS] = 8, 64
	s := drafted(t, "llama3.1-8b", "dgx-h100", given)
	d := Decide(t.Context(), s, engine.Evaluate(s), search.Space{}, 2)
	d.Library, d.Version = presets.Default(), "test"
	return d
}

// TestDecision: the page has what a decision needs, in every format, and three alternatives that
// differ in a degree.
func TestDecision(t *testing.T) {
	d := decided(t, knob.Given{knob.TP: 2})
	if len(d.Others) != alternatives {
		t.Fatalf("%d alternatives", len(d.Others))
	}
	seen := map[[4]int]bool{{d.Setup.TP, d.Setup.PP, d.Setup.CP, d.Setup.ZeRO}: true}
	for i := range d.Others {
		s := &d.Others[i].Setup
		shape := [4]int{s.TP, s.PP, s.CP, s.ZeRO}
		if seen[shape] || !d.Others[i].Report.Memory.Fits || s.GBS != 64 || s.GPUs != 8 {
			t.Errorf("alternative %v, fits %v", shape, d.Others[i].Report.Memory.Fits)
		}
		seen[shape] = true
	}
	for _, f := range []Format{Text, Markdown, HTML} {
		var b strings.Builder
		if err := Write(&b, f, d.Answer()); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(b.String()), " ")
		if strings.Contains(flat, "mostly ;") || strings.Contains(flat, "mostly <") {
			t.Errorf("%s: slower by no part:\n%s", f, b.String())
		}
		for _, want := range []string{
			"8 x H100", "a step takes ", "safety margin", "GPU-hours", "days",
			"cost", "energy", "Accuracy and assumptions", "free", "meshscope eval --model llama3.1-8b",
			"legal layouts",
		} {
			if !strings.Contains(strings.ToLower(flat), strings.ToLower(want)) {
				t.Errorf("%s has no %q:\n%s", f, want, b.String())
			}
		}
	}
}

// TestPageStandsAlone: the HTML page is well-formed, asks for no other file, and a name in it
// stays text.
func TestPageStandsAlone(t *testing.T) {
	d := decided(t, knob.Given{knob.TP: 2})
	d.Setup.Model.Name = `<script>alert("x")</script>&`
	var b strings.Builder
	if err := Write(&b, HTML, d.Answer()); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || !strings.Contains(page, "&lt;script&gt;") {
		t.Error("a name of the model is taken for a tag")
	}
	if links := regexp.MustCompile(`(src|href|url\()`).FindString(page); links != "" {
		t.Errorf("the page asks for something: %s", links)
	}
	pictures := 0
	for rest := page; ; pictures++ {
		_, after, ok := strings.Cut(rest, "<svg")
		if !ok {
			break
		}
		picture, tail, _ := strings.Cut(after, "</svg>")
		rest = tail
		x := xml.NewDecoder(strings.NewReader("<svg" + picture + "</svg>"))
		for {
			if _, err := x.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	if pictures != 2 {
		t.Errorf("%d pictures", pictures)
	}
}

// TestHeadline: one sentence has the verdict of what fits, is tight and does not fit.
func TestHeadline(t *testing.T) {
	for _, x := range []struct {
		usable float64
		want   string
	}{{2, "Fits with "}, {1.01, "Tight: "}, {0.5, "Does not fit: "}} {
		r := decided(t, knob.Given{knob.TP: 2}).Report
		m := *r.Memory
		m.Usable = m.Peak * units.Bytes(x.usable)
		m.Fits, m.Fit = m.Peak <= m.Usable, engine.FitWithin(m.Peak, m.Usable, m.ErrorBand)
		r.Memory = &m
		if got := Headline(&r); !strings.HasPrefix(got, x.want) || !strings.Contains(got, "; a step takes ") {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

// TestSlowEndOfDecision: where overlap is unproven the page has both ends of the run, the fastest
// layout is as much faster in the list as in the verdict, and a search counts as 'search' does.
func TestSlowEndOfDecision(t *testing.T) {
	d := decided(t, knob.Given{knob.ZeRO: 3, knob.TP: 2})
	slow := engine.PessimisticStep(&d.Setup, &d.Report)
	if slow <= d.Report.Time.Step {
		t.Fatal("nothing is unproven")
	}
	var b strings.Builder
	if err := Write(&b, Markdown, d.Answer()); err != nil {
		t.Fatal(err)
	}
	page, plan, time := b.String(), d.Setup, *d.Report.Time
	plan.Budget, time.Step = 1e12, slow
	late, early := engine.WholeRun(&plan, &time), engine.WholeRun(&plan, d.Report.Time)
	band := 1 + early.ErrorBand
	for _, want := range []string{
		figure.Three(late.Days) + " where no unproven overlap works",
		figure.Dollars(*late.Cost) + " where no unproven overlap works",
		"(" + figure.Three(early.Days/band) + " to " + figure.Three(early.Days*band) + ")",
		figure.Three(100*(float64(slow/d.Search.Best[0].PessimisticStep)-1)) +
			" % faster where no unproven overlap works",
		"share of the time that advances training", "goodput of 100 %",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q:\n%s", want, page)
		}
	}
	if got := d.faster(&d.Search.Best[0]); strings.Count(page, got) < 2 {
		t.Errorf("%q is not in the list and in the verdict", got)
	}
	if o := &d.Others[0]; !strings.Contains(page,
		figure.Headline(o.Report.Time.Step)+" "+o.Report.Time.Band("±")+" a step") {
		t.Error("an alternative's step has no band")
	}
}

// TestRoomiest: of the layouts too close to call the one with the most free memory is among the
// alternatives.
func TestRoomiest(t *testing.T) {
	d := decided(t, knob.Given{knob.TP: 2})
	all, _ := search.Alternatives(t.Context(), search.Problem{Setup: d.Setup, Margin: true})
	most := d.Report.Memory.Usable - d.Report.Memory.Peak
	for i := range all {
		if _, close := d.apart(&all[i]); close {
			most = max(most, all[i].Free)
		}
	}
	have := d.Report.Memory.Usable - d.Report.Memory.Peak
	for i := range d.Others {
		if _, close := d.apart(&d.Others[i]); close {
			have = max(have, d.Others[i].Free)
		}
	}
	if have != most {
		t.Errorf("%.1f GiB free are offered, %.1f are there", have.GiB(), most.GiB())
	}
}

// TestHostTooSmall: where what is offloaded is too much for host memory, verdict, page and eval say how much.
// in the engine's words.
func TestHostTooSmall(t *testing.T) {
	s := decided(t, knob.Given{
		knob.Calibration: "pytorch", knob.ZeRO: 3, knob.Offload: "weights",
	}).Setup
	s.Cluster.HostMemory = 100 << 30
	r := engine.Evaluate(s)
	const words = "19.7 GiB over in the host memory of a node (119.7 of 100.0)"
	if got := Verdict(r.Memory); got != "Does not fit: "+words {
		t.Errorf("the verdict is %q", got)
	}
	d := Decide(t.Context(), s, r, search.Space{}, 2)
	d.Library, d.Version = presets.Default(), "test"
	eval := NewEvaluation("test", s, r)
	for name, of := range map[string]*Answer{"decision": d.Answer(), "eval": eval.Answer()} {
		var b strings.Builder
		if err := Write(&b, Markdown, of); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, words) {
			t.Errorf("%s does not say %q", name, words)
		}
	}
}

// TestDecisionNamesWhatItsLauncherRefuses: the layouts that a launcher accepts are not said to run in a
// precision that it refuses.
func TestDecisionNamesWhatItsLauncherRefuses(t *testing.T) {
	s := decided(t, knob.Given{knob.TP: 2}).Setup
	s.Precision = recipe.FP8DeepSeek
	l := launch.Of(s.Stack)
	for _, o := range []struct {
		instead func(engine.Setup) (engine.Setup, bool)
		want    int
	}{{l.Instead, 1}, {nil, 0}} {
		space := search.Space{Refused: true, Accepts: l.Accepts, Launcher: l.ID, Instead: o.instead}
		d := Decide(t.Context(), s, engine.Evaluate(s), space, 2)
		d.Rules, d.Library = l.Name, presets.Default()
		var b strings.Builder
		if err := Write(&b, Text, d.Answer()); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(b.String()), " ")
		for _, words := range []string{
			"Megatron-LM refuses --precision fp8:deepseek; with --precision fp8, which it runs, a step takes",
			"legal layouts that Megatron-LM accepts but for --precision fp8:deepseek",
		} {
			if strings.Count(flat, words) != o.want {
				t.Errorf("not %d times %q:\n%s", o.want, words, b.String())
			}
		}
	}
}
