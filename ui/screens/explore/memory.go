package explore

import (
	"fmt"
	"math"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// terms returns the parts of a rank; gradients have a brief name here, for narrow panels.
func terms(r *engine.RankMemory) []screen.Part {
	parts := screen.MemoryParts(r)
	parts[1].Names[0] = parts[1].Names[1]
	return parts
}

// Memory draws the ranks as stacked bars against the capacity line, and the
// terms of the fullest one. page is how far the ranks that do not stay are
// scrolled.
func Memory(in *screen.Context, page, w, h int) []string {
	m := in.Report.Memory
	if m == nil || len(m.Ranks) == 0 || h < 3 {
		return emptyPanel(in, w, h, "MEMORY", "")
	}
	fullest := &m.Ranks[min(max(m.PeakRank, 0), len(m.Ranks)-1)]
	lines := make([]string, 0, h)
	rows := min(len(m.Ranks), h-2)
	lines = append(lines, memoryHeading(in, m, fullest, len(m.Ranks)-rows, w))
	table := h-1-rows >= 9 && w >= tableWidth
	for _, i := range RanksShown(len(m.Ranks), m.PeakRank, page, rows) {
		lines = append(lines, rankBar(in, m, i, w))
	}
	if table {
		lines = append(lines, widget.Blank(w))
		return widget.Height(append(lines, termTable(in, fullest, w)...), w, h)
	}
	lines = append(lines, memoryLegend(in, fullest, len(m.Ranks), w, h-len(lines))...)
	return widget.Height(lines, w, h)
}

// memoryLegend names the terms with their figures on the fullest rank.
func memoryLegend(in *screen.Context, fullest *engine.RankMemory, ranks, w, lines int) []string {
	var columns []column
	var items []legendItem
	for _, t := range terms(fullest) {
		value := figure.GiB(units.Bytes(t.Value))
		columns = append(columns, column{fill: t.Fill, marked: true, names: t.Names, value: value})
		if t.Value > 0 {
			items = append(items, legendItem{t.Fill, t.Names[0], t.Names[2], value})
		}
	}
	if lines >= 2 {
		if out, ok := tableLines(in, columns, w); ok {
			return out
		}
	}
	remark := ""
	if ranks > 1 {
		remark = fmt.Sprintf("rank %d", fullest.Rank)
	}
	out, _ := legendLines(in, items, remark, w, lines)
	return out
}

// memoryHeading says what the bars are of, which rank is the fullest, and how many have no row.
func memoryHeading(in *screen.Context, m *engine.Memory, fullest *engine.RankMemory, hidden, w int) string {
	detail := "per GPU, GiB of " + figure.GiB(m.Usable) + " usable"
	if w < 60 {
		detail = "of " + figure.GiB(m.Usable) + " GiB"
	}
	fullestRank := "fullest: rank " + strconv.Itoa(fullest.Rank)
	if len(m.Ranks) == 1 {
		fullestRank = "one pipeline rank"
	}
	remark := bandOf(in, &m.Evidence).Band(in.Glyphs.PlusMinus)
	if hidden > 0 {
		remark += ", +" + figure.Plural(hidden, "rank")
	}
	for _, text := range []string{
		fullestRank + ", " + remark,
		"rank " + strconv.Itoa(fullest.Rank) + ", " + remark,
	} {
		if widget.Width("MEMORY ")+widget.Width(detail)+widget.Width(text)+4 <= w {
			remark = text
			break
		}
	}
	return in.Heading(w, "MEMORY", detail, remark)
}

// rankLabel returns the width of the names of n ranks.
func rankLabel(n int) int { return len("rank ") + len(strconv.Itoa(n-1)) }

// rankBar returns one rank: name, bar, total.
func rankBar(in *screen.Context, m *engine.Memory, i, w int) string {
	r := &m.Ranks[i]
	label := rankLabel(len(m.Ranks))
	l := widget.NewLine(w)
	name := themes.Text
	if i == m.PeakRank && len(m.Ranks) > 1 {
		name = themes.Strong
	}
	l.Put(in.Paint(themes.Muted), "rank ").Put(in.Paint(name), strconv.Itoa(r.Rank)).To(label + 1)
	const total = 9 // " 1,234.5 !"
	bar := screen.RankBar(m, terms(r))
	width := w - l.Used() - total
	l.Raw(bar.Render(in.Theme, in.Glyphs, width), width)
	text, role := screen.RankTotal(m, r)
	l.RightAligned(in.Paint(role), text, w)
	return l.String()
}

// termTable lists the terms of the fullest rank, one a line, with their share.
func termTable(in *screen.Context, r *engine.RankMemory, w int) []string {
	lines := make([]string, 0, 8)
	const nameAt, valueEnd, shareEnd = 2, 24, 33
	for _, t := range terms(r) {
		l := widget.NewLine(w)
		putSwatch(in, l, t.Fill)
		l.To(nameAt+1).Put(in.Paint(themes.Muted), t.Names[0])
		l.RightAligned(in.Paint(themes.Text), figure.GiB(units.Bytes(t.Value)), valueEnd)
		if r.Total > 0 {
			l.RightAligned(in.Paint(themes.Text), figure.Percent(t.Value/float64(r.Total)), shareEnd)
			bar := widget.Stack{
				Segments: []widget.Segment{{Fill: t.Fill, Value: t.Value}},
				Scale:    float64(r.Total), Plain: true, NoTrack: true,
			}
			l.Gap(2)
			l.Raw(bar.Render(in.Theme, in.Glyphs, l.Left()), l.Left())
		}
		lines = append(lines, l.String())
	}
	l := widget.NewLine(w)
	l.To(nameAt+1).Put(in.Paint(themes.Muted), fmt.Sprintf("rank %d", r.Rank))
	l.RightAligned(in.Paint(themes.Strong), figure.GiB(r.Total), valueEnd)
	detail := fmt.Sprintf("%s, %s params, %s in flight", figure.Plural(r.Layers, "layer"),
		figure.Short(r.Parameters),
		strconv.FormatFloat(math.Round(100*r.InFlight)/100, 'f', -1, 64))
	l.Gap(4).Put(in.Paint(themes.Muted), detail)
	return append(lines, l.String())
}

// tableWidth is the width from which the terms are listed one by one.
const tableWidth = 60
