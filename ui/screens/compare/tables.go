package compare

import (
	"meshscope/engine"
	"meshscope/ui/export"
	"meshscope/ui/screen"
)

// Tables are what the screen shows, for a file: A beside B, or the methods.
func (v *View) Tables(in *screen.Context) []export.Table {
	if in.Setup == nil || in.Report == nil {
		return nil
	}
	switch v.pane {
	case pairPane:
		if want, ok := v.sides(in); ok && v.pair != nil && v.pair.of == want {
			return []export.Table{changesTable(&v.pair.all), figuresTable(&v.pair.all)}
		}
	case alonePane:
		if v.alone.list != nil && v.alone.of == *in.Setup {
			return []export.Table{v.alone.table()}
		}
	case methodsPane, panes:
		return []export.Table{methodsTable(in)}
	}
	return nil
}

func changesTable(c *engine.Comparison) export.Table {
	t := export.Table{Title: "changes from A to B", Head: []string{"field", "A", "B"}}
	for i := range c.Changes {
		x := &c.Changes[i]
		t.Rows = append(t.Rows, []export.Cell{export.Word(x.Field), export.Word(x.A), export.Word(x.B)})
	}
	return t
}

func figuresTable(c *engine.Comparison) export.Table {
	t := export.Table{Title: "figures of A and B", Head: []string{"figure", "A", "B", "B - A", "B / A"}}
	for i := range c.Deltas {
		d := &c.Deltas[i]
		cells := []export.Cell{export.Word(string(d.Group) + ": " + d.Name), export.Maybe(d.Unit, d.A), export.Maybe(d.Unit, d.B), export.Word(""), export.Word("")}
		if x, ok := d.Change(); ok {
			cells[3] = export.Figure(d.Unit, x)
		}
		if x, ok := d.Ratio(); ok {
			cells[4] = export.Ratio(x)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// table is each method by itself. Traffic is over all dimensions.
func (a *alone) table() export.Table {
	t := export.Table{Title: "each method alone", Head: []string{"method", "GPUs", "step", "MFU", "peak", "sent per GPU", "exposed", "fits"}}
	for i := range a.list {
		m := &a.list[i]
		r := &m.report
		cells := []export.Cell{export.Word(m.name), export.Figure(engine.UnitCount, float64(m.setup.GPUs))}
		if !r.Legal || r.Memory == nil {
			for range len(t.Head) - 3 {
				cells = append(cells, export.Word(""))
			}
			t.Rows = append(t.Rows, append(cells, export.Word("illegal")))
			continue
		}
		sent, _ := r.Sent()
		fits := "yes"
		if !r.Memory.Fits {
			fits = "no"
		}
		t.Rows = append(t.Rows, append(
			cells, export.Figure(engine.UnitSeconds, float64(r.Time.Step)), export.Figure(engine.UnitShare, r.Throughput.MFU),
			export.Figure(engine.UnitMemory, float64(r.Memory.Peak)), export.Figure(engine.UnitTraffic, float64(sent.Bytes)),
			export.Figure(engine.UnitSeconds, float64(r.Time.Exposed)), export.Word(fits)))
	}
	return t
}

// methodsTable is every method with its value and the traffic that it causes.
func methodsTable(in *screen.Context) export.Table {
	t := export.Table{Title: "methods in use", Head: []string{"method", "now", "sent per GPU", "exposed"}}
	for _, m := range methodRows() {
		var sent engine.Communication // a method without traffic of its own sends nothing
		if len(m.dimension) > 0 {
			sent, _ = in.Report.Sent(m.dimension...)
		}
		t.Rows = append(t.Rows, []export.Cell{
			export.Word(m.name), export.Word(m.now(in.Setup)), export.Figure(engine.UnitTraffic, float64(sent.Bytes)), export.Figure(engine.UnitSeconds, float64(sent.Exposed)),
		})
	}
	return t
}
