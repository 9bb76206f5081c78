package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"meshscope/engine/escape"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// writeMarkdown writes tables for people, in the order of the text report.
func writeMarkdown(to io.Writer, d *Document) error {
	b := bufio.NewWriter(to)
	m := markdown{Writer: b, doc: d}
	m.title()
	m.screen()
	m.setup()
	m.problems()
	if d.Legal {
		m.memory()
		m.step()
		m.run()
		m.pipeline()
		m.traffic()
		m.list("Assumed", d.Assumptions)
		m.list("Not modelled", d.NotModelled)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

type markdown struct {
	*bufio.Writer
	doc *Document
}

// sayf writes a line; the writer keeps the first error for Flush.
func (m *markdown) sayf(format string, args ...any) { _, _ = fmt.Fprintf(m, format+"\n", args...) }

// table writes rows below a head; columns after the first are right-aligned
// where the head says so with a leading ">".
func (m *markdown) table(head []string, rows [][]string) {
	rule := make([]string, len(head))
	names := make([]string, len(head))
	for i, h := range head {
		name, right := strings.CutPrefix(h, ">")
		names[i], rule[i] = name, "---"
		if right {
			rule[i] = "--:"
		}
	}
	m.row(names)
	m.row(rule)
	for _, r := range rows {
		m.row(r)
	}
	m.sayf("")
}

func (m *markdown) row(cells []string) {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = escape.Markdown(c)
	}
	m.sayf("| %s |", strings.Join(safe, " | "))
}

func (m *markdown) title() {
	s := &m.doc.Setup
	m.sayf("# %s on %s x %s\n", escape.Markdown(s.Model.Name), figure.Comma(s.GPUs), escape.Markdown(s.Cluster.GPU.Name))
}

func (m *markdown) setup() {
	s := &m.doc.Setup
	var rows [][]string
	params := knob.All()
	for i := range params {
		p := &params[i]
		if value := p.Text(*s); value != "" {
			rows = append(rows, []string{p.Label, "--" + string(p.ID), value, p.Unit})
		}
	}
	rows = append(rows, []string{"model", "--model", s.Model.ID, ""}, []string{"cluster", "--cluster", s.Cluster.ID, ""})
	m.table([]string{"setup", "flag", ">value", "unit"}, rows)
	if m.doc.Command != "" {
		m.sayf("```sh\n%s\n```\n", strings.ReplaceAll(m.doc.Command, "`", "'"))
	}
	m.sayf("meshscope %s\n", escape.Markdown(m.doc.Version))
}

func (m *markdown) problems() {
	for _, kind := range []struct {
		severity layout.Severity
		title    string
	}{{layout.Error, "Illegal"}, {layout.Warning, "Warnings"}} {
		var lines []string
		for _, p := range m.doc.Problems {
			if p.Severity == kind.severity {
				lines = append(lines, p.Field+": "+p.Message)
			}
		}
		m.list(kind.title, lines)
	}
}

func (m *markdown) memory() {
	mem := m.doc.Memory
	if mem == nil {
		return
	}
	verdict := "fits"
	if !mem.Fits {
		verdict = "**does not fit**"
	}
	m.sayf("## Memory\n")
	m.sayf("%s: %.2f of %.2f GiB per GPU, %s; fullest pipeline rank %d. GiB per GPU:\n", verdict, mem.Peak.GiB(), mem.Usable.GiB(), mem.Band("within "), mem.PeakRank)
	if mem.Reason != "" {
		m.sayf("%s\n", escape.Markdown(mem.Reason))
	}
	rows := make([][]string, 0, len(mem.Ranks))
	for i := range mem.Ranks {
		r := &mem.Ranks[i]
		cells := []string{strconv.Itoa(r.Rank), strconv.Itoa(r.Layers)}
		for _, b := range []units.Bytes{r.Weights, r.Gradients, r.Optimizer, r.Activations, r.Logits, r.Buffers, r.Allocated, r.Overhead, r.Total} {
			cells = append(cells, fmt.Sprintf("%.2f", b.GiB()))
		}
		rows = append(rows, cells)
	}
	m.table([]string{">rank", ">layers", ">weights", ">gradients", ">optimizer", ">activations", ">logits", ">buffers", ">allocated", ">overhead", ">total"}, rows)
}

func (m *markdown) step() {
	t, th := m.doc.Time, m.doc.Throughput
	if t == nil || th == nil {
		return
	}
	m.sayf("## Step\n\n%s, %s; the parts are those of the rank with the most work:\n", figure.Seconds(t.Step), t.Band("within "))
	var rows [][]string
	for _, part := range []struct {
		name string
		time units.Seconds
	}{
		{"compute", t.Compute},
		{"recompute", t.Recompute},
		{"bubble", t.Bubble},
		{"exposed communication", t.Exposed},
		{"optimizer", t.Optimizer},
	} {
		rows = append(rows, []string{part.name, figure.Seconds(part.time), figure.Percent(float64(part.time / t.Step))})
	}
	m.table([]string{"part", ">time", ">share"}, rows)
	m.sayf("## Throughput\n\n%s:\n", th.Band("within "))
	m.table([]string{"throughput", ">value"}, [][]string{
		{"tokens/s", figure.Short(th.TokensPerSecond)},
		{"tokens/s/GPU", figure.Three(th.TokensPerSecondPerGPU)},
		{"TFLOP/s/GPU", figure.Three(th.ModelTFLOPSPerGPU)},
		{"MFU (" + string(m.doc.Setup.MFU) + ")", figure.Percent(th.MFU)},
		{"HFU", figure.Percent(th.HFU)},
	})
}

// run is the whole training run, where a budget of tokens was said.
func (m *markdown) run() {
	r := m.doc.Run
	if r == nil {
		return
	}
	m.sayf("## Whole run\n\n%s tokens, %s:\n", figure.Short(r.Tokens), r.Band("within "))
	rows := [][]string{
		{"steps", figure.Short(r.Steps)}, {"time", figure.Days(r.Days)}, {"GPU-hours", figure.Short(r.GPUHours)},
	}
	if r.Cost != nil {
		rows = append(rows, []string{"cost", figure.Dollars(*r.Cost)})
	}
	if r.Energy != nil {
		rows = append(rows, []string{"energy", figure.Energy(*r.Energy)})
	}
	m.table([]string{"run", ">value"}, rows)
	m.list("The run takes for granted", r.Assumptions)
}

func (m *markdown) pipeline() {
	p := m.doc.Pipeline
	if p == nil {
		return
	}
	m.sayf("## Pipeline\n")
	rows := [][]string{
		{"schedule", string(p.Schedule)},
		{"ranks", strconv.Itoa(p.Ranks)},
		{"stages", strconv.Itoa(p.Stages)},
		{"micro-batches", figure.Comma(p.MicroBatches)},
		{"bubble, simulated, of the work of the busiest rank", figure.Percent(p.BubbleOverIdeal)},
		{"bubble, simulated, of the time of all ranks", figure.Percent(p.BubbleOverTotal)},
	}
	if p.BubbleClosedForm != nil {
		rows = append(rows, []string{"bubble, closed form for equal stages, of the work", figure.Percent(*p.BubbleClosedForm)})
	}
	m.table([]string{"pipeline", ">value"}, rows)
}

func (m *markdown) traffic() {
	if m.doc.Communication == nil || len(*m.doc.Communication) == 0 {
		return
	}
	m.sayf("## Communication\n\nPer GPU and step.\n")
	rows := make([][]string, 0, len(*m.doc.Communication))
	for _, c := range *m.doc.Communication {
		rows = append(rows, []string{
			c.Dimension, c.Operation, strconv.Itoa(c.GroupSize), c.Spans, figure.Traffic(c.Bytes), figure.Seconds(c.Seconds), figure.Seconds(c.Exposed),
		})
	}
	m.table([]string{"dimension", "operation", ">group", "spans", ">sent", ">takes", ">exposed"}, rows)
}

func (m *markdown) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	m.sayf("## %s\n", title)
	for _, l := range lines {
		m.sayf("- %s", escape.Markdown(l))
	}
	m.sayf("")
}
