package pipeline

import (
	"context"
	"fmt"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/schedule"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// compare takes a schedule of the table as the second timeline.
func (v *View) compare(kind schedule.Kind) {
	v.against, v.secondOf, v.fetching = kind, v.table.of, ""
	v.jobs.Drop()
	v.second, v.lost = nil, kind
	for i := range v.table.rows {
		if r := &v.table.rows[i].ScheduleRow; r.Info.Kind == kind && r.Report.Legal &&
			r.Report.Timeline != nil {
			v.second, v.lost = r, ""
		}
	}
	v.below = v.below && v.second != nil
}

// compareWith returns compare for a legal row that may have lost its timeline, which
// is then computed again.
func (v *View) compareWith(r compare.ScheduleRow) screen.Request {
	if r.Report.Timeline != nil {
		v.compare(r.Info.Kind)
		return screen.Request{}
	}
	v.second, v.lost = nil, ""
	return v.simulateSecond(v.table.of, r.Info.Kind)
}

// simulateSecond computes the second timeline for a setup, without the other schedules.
// One that cannot run it is remembered until it can; so is one whose simulation
// was stopped, which Refresh then asks for again.
func (v *View) simulateSecond(s engine.Setup, kind schedule.Kind) screen.Request {
	v.against, v.secondOf, v.fetching = kind, s, kind
	job := v.jobs.Begin()
	return screen.Request{Work: func(ctx context.Context) func() {
		info, _ := kind.Info()
		row := compare.UnderSchedule(s, info)
		var e engine.Evaluator
		report, done := e.EvaluateUntil(row.Setup, func() bool { return ctx.Err() != nil })
		return func() {
			if !v.jobs.End(job) {
				return
			}
			v.fetching = ""
			row.Report = report
			switch {
			case !done:
				v.secondOf = engine.Setup{}
			case report.Legal && report.Timeline != nil:
				v.second, v.lost = &row, ""
			default:
				v.second, v.lost = nil, kind
			}
			v.below = v.below && v.second != nil
		}
	}}
}

// figures are the columns that two schedules are compared by.
type figures struct {
	name             string
	makespan         float64
	bubble           string // share of the step
	peak             string
	inFlight, chunks int // chunk activations, and how many make a stage's
	messages, copies int
	exposed, saved   string // communication that is not overlapped; what overlapped pairs save
}

// live returns the most micro-batches in flight on a rank.
func (f *figures) live() string { return microBatches(f.inFlight, f.chunks) }

func figuresOf(s *engine.Setup, r *engine.Report) figures {
	p := r.Pipeline
	info, _ := p.Schedule.Info()
	f := figures{
		name: string(p.Schedule), makespan: float64(p.Makespan),
		bubble: figure.Percent(report.BubbleOfStep(r)),
		peak:   figure.GiB(r.Memory.Peak), messages: s.Spec().Messages(), copies: max(1, info.WeightCopies),
		chunks: s.VPP, saved: "-", exposed: "-",
	}
	if r.Time != nil {
		f.exposed = figure.Seconds(r.Time.Exposed)
	}
	if r.Timeline == nil { // the caller knows
		return f
	}
	for i := range r.Timeline.Ranks {
		f.inFlight = max(f.inFlight, r.Timeline.Ranks[i].PeakInFlight)
	}
	f.saves(r.Timeline.Ranks[slowestRank(r.Timeline)].Saved)
	return f
}

// saves notes what overlapped pairs save on the rank with most to do.
func (f *figures) saves(d float64) {
	if d > 0 {
		f.saved = seconds(d)
	}
}

// differences returns the table under two timelines.
func (v *View) differences(in *screen.Context, l *layout, w int) []string {
	a := figuresOf(l.blocks[0].setup, l.blocks[0].report)
	b := figuresOf(l.blocks[1].setup, l.blocks[1].report)
	row := func(role themes.Role, cells ...string) string {
		line := widget.NewLine(w)
		line.Put(in.Paint(role), cells[0])
		at := 16
		for i, c := range cells[1:] {
			at += 10
			if i >= 2 {
				at++
			}
			if at > w {
				break
			}
			line.RightAligned(in.Paint(role), c, at)
		}
		return line.String()
	}
	ra, rb := l.blocks[0].report, l.blocks[1].report
	cells := func(sign string, f *figures, r *engine.Report) []string {
		return []string{
			sign + " " + f.name, figure.Seconds(r.Time.Step), seconds(f.makespan), f.bubble, f.peak,
			f.live(), f.saved, figure.Comma(f.messages), fmt.Sprint(f.copies), f.exposed,
		}
	}
	points := func(x, y float64) string { return figure.Signed(100*(y-x), 1) + " pts" }
	relative := func(x, y float64) string { return figure.Signed(100*(y/x-1), 1) + " %" }
	live := float64(b.inFlight)/float64(max(b.chunks, 1)) - float64(a.inFlight)/float64(max(a.chunks, 1))
	exposed := ""
	if of := float64(ra.Time.Exposed); of > 0 {
		exposed = relative(of, float64(rb.Time.Exposed))
	}
	messages, copies := figure.Comma(b.messages-a.messages), fmt.Sprint(b.copies-a.copies)
	if b.messages > a.messages {
		messages = "+" + messages
	}
	if b.copies > a.copies {
		copies = "+" + copies
	}
	return []string{
		row(themes.Muted, "", "step", "pipeline", "bubble", "peak GiB", "in flight", "overlap", "messages",
			"replicas", "exposed"),
		row(themes.Text, cells("A", &a, ra)...),
		row(themes.Text, cells("B", &b, rb)...),
		row(
			themes.Strong, "B minus A", relative(float64(ra.Time.Step), float64(rb.Time.Step)),
			relative(a.makespan, b.makespan),
			points(report.BubbleOfStep(ra), report.BubbleOfStep(rb)),
			figure.Signed(float64(rb.Memory.Peak-ra.Memory.Peak)/(1<<30), 1), figure.Signed(live, 1), "",
			messages, copies, exposed,
		),
	}
}
