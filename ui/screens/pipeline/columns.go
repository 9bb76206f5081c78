package pipeline

import (
	"math"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/record"
	"meshscope/report"
)

// entry is a schedule with the figures that schedules are compared by.
type entry = compare.ScheduleRow

// entryOf returns the entry of a report with its timeline.
func entryOf(s *engine.Setup, r *engine.Report) *entry {
	out := entry{Setup: *s, Report: *r, Messages: s.Spec().Messages()}
	out.Info, _ = r.Pipeline.Schedule.Info()
	if t := r.Timeline; t != nil {
		for i := range t.Ranks {
			out.InFlight = max(out.InFlight, t.Ranks[i].PeakInFlight)
		}
		out.Saved = t.Ranks[slowestRank(t)].Saved
	}
	return &out
}

// ran reports whether a schedule has figures.
func ran(r *entry) bool {
	return r.Report.Legal && r.Report.Time != nil && r.Report.Memory != nil && r.Report.Pipeline != nil
}

// column is one of the table of schedules, of two that are compared, and of the file.
type column = report.Column[entry]

// columns returns them, what matters most first: narrow screens have the first ones.
func columns() []column {
	of := func(id, head string, u record.Unit, value func(*entry) float64) column {
		return column{ID: id, Head: head, Unit: u, Value: func(r *entry) float64 {
			if !ran(r) {
				return math.NaN()
			}
			return value(r)
		}}
	}
	all := []column{
		of("step", "step", record.Seconds, func(r *entry) float64 { return float64(r.Report.Time.Step) }),
		of("bubble", "bubble %", record.Share, func(r *entry) float64 {
			return report.BubbleOfStep(&r.Report)
		}),
		of("peak", "peak GiB", record.Memory, func(r *entry) float64 {
			return float64(r.Report.Memory.Peak)
		}),
		of("in flight", "in flight", record.Count, func(r *entry) float64 {
			return float64(r.InFlight) / float64(max(r.Setup.VPP, 1))
		}),
		of("exposed", "exposed", record.Seconds, func(r *entry) float64 {
			return float64(r.Report.Time.Exposed)
		}),
		of("overlap", "overlap", record.Seconds, func(r *entry) float64 {
			if r.Saved <= 0 {
				return math.NaN()
			}
			return r.Saved
		}),
		of("messages", "messages", record.Count, func(r *entry) float64 { return float64(r.Messages) }),
		of("replicas", "replicas", record.Count, func(r *entry) float64 {
			return float64(max(1, r.Info.WeightCopies))
		}),
		of("pipeline", "pipeline", record.Seconds, func(r *entry) float64 {
			return float64(r.Report.Pipeline.Makespan)
		}),
	}
	all[3].Text = live
	return all
}

// live returns the most micro-batches in flight on a rank.
func live(r *entry) string { return microBatches(r.InFlight, r.Setup.VPP) }

// ends returns where a column ends.
func ends(all []column, k int) int {
	at := 27
	for i := 1; i <= k; i++ {
		at += max(len(all[i].Head)+2, 9)
	}
	return at
}
