package pipeline

import (
	"cmp"
	"context"
	"math"

	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/record"
	"meshscope/engine/schedule"
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

// differences returns the table under two timelines.
func (v *View) differences(in *screen.Context, l *layout, w int) []string {
	a, b := entryOf(l.blocks[0].setup, l.blocks[0].report), entryOf(l.blocks[1].setup, l.blocks[1].report)
	all := columns()
	row := func(role themes.Role, name string, cell func(c *column) string) string {
		line := widget.NewLine(w).Put(in.Paint(role), name)
		for k := range all {
			if at := ends(all, k); at <= w {
				line.RightAligned(in.Paint(role), cell(&all[k]), at)
			}
		}
		return line.String()
	}
	of := func(r *entry) func(*column) string {
		return func(c *column) string { return cmp.Or(c.Brief(r), in.Glyphs.None) }
	}
	return []string{
		row(themes.Muted, "", func(c *column) string { return c.Head }),
		row(themes.Text, "A "+string(a.Info.Kind), of(a)),
		row(themes.Text, "B "+string(b.Info.Kind), of(b)),
		row(themes.Strong, "B minus A", func(c *column) string { return difference(c, a, b) }),
	}
}

// difference returns what b has more than a: times as a share of those of a.
func difference(c *column, a, b *entry) string {
	x, y := c.Number(a), c.Number(b)
	switch {
	case math.IsNaN(y - x), c.Unit == record.Seconds && x == 0:
		return ""
	case c.Unit == record.Seconds:
		return figure.Signed(100*(y/x-1), 1) + " %"
	case c.Unit == record.Share:
		tenth := func(v float64) float64 { return math.Round(10*v) / 10 } // of the two that are shown
		return figure.Signed(tenth(y)-tenth(x), 1) + " pts"
	case c.Unit == record.Memory, y-x != math.Trunc(y-x):
		return figure.Signed(y-x, 1)
	case y > x:
		return "+" + figure.Bare(c.Unit, y-x)
	}
	return figure.Bare(c.Unit, y-x)
}
