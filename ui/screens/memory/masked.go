package memory

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// masked draws a pane of which a question hides figures: over a step the first step, which has been
// seen, unless a term is hidden; of the ranks names without lengths, for a cursor to point at; of a
// layer nothing.
func (v *View) masked(in *screen.Context, w, h int) []string {
	l := widget.NewLine(w).Put(in.Paint(themes.Heading), "MEMORY").Gap(2).Put(in.Paint(themes.Current),
		"["+paneName(v.pane)+"]")
	lines := []string{l.Right(in.Paint(themes.Muted), "hidden until you answer", 0).String()}
	p, known := v.picture(in, w)
	switch {
	case v.pane == ranksPane:
		lines = append(lines, v.maskedRanks(in, w, h-1)...)
	case v.pane == stepPane && known && h > 6 && !in.Hides("memory.fullest.", "memory.ranks."):
		p.x, p.from = -1, p.steps.length
		lines = append(lines, v.chart(in, &p, w, h-4)...)
		lines = append(lines, v.axisLine(in, &p, w), v.timeLine(in, &p, w), legend(in, w))
	default:
		lines = append(lines, screen.Unknown(in, w))
	}
	return widget.Height(lines, w, h)
}

// legend names the fills of the terms.
func legend(in *screen.Context, w int) string {
	for variant := range 3 {
		l := widget.NewLine(w).Gap(2)
		fits := true
		for t := range totalTerm {
			name := termName(t)[variant]
			fits = fits && l.Left() >= widget.SwatchWidth(in.Theme, in.Glyphs)+widget.Width(name)+3
			widget.Swatch(l, in.Theme, in.Glyphs, termFill(t))
			l.Gap(1).Put(in.Paint(themes.Muted), name).Gap(2)
		}
		if fits {
			return l.String()
		}
	}
	return widget.Blank(w)
}

// maskedRanks draws the ranks and their terms without a length or a figure.
func (v *View) maskedRanks(in *screen.Context, w, h int) []string {
	m := memoryOf(in)
	g := v.grid(in, w, h, false)
	const widest = 13
	g.bar, g.pitch = 0, max(min((w-g.label)/(totalTerm+1), widest), 1) // no width follows a figure
	var lines []string
	for _, i := range g.shown {
		l := widget.NewLine(w)
		l.Gap(2).Put(in.Paint(themes.Muted), "rank "+figure.Comma(m.Ranks[i].Rank)).To(g.label)
		lines = append(lines, l.Raw(screen.Unknown(in, w-g.label-9), w-g.label-9).String())
	}
	lines = append(lines, widget.Blank(w), v.names(in, w, &g))
	for _, i := range g.shown {
		l := widget.NewLine(w)
		pointer := " "
		if i == v.cursorRank(m) {
			pointer = in.Glyphs.Pointer
		}
		l.Put(in.Paint(themes.Accent), pointer).Gap(1).Put(in.Paint(themes.Muted),
			"rank "+figure.Comma(m.Ranks[i].Rank)).To(g.label)
		for t := range totalTerm + 1 {
			v.cell(in, l, &g, t, "???", themes.Muted, i == v.cursorRank(m) && t == v.cursorTerm(m), false)
		}
		lines = append(lines, l.String())
	}
	name := strings.ToUpper(termName(v.cursorTerm(m))[0][:1]) + termName(v.cursorTerm(m))[0][1:]
	return append(lines, widget.Blank(w), widget.NewLine(w).Gap(2).Put(in.Paint(themes.Strong),
		name).Put(in.Paint(themes.Muted), ": "+what(v.cursorTerm(m))).String())
}

// cover hides what follows a moment of the two steps.
func (p *picture) cover(in *screen.Context, rows []string) {
	if p.from == 0 {
		return
	}
	first := p.axis.w
	for x := range p.axis.w {
		if from, _, ok := p.axis.span(x); ok && from >= p.from {
			first = min(first, x)
		}
	}
	for y := range rows {
		rows[y] = ansi.Truncate(rows[y], first, "") + screen.Unknown(in, p.axis.w-first)
	}
}
