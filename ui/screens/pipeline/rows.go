package pipeline

import (
	"strconv"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/timeline"
	"meshscope/ui/widget"
)

// ranks draws the rows of a timeline: one rank a line, or two where one would
// not do.
func (v *View) ranks(in *screen.Context, l *layout, i int, cursor *spot) []string {
	b := &l.blocks[i]
	if b.rows == nil {
		return widget.Height(nil, l.label+l.plot+l.margin, l.per*b.lines())
	}
	marks := v.marks(l, i, cursor)
	of := func(r int) *timeline.Marks {
		m := marks[r]
		if m == nil {
			m = &timeline.Marks{}
		}
		if v.head > 0 {
			m.Until = l.axis.Moment(v.head)
		}
		if i == cursor.block && r == cursor.rank && cursor.idle {
			m.Gap, m.From, m.To = true, cursor.from, cursor.to
		}
		return m
	}
	var lines []string
	var out strings.Builder
	for at := 0; at < len(b.ranks); at++ {
		r := b.ranks[at]
		other := r
		if b.two && at+1 < len(b.ranks) {
			at++
			other = b.ranks[at]
		}
		here := i == cursor.block && (r == cursor.rank || other == cursor.rank)
		out.Reset()
		v.rankLabel(in, l, &out, r, cursor.rank, here)
		if other != r {
			b.rows.DrawTwo(&out, r, other, of(r), of(other))
			out.WriteString(v.margin(in, l, b, r, other, cursor.rank))
			lines = append(lines, out.String())
			continue
		}
		b.rows.Draw(&out, r, of(r))
		out.WriteString(v.margin(in, l, b, r, r, r))
		lines = append(lines, out.String())
		for range l.tall - 1 {
			out.Reset()
			if l.label > 0 {
				out.WriteString(widget.Blank(l.label - 1))
				out.WriteString(in.Paint(themes.Faint).Render(in.Glyphs.Limit))
			}
			b.rows.Below(&out)
			out.WriteString(widget.Blank(l.margin))
			lines = append(lines, out.String())
		}
		lines = append(lines, v.spark(in, l, b, r)...)
	}
	return lines
}

// rankLabel writes the number of a line's rank, of the cursor's where it is on it.
func (v *View) rankLabel(in *screen.Context, l *layout, out *strings.Builder, r, cursor int, here bool) {
	if l.label == 0 {
		return
	}
	role, sign := themes.Muted, " "
	if here {
		role, sign, r = themes.Accent, in.Glyphs.Pointer, cursor
	}
	out.WriteString(in.Paint(role).Render(sign + pad(strconv.Itoa(r), l.label-2)))
	out.WriteString(in.Paint(themes.Faint).Render(in.Glyphs.Limit))
}

func pad(s string, w int) string { return widget.Blank(w-len(s)) + s }

// margin returns a rank's idle share and its most activations in flight; during
// playback those of the moment. Of two ranks on a line it is that of the
// cursor's, else the higher of both.
func (v *View) margin(in *screen.Context, l *layout, b *block, rank, other, cursor int) string {
	if l.margin == 0 {
		return ""
	}
	if cursor == rank || cursor == other {
		rank, other = cursor, cursor
	}
	role := themes.Muted
	if v.head > 0 {
		role = themes.Strong
	}
	live := func(r int) int {
		if v.head > 0 {
			return b.line.InFlight(r, l.axis.Moment(v.head))
		}
		return b.line.Ranks[r].PeakInFlight
	}
	idle := max(b.line.Ranks[rank].Idle, b.line.Ranks[other].Idle)
	line := widget.NewLine(l.margin)
	at := 0
	if l.pace > 0 {
		f, back := b.line.PerMicroBatch(rank)
		layers := ""
		if m := b.report.Memory; m != nil && rank < len(m.Ranks) && m.Ranks[rank].Layers > 0 {
			layers = strconv.Itoa(m.Ranks[rank].Layers)
		}
		for _, text := range []string{layers, milli(f), milli(back)} {
			at += l.pace / 3
			line.RightAligned(in.Paint(themes.Muted), text, at)
		}
	}
	line.RightAligned(in.Paint(themes.Muted), figure.Percent(idle/b.line.Makespan), at+idleWidth)
	line.RightAligned(in.Paint(role), microBatches(max(live(rank), live(other)), b.setup.VPP),
		at+idleWidth+liveWidth)
	return line.String()
}

// milli returns a time in milliseconds, without its unit.
func milli(d float64) string { return figure.Three(1e3 * d) }

// microBatches returns activations of chunks as micro-batches of a rank, which has v chunks.
func microBatches(chunks, v int) string {
	v = max(v, 1)
	if chunks%v == 0 {
		return figure.Comma(chunks / v)
	}
	return strconv.FormatFloat(float64(chunks)/float64(v), 'f', 1, 64)
}

// spark returns the memory of a rank's activations over the step.
func (v *View) spark(in *screen.Context, l *layout, b *block, rank int) []string {
	if l.spark == 0 {
		return nil
	}
	c := v.curveOf(b.report, rank)
	top := 0.0
	for _, block := range l.blocks {
		for _, r := range block.report.Memory.Ranks {
			top = max(top, float64(r.Activations))
		}
	}
	limit := 0.0
	if mem := b.report.Memory; rank < len(mem.Ranks) {
		limit = float64(mem.Usable - (mem.Ranks[rank].Total - mem.Ranks[rank].Activations))
		if limit <= 0 {
			limit = 1
		}
	}
	lines := l.frame.Spark(c.times, c.values, max(top, c.peak), limit, in.Theme, in.Glyphs, l.spark)
	for i, text := range lines {
		line := widget.NewLine(l.label+l.plot+l.margin).Gap(l.label).Raw(text, l.plot)
		if l.margin > 0 && i == l.spark-1 {
			line.RightAligned(in.Paint(themes.Memory), "act "+figure.GiB(units.Bytes(c.peak))+" GiB",
				l.label+l.plot+l.margin)
		}
		lines[i] = line.String()
	}
	return lines
}

// marks returns the operations that stand out, by rank.
func (v *View) marks(l *layout, i int, cursor *spot) map[int]*timeline.Marks {
	marks := map[int]*timeline.Marks{}
	add := func(p schedule.Place, mark timeline.Mark) {
		if marks[p.Rank] == nil {
			marks[p.Rank] = &timeline.Marks{}
		}
		marks[p.Rank].Ops = append(marks[p.Rank].Ops, timeline.Marked{Op: p.Op, Mark: mark})
	}
	b := &l.blocks[i]
	if v.critical {
		for _, p := range v.criticalPath(b.line) {
			first, last := b.line.Order.Box(p)
			for k := first; k <= last; k++ {
				add(schedule.Place{Rank: p.Rank, Op: k}, timeline.Lit)
			}
		}
	}
	if v.microBatch && !cursor.last {
		wanted := cursor.line.Order.Ops[cursor.op].MicroBatch()
		for _, r := range b.ranks {
			for k := b.line.Order.Start[r]; k < b.line.Order.Start[r+1]; k++ {
				if b.line.Order.Ops[k].MicroBatch() == wanted {
					add(schedule.Place{Rank: r, Op: k}, timeline.Lit)
				}
			}
		}
	}
	if i != cursor.block || cursor.last {
		return marks
	}
	if cursor.idle { // the one that ends the wait
		if p, ok := cursor.line.Binding(cursor.place()); ok && p.Rank != cursor.rank {
			add(p, timeline.Producer)
		}
		return marks
	}
	if p, ok := cursor.line.Order.Producer(cursor.place()); ok {
		add(p, timeline.Producer)
	}
	if p, ok := cursor.line.Order.Consumer(cursor.place()); ok {
		add(p, timeline.Consumer)
	}
	add(cursor.place(), timeline.Here)
	return marks
}
