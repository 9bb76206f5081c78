package explore

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

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
		lines = append(lines, in.opLegend(&chart, w, rows))
	}
	return widget.Height(lines, w, h)
}

// opLegend names the signs of the timeline and, where there is room, what the
// figures at its right end are.
func (in *Input) opLegend(chart *widget.Gantt, w, rows int) string {
	const remark = "idle share"
	legend := chart.Legend(in.Theme, in.Glyphs, w, rows)
	used := ansi.StringWidth(strings.TrimRight(ansi.Strip(legend), " "))
	if used+2+len(remark) > w {
		return legend
	}
	l := widget.NewLine(w).Raw(ansi.Truncate(legend, used, ""), used)
	return l.Right(in.paint(themes.Muted), remark, 0).String()
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
