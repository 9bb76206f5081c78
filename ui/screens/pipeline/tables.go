package pipeline

import (
	"slices"
	"strconv"

	"meshscope/engine/record"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/ui/screen"
)

// Tables returns the ranks of the timeline, and all schedules where the screen has
// worked them out.
func (v *View) Tables(in *screen.Context) []report.Table {
	if in.Setup == nil || in.Report == nil || in.Report.Timeline == nil {
		return nil
	}
	line := in.Report.Timeline
	ranks := report.Table{Title: "pipeline ranks", Head: []string{
		"rank", "busy", "idle", "first start",
		"last end", "chunks in flight", "forward of a micro-batch", "backward", "idle in warm-up",
		"idle for slower ranks", "idle for the order", "idle in the drain", "idle for send/recv",
	}}
	seconds := func(x float64) report.Cell { return report.Figure(record.Seconds, x) }
	timed := line.OpTimes()
	for i := range line.Ranks {
		r := &line.Ranks[i]
		forward, backward := timed.PerMicroBatch(i)
		w := timed.WaitsOf(i)
		ranks.Rows = append(ranks.Rows, []report.Cell{
			report.Word("rank " + strconv.Itoa(i)), seconds(r.Busy), seconds(r.Idle), seconds(r.First),
			seconds(r.Last),
			report.Figure(record.Count, float64(r.PeakInFlight)),
			seconds(forward), seconds(backward), seconds(w.WarmUp), seconds(w.Paced), seconds(w.Between),
			seconds(w.Drain), seconds(w.SendRecv),
		})
	}
	all := []report.Table{ranks}
	if !v.table.current(in.Setup) {
		return all
	}
	name := column{ID: "schedule", Text: func(r *entry) string { return string(r.Info.Kind) }}
	fits := column{ID: "fits", Text: func(r *entry) string {
		if !ran(r) {
			return "illegal for this setup"
		}
		return figure.YesNo(r.Report.Memory.Fits)
	}}
	rows := make([]entry, len(v.table.rows))
	for i := range rows {
		rows[i] = v.table.rows[i].ScheduleRow
	}
	list := slices.Concat([]column{name}, columns(), []column{fits})
	return append(all, report.List("schedules", list, rows))
}
