package explore

import (
	"math"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/schedule"
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
	chart := timeline.Chart{Timeline: in.Report.Timeline.OpTimes(), Fold: true, Shown: RanksShown(p.Ranks, 0, page, rows)}
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

// bubble returns the closed form with the simulated figure. What is simulated is
// never left out; the spelled formula is, first.
func bubble(in *screen.Context, w int) string {
	p := in.Report.Pipeline
	l := widget.NewLine(w)
	if p.Ranks <= 1 {
		return l.Put(in.Paint(themes.Muted), "one pipeline rank: no bubble").String()
	}
	const column = " idle" // names the figures at the right end of the timeline
	simulated := figure.Percent(p.BubbleOverIdeal)
	need := func(words [3]string) int {
		return widget.Width(words[0]+words[1]) + widget.Width(simulated) + widget.Width(words[2])
	}
	choices := bubbleWords(in)
	at := slices.IndexFunc(choices, func(words [3]string) bool { return need(words)+len(column) <= w })
	if at < 0 {
		at = slices.IndexFunc(choices, func(words [3]string) bool { return need(words) <= w })
	}
	if at < 0 {
		at = len(choices) - 1
	}
	words := choices[at]
	l.Put(in.Paint(themes.Text), words[0]).Put(in.Paint(themes.Muted), words[1])
	l.Put(in.Paint(themes.Strong), simulated).Put(in.Paint(themes.Muted), words[2])
	return l.Right(in.Paint(themes.Muted), column, 0).String()
}

// bubbleWords returns what stands before and behind the simulated figure, from the
// fullest wording to the briefest.
func bubbleWords(in *screen.Context) [][3]string {
	spelled, brief, value := BubbleText(in.Report.Pipeline)
	if value == "" {
		return [][3]string{{"bubble, simulated ", "", " of the work"}, {"bubble ", "", " of work"}}
	}
	return [][3]string{
		{spelled, "   simulated ", " of the work"},
		{spelled, "   simulated ", " of work"},
		{brief, ", simulated ", " of work"},
		{brief, ", sim. ", " of work"},
		{value, ", sim. ", " of work"},
		{"", "sim. bubble ", " of work"},
		{"", "bubble ", ""},
	}
}

// BubbleText spells the closed form of the bubble with the current numbers, in
// full, in brief, and the value alone; empty where no form is exact.
func BubbleText(p *engine.Pipeline) (spelled, brief, value string) {
	if p.BubbleClosedForm == nil {
		return "", "", ""
	}
	value = figure.Percent(*p.BubbleClosedForm)
	v := 1
	if p.Ranks > 0 {
		v = max(p.Stages/p.Ranks, 1)
	}
	numbers, formula := figure.Comma(p.Ranks-1), "p-1"
	plain := float64(p.Ranks-1) / float64(max(v*p.MicroBatches, 1))
	switch {
	case p.Schedule == schedule.Naive:
	case math.Abs(plain-*p.BubbleClosedForm) > 1e-9: // the schedule has a form of its own
		return "bubble of equal stages = " + value, "equal stages " + value, "bubble closed " + value
	case v > 1:
		numbers, formula = numbers+"/"+figure.Comma(v*p.MicroBatches), "(p-1)/(v m)"
	default:
		numbers, formula = numbers+"/"+figure.Comma(p.MicroBatches), "(p-1)/m"
	}
	return "bubble " + formula + " = " + numbers + " = " + value, "bubble " + numbers + " = " + value, "bubble closed " + value
}
