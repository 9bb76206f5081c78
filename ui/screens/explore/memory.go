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

// term is one part of a rank's memory.
type term struct {
	fill  themes.Fill
	names [3]string // in full, brief, briefest
	value units.Bytes
}

func terms(r *engine.RankMemory) [7]term {
	return [7]term{
		{themes.Weights, [3]string{"weights", "weights", "wts"}, r.Weights},
		{themes.Gradients, [3]string{"grads", "grads", "grad"}, r.Gradients},
		{themes.Optimizer, [3]string{"optimizer", "optim", "opt"}, r.Optimizer},
		{themes.Activations, [3]string{"activations", "activ", "act"}, r.Activations},
		{themes.Logits, [3]string{"logits", "logits", "log"}, r.Logits},
		{themes.Buffers, [3]string{"buffers", "buffers", "buf"}, r.Buffers},
		{themes.Overhead, [3]string{"overhead", "other", "ovh"}, r.Overhead},
	}
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
	lines = append(lines, memoryHeading(in, m, fullest, w))
	rows := min(len(m.Ranks), h-2)
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
		columns = append(columns, column{fill: t.fill, marked: true, names: t.names, value: figure.GiB(t.value)})
		if t.value > 0 {
			items = append(items, legendItem{t.fill, t.names[0], t.names[2], figure.GiB(t.value)})
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
	return legendLines(in, items, remark, w, lines)
}

func memoryHeading(in *screen.Context, m *engine.Memory, fullest *engine.RankMemory, w int) string {
	detail := "per GPU, GiB of " + figure.GiB(m.Usable) + " usable"
	if w < 60 {
		detail = "of " + figure.GiB(m.Usable) + " GiB"
	}
	fullestRank := "fullest: rank " + strconv.Itoa(fullest.Rank)
	if len(m.Ranks) == 1 {
		fullestRank = "one pipeline rank"
	}
	band := bandOf(in, &m.Evidence).Band(in.Glyphs.PlusMinus)
	remark := bandOf(in, &m.Evidence).Band(in.Glyphs.PlusMinus)
	number := "rank " + strconv.Itoa(fullest.Rank)
	for _, text := range []string{fullestRank + ", " + band, number + ", " + band, number + ", " + remark, band} {
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
	bar := widget.Stack{Scale: max(m.Usable.GiB()/0.92, m.Peak.GiB()), Limit: m.Usable.GiB()}
	for _, t := range terms(r) {
		bar.Segments = append(bar.Segments, widget.Segment{Fill: t.fill, Value: t.value.GiB(), Label: t.names[0]})
	}
	width := w - l.Used() - total
	l.Raw(bar.Render(in.Theme, in.Glyphs, width), width)
	role, over := themes.Strong, "  "
	if r.Total > m.Usable {
		role, over = themes.Bad, " !"
	}
	l.RightAligned(in.Paint(role), figure.GiB(r.Total)+over, w)
	return l.String()
}

// termTable lists the terms of the fullest rank, one a line, with their share.
func termTable(in *screen.Context, r *engine.RankMemory, w int) []string {
	lines := make([]string, 0, 8)
	const nameAt, valueEnd, shareEnd = 2, 24, 33
	for _, t := range terms(r) {
		l := widget.NewLine(w)
		putSwatch(in, l, t.fill)
		l.To(nameAt+1).Put(in.Paint(themes.Muted), t.names[0])
		l.RightAligned(in.Paint(themes.Text), figure.GiB(t.value), valueEnd)
		if r.Total > 0 {
			l.RightAligned(in.Paint(themes.Text), figure.Percent(float64(t.value/r.Total)), shareEnd)
			bar := widget.Stack{Segments: []widget.Segment{{Fill: t.fill, Value: float64(t.value)}}, Scale: float64(r.Total), Plain: true, NoTrack: true}
			l.Gap(2)
			l.Raw(bar.Render(in.Theme, in.Glyphs, l.Left()), l.Left())
		}
		lines = append(lines, l.String())
	}
	l := widget.NewLine(w)
	l.To(nameAt+1).Put(in.Paint(themes.Muted), fmt.Sprintf("rank %d", r.Rank))
	l.RightAligned(in.Paint(themes.Strong), figure.GiB(r.Total), valueEnd)
	detail := fmt.Sprintf("%d layers, %s params, %s in flight", r.Layers, figure.Short(r.Parameters), strconv.FormatFloat(math.Round(100*r.InFlight)/100, 'f', -1, 64))
	l.Gap(4).Put(in.Paint(themes.Muted), detail)
	return append(lines, l.String())
}

// tableWidth is the width from which the terms are listed one by one.
const tableWidth = 60
