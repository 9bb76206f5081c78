package pipeline

import (
	"context"
	"fmt"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/figure"
	"meshscope/ui/widget"
)

// compare takes a schedule of the table as the second timeline. One that cannot
// run this setup is remembered until it can.
func (v *View) compare(kind schedule.Kind) {
	v.second, v.lost = nil, kind
	for i := range v.table.rows {
		if r := &v.table.rows[i].ScheduleRow; r.Info.Kind == kind && r.Report.Legal && r.Report.Timeline != nil {
			v.second, v.lost = r, ""
		}
	}
	v.below = v.below && v.second != nil
}

// compareWith is compare for a legal row that may have lost its timeline, which
// is then worked out again.
func (v *View) compareWith(r engine.ScheduleRow) Request {
	if r.Report.Timeline != nil {
		v.compare(r.Info.Kind)
		return Request{}
	}
	v.second, v.lost, v.fetching = nil, "", r.Info.Kind
	of := v.table.of
	return Request{Work: func(ctx context.Context) func() {
		var e engine.Evaluator
		report, done := e.EvaluateUntil(r.Setup, func() bool { return ctx.Err() != nil })
		return func() {
			if v.fetching != r.Info.Kind || v.table.of != of {
				return
			}
			v.fetching = ""
			if done && report.Legal {
				r.Report = report
				v.second = &r
			}
		}
	}}
}

// figures are the columns that two schedules are compared by.
type figures struct {
	name                       string
	makespan                   float64
	overIdeal, overTotal, span string
	peak                       string
	inFlight                   int
	messages, copies           int
}

func figuresOf(s *engine.Setup, r *engine.Report) figures {
	p := r.Pipeline
	info, _ := p.Schedule.Info()
	f := figures{
		name: string(p.Schedule), makespan: float64(p.Makespan),
		overIdeal: figure.Percent(p.BubbleOverIdeal), overTotal: figure.Percent(p.BubbleOverTotal), span: "-",
		peak: figure.GiB(r.Memory.Peak), messages: s.Spec().Messages(), copies: max(1, info.WeightCopies),
	}
	if p.BubbleSpan != nil {
		f.span = figure.Percent(*p.BubbleSpan)
	}
	if r.Timeline == nil { // the caller knows
		return f
	}
	for i := range r.Timeline.Ranks {
		f.inFlight = max(f.inFlight, r.Timeline.Ranks[i].PeakInFlight)
	}
	return f
}

// differences is the table under two timelines.
func (v *View) differences(in *Input, l *layout, w int) []string {
	a := figuresOf(l.blocks[0].setup, l.blocks[0].report)
	b := figuresOf(l.blocks[1].setup, l.blocks[1].report)
	row := func(role themes.Role, cells ...string) string {
		line := widget.NewLine(w)
		line.Put(in.paint(role), cells[0])
		at := 17
		for _, c := range cells[1:] {
			if at += 11; at > w {
				break
			}
			line.RightAligned(in.paint(role), c, at)
		}
		return line.String()
	}
	cells := func(sign string, f *figures) []string {
		return []string{
			sign + " " + f.name, seconds(f.makespan), f.overIdeal, f.overTotal, f.span, f.peak,
			figure.Comma(f.inFlight), figure.Comma(f.messages), fmt.Sprint(f.copies),
		}
	}
	peaks := l.blocks[1].report.Memory.Peak - l.blocks[0].report.Memory.Peak
	of := func(x, y float64) string { return figure.Signed(100*(y-x), 1) }
	pa, pb := l.blocks[0].report.Pipeline, l.blocks[1].report.Pipeline
	span := ""
	if pa.BubbleSpan != nil && pb.BubbleSpan != nil {
		span = of(*pa.BubbleSpan, *pb.BubbleSpan)
	}
	return []string{
		row(themes.Muted, "", "pipeline", "of work", "of step", "in span", "peak GiB", "in flight", "messages", "copies"),
		row(themes.Text, cells("A", &a)...),
		row(themes.Text, cells("B", &b)...),
		row(
			themes.Strong, "B against A", figure.Signed(100*(b.makespan/a.makespan-1), 1)+" %",
			of(pa.BubbleOverIdeal, pb.BubbleOverIdeal), of(pa.BubbleOverTotal, pb.BubbleOverTotal), span,
			figure.Signed(float64(peaks)/(1<<30), 1), fmt.Sprintf("%+d", b.inFlight-a.inFlight),
			fmt.Sprintf("%+d", b.messages-a.messages), fmt.Sprintf("%+d", b.copies-a.copies),
		),
	}
}
