package pipeline

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/engine/units"
	"meshscope/themes"
	"meshscope/ui/figure"
	"meshscope/ui/widget"
)

// Render draws the screen: exactly h lines of w cells.
func (v *View) Render(in Input, w, h int) []string {
	w, h = max(w, 0), max(h, 0)
	if in.Theme == nil || h == 0 {
		return widget.Height(nil, w, h)
	}
	if v.table.open {
		return v.renderTable(&in, w, h)
	}
	l := v.layout(&in, w, h)
	if l == nil {
		return widget.Height([]string{in.nothing(w)}, w, h)
	}
	v.drawn = l // kept for its axis and overview, which the next frame most often needs again
	lines := in.banner(w, l.problems)
	cursor := v.spot(l)
	for i := range l.blocks {
		lines = append(lines, v.heading(&in, l, i, w))
		lines = append(lines, v.ranks(&in, l, i, &cursor)...)
	}
	lines = append(lines, v.axis(&in, l, w))
	if l.legend >= 0 {
		lines = append(lines, v.legend(&in, l, w))
	}
	if l.strips > 0 {
		lines = append(lines, v.overview(&in, l, &cursor)...)
	}
	if l.table >= 0 {
		lines = append(lines, v.differences(&in, l, w)...)
	}
	if l.details >= 0 && l.details == len(lines) {
		lines = append(lines, v.details(&in, l, &cursor, w, h-len(lines))...)
	}
	return widget.Height(lines, w, h)
}

// nothing is what stands where there is no picture.
func (in *Input) nothing(w int) string {
	text := "no timeline: the setup has no pipeline"
	if in.line() != nil {
		text = "too small for a timeline"
	}
	return widget.NewLine(w).Put(in.paint(themes.Muted), text).String()
}

// banner says why the picture is that of an earlier setup, and what is legal.
func (in *Input) banner(w, n int) []string {
	var lines []string
	for _, p := range errors(in.Problems) {
		if len(lines) == n {
			break
		}
		l := widget.NewLine(w).Put(in.paint(themes.Bad), in.Glyphs.Cross+" "+p.Message)
		if near := nearest(p.Nearest); near != "" && l.Left() > len(near)+12 {
			l.Put(in.paint(themes.Muted), "  nearest: ").Put(in.paint(themes.Strong), near)
		}
		lines = append(lines, l.String())
	}
	return widget.Height(lines, w, n)
}

// heading names a timeline and its figures.
func (v *View) heading(in *Input, l *layout, i, w int) string {
	b := &l.blocks[i]
	s, p := b.setup, b.report.Pipeline
	name := "PIPELINE"
	if len(l.blocks) > 1 {
		name = []string{"A", "B"}[i]
	}
	detail := fmt.Sprintf("%s, p = %d, m = %s", p.Schedule, p.Ranks, figure.Comma(p.MicroBatches))
	if s.VPP > 1 {
		detail = fmt.Sprintf("%s, p = %d, v = %d, m = %s", p.Schedule, p.Ranks, s.VPP, figure.Comma(p.MicroBatches))
	}
	if i == 1 && !v.table.current(in.Setup) {
		detail += ", of an earlier setup"
	}
	first := b.ranks[0]
	if n := len(b.line.Ranks); len(b.ranks) < n && len(b.ranks) > 2 {
		detail += fmt.Sprintf(", ranks %d, %d-%d, %d", first, b.ranks[1], b.ranks[len(b.ranks)-2], n-1)
	}
	line := widget.NewLine(w).Put(in.paint(themes.Heading), name).Gap(1).Put(in.paint(themes.Text), detail)
	exact := figure.Band{Evidence: &b.report.Time.Evidence, PlusMinus: in.Glyphs.PlusMinus, About: in.Glyphs.About}
	parts := []string{exact.Beside(figure.Seconds(p.Makespan), line.Left()-4)}
	if p.Ranks > 1 {
		parts = append(parts, "bubble "+figure.Percent(p.BubbleOverIdeal)+" of the work")
		if p.BubbleClosedForm != nil {
			parts = append(parts, "closed form "+figure.Percent(*p.BubbleClosedForm))
		}
		parts = append(parts, figure.Percent(p.BubbleOverTotal)+" of the step")
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
			line.Gap(1).Put(in.paint(themes.Faint), widget.Fill(in.Glyphs.Rule, rule)).Gap(1)
		}
		line.Put(in.paint(themes.Strong), text)
		break
	}
	return line.String()
}

// gain is how much shorter or longer the second timeline is.
func (v *View) gain(l *layout, i int) string {
	if i == 0 || len(l.blocks) < 2 {
		return ""
	}
	return figure.Signed(100*(l.blocks[1].line.Makespan/l.blocks[0].line.Makespan-1), 1) + " %"
}

// ranks draws the rows of a timeline.
func (v *View) ranks(in *Input, l *layout, i int, cursor *spot) []string {
	b := &l.blocks[i]
	rows := widget.NewRows(b.line, &l.frame, in.Theme, in.Glyphs, v.microBatch || v.critical)
	if rows == nil {
		return widget.Height(nil, l.label+l.plot+l.margin, l.per*len(b.ranks))
	}
	marks := v.marks(l, i, cursor)
	var lines []string
	var out strings.Builder
	for _, r := range b.ranks {
		here := i == cursor.block && r == cursor.rank
		out.Reset()
		if l.label > 0 {
			role, sign := themes.Muted, " "
			if here {
				role, sign = themes.Accent, in.Glyphs.Pointer
			}
			out.WriteString(in.paint(role).Render(sign + pad(strconv.Itoa(r), l.label-2)))
			out.WriteString(in.paint(themes.Faint).Render(in.Glyphs.Limit))
		}
		m := marks[r]
		if m == nil {
			m = &widget.Marks{}
		}
		if v.head > 0 {
			m.Until = l.axis.Moment(v.head)
		}
		if here && cursor.idle {
			m.Gap, m.From, m.To = true, cursor.from, cursor.to
		}
		rows.Draw(&out, r, m)
		out.WriteString(v.margin(in, l, b, r))
		lines = append(lines, out.String())
		for range l.tall - 1 {
			out.Reset()
			if l.label > 0 {
				out.WriteString(widget.Blank(l.label - 1))
				out.WriteString(in.paint(themes.Faint).Render(in.Glyphs.Limit))
			}
			rows.Below(&out)
			out.WriteString(widget.Blank(l.margin))
			lines = append(lines, out.String())
		}
		if l.per > l.tall {
			lines = append(lines, v.spark(in, l, b, r))
		}
	}
	return lines
}

func pad(s string, w int) string { return widget.Blank(w-len(s)) + s }

// margin is a rank's idle share and its most activations in flight; during
// playback those of the moment.
func (v *View) margin(in *Input, l *layout, b *block, rank int) string {
	if l.margin == 0 {
		return ""
	}
	st := &b.line.Ranks[rank]
	line := widget.NewLine(l.margin)
	live, role := st.PeakInFlight, themes.Muted
	if v.head > 0 {
		live, role = b.line.InFlight(rank, l.axis.Moment(v.head)), themes.Strong
	}
	line.RightAligned(in.paint(themes.Muted), figure.Percent(st.Idle/b.line.Makespan), idleWidth)
	line.RightAligned(in.paint(role), figure.Comma(live), idleWidth+liveWidth)
	return line.String()
}

// spark is the memory of a rank's activations over the step.
func (v *View) spark(in *Input, l *layout, b *block, rank int) string {
	samples := b.report.MemoryOver(nil, rank)
	times, values := make([]float64, len(samples)), make([]float64, len(samples))
	peak := 0.0
	for i, s := range samples {
		times[i], values[i] = s.Time, s.Activations+s.WeightInputs
		peak = max(peak, values[i])
	}
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
	line := widget.NewLine(l.label + l.plot + l.margin).Gap(l.label)
	line.Raw(l.frame.Spark(times, values, max(top, peak), limit, in.Theme, in.Glyphs), l.plot)
	if l.margin > 0 {
		line.RightAligned(in.paint(themes.Memory), figure.GiB(units.Bytes(peak))+" GiB", l.label+l.plot+l.margin)
	}
	return line.String()
}

// axis is the line of times, with the cursor's and the playback's places.
func (v *View) axis(in *Input, l *layout, w int) string {
	line := widget.NewLine(w).Gap(l.label)
	text := []rune(l.frame.Text(l.frame.Ticks(timeText), in.Glyphs))
	up := []rune(in.Glyphs.Up)[0]
	at := l.frame.Column(min(v.at*l.axis.Whole, l.axis.Whole*(1-1e-12)))
	if v.head > 0 {
		at = l.frame.Column(l.axis.Moment(v.head))
	}
	if at >= 0 && at < len(text) {
		line.Put(in.paint(themes.Muted), string(text[:at])).Put(in.paint(themes.Accent), string(up)).Put(in.paint(themes.Muted), string(text[at+1:]))
	} else {
		line.Put(in.paint(themes.Muted), string(text))
	}
	if l.margin > 0 {
		live := "peak"
		if v.head > 0 {
			live = "live"
		}
		line.RightAligned(in.paint(themes.Muted), "idle", l.label+l.plot+idleWidth)
		line.RightAligned(in.paint(themes.Muted), live, w)
	}
	return line.String()
}

// timeText is a moment of an axis whose strokes are step seconds apart.
func timeText(step, at float64) string {
	scale, unit := 1.0, "s"
	switch {
	case step < 1e-5:
		scale, unit = 1e6, "us"
	case step < 0.1:
		scale, unit = 1e3, "ms"
	}
	digits := 0
	for d := step * scale; d < 0.999 && digits < 3; d *= 10 {
		digits++
	}
	return strconv.FormatFloat(at*scale, 'f', digits, 64) + " " + unit
}

// overview is the whole step small, with the window marked.
func (v *View) overview(in *Input, l *layout, cursor *spot) []string {
	from, to := v.window()
	if !l.small.Is(cursor.line, l.plot, l.strips) {
		l.small = widget.NewOverview(cursor.line, &l.axis, l.plot, l.strips)
	}
	lines := l.small.Render(&l.axis, in.Theme, in.Glyphs, from, to)
	lines = append(lines, widget.WindowMark(&l.axis, in.Theme, in.Glyphs, l.plot, from, to))
	p := len(cursor.line.Ranks)
	for i, text := range lines {
		line := widget.NewLine(l.label+l.plot+l.margin).Gap(l.label).Raw(text, l.plot)
		switch {
		case l.margin == 0:
		case i < l.strips:
			if lo, hi := widget.Share(p, l.strips, i); hi-lo > 1 {
				line.Gap(1).Put(in.paint(themes.Muted), fmt.Sprintf("%d-%d", lo, hi-1))
			} else {
				line.Gap(1).Put(in.paint(themes.Muted), strconv.Itoa(lo))
			}
		default:
			line.Gap(1).Put(in.paint(themes.Accent), "x"+figure.Three(v.zoomed()))
		}
		lines[i] = line.String()
	}
	return lines
}

// marks are the operations that stand out, by rank.
func (v *View) marks(l *layout, i int, cursor *spot) map[int]*widget.Marks {
	marks := map[int]*widget.Marks{}
	add := func(p schedule.Place, mark widget.Mark) {
		if marks[p.Rank] == nil {
			marks[p.Rank] = &widget.Marks{}
		}
		marks[p.Rank].Ops = append(marks[p.Rank].Ops, widget.Marked{Op: p.Op, Mark: mark})
	}
	b := &l.blocks[i]
	if v.critical {
		for _, p := range b.line.CriticalPath() {
			first, last := b.line.Order.Box(p)
			for k := first; k <= last; k++ {
				add(schedule.Place{Rank: p.Rank, Op: k}, widget.Lit)
			}
		}
	}
	if v.microBatch && !cursor.last {
		wanted := cursor.line.Order.Ops[cursor.op].MicroBatch()
		for _, r := range b.ranks {
			for k := b.line.Order.Start[r]; k < b.line.Order.Start[r+1]; k++ {
				if b.line.Order.Ops[k].MicroBatch() == wanted {
					add(schedule.Place{Rank: r, Op: k}, widget.Lit)
				}
			}
		}
	}
	if i != cursor.block || cursor.last {
		return marks
	}
	if cursor.idle { // the one that ends the wait
		if p, ok := cursor.line.Binding(cursor.place()); ok && p.Rank != cursor.rank {
			add(p, widget.Producer)
		}
		return marks
	}
	if p, ok := cursor.line.Order.Producer(cursor.place()); ok {
		add(p, widget.Producer)
	}
	if p, ok := cursor.line.Order.Consumer(cursor.place()); ok {
		add(p, widget.Consumer)
	}
	add(cursor.place(), widget.Here)
	return marks
}
