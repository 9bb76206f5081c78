package pipeline

import (
	"strconv"

	"meshscope/engine"
	"meshscope/ui/export"
	"meshscope/ui/screen"
)

// Tables are the ranks of the timeline, and all schedules where the screen has
// worked them out.
func (v *View) Tables(in *screen.Context) []export.Table {
	if in.Setup == nil || in.Report == nil || in.Report.Timeline == nil {
		return nil
	}
	line := in.Report.Timeline
	ranks := export.Table{Title: "pipeline ranks", Head: []string{"rank", "works", "waits", "first start", "last end", "chunks in flight"}}
	seconds := func(x float64) export.Cell { return export.Figure(engine.UnitSeconds, x) }
	for i := range line.Ranks {
		r := &line.Ranks[i]
		ranks.Rows = append(ranks.Rows, []export.Cell{
			export.Word("rank " + strconv.Itoa(i)), seconds(r.Busy), seconds(r.Idle), seconds(r.First), seconds(r.Last),
			export.Figure(engine.UnitCount, float64(r.PeakInFlight)),
		})
	}
	all := []export.Table{ranks}
	if !v.table.current(in.Setup) {
		return all
	}
	t := export.Table{Title: "schedules", Head: []string{"schedule", "step", "bubble of the work", "peak", "fits", "hand-overs", "chunks in flight"}}
	for i := range v.table.rows {
		r := &v.table.rows[i].ScheduleRow
		cells := []export.Cell{export.Word(string(r.Info.Kind))}
		if p := &r.Report; p.Legal && p.Time != nil {
			fits := "yes"
			if !p.Memory.Fits {
				fits = "no"
			}
			cells = append(
				cells, seconds(float64(p.Time.Step)), export.Figure(engine.UnitShare, p.Pipeline.BubbleOverIdeal), export.Figure(engine.UnitMemory, float64(p.Memory.Peak)),
				export.Word(fits), export.Figure(engine.UnitCount, float64(r.Messages)), export.Figure(engine.UnitCount, float64(r.InFlight)))
		} else {
			cells = append(cells, export.Word("cannot run this setup"), export.Word(""), export.Word(""), export.Word(""), export.Word(""), export.Word(""))
		}
		t.Rows = append(t.Rows, cells)
	}
	return append(all, t)
}
