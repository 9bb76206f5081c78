package compare

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine"
	enginecompare "meshscope/engine/compare"
	"meshscope/engine/record"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// pairLines returns the pins, the way from A to B, and every figure on both sides.
func (v *View) pairLines(in *screen.Context, w, h int) []string {
	want, ok := v.sides(in)
	if !ok {
		return v.unpinned(in, w, h)
	}
	lines := v.pinLines(in, w)
	if v.pair == nil || v.pair.of != want {
		return widget.Height(append(lines, putLine(in, w, themes.Muted, "   comparing "+in.Glyphs.Ellipsis)),
			w, h)
	}
	lines = append(lines, v.wayLines(in, w)...)
	return widget.Height(append(lines, v.deltaLines(in, w, h-len(lines))...), w, h)
}

func putLine(in *screen.Context, w int, role themes.Role, text string) string {
	return widget.NewLine(w).Put(in.Paint(role), in.Cut(text, w)).String()
}

// pinLines lists the pins and the current setup, with the two sides marked.
func (v *View) pinLines(in *screen.Context, w int) []string {
	lines := make([]string, 0, len(v.pins)+1)
	titles := v.titles(in)
	wide := 0
	for _, title := range titles {
		wide = max(wide, widget.Width(title))
	}
	wide = min(wide, w/2)
	put := func(mark string, name string, s *engine.Setup, here bool) {
		l := widget.NewLine(w).Put(in.Paint(themes.Accent), mark).To(3)
		role := themes.Text
		if here {
			role = themes.Current
		}
		l.Put(in.Paint(role), name).To(5).Put(in.Paint(role),
			in.Cut(titles[len(lines)], wide)).To(5 + wide + 2)
		if !here {
			role = themes.Muted
		}
		words := report.LayoutWords(s, nil)
		if s.Model.Name != in.Setup.Model.Name || s.GPUs != in.Setup.GPUs { // else the title has both
			words = s.Model.Name + ", " + figure.Plural(s.GPUs, "GPU") + ": " + words
		}
		lines = append(lines, l.Put(in.Paint(role), in.Cut(v.runWords(in, mark)+words, l.Left())).String())
	}
	against := v.against(in)
	for i := range v.pins {
		mark := ""
		if i == v.a && !against {
			mark = "A"
		}
		if i == v.b {
			mark += "B"
		}
		put(mark, strconv.Itoa(i+1), &v.pins[i], false)
	}
	switch {
	case against:
		put("A", in.Glyphs.Here, in.Setup, true)
		put("B", "", v.rivalOf(in), false)
	case v.b < 0:
		put("B", in.Glyphs.Here, in.Setup, true)
	default:
		put("", in.Glyphs.Here, in.Setup, true)
	}
	return lines
}

// runWords returns days, cost and energy of a side that is compared.
func (v *View) runWords(in *screen.Context, mark string) string {
	want, _ := v.sides(in)
	if v.pair == nil || v.pair.of != want || mark == "" {
		return ""
	}
	side := &v.pair.all.A
	if mark == "B" {
		side = &v.pair.all.B
	}
	if side.Report.Run == nil {
		return ""
	}
	return report.RunBrief(side.Report.Run) + "; "
}

// wayLines go from A to B change by change: what each did to step and peak.
func (v *View) wayLines(in *screen.Context, w int) []string {
	p := v.pair
	exact := ""
	if t := p.all.B.Report.Time; t != nil {
		exact = t.BandOf("steps", in.Glyphs.PlusMinus)
		if a := p.all.A.Report.Time; a != nil {
			exact = bands(in, "steps", &a.Evidence, &t.Evidence)
		}
		if a := p.all.A.Report.Time; a != nil && a.TooClose(t) {
			exact = "too close to call (" + exact + ")"
		}
	}
	names := names([]engine.Setup{p.of.a, p.of.b})
	remark := "from " + names[0] + " to " + names[1] + ", cumulative"
	if widget.Width(remark)+widget.Width(exact) > w-24 {
		remark = "from A to B, cumulative"
	}
	lines := []string{in.Heading(w, "CHANGE BY CHANGE", exact, remark)}
	switch {
	case p.of.a == p.of.b:
		return append(lines, putLine(in, w, themes.Muted, "   A and B are the same setup"))
	case len(p.way) == 0:
		return append(lines, putLine(in, w, themes.Muted, "   no path of legal changes from A to B"))
	}
	muted := in.Paint(themes.Muted)
	c := changeColumns(w)
	head := widget.NewLine(w).RightAligned(muted, "step", c[0]).RightAligned(muted, "change",
		c[1]).RightAligned(muted, "peak GiB", c[2]).RightAligned(muted, "change", c[3])
	lines = append(lines, head.String())
	a := &p.all.A.Report
	if a.Time == nil || a.Memory == nil {
		return lines
	}
	step, peak := a.Time.Step, a.Memory.Peak
	lines = append(lines, v.moveLine(in, w, "A", step, 0, peak, 0, a.Memory.Fits, true, false))
	for i := range p.way {
		m := &p.way[i]
		lines = append(lines, v.moveLine(in, w, moveWords(in, m), m.Step, m.Step-step, m.Peak, m.Peak-peak,
			m.Fits, false, i == v.row))
		step, peak = m.Step, m.Peak
	}
	if len(p.way) > 1 {
		lines = append(lines,
			putLine(in, w, themes.Muted, "   each share depends on this order; the sum does not"))
	}
	return lines
}

// bands returns how exact the figures of A and of B are, once where both are alike.
func bands(in *screen.Context, what string, a, b *engine.Evidence) string {
	text := b.BandOf(what, in.Glyphs.PlusMinus)
	if first := a.BandOf(what, in.Glyphs.PlusMinus); first != text {
		return first + " of A, " + b.Band(in.Glyphs.PlusMinus) + " of B"
	}
	return text
}

func changeColumns(w int) [4]int {
	return [4]int{w - 33, w - 22, w - 11, w - 1}
}

func (v *View) moveLine(in *screen.Context, w int, name string, step, dStep units.Seconds, peak,
	dPeak units.Bytes, fits, first, here bool,
) string {
	l, role := in.Row(w, here)
	c := changeColumns(w)
	l.To(3).Put(in.Paint(role), in.Cut(name, c[0]-14))
	l.RightAligned(in.Paint(role), figure.Seconds(step), c[0])
	peakRole, text := role, figure.GiB(peak)
	if !fits {
		text = in.Glyphs.Cross + " " + text
		if !here {
			peakRole = themes.Bad
		}
	}
	if first {
		l.To(c[1])
		return l.RightAligned(in.Paint(peakRole), text, c[2]).String()
	}
	l.RightAligned(in.Paint(changeRole(float64(dStep), role)), signed(figure.Seconds(dStep), float64(dStep)),
		c[1])
	l.RightAligned(in.Paint(peakRole), text, c[2])
	return l.RightAligned(in.Paint(changeRole(float64(dPeak), role)),
		signed(figure.GiB(dPeak), float64(dPeak)), c[3]).String()
}

// changeRole shows less as better.
func changeRole(d float64, plain themes.Role) themes.Role {
	switch {
	case plain == themes.Focus:
		return plain
	case d < 0:
		return themes.Good
	case d > 0:
		return themes.Warn
	}
	return themes.Muted
}

// signed returns a change with its sign; one that is too small to be seen has none.
func signed(text string, v float64) string {
	switch {
	case !strings.ContainsAny(text, "123456789"):
		return strings.TrimPrefix(text, "-")
	case v > 0:
		return "+" + text
	}
	return text
}

// moveWords returns the changes of a move: tp 8 to 4 (dp 4 to 8 follows).
func moveWords(in *screen.Context, m *enginecompare.Move) string {
	var parts []string
	for i := range m.Changes {
		c := &m.Changes[i]
		parts = append(parts, c.Field+" "+c.A+" "+in.Glyphs.Arrow+" "+c.B)
	}
	return strings.Join(parts, ", ")
}

// deltaLines returns the figures of both sides, group by group, scrolled with the
// cursor.
func (v *View) deltaLines(in *screen.Context, w, h int) []string {
	if h < 3 {
		return nil
	}
	exact := ""
	if m := v.pair.all.B.Report.Memory; m != nil {
		exact = m.BandOf("memory", in.Glyphs.PlusMinus)
		if a := v.pair.all.A.Report.Memory; a != nil {
			exact = bands(in, "memory", &a.Evidence, &m.Evidence)
		}
	}
	terms := v.terms()
	remark := ""
	if n := len(v.pair.all.Deltas) - len(terms); n > 0 {
		remark = figure.Comma(n) + " the same, = shows them"
	}
	lines := []string{in.Heading(w, "TERM BY TERM", exact, remark)}
	muted := in.Paint(themes.Muted)
	c := deltaColumns(w)
	var all []string
	group := enginecompare.Group("")
	at := 0
	for i, d := range terms {
		name := ""
		if d.Group != group {
			group = d.Group
			name = string(group)
		}
		here := v.row-len(v.pair.way) == i
		if here {
			at = len(all)
		}
		all = append(all, v.deltaLine(in, w, name, d, here))
	}
	n, from := h-len(lines)-1, 0
	head := widget.NewLine(w)
	if len(all) > n {
		from = min(max(at-n/2, 0), len(all)-n)
		head.To(3).Put(muted, fmt.Sprintf("%d-%d of %d", from+1, from+n, len(all)))
	}
	head.RightAligned(muted, "A", c[0]).RightAligned(muted, "B", c[1]).RightAligned(muted, "B - A", c[2])
	if c[3] > 0 {
		head.RightAligned(muted, "B / A", c[3])
	}
	lines = append(lines, head.String())
	return widget.Height(append(lines, all[from:]...), w, h)
}

// terms returns the figures that the table lists: those that differ and the sums, or with = all.
func (v *View) terms() []*enginecompare.Delta {
	var terms []*enginecompare.Delta
	for i := range v.pair.all.Deltas {
		d := &v.pair.all.Deltas[i]
		if v.unchanged || sum(d) || !d.Same() {
			terms = append(terms, d)
		}
	}
	return terms
}

// sum reports whether a figure is one that every comparison shows.
func sum(d *enginecompare.Delta) bool {
	return d.ID == "memory.peak" || d.ID == "time.step" || d.ID == "throughput.mfu"
}

// termUnder returns the figure in the line under the cursor; nil: it is on a change.
func (v *View) termUnder() *enginecompare.Delta {
	if terms, i := v.terms(), v.row-len(v.pair.way); i >= 0 && i < len(terms) {
		return terms[i]
	}
	return nil
}

// showUnchanged lists the figures that are the same on both sides, or leaves them out again.
func (v *View) showUnchanged(int) { v.unchanged, v.row = !v.unchanged, min(v.row, len(v.pair.way)) }

func deltaColumns(w int) [4]int {
	if w < 100 { // without the ratio
		return [4]int{w - 26, w - 14, w - 1, 0}
	}
	const each = 14
	first := min(56, w-3*each-12) // the longest name has room from 110 on
	return [4]int{first + each, first + 2*each, first + 3*each, first + 3*each + 10}
}

func (v *View) deltaLine(in *screen.Context, w int, group string, d *enginecompare.Delta, here bool) string {
	l, role := in.Row(w, here)
	c := deltaColumns(w)
	l.To(3).Put(in.Paint(themes.Muted), group).To(18).Put(in.Paint(role), in.Cut(d.Name, c[0]-29))
	value := func(x *float64) string {
		if x == nil {
			return in.Glyphs.None
		}
		return figure.Of(d.Unit, *x)
	}
	l.RightAligned(in.Paint(role), value(d.A), c[0]).RightAligned(in.Paint(role), value(d.B), c[1])
	if d.Same() {
		return l.RightAligned(in.Paint(themes.Muted), "same", c[2]).String()
	}
	if change, ok := d.Change(); ok {
		sign := change
		if better(d) {
			sign = -change
		}
		text := signed(changed(d.Unit, change), change)
		if !strings.ContainsAny(text, "+-") {
			sign = 0
		}
		l.RightAligned(in.Paint(changeRole(sign, role)), text, c[2])
	}
	if ratio, ok := d.Ratio(); ok && c[3] > 0 {
		l.RightAligned(in.Paint(themes.Muted), figure.Three(ratio)+in.Glyphs.Times, c[3])
	}
	return l.String()
}

// changed returns the difference of two figures: shares differ by points, as the command prints.
func changed(unit record.Unit, v float64) string {
	if unit == record.Share {
		return fmt.Sprintf("%.2f pts", 100*v)
	}
	return figure.Of(unit, v)
}

// better reports whether more of a figure is better.
func better(d *enginecompare.Delta) bool {
	return d.Group == enginecompare.GroupThroughput || d.ID == "memory.free"
}

// rows returns how many lines the cursor can be on.
func (v *View) rows() int {
	switch {
	case v.pane == alonePane:
		return len(v.alone.list)
	case v.pane == methodsPane:
		return len(methodRows())
	case v.pair != nil:
		return len(v.pair.way) + len(v.terms())
	}
	return 0
}

// pairStatus returns the rule behind the change under the cursor.
func (v *View) pairStatus() string {
	if v.pair == nil {
		return ""
	}
	if v.row < len(v.pair.way) {
		var parts []string
		for _, c := range v.pair.way[v.row].Changes {
			parts = append(parts, c.Rule)
		}
		return strings.Join(parts, " ")
	}
	if d := v.termUnder(); d != nil {
		return string(d.Group) + ", " + d.Name + " (" + d.ID + "): e explains it for the current setup"
	}
	return ""
}
