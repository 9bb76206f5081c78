package pipeline

import (
	"fmt"
	"strings"

	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/timeline"
	"meshscope/ui/widget"
)

// Render draws the screen: exactly h lines of w cells.
func (v *View) Render(in *screen.Context) []string {
	w, h := in.W, in.H
	w, h = max(w, 0), max(h, 0)
	if in.Theme == nil || h == 0 {
		return widget.Height(nil, w, h)
	}
	if v.table.open {
		return v.renderTable(in, w, h)
	}
	l := v.layout(in, w, h)
	if l == nil {
		return widget.Height([]string{nothing(in, w)}, w, h)
	}
	v.drawn = l // kept for its axis and overview, which the next frame most often needs again
	lines := banner(in, w, l.problems)
	cursor := v.spot(l)
	for i := range l.blocks {
		if b := &l.blocks[i]; !b.hidden {
			b.rows = timeline.NewRows(b.line, &l.frame, in.Theme, in.Glyphs, v.microBatch || v.critical)
			b.rows.Tall(l.tall)
			lines = append(lines, v.heading(in, l, i, w))
			if l.overview == len(lines) {
				lines = append(lines, v.overview(in, l, &cursor)...)
			}
			lines = append(lines, v.ranks(in, l, i, &cursor)...)
		}
	}
	lines = append(lines, v.axis(in, l, w))
	if l.legend >= 0 {
		lines = append(lines, v.legend(in, l, w))
	}
	if l.table >= 0 {
		lines = append(lines, v.differences(in, l, w)...)
	}
	if l.details >= 0 && l.details == len(lines) {
		lines = append(lines, v.details(in, l, &cursor, w, h-len(lines))...)
	}
	return widget.Height(lines, w, h)
}

// nothing returns what stands where there is no picture.
func nothing(in *screen.Context, w int) string {
	text := "no timeline: PP 1 has no pipeline"
	if lineOf(in) != nil {
		text = "too small for a timeline"
	}
	return widget.NewLine(w).Put(in.Paint(themes.Muted), text).String()
}

// banner says why the picture is that of an earlier setup, and what is legal, in
// at most n lines.
func banner(in *screen.Context, w, n int) []string {
	var lines []string
	for _, p := range errors(in.Problems) {
		text := p.Message
		if near := nearest(p.Nearest); near != "" {
			text += "; nearest legal: " + near
		}
		for i, part := range widget.Wrap(text, w-2) {
			sign := "  "
			if i == 0 {
				sign = in.Glyphs.Cross + " "
			}
			lines = append(lines, widget.NewLine(w).Put(in.Paint(themes.Bad), sign+part).String())
		}
	}
	return widget.Height(lines, w, min(n, len(lines)))
}

// heading names a timeline and its figures.
func (v *View) heading(in *screen.Context, l *layout, i, w int) string {
	b := &l.blocks[i]
	s, p := b.setup, b.report.Pipeline
	name := "PIPELINE"
	if len(l.blocks) > 1 {
		name = []string{"A", "B"}[i]
	}
	detail := fmt.Sprintf("%s, p = %d, m = %s", p.Schedule, p.Ranks, figure.Comma(p.MicroBatches))
	if s.VPP > 1 {
		detail = fmt.Sprintf("%s, p = %d, v = %d, m = %s", p.Schedule, p.Ranks, s.VPP,
			figure.Comma(p.MicroBatches))
	}
	if i == 1 && in.Setup != nil && v.secondOf != *in.Setup {
		detail += ", previous setup"
	}
	if len(b.ranks) < len(b.line.Ranks) && len(b.ranks) > 2 {
		detail += ", ranks " + figure.Ranges(b.ranks)
	}
	if b.two {
		detail += ", two per line"
	}
	line := widget.NewLine(w).Put(in.Paint(themes.Heading), name).Gap(1).Put(in.Paint(themes.Text), detail)
	exact := figure.Band{Evidence: &b.report.Time.Evidence, PlusMinus: in.Glyphs.PlusMinus}
	parts := []string{exact.Of(figure.Seconds(p.Makespan))}
	if p.Ranks > 1 {
		bubble := "bubble " + figure.Percent(report.BubbleOfStep(b.report))
		for _, of := range []string{" " + report.OfStep, " of the step"} {
			if widget.Width(parts[0])+len(bubble+of)+6 <= line.Left() {
				bubble += of
				break
			}
		}
		parts = append(parts, bubble)
		if form := report.OverIdeal(p); form != "" {
			parts = append(parts, form)
		}
	}
	if gain := v.gain(l, i); gain != "" {
		parts = append([]string{gain}, parts...)
	}
	for n := len(parts); n > 0; n-- {
		text := strings.Join(parts[:n], ", ")
		if line.Left() < widget.Width(text)+4 {
			continue
		}
		if rule := line.Left() - widget.Width(text) - 2; rule > 0 {
			line.Gap(1).Put(in.Paint(themes.Faint), widget.Fill(in.Glyphs.Rule, rule)).Gap(1)
		}
		line.Put(in.Paint(themes.Strong), text)
		break
	}
	return line.String()
}

// gain returns how much shorter or longer the second timeline is.
func (v *View) gain(l *layout, i int) string {
	if i == 0 || len(l.blocks) < 2 {
		return ""
	}
	return figure.Signed(100*(l.blocks[1].line.Makespan/l.blocks[0].line.Makespan-1), 1) + " %"
}
