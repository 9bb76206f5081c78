package explore

import (
	"strings"

	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/timeline"
	"meshscope/ui/widget"
)

// Pipeline draws the timeline of the ranks and spells the bubble.
func Pipeline(in *screen.Context, page, w, h int) []string {
	p := in.Report.Pipeline
	if p == nil || h < 2 {
		return emptyPanel(in, w, h, "PIPELINE", "")
	}
	lines := []string{pipelineHeading(in, w), bubble(in, w)}
	rows := min(h-len(lines), p.Ranks)
	chart := timeline.Chart{
		Timeline: in.Report.Timeline.OpTimes(), Fold: true,
		Shown: RanksShown(p.Ranks, 0, page, rows),
	}
	if rows > 1 && rows == h-len(lines) && chart.Blended(w, rows) {
		rows-- // a picture of mixed columns is nothing without its legend
		chart.Shown = RanksShown(p.Ranks, 0, page, rows)
	}
	lines = append(lines, chart.Render(in.Theme, in.Glyphs, w, rows)...)
	if len(lines) < h {
		lines = append(lines, chart.Legend(in.Theme, in.Glyphs, w, rows))
	}
	return widget.Height(lines, w, h)
}

// pipelineHeading names the schedule and its sizes; the time of all passes
// stands at the right end.
func pipelineHeading(in *screen.Context, w int) string {
	p := in.Report.Pipeline
	sizes := []string{"p = " + figure.Comma(p.Ranks)}
	if p.Ranks > 0 && p.Stages > p.Ranks {
		sizes = append(sizes, "v = "+figure.Comma(p.Stages/p.Ranks))
	}
	sizes = append(sizes, "m = "+figure.Comma(p.MicroBatches))
	detail := string(p.Schedule) + ", " + strings.Join(sizes, ", ")
	remark := bandOf(in, &in.Report.Time.Evidence).Of(figure.Seconds(p.Makespan))
	if widget.Width("PIPELINE ")+widget.Width(detail)+widget.Width(remark)+3 > w {
		detail = strings.ReplaceAll(detail, " = ", " ")
	}
	return in.HeadingIn(themes.Strong, w, "PIPELINE", detail, remark)
}

// bubble returns the idle time of the slowest rank as a share of the step, as the step's own panel
// has it; other ratios are explained, not shown.
func bubble(in *screen.Context, w int) string {
	r, l := in.Report, widget.NewLine(w)
	if r.Pipeline.Ranks <= 1 {
		return l.Put(in.Paint(themes.Muted), "one pipeline rank: no bubble").String()
	}
	const column = " idle" // names the figures at the right end of the timeline
	if r.Time == nil || r.Time.Step <= 0 {
		return l.Right(in.Paint(themes.Muted), column, 0).String()
	}
	l.Put(in.Theme.Word(themes.Muted, "bubble"), "bubble").Gap(1).Put(in.Paint(themes.Strong),
		figure.Percent(report.BubbleOfStep(r)))
	full := " " + report.OfStep
	for _, words := range []string{full + ", " + report.OverIdeal(r.Pipeline), full, " of the step"} {
		if words = strings.TrimSuffix(words, ", "); widget.Width(words)+len(column) <= l.Left() {
			l.Put(in.Paint(themes.Muted), words)
			break
		}
	}
	return l.Right(in.Paint(themes.Muted), column, 0).String()
}
