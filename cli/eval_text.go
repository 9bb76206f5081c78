package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/layout"
	"meshscope/engine/search"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// maxRows is how many pipeline ranks the text report lists; the rest is folded.
const maxRows = 32

// writeReport prints a report for people: aligned, no colours, units in the
// headings. ownBatch tells that nobody said the global batch.
func writeReport(to io.Writer, s *engine.Setup, r *engine.Report, ownBatch bool) error {
	t := &textReport{page: newPage(to), setup: s, report: r, ownBatch: ownBatch}
	t.head()
	t.problems()
	if r.Legal {
		t.memory()
		t.pipeline()
		t.communication()
		t.time()
		t.run()
		t.list("ASSUMED", r.Assumptions)
		t.list("NOT MODELLED", r.NotModelled)
	}
	return t.Flush()
}

type textReport struct {
	page
	setup  *engine.Setup
	report *engine.Report

	ownBatch bool // nobody said the global batch
}

// head says what was asked.
func (t *textReport) head() {
	s := t.setup
	t.printf("%s on %s x %s, %s (%s)\n", name(s.Model.Name, s.Model.ID), commas(s.GPUs), name(s.Cluster.GPU.Name, s.Cluster.GPU.ID),
		plural(s.Nodes(), "node"), name(s.Cluster.ID, s.Cluster.Name))
	if m := t.report.Model; m != nil {
		t.printf("  model   %s parameters", count(m.Parameters))
		if m.ActiveParameters != m.Parameters {
			t.printf(", %s active", count(m.ActiveParameters))
		}
		t.printf(", %.4g GFLOP per token to train (%s attention)\n", m.TrainingFLOPs/1e9, m.Convention)
	}
	t.printf("  layout  dp %d  tp %d  pp %d  vpp %d  cp %d  ep %d  etp %d  sp %s  zero %d\n",
		s.DP, s.TP, s.PP, s.VPP, s.CP, s.EP, s.ETP, onOff(s.SP), s.ZeRO)
	t.printf("  batch   %s = mbs %s x %s x dp %d; %s tokens each\n", plural(s.GBS, "sequence"), commas(s.MBS),
		plural(s.MicroBatches, "micro-batch"), s.DP, commas(s.Seq))
	if t.ownBatch {
		t.printf("          nobody said the batch: %s;\n", batchDepth(s))
		t.printf("          where the layout is open, search takes %s: --gbs %d\n", search.UsualBatch(), search.DefaultGBS([]int{s.GPUs}, s.Seq))
	}
	t.printf("  recipe  %s, gradients %s, %s, %s attention, recompute %s\n", s.Precision, s.GradDtype, s.Optimizer, s.Attention, s.Recompute)
	t.printf("          schedule %s, stack %s\n", s.Schedule, s.Stack)
}

// problems lists what is wrong, errors first, each with what would be right.
func (t *textReport) problems() {
	for _, severity := range []layout.Severity{layout.Error, layout.Warning} {
		first := true
		for _, p := range t.report.Problems {
			if p.Severity != severity {
				continue
			}
			if first {
				t.printf("\n%s\n", map[layout.Severity]string{layout.Error: "ILLEGAL", layout.Warning: "WARNINGS"}[severity])
				first = false
			}
			t.printf("  %s: %s\n", p.Field, p.Message)
			if len(p.Nearest) > 0 {
				t.printf("    nearest: %s\n", nearest(p.Field, p.Nearest))
			}
		}
	}
}

// nearest writes {"tp":4,"dp":8} as "tp 4, with dp 8", the field that is wrong
// first.
func nearest(field string, values map[string]any) string {
	others := make([]string, 0, len(values))
	for f, v := range values {
		if f != field {
			others = append(others, fmt.Sprintf("%s %v", f, v))
		}
	}
	slices.Sort(others)
	own, ok := values[field]
	switch {
	case !ok:
		return strings.Join(others, ", ")
	case len(others) == 0:
		return fmt.Sprintf("%s %v", field, own)
	}
	return fmt.Sprintf("%s %v, with %s", field, own, strings.Join(others, ", "))
}

func (t *textReport) memory() {
	m := t.report.Memory
	if m == nil {
		return
	}
	verdict := "fits"
	if !m.Fits {
		verdict = "DOES NOT FIT"
	}
	t.printf("\nMEMORY  %s: %.2f of %.2f GiB per GPU, %s; fullest rank %d\n", verdict, m.Peak.GiB(), m.Usable.GiB(), m.Band("within "), m.PeakRank)
	// Short headings, so that a terminal of 80 columns shows the whole row.
	rows := [][]string{{
		"rank", "layers", "live", "weights", "grads", "optim", "activ", "logits", "buff", "alloc", "over", "total",
	}}
	folded := 0
	for i, rank := range m.Ranks {
		if len(m.Ranks) > maxRows && i >= maxRows/2 && i < len(m.Ranks)-maxRows/2 && i != m.PeakRank {
			folded++
			continue
		}
		cells := []string{strconv.Itoa(rank.Rank), strconv.Itoa(rank.Layers), trim(rank.InFlight)}
		for _, b := range []units.Bytes{
			rank.Weights, rank.Gradients, rank.Optimizer, rank.Activations, rank.Logits, rank.Buffers, rank.Allocated, rank.Overhead, rank.Total,
		} {
			cells = append(cells, fmt.Sprintf("%.2f", b.GiB()))
		}
		rows = append(rows, cells)
	}
	t.tight(rows)
	if folded > 0 {
		t.printf("  (%d ranks between them are not shown; --json has all)\n", folded)
	}
	t.evidence(&m.Evidence)
	t.shortfall()
}

// shortfall says why the setup does not fit and which single changes would do.
func (t *textReport) shortfall() {
	why := t.report.Memory.Reason
	if why == "" {
		return
	}
	t.printf("\n")
	for line := range strings.Lines(wrap(why, 76)) {
		t.printf("  %s\n", strings.TrimSpace(line))
	}
	fixes := advise.Fixes(*t.setup, nil)
	if len(fixes) == 0 {
		t.printf("  no turn of a single knob makes it fit\n")
		return
	}
	t.printf("  turns of a single knob that make it fit, the fastest step first:\n")
	for i := range fixes {
		m := &fixes[i]
		line := fmt.Sprintf("    %-18s %6.1f GiB  %9s a step", m.Turns(), m.Report.Memory.Peak.GiB(), seconds(m.Report.Time.Step))
		if also := m.Follows(); also != "" {
			line += "  with " + also
		}
		t.printf("%s\n", line)
	}
}

func (t *textReport) pipeline() {
	p := t.report.Pipeline
	if p == nil {
		return
	}
	t.printf("\nPIPELINE  %s, %s, %s, %s\n", p.Schedule, plural(p.Ranks, "rank"), plural(p.Stages, "stage"), plural(p.MicroBatches, "micro-batch"))
	t.printf("  bubble %s of the work of the busiest rank", percent(p.BubbleOverIdeal))
	if p.BubbleClosedForm != nil {
		t.printf(" (equal stages: %s)", percent(*p.BubbleClosedForm))
	}
	t.printf("\n  and %s of the time of all ranks; ends after %s, %s\n", percent(p.BubbleOverTotal), seconds(p.Makespan), t.report.Time.Band("within "))
	if p.BubbleSpan != nil {
		t.printf("  inside a rank's own first start and last end %s: ranks need not wait for each other's step, so that one lasts\n"+
			"  the longest rank's own span, %s, and the pipeline's ends overlap those of the steps beside it\n",
			percent(*p.BubbleSpan), seconds(units.Seconds(t.report.Timeline.LongestSpan())))
	}
}

func (t *textReport) communication() {
	if len(t.report.Communication) == 0 {
		return
	}
	several := t.report.Pipeline != nil && t.report.Pipeline.Ranks > 1
	t.printf("\nCOMMUNICATION  per GPU and step")
	if several {
		t.printf(", of one pipeline rank in each row")
	}
	t.printf("\n")
	rows := [][]string{{"  ", "operation", "rank", "group", "spans", "GB", "time", "exposed"}}
	for _, c := range t.report.Communication {
		rows = append(rows, []string{
			"  " + c.Dimension, c.Operation, strconv.Itoa(c.Rank), strconv.Itoa(c.GroupSize), c.Spans, fmt.Sprintf("%.3f", c.Bytes.GB()), seconds(c.Seconds), seconds(c.Exposed),
		})
	}
	t.table(rows)
	if several {
		t.printf("  waiting for hand-overs (pp) is in the bubble; what the other rows expose adds up to that of the step%s\n", t.blocked())
	}
}

// blocked is the part of the step's exposed communication that is in no row: stacks
// that wait for each message of interleaved stages.
func (t *textReport) blocked() string {
	const rounding = 1e-9
	s := t.report.Time
	rest := s.Exposed
	for _, c := range t.report.Communication {
		if c.Dimension != "pp" {
			rest -= c.Exposed
		}
	}
	if rest <= rounding*s.Step {
		return ""
	}
	return ",\n  with " + seconds(rest) + " in which ranks stand still while they send and receive"
}

func (t *textReport) time() {
	if s := t.report.Time; s != nil {
		t.printf("\nSTEP  %s, %s\n", seconds(s.Step), s.Band("within "))
		t.evidence(&s.Evidence)
		var rows [][]string
		for _, part := range []struct {
			name string
			time units.Seconds
		}{
			{"compute", s.Compute},
			{"recompute", s.Recompute},
			{"bubble", s.Bubble},
			{"exposed communication", s.Exposed},
			{"optimizer", s.Optimizer},
		} {
			rows = append(rows, []string{"  " + part.name, seconds(part.time), percent(float64(part.time) / float64(s.Step))})
		}
		t.table(rows)
	}
	if p := t.report.Throughput; p != nil {
		t.printf("\nTHROUGHPUT  %s tokens/s, %s per GPU, %s\n  %.1f TFLOP/s per GPU, MFU %s, HFU %s\n",
			count(p.TokensPerSecond), count(p.TokensPerSecondPerGPU), p.Band("within "), p.ModelTFLOPSPerGPU, percent(p.MFU), percent(p.HFU))
	}
}

// run is the whole training run, where a budget of tokens was said.
func (t *textReport) run() {
	r := t.report.Run
	if r == nil {
		return
	}
	t.printf("\nRUN  %s tokens: %s, %s GPU-hours, %s\n", count(r.Tokens), figure.Days(r.Days), count(r.GPUHours), r.Band("within "))
	rows := [][]string{{"  steps", count(r.Steps)}}
	if r.Cost != nil {
		rows = append(rows, []string{"  cost", count(*r.Cost) + " $"})
	}
	if r.Energy != nil {
		rows = append(rows, []string{"  energy", figure.Energy(*r.Energy)})
	}
	t.table(rows)
	for _, a := range r.Assumptions {
		for i, line := range strings.Split(strings.TrimSpace(wrap(a, 74)), "\n") {
			lead := "  - "
			if i > 0 {
				lead = "    "
			}
			t.printf("%s%s\n", lead, strings.TrimSpace(line))
		}
	}
}

// evidence says whose error a band is.
func (t *textReport) evidence(e *engine.Evidence) {
	if !e.Validated() {
		return
	}
	for line := range strings.Lines(wrap(e.Words(), 76)) {
		t.printf("  %s\n", strings.TrimSpace(line))
	}
}

func (t *textReport) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	t.printf("\n%s\n", title)
	for _, l := range lines {
		t.printf("  %s\n", l)
	}
}
