package compare

import (
	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/schedule"
)

// ScheduleRow is a setup under one of the schedules.
type ScheduleRow struct {
	Info     schedule.Info
	Setup    engine.Setup  // with the stages per rank that the schedule needs; otherwise as it was
	Report   engine.Report // says why where the schedule cannot run this setup
	Messages int           // sends between ranks in one step, over the whole pipeline
	InFlight int           // the most chunk activations that a rank holds at once
	Saved    float64       // seconds that overlapped pairs save the rank with most to do
}

// UnderSchedule returns a setup under another schedule, not yet evaluated.
func UnderSchedule(s engine.Setup, info schedule.Info) ScheduleRow {
	t, err := knob.Turn(s, knob.Schedule, string(info.Kind), knob.Locks{GPUs: true, Batch: true})
	if err != nil { // out of bounds before and after
		t = s
		t.Schedule = info.Kind
	}
	return ScheduleRow{Info: info, Setup: t}
}

// Schedules evaluates a setup under every schedule, in the order of the table.
// It takes some milliseconds, tens of them for long pipelines: once stop (nil:
// never) says true it returns the rows so far. Reports come with their timelines
// as far as keep (nil: always) says so, which is asked before a row is worked
// out: those of a long pipeline together would fill hundreds of megabytes.
func Schedules(s engine.Setup, stop func() bool, keep func(*ScheduleRow) bool) []ScheduleRow {
	var e engine.Evaluator
	kinds := schedule.Kinds()
	rows := make([]ScheduleRow, 0, len(kinds))
	for _, info := range kinds {
		if stop != nil && stop() {
			break
		}
		row := UnderSchedule(s, info)
		e.SkipTimeline = keep != nil && !keep(&row)
		done := false
		if row.Report, done = e.EvaluateUntil(row.Setup, stop); !done {
			break
		}
		if row.Report.Legal {
			row.Messages = row.Setup.Spec().Messages()
			line := e.Summary(&row.Report)
			for r := range row.Setup.PP {
				row.InFlight = max(row.InFlight, line.Order.PeakInFlight(r))
			}
			row.Saved = line.Ranks[line.Busiest()].Saved
		}
		rows = append(rows, row)
	}
	return rows
}
