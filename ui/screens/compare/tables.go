package compare

import (
	"meshscope/engine"
	enginecompare "meshscope/engine/compare"
	"meshscope/engine/record"
	"meshscope/report"
	"meshscope/ui/screen"
)

// Tables returns what the screen shows, for a file: A next to B, or the methods.
func (v *View) Tables(in *screen.Context) []report.Table {
	if in.Setup == nil || in.Report == nil {
		return nil
	}
	switch v.pane {
	case pairPane:
		want, ok := v.sides(in)
		switch {
		case !ok: // nothing to compare with
			return []report.Table{methodsTable(in)}
		case v.pair != nil && v.pair.of == want:
			return []report.Table{changesTable(&v.pair.all), v.figuresTable()}
		}
	case alonePane:
		if v.alone.list != nil && v.alone.of == *in.Setup {
			return []report.Table{v.alone.table()}
		}
	case methodsPane, panes:
		return []report.Table{methodsTable(in)}
	}
	return nil
}

func changesTable(c *enginecompare.Comparison) report.Table {
	t := report.Table{Title: "changes from A to B", Head: []string{"field", "A", "B"}}
	for i := range c.Changes {
		x := &c.Changes[i]
		t.Rows = append(t.Rows, []report.Cell{report.Word(x.Field), report.Word(x.A), report.Word(x.B)})
	}
	return t
}

func (v *View) figuresTable() report.Table {
	all := *v
	all.unchanged = true
	return report.List("figures of A and B", termColumns(), all.terms())
}

// table returns each method by itself. Traffic is over all dimensions.
func (a *alone) table() report.Table {
	t := report.Table{Title: "each method alone", Head: []string{
		"method", "GPUs", "step", "MFU", "peak",
		"sent per GPU", "exposed", "fits",
	}}
	for i := range a.list {
		m := &a.list[i]
		r := &m.Report
		cells := []report.Cell{report.Word(m.Name), report.Figure(record.Count, float64(m.Setup.GPUs))}
		if !r.Legal || r.Memory == nil {
			for range len(t.Head) - 3 {
				cells = append(cells, report.Word(""))
			}
			t.Rows = append(t.Rows, append(cells, report.Word("illegal")))
			continue
		}
		sent, _ := r.Sent()
		t.Rows = append(t.Rows, append(
			cells, report.Figure(record.Seconds, float64(r.Time.Step)),
			report.Figure(record.Share, r.Throughput.MFU),
			report.Figure(record.Memory, float64(r.Memory.Peak)),
			report.Figure(record.Traffic, float64(sent.Bytes)),
			report.Figure(record.Seconds, float64(r.Time.Exposed)), report.YesNo(r.Memory.Fits)))
	}
	return t
}

// methodsTable returns every method with its value and the traffic that it causes.
func methodsTable(in *screen.Context) report.Table {
	t := report.Table{Title: "methods in use", Head: []string{"method", "now", "sent per GPU", "exposed"}}
	for _, m := range methodRows() {
		var sent engine.Communication // a method without traffic of its own sends nothing
		if len(m.dimension) > 0 {
			sent, _ = in.Report.Sent(m.dimension...)
		}
		t.Rows = append(t.Rows, []report.Cell{
			report.Word(m.name), report.Word(m.now(in.Setup)),
			report.Figure(record.Traffic, float64(sent.Bytes)),
			report.Figure(record.Seconds, float64(sent.Exposed)),
		})
	}
	return t
}
