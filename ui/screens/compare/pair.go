package compare

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"meshscope/engine"
	enginecompare "meshscope/engine/compare"
	"meshscope/engine/record"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/table"
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
	a := &p.all.A.Report
	if a.Time == nil || a.Memory == nil {
		return lines
	}
	step, peak := a.Time.Step, a.Memory.Peak
	rows := []moved{{
		Move: enginecompare.Move{Step: step, Peak: peak, Fits: a.Memory.Fits}, name: "A",
		step: math.NaN(), peak: math.NaN(),
	}}
	for i := range p.way {
		m := &p.way[i]
		rows = append(rows, moved{*m, moveWords(in, m), float64(m.Step - step), float64(m.Peak - peak)})
		step, peak = m.Step, m.Peak
	}
	t := table.Plain(moveColumns(in), v.row+1)
	t.Wide = true
	lines = append(lines, t.Lines(in, rows, w, len(rows)+1, -1, &table.Look[moved]{
		Focus: v.row < len(p.way), Whole: true,
		Role: func(c *report.Column[moved], m *moved, _ string) themes.Role {
			switch {
			case c.Signed:
				return changeRole(c.Value(m))
			case c.ID == "peak" && !m.Fits:
				return themes.Bad
			}
			return themes.Text
		},
	})...)
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

// moved is a change on the way from A to B, and what it did to step and peak.
type moved struct {
	enginecompare.Move
	name       string
	step, peak float64
}

func moveColumns(in *screen.Context) []report.Column[moved] {
	return []report.Column[moved]{
		{ID: "name", Text: func(m *moved) string { return m.name }},
		{
			ID: "step", Head: "step", Unit: record.Seconds,
			Value: func(m *moved) float64 { return float64(m.Step) },
		},
		{
			ID: "faster", Head: "change", Unit: record.Seconds, Signed: true,
			Value: func(m *moved) float64 { return m.step },
		},
		{
			ID: "peak", Head: "peak GiB", Unit: record.Memory,
			Value: func(m *moved) float64 { return float64(m.Peak) },
			Mark: func(m *moved) string {
				if m.Fits {
					return ""
				}
				return in.Glyphs.Cross + " "
			},
		},
		{
			ID: "larger", Head: "change", Unit: record.Memory, Signed: true,
			Value: func(m *moved) float64 { return m.peak },
		},
	}
}

// changeRole shows less as better.
func changeRole(d float64) themes.Role {
	switch {
	case d < 0:
		return themes.Good
	case d > 0:
		return themes.Warn
	}
	return themes.Muted
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
	t := table.Plain(termColumns(), v.row-len(v.pair.way))
	return append(lines, t.Lines(in, terms, w, h-1, -1, &table.Look[term]{
		Focus: v.row >= len(v.pair.way), Whole: true,
		Text: func(c *report.Column[term], d *term, _ int) string {
			switch text := c.Brief(d); {
			case c.ID == "group" && !d.first:
				return ""
			case c.Units != nil:
				return cmp.Or(text, in.Glyphs.None)
			default:
				return text
			}
		},
		Role: func(c *report.Column[term], d *term, text string) themes.Role {
			change, _ := d.Change()
			switch {
			case c.ID == "group", c.ID == "B / A", c.Signed && !strings.ContainsAny(text, "+-"):
				return themes.Muted
			case c.Signed && better(d.Delta):
				return changeRole(-change)
			case c.Signed:
				return changeRole(change)
			}
			return themes.Text
		},
	})...)
}

// term is a figure on both sides.
type term struct {
	*enginecompare.Delta
	first bool // of its group
}

// termColumns returns the columns of the figures on both sides.
func termColumns() []report.Column[term] {
	unit := func(d *term) record.Unit { return d.Unit }
	known := func(v float64, ok bool) float64 {
		if !ok {
			return math.NaN()
		}
		return v
	}
	side := func(id string, of func(d *term) *float64) report.Column[term] {
		return report.Column[term]{ID: id, Head: id, Units: unit, Value: func(d *term) float64 {
			return report.ValueOf(of(d))
		}}
	}
	return []report.Column[term]{
		{ID: "group", Text: func(d *term) string { return string(d.Group) }},
		{ID: "figure", Drop: 1, Cut: true, Text: func(d *term) string { return d.Name }},
		side("A", func(d *term) *float64 { return d.A }), side("B", func(d *term) *float64 { return d.B }),
		{
			ID: "B - A", Head: "B - A", Units: unit, Signed: true,
			Value: func(d *term) float64 { return known(d.Change()) },
			Text: func(d *term) string {
				v, ok := d.Change()
				switch {
				case d.Same():
					return "same"
				case !ok:
					return ""
				}
				return figure.Change(changed(d.Unit, v), v)
			},
		},
		{
			ID: "B / A", Head: "B / A", Drop: 2, Value: func(d *term) float64 { return known(d.Ratio()) },
			Text: func(d *term) string {
				ratio, ok := d.Ratio()
				if !ok || d.Same() {
					return ""
				}
				return figure.Three(ratio)
			},
		},
	}
}

// terms returns the figures that the table lists: those that differ and the sums, or with = all.
func (v *View) terms() []term {
	var terms []term
	for i := range v.pair.all.Deltas {
		d := &v.pair.all.Deltas[i]
		if n := len(terms); v.unchanged || sum(d) || !d.Same() {
			terms = append(terms, term{d, n == 0 || terms[n-1].Group != d.Group})
		}
	}
	return terms
}

// sum reports whether a figure is one that every comparison shows.
func sum(d *enginecompare.Delta) bool {
	return d.ID == "memory.peak" || d.ID == "time.step" || d.ID == "throughput.mfu"
}

// termUnder returns the figure in the line under the cursor; nil: it is on a change.
func (v *View) termUnder() *term {
	if terms, i := v.terms(), v.row-len(v.pair.way); i >= 0 && i < len(terms) {
		return &terms[i]
	}
	return nil
}

// showUnchanged lists the figures that are the same on both sides, or leaves them out again.
func (v *View) showUnchanged(int) { v.unchanged, v.row = !v.unchanged, min(v.row, len(v.pair.way)) }

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
