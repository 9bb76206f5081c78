package pipeline

import (
	"strconv"

	"meshscope/engine/record"
	"meshscope/report"
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
	t := report.Table{Title: "schedules", Head: []string{
		"schedule", "step", "bubble", "peak", "fits",
		"messages", "chunks in flight", "exposed communication",
	}}
	for i := range v.table.rows {
		r := &v.table.rows[i].ScheduleRow
		cells := []report.Cell{report.Word(string(r.Info.Kind))}
		if p := &r.Report; p.Legal && p.Time != nil {
			cells = append(
				cells, seconds(float64(p.Time.Step)), report.Figure(record.Share, report.BubbleOfStep(p)),
				report.Figure(record.Memory, float64(p.Memory.Peak)),
				report.YesNo(p.Memory.Fits), report.Figure(record.Count, float64(r.Messages)),
				report.Figure(record.Count, float64(r.InFlight)), seconds(float64(p.Time.Exposed)))
		} else {
			cells = append(cells, report.Word("illegal for this setup"), report.Word(""), report.Word(""),
				report.Word(""), report.Word(""), report.Word(""), report.Word(""))
		}
		t.Rows = append(t.Rows, cells)
	}
	return append(all, t)
}
