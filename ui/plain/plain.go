// Package plain writes what the screens show as linear text, for pipes and for
// screen readers: headings and sentences from top to bottom, one fact a line,
// ASCII only, nothing drawn. All figures come from the engine.
package plain

import (
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/layout"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// Render says what Explore, Pipeline, Network and Memory show of a setup, nothing
// twice, and which commands print what the other screens are for. It works out what
// these screens show beside the report, so it is not for a key press.
func Render(s *engine.Setup, r *engine.Report) string {
	t := &text{setup: s, report: r}
	t.what()
	t.problems()
	if !r.Legal {
		return t.String()
	}
	t.verdict()
	t.pipeline()
	t.waiting()
	t.step()
	t.run()
	t.traffic()
	t.hiding()
	if r.Memory != nil {
		t.terms()
		t.shards()
		t.overStep()
		t.layers()
		t.limits()
	}
	t.list("Assumed", r.Assumptions)
	t.list("Not modelled", r.NotModelled)
	t.list("What other screens are for", []string{
		"Search, the best layouts: meshscope search",
		"Advice, what makes it fit or faster, and each knob alone: meshscope advise",
		"Compare, one setup beside another: meshscope compare",
		"Scan, a figure while knobs turn: meshscope scan",
		"Evidence, the model beside published runs: meshscope validate",
		"Where a figure comes from: meshscope explain",
		"The operations of the pipeline: meshscope timeline --json",
	})
	return t.String()
}

// text is what is being written.
type text struct {
	strings.Builder
	setup  *engine.Setup
	report *engine.Report
}

// heading starts a section.
func (t *text) heading(name string) {
	if t.Len() > 0 {
		t.WriteString("\n")
	}
	t.WriteString(name + "\n")
}

// sayf writes a sentence on a line of its own.
func (t *text) sayf(format string, args ...any) {
	t.WriteString(ascii(fmt.Sprintf(format, args...)) + "\n")
}

// ascii replaces what is beyond ASCII, in names from presets, and drops what
// could steer a terminal.
func ascii(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '×':
			return 'x'
		case r == '–' || r == '—':
			return '-'
		case r < ' ' || r == 0x7f:
			return ' '
		case r > 0x7f:
			return '?'
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// list writes sentences under a heading; nothing when there are none.
func (t *text) list(name string, sentences []string) {
	if len(sentences) == 0 {
		return
	}
	t.heading(name)
	for _, s := range sentences {
		t.sayf("%s.", strings.TrimSuffix(s, "."))
	}
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		return figure.Comma(n) + " " + noun + "es"
	}
	return figure.Comma(n) + " " + noun + "s"
}

func gib(b units.Bytes) string { return figure.GiB(b) + " GiB" }

func percent(f float64) string { return figure.PercentValue(f) + " percent" }

// band is how exact a predicted figure is.
func band(e *engine.Evidence) string {
	return strings.ReplaceAll(e.Band("within "), "%", "percent")
}

// evidence says whose error a band is.
func (t *text) evidence(what string, e *engine.Evidence) {
	if e.Validated() {
		t.sayf("Band of the %s: %s.", what, strings.ReplaceAll(e.Words(), "%", "percent"))
	}
}

// what is the setup in words.
func (t *text) what() {
	s := t.setup
	t.heading("Setup")
	t.sayf("Model %s, %s parameters.", s.Model.Name, figure.Short(float64(s.Model.Total())))
	t.sayf("%s %s in %s of %s.", figure.Comma(s.GPUs), s.Cluster.GPU.Name, plural(s.Nodes(), "node"), s.Cluster.Name)
	t.sayf("Data parallel %d, tensor parallel %d, pipeline parallel %d, context parallel %d, expert parallel %d.", s.DP, s.TP, s.PP, s.CP, s.EP)
	if s.VPP > 1 {
		t.sayf("%d virtual stages on each pipeline rank.", s.VPP)
	}
	t.sayf("ZeRO stage %d, schedule %s, recompute %s, precision %s, software stack %s.", s.ZeRO, s.Schedule, s.Recompute, s.Precision, s.Stack)
	t.sayf("Batch of %s: micro-batches of %s, %s of them on each of %s; %s tokens each, %s tokens a step.",
		plural(s.GBS, "sequence"), figure.Comma(s.MBS), figure.Comma(s.MicroBatches), plural(s.DP, "data-parallel rank"), figure.Comma(s.Seq), figure.Short(s.Tokens()))
}

// problems says what is wrong, errors first.
func (t *text) problems() {
	for _, kind := range []struct {
		severity layout.Severity
		name     string
	}{{layout.Error, "Illegal"}, {layout.Warning, "Warnings"}} {
		var list []string
		for _, p := range t.report.Problems {
			if p.Severity == kind.severity {
				list = append(list, p.Message)
			}
		}
		t.list(kind.name, list)
	}
}

// fit says whether the setup fits.
func (t *text) fit() {
	m := t.report.Memory
	if m == nil {
		return
	}
	t.heading("Fit")
	verdict := "It fits"
	if !m.Fits {
		verdict = "It does not fit"
	}
	t.sayf("%s: the fullest pipeline rank is %d with %s of %s usable, %s.", verdict, m.PeakRank, gib(m.Peak), gib(m.Usable), band(&m.Evidence))
	t.evidence("peak memory", &m.Evidence)
	if m.Reason != "" {
		t.sayf("Why: %s.", strings.TrimSuffix(m.Reason, "."))
		t.fixes()
	}
}

// fixes are the turns of one knob that make the setup fit.
func (t *text) fixes() {
	fixes := advise.Fixes(*t.setup, nil)
	if len(fixes) == 0 {
		t.sayf("No turn of one knob makes it fit: meshscope advise tries more.")
		return
	}
	for i := range fixes {
		words := fixes[i].Turns()
		if also := fixes[i].Follows(); also != "" {
			words += ", then " + also
		}
		t.sayf("It fits with %s: %s, a step takes %s.", words, gib(fixes[i].Report.Memory.Peak), figure.Seconds(fixes[i].Report.Time.Step))
	}
}

// verdict is the three gauges.
func (t *text) verdict() {
	t.fit()
	r := t.report
	if r.Throughput != nil {
		t.sayf("MFU is %s: %s model TFLOP per second on each GPU, %s tokens per second in all, %s.",
			percent(r.Throughput.MFU), figure.Three(r.Throughput.ModelTFLOPSPerGPU), figure.Short(r.Throughput.TokensPerSecond), band(&r.Throughput.Evidence))
	}
	if r.Time != nil && r.Time.Step > 0 {
		t.sayf("Exposed communication is %s of the step.", percent(float64(r.Time.Exposed/r.Time.Step)))
	}
}

// pipeline is the schedule and its bubble.
func (t *text) pipeline() {
	p := t.report.Pipeline
	if p == nil {
		return
	}
	t.heading("Pipeline")
	if p.Ranks <= 1 {
		t.sayf("One pipeline rank: no bubble.")
		return
	}
	t.sayf("Schedule %s on %s and %s.", p.Schedule, plural(p.Ranks, "rank"), plural(p.MicroBatches, "micro-batch"))
	t.sayf("The bubble is %s of the work, %s of the whole time; the pipeline takes %s, %s.", percent(p.BubbleOverIdeal), percent(p.BubbleOverTotal), figure.Seconds(p.Makespan), band(&t.report.Time.Evidence))
	if p.BubbleClosedForm != nil {
		t.sayf("The formula for equal stages gives %s of the work.", percent(*p.BubbleClosedForm))
	}
}

// step is the step time and its parts.
func (t *text) step() {
	d := t.report.Time
	if d == nil {
		return
	}
	t.heading("Step time")
	t.sayf("One step takes %s, %s.", figure.Seconds(d.Step), band(&d.Evidence))
	t.evidence("step time", &d.Evidence)
	for _, p := range []struct {
		name  string
		value units.Seconds
	}{
		{"Compute", d.Compute},
		{"Recomputation", d.Recompute},
		{"Bubble", d.Bubble},
		{"Exposed communication", d.Exposed},
		{"Optimizer", d.Optimizer},
	} {
		share := ""
		if d.Step > 0 {
			share = ", " + percent(float64(p.value/d.Step))
		}
		t.sayf("%s: %s%s.", p.name, figure.Seconds(p.value), share)
	}
}

// run is the whole training run, where a budget of tokens was said.
func (t *text) run() {
	r := t.report.Run
	if r == nil {
		return
	}
	t.heading("Whole run")
	t.sayf("%s tokens in %s steps take %s and %s GPU-hours, %s.", figure.Short(r.Tokens), figure.Short(r.Steps), figure.Days(r.Days), figure.Short(r.GPUHours), band(&r.Evidence))
	if r.Cost != nil {
		t.sayf("They cost %s.", figure.Dollars(*r.Cost))
	}
	if r.Energy != nil {
		t.sayf("They take %s.", figure.Energy(*r.Energy))
	}
	for _, a := range r.Assumptions {
		t.sayf("Assumed: %s.", strings.ReplaceAll(a, "%", "percent"))
	}
}

// traffic is what is sent in each dimension.
func (t *text) traffic() {
	if len(t.report.Communication) == 0 {
		return
	}
	t.heading("Communication, per GPU and step")
	for _, c := range t.report.Communication {
		t.sayf("%s, %s in groups of %d across the %s: %s in %s, of which %s exposed.",
			c.Dimension, c.Operation, c.GroupSize, c.Spans, figure.Traffic(c.Bytes), figure.Seconds(c.Seconds), figure.Seconds(c.Exposed))
	}
}
