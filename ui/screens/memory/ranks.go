package memory

import (
	"strconv"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// grid is where the table of ranks and terms has its columns.
type grid struct {
	label   int // width of the names of the ranks
	pitch   int // width of a column
	variant int // of the names of the terms
	bar     int // width of the bars next to the table; 0: they stand above it
	rows    int // ranks shown
	shown   []int
	brief   bool // no blank lines
	tight   bool // no room for names, only for letters
}

// Smallest width of bars next to the table, and of a column with room for a
// figure, the handles of the cursor and the mark of the largest.
const (
	barBeside  = 24
	widestCell = 8
)

func (v *View) grid(in *screen.Context, w, h int, headed bool) grid {
	m := memoryOf(in)
	n := len(m.Ranks)
	g := grid{label: 2 + len("rank ") + len(strconv.Itoa(max(n-1, 99))) + 1}
	widest := 5
	for _, total := range sums(m.Ranks) {
		widest = max(widest, widget.Width(figure.GiB(total)))
	}
	// A value, its handles and its mark.
	g.pitch = max(widest+3, min((w-g.label)/(totalTerm+1), 13))
	table := g.label + g.pitch*(totalTerm+1)
	if beside := w - g.label - (widest+3)*(totalTerm+1) - 2; beside >= barBeside {
		g.pitch = min(g.pitch, widest+3+max(0, beside-60)/(totalTerm+1))
		g.bar = w - g.label - g.pitch*(totalTerm+1) - 2
	} else if table > w {
		g.pitch = max((w-g.label)/(totalTerm+1), 1)
	}
	room := g.pitch - widget.SwatchWidth(in.Theme, in.Glyphs) - 2
	g.tight = true
	for g.variant = 0; g.variant < 2 && g.tight; g.variant++ {
		g.tight = !namesFit(g.variant, room)
	}
	if g.tight {
		g.variant, g.tight = 2, !namesFit(2, room)
	} else {
		g.variant--
	}
	around := ranksAround - 3 // names, ZeRO, sum, without ZeRO, blank, heading
	if !headed {
		around--
	}
	detail := 3
	if g.bar > 0 {
		g.rows = h - around - detail
	} else {
		g.rows = (h - around - detail - 1) / 2
	}
	if g.brief = g.rows < min(n, 3); g.brief {
		g.rows = h - 3
		if g.bar == 0 && h >= 10 {
			g.rows = (h - 3) / 2
		}
	}
	g.rows = min(max(g.rows, 1), n)
	from := 1
	cursor := v.cursorRank(m)
	if per := g.rows - 3; per > 0 {
		from = 1 + (cursor-1)/per*per
	}
	g.shown = widget.RanksShown(n, from, g.rows, cursor, fullest(m), 0, n-1)
	return g
}

// barsAbove reports whether bars stand above the table of a pane h lines high.
func (g *grid) barsAbove(h int) bool { return g.bar == 0 && (!g.brief || h >= 10) }

// namesFit reports whether every term's name has room in its column.
func namesFit(variant, room int) bool {
	for i := range totalTerm {
		if widget.Width(termName(i)[variant]) > room {
			return false
		}
	}
	return true
}

// sums returns the terms over all ranks of the pipeline.
func sums(ranks []engine.RankMemory) (all [totalTerm + 1]units.Bytes) {
	for i := range ranks {
		for t, b := range values(&ranks[i]) {
			all[t] += b
		}
	}
	return all
}

// ranks draws the bars and the table.
func (v *View) ranks(in *screen.Context, w, h int, headed bool) []string {
	m := memoryOf(in)
	g := v.grid(in, w, h, headed)
	var lines []string
	if headed {
		lines = append(lines, v.heading(in, ranksPane, w, "MEMORY PER GPU", "GiB at each rank's peak",
			v.ranksRemark(in, &g)))
	}
	if g.barsAbove(h) {
		for _, i := range g.shown {
			lines = append(lines, v.barRow(in, i, w, &g))
		}
		if !g.brief {
			lines = append(lines, usableLine(in, widget.NewLine(w).To(g.label), barAbove(w, &g)))
		}
	}
	lines = append(lines, v.names(in, w, &g))
	if !g.brief {
		lines = append(lines, v.shardLine(in, w, &g))
	}
	for _, i := range g.shown {
		lines = append(lines, v.tableRow(in, i, w, &g))
	}
	if len(m.Ranks) > 1 {
		// A GPU of each, also of those that are not shown.
		lines = append(lines, v.sumRow(in, w, &g, figure.Plural(len(m.Ranks), "rank"), sums(m.Ranks)))
	}
	if v.fresh(in) && len(v.answers.shards.Whole) == len(m.Ranks) && in.Setup.ZeRO > 0 && !in.Asks {
		// Of the same ranks as the line above it.
		lines = append(lines, v.sumRow(in, w, &g, "no ZeRO", sums(v.answers.shards.Whole)))
	}
	if len(lines)+3 < h {
		lines = append(lines, widget.Blank(w))
	}
	lines = append(lines, v.details(in, w)...)
	if !headed && !in.Asks && !in.Taught {
		limits := v.limitLines(in, w, " with the safety margin left free")
		if h-len(lines) < len(limits) {
			limits = v.limitBrief(in, w)
		}
		if h-len(lines) > len(limits) {
			lines = append(lines, widget.Blank(w))
		}
		lines = append(lines, limits...)
	}
	return lines
}

func (v *View) ranksRemark(in *screen.Context, g *grid) string {
	m := memoryOf(in)
	n := len(m.Ranks)
	text := in.Glyphs.Up + " largest"
	if g.rows < n {
		text = strconv.Itoa(g.rows) + " of " + strconv.Itoa(n) + " ranks, " + text
	}
	return bandOf(in, m).Of("peak "+gib(m.Peak)) + "   " + text
}

// label writes pointer, name and mark of a rank.
func (v *View) label(in *screen.Context, l *widget.Line, i int, g *grid) {
	m := memoryOf(in)
	pointer, role := " ", themes.Text
	if i == v.cursorRank(m) {
		pointer, role = in.Glyphs.Pointer, themes.Strong
	}
	l.Put(in.Paint(themes.Accent), pointer).Gap(1)
	l.Put(in.Paint(themes.Muted), "rank ").Put(in.Paint(role), strconv.Itoa(m.Ranks[i].Rank))
	if i == fullest(m) && len(m.Ranks) > 1 {
		l.Put(in.Paint(themes.Warn), in.Glyphs.Up)
	}
	l.To(g.label)
}

// bar is the stacked bar of a rank, with the usable memory as a line.
func (v *View) bar(in *screen.Context, l *widget.Line, r *engine.RankMemory, width int) {
	bar := screen.RankBar(memoryOf(in), screen.MemoryParts(r))
	width = min(width, l.Left())
	l.Raw(bar.Render(in.Theme, in.Glyphs, width), width)
}

// barAbove is the width of the bars above the table: the total stands behind them.
func barAbove(w int, g *grid) int { return w - g.label - 9 }

// usableLine names the usable memory where it stands in bars below or above that are so wide, from the end
// of a line.
func usableLine(in *screen.Context, l *widget.Line, width int) string {
	m := memoryOf(in)
	bar := screen.RankBar(m, nil)
	at := l.Used() + bar.LimitAt(min(width, l.Left()))
	l.RightAligned(in.Paint(themes.Muted), figure.GiB(m.Usable)+" usable", at-1)
	return l.To(at).Put(in.Paint(themes.Limit), in.Glyphs.Limit).String()
}

func (v *View) barRow(in *screen.Context, i, w int, g *grid) string {
	l := widget.NewLine(w)
	v.label(in, l, i, g)
	v.bar(in, l, &memoryOf(in).Ranks[i], barAbove(w, g))
	text, role := screen.RankTotal(memoryOf(in), &memoryOf(in).Ranks[i])
	return l.RightAligned(in.Paint(role), text, w).String()
}

// names returns the line of the terms' names over the table.
func (v *View) names(in *screen.Context, w int, g *grid) string {
	l := widget.NewLine(w)
	m := memoryOf(in)
	l.Gap(2).Put(in.Paint(themes.Muted), "GiB")
	for t := range totalTerm + 1 {
		name := termName(t)[g.variant]
		if g.tight {
			name = ""
		}
		width := widget.Width(name)
		role := themes.Muted
		if t == v.cursorTerm(m) && v.pane == ranksPane {
			role = themes.Strong
		}
		end := g.label + (t+1)*g.pitch - 2
		if g.pitch < widestCell {
			end++
		}
		if t == totalTerm {
			l.RightAligned(in.Paint(role), name, end)
			continue
		}
		l.To(end - width - 1 - widget.SwatchWidth(in.Theme, in.Glyphs))
		widget.Swatch(l, in.Theme, in.Glyphs, termFill(t))
		l.Gap(1).Put(in.Paint(role), name)
	}
	if g.bar > 0 {
		return usableLine(in, l.To(g.label+(totalTerm+1)*g.pitch+2), g.bar)
	}
	return l.String()
}

// shardLine says which part of each state is on one GPU.
func (v *View) shardLine(in *screen.Context, w int, g *grid) string {
	l := widget.NewLine(w)
	l.Gap(2).Put(in.Paint(themes.Muted), "ZeRO-"+strconv.Itoa(in.Setup.ZeRO))
	for t := range optimizerTerm + 1 {
		text := in.Glyphs.Ellipsis
		if v.fresh(in) {
			text = "whole"
			if by, _ := v.sharded(in, v.cursorRank(memoryOf(in)), t); by > 1 {
				text = part(by)
			}
		}
		end := g.label + (t+1)*g.pitch - 2
		if g.pitch < widestCell {
			end++
		}
		l.RightAligned(in.Paint(themes.Muted), text, end)
	}
	return l.String()
}

func (v *View) tableRow(in *screen.Context, i, w int, g *grid) string {
	m := memoryOf(in)
	r := &m.Ranks[i]
	l := widget.NewLine(w)
	v.label(in, l, i, g)
	all, biggest, cursor := values(r), largestTerm(r), v.cursorTerm(m)
	for t, value := range all {
		role := themes.Text
		if t == totalTerm {
			role = themes.Strong
			if r.Total > m.Usable {
				role = themes.Bad
			}
		}
		v.cell(in, l, g, t, figure.GiB(value), role, i == v.cursorRank(m) && t == cursor, i == fullest(m) &&
			t == biggest)
	}
	if g.bar > 0 {
		l.Gap(2)
		v.bar(in, l, r, g.bar)
	}
	return l.String()
}

// cell writes one figure of the table, with the handles of the cursor and the
// mark of the largest.
func (v *View) cell(in *screen.Context, l *widget.Line, g *grid, term int, text string, role themes.Role,
	here, largest bool,
) {
	end := g.label + (term+1)*g.pitch
	if g.pitch < widestCell {
		if here {
			role = themes.Current
		}
		l.RightAligned(in.Paint(role), text, end-1)
		return
	}
	left, right, paint := " ", " ", in.Paint(role)
	if here {
		left, right, paint = "[", "]", in.Paint(themes.Current)
	}
	mark := " "
	if largest {
		mark = in.Glyphs.Up
	}
	l.To(end - 3 - widget.Width(text))
	l.Put(paint, left+text+right).Put(in.Paint(themes.Warn), mark)
}

// sumRow returns a line of the table that is not one rank.
func (v *View) sumRow(in *screen.Context, w int, g *grid, name string,
	all [totalTerm + 1]units.Bytes,
) string {
	l := widget.NewLine(w)
	l.Gap(2).Put(in.Paint(themes.Muted), name).To(g.label)
	for t, value := range all {
		v.cell(in, l, g, t, figure.GiB(value), themes.Muted, false, false)
	}
	return l.String()
}

// details returns three lines about the figure under the cursor.
func (v *View) details(in *screen.Context, w int) []string {
	m := memoryOf(in)
	rank, term := v.cursorRank(m), v.cursorTerm(m)
	r := &m.Ranks[rank]
	value := values(r)[term]
	l := widget.NewLine(w)
	l.Gap(2).Put(in.Paint(themes.Strong), termName(term)[0]+" on rank "+strconv.Itoa(r.Rank)).Gap(2)
	l.Put(in.Paint(themes.Strong), gib(value))
	if term != totalTerm && r.Total > 0 {
		l.Put(in.Paint(themes.Muted), ", "+figure.Percent(float64(value/r.Total))+" of the rank")
	}
	if by, whole := v.sharded(in, rank, term); by > 1 {
		l.Gap(3)
		shards(in, l, term, by)
		l.Gap(1).Put(in.Paint(themes.Muted), part(by)+" of "+gib(whole))
	} else if l.Left() > widget.Width(what(term))+4 {
		l.Put(in.Paint(themes.Muted), ": "+what(term))
	}
	formula, why := widget.NewLine(w), widget.NewLine(w)
	formula.Gap(2).Put(in.Paint(themes.Text),
		in.Longest(w-2, v.formula(in, rank, term), v.briefFormula(in, rank, term)))
	why.Gap(2).Put(in.Paint(themes.Muted), widget.Cut(v.moves(in, rank, term), w-2))
	return []string{l.String(), formula.String(), why.String()}
}

// shards draws a state cut into its shards, with the one that is here filled.
func shards(in *screen.Context, l *widget.Line, term int, by float64) {
	n := int(by + 0.5)
	const each, most = 2, 12 // cells of a shard, shards drawn
	shown := min(n, most)
	bar := widget.Stack{Segments: []widget.Segment{{Fill: termFill(term), Value: 1}}, Scale: float64(shown)}
	width := each * shown
	l.Raw(bar.Render(in.Theme, in.Glyphs, width), width)
}
