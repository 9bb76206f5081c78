package explore

import (
	"fmt"

	"meshscope/themes"
	"meshscope/ui/figure"
	"meshscope/ui/widget"
)

// Pipeline draws the timeline of the ranks and spells the bubble.
func Pipeline(in Input, page, w, h int) []string {
	p := in.Report.Pipeline
	if p == nil || h < 2 {
		return in.empty(w, h, "PIPELINE", "")
	}
	detail := fmt.Sprintf("%s, p = %d, m = %s", p.Schedule, p.Ranks, figure.Comma(p.MicroBatches))
	if p.Ranks > 0 && p.Stages > p.Ranks {
		detail = fmt.Sprintf("%s, p = %d, v = %d, m = %s", p.Schedule, p.Ranks, p.Stages/p.Ranks, figure.Comma(p.MicroBatches))
	}
	lines := []string{in.heading(w, "PIPELINE", detail, "", themes.Muted), in.bubble(w)}
	chart := widget.Gantt{Timeline: in.Report.Timeline, Fold: true, Page: page}
	rows := min(h-len(lines), p.Ranks)
	lines = append(lines, chart.Render(in.Theme, in.Glyphs, w, rows)...)
	if len(lines) < h {
		lines = append(lines, in.opLegend(w))
	}
	return widget.Height(lines, w, h)
}

// opLegend names the operations of the timeline.
func (in *Input) opLegend(w int) string {
	items := []legendItem{
		{fill: themes.Forward, name: "forward", brief: "forward"},
		{fill: themes.Backward, name: "backward", brief: "backward"},
	}
	return in.legend(items, "right: idle share", w, 1)[0]
}

// bubble is the closed form beside the simulated figure.
func (in *Input) bubble(w int) string {
	p := in.Report.Pipeline
	l := widget.NewLine(w)
	simulated := figure.Percent(p.BubbleOverIdeal)
	form := BubbleText(p)
	if p.Ranks <= 1 {
		return l.Put(in.paint(themes.Muted), "one pipeline rank: no bubble").String()
	}
	if form != "" {
		l.Put(in.paint(themes.Text), form)
		if l.Left() > 24 {
			l.Gap(3)
		}
	}
	switch {
	case form == "":
		l.Put(in.paint(themes.Text), "bubble ").Put(in.paint(themes.Strong), simulated).Put(in.paint(themes.Muted), " of the work, simulated")
	case l.Left() >= widget.Width("simulated  of the work")+widget.Width(simulated):
		l.Put(in.paint(themes.Muted), "simulated ").Put(in.paint(themes.Strong), simulated).Put(in.paint(themes.Muted), " of the work")
		if whole := ", " + figure.Seconds(p.Makespan) + " in all"; l.Left() >= widget.Width(whole) {
			l.Put(in.paint(themes.Muted), whole)
		}
	case l.Left() > widget.Width(simulated)+6:
		l.Gap(1).Put(in.paint(themes.Muted), "sim. ").Put(in.paint(themes.Strong), simulated)
	}
	return l.String()
}
