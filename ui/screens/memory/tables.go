package memory

import (
	"strconv"

	"meshscope/engine"
	"meshscope/engine/fit"
	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/ui/screen"
)

// Tables returns what the screen shows, for a file: ranks and terms, memory over a step,
// one layer, and where it stops fitting.
func (v *View) Tables(in *screen.Context) []report.Table {
	m := memoryOf(in)
	if m == nil {
		return nil
	}
	all := []report.Table{v.ranksTable(in, m)}
	if !v.fresh(in) {
		return all
	}
	a := &v.answers
	over := report.Table{
		Title: "memory over a step",
		Head: []string{
			"rank", "peak in step 1", "peak from step 2 on", "loaded", "with states", "first pass",
			"after the update", "later passes", "peak reached after",
		},
	}
	for i := range a.over.Ranks {
		r := &a.over.Ranks[i]
		s := &r.Milestones
		cells := row("rank "+strconv.Itoa(r.Rank), r.Peaks[0], r.Peaks[1], s.Model, s.States, s.FirstPeak,
			s.AfterUpdate, s.LaterPeak)
		over.Rows = append(over.Rows,
			append(cells, report.Figure(record.Seconds, float64(r.Profiles[1].Peak().At))))
	}
	return append(all, over, a.layerTable(), v.limitsTable())
}

// layerTable returns a row for each operation, with the figures of each kind of layer.
func (a *answers) layerTable() report.Table {
	t := report.Table{Title: "inside a layer on one GPU", Head: []string{"operation"}}
	for k := range a.kinds {
		for _, name := range [...]string{
			"parameters", "states", "FLOPs", "saved of one micro-batch",
			"forward", "backward",
		} {
			t.Head = append(t.Head, a.kinds[k].Name+": "+name)
		}
	}
	for _, id := range a.layerRows() {
		cells := []report.Cell{report.Word("one layer")}
		for k := range a.kinds {
			o := a.cell(k, id)
			if id != "" && o.ID != "" {
				cells[0] = report.Word(o.Name)
			}
			cells = append(cells, report.Figure(record.Count, o.Parameters), report.Memory(o.States),
				report.Figure(record.FLOPs, float64(o.FLOPs)),
				report.Memory(o.Activations), report.Figure(record.Seconds, float64(o.Forward)),
				report.Figure(record.Seconds, float64(o.Backward)))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// ranksTable returns ranks by terms, with the sum, and the sum without ZeRO.
func (v *View) ranksTable(in *screen.Context, m *engine.Memory) report.Table {
	t := report.Table{Title: "memory per GPU at each rank's peak", Head: []string{"rank"}}
	for term := range totalTerm + 1 {
		t.Head = append(t.Head, termName(term)[0])
	}
	t.Head = append(t.Head, "allocator slack", "driver context", "communicators", "in host memory",
		"parameters", "layers", "micro-batches in flight")
	add := func(name string, of [totalTerm + 1]units.Bytes, more ...report.Cell) {
		cells := append(row(name, of[:]...), more...)
		for len(cells) < len(t.Head) {
			cells = append(cells, report.Word(""))
		}
		t.Rows = append(t.Rows, cells)
	}
	for i := range m.Ranks {
		r := &m.Ranks[i]
		o := &r.OverheadParts
		more := row("", o.Slack, o.Context, o.Communicators, r.Offloaded)[1:]
		for _, n := range []float64{r.Parameters, float64(r.Layers), r.InFlight} {
			more = append(more, report.Figure(record.Count, n))
		}
		add("rank "+strconv.Itoa(r.Rank), values(r), more...)
	}
	add("sum", sums(m.Ranks))
	if v.fresh(in) && len(v.answers.shards.Whole) == len(m.Ranks) && in.Setup.ZeRO > 0 {
		add("sum without ZeRO", sums(v.answers.shards.Whole))
	}
	return t
}

// limitsTable returns the largest sequence and micro-batch, and what the next needs.
func (v *View) limitsTable() report.Table {
	t := report.Table{
		Title: "largest with the safety margin",
		Head:  []string{"", "largest", "needs", "the next one needs", "stopped by"},
	}
	l := &v.answers.limits
	for _, x := range []struct {
		name string
		most int
		peak units.Bytes
		stop *fit.Stop
	}{{"sequence", l.Seq, l.SeqPeak, v.answers.seq}, {"micro-batch", l.MBS, l.MBSPeak, v.answers.mbs}} {
		cells := []report.Cell{
			report.Word(x.name), report.Figure(record.Count, float64(x.most)),
			report.Figure(record.Memory, float64(x.peak)), report.Word(""), report.Word("nothing in memory"),
		}
		if x.stop != nil {
			cells[3], cells[4] = report.Figure(record.Memory, float64(x.stop.Total)), report.Word(x.stop.Term)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// row returns a name and some bytes.
func row(name string, of ...units.Bytes) []report.Cell {
	cells := []report.Cell{report.Word(name)}
	for _, b := range of {
		cells = append(cells, report.Memory(b))
	}
	return cells
}

// RankAtCursor returns the rank that the cursor is on.
func (v *View) RankAtCursor(in *screen.Context) int {
	if m := memoryOf(in); m != nil {
		v.lookFor(in)
		return v.cursorRank(m)
	}
	return -1
}

// Figure returns the figure under the cursor, as the report names it.
func (v *View) Figure(in *screen.Context) string {
	m := memoryOf(in)
	if m == nil {
		return ""
	}
	v.lookFor(in)
	if v.pane == layerPane {
		if id := v.layerFigure(in); id != "" {
			return id
		}
	}
	return "memory.ranks." + strconv.Itoa(m.Ranks[v.cursorRank(m)].Rank) + "." + termName(v.cursorTerm(m))[0]
}
