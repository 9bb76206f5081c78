package search

import (
	"fmt"

	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/frame"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Widths and heights at which the screen changes its shape.
const (
	gutter    = 2
	knobWidth = 26
	thinKnobs = 24 // on narrow screens
	thinBelow = 100
	plotFrom  = 26  // height from which a picture stands below the table
	wide      = 170 // width from which it stands next to it
	plotWide  = 66
	tallest   = 26 // of a scatter plot above another picture
)

// arrangement is where the panels stand.
type arrangement struct {
	knobs int // width
	x, w  int // of the table
	table int // height, heading and head of the columns included
	plotX int
	plotY int
	plotW int // 0: there is none
	plotH int
	both  bool // the scatter plot stands above it
	small bool // the picture stands in place of the table
}

func (v *View) arrange(w, h int) arrangement {
	a := arrangement{knobs: knobWidth, table: h}
	if w < thinBelow {
		a.knobs = thinKnobs
	}
	if v.guide.open && !v.inKnob && w < thinBelow {
		a.knobs = -gutter // the steps need the room
	}
	a.x = a.knobs + gutter
	a.w = max(w-a.x, 0)
	switch {
	case w >= wide && h >= plotFrom:
		a.w -= plotWide + gutter
		a.plotX, a.plotW, a.plotH = a.x+a.w+gutter, plotWide, h
		if v.picture != scatterPicture && h >= tallest+plotFrom/2 { // the scatter plot stays above the other
			a.both = true
			a.plotY, a.plotH = tallest+1, h-tallest-1
		}
	case h >= plotFrom:
		a.plotH = max(h*2/5, 10)
		a.table = h - a.plotH - 1
		a.plotX, a.plotY, a.plotW = a.x, a.table+1, a.w
	default:
		if a.small = true; v.inPicture {
			a.table, a.plotX, a.plotW, a.plotH = 0, a.x, a.w, h
		}
	}
	return a
}

// Render draws the screen: exactly h lines of w cells.
func (v *View) Render(in *screen.Context) []string {
	w, h := in.W, in.H
	if w <= 0 || h <= 0 {
		return widget.Height(nil, max(w, 0), h)
	}
	a := v.arrange(w, h)
	rows := v.shown(in)
	f := frame.New(w, h)
	if k := min(a.knobs, w); k > 0 {
		f.Put(frame.Rect{W: k, H: h}, widget.Height(v.knobLines(in, k, h), k, h))
	}
	if v.guide.open {
		f.Put(frame.Rect{X: a.x, W: w - a.x, H: h}, v.guideLines(in, max(w-a.x, 0), h))
		return f.Lines()
	}
	f.Put(frame.Rect{X: a.x, W: a.w, H: a.table}, v.tablePanel(in, rows, a.w, a.table))
	if a.both {
		f.Put(frame.Rect{X: a.plotX, W: a.plotW, H: tallest}, v.scatter(in, rows, a.plotW, tallest))
	}
	if a.plotW > 0 {
		f.Put(frame.Rect{X: a.plotX, Y: a.plotY, W: a.plotW, H: a.plotH}, v.drawn(in, rows, a.plotW, a.plotH))
	}
	return f.Lines()
}

// tablePanel returns the heading, then the ranked layouts or why there are none.
func (v *View) tablePanel(in *screen.Context, rows []row, w, h int) []string {
	if w <= 0 || h <= 0 {
		return widget.Height(nil, max(w, 0), h)
	}
	const name = "BEST LAYOUTS"
	exact := ""
	if in.Report != nil && in.Report.Time != nil {
		exact = in.Report.Time.BandOf("steps", in.Glyphs.PlusMinus)
	}
	remarks, role := v.remarks(in)
	exact, remark := v.withBatch(w-widget.Width(name)-4, exact, remarks)
	lines := []string{in.HeadingIn(role, w, name, exact, remark)}
	if len(in.Problems) > 0 {
		lines = append(lines, v.illegalLine(in, w))
	}
	if v.table.Filtering() {
		lines = append(lines, v.filterLine(in, w))
	}
	switch {
	case v.running != nil && (v.answer == nil || v.answer.of.base != v.running.of.base):
		lines = append(lines, "", "")[:len(lines)+1]
		lines[len(lines)-1] = widget.Blank(w)
		lines = append(lines, v.progress(in, w)...)
	case v.answer == nil:
	case v.foundNothing():
		lines = append(lines, v.nothing(in, w, h-len(lines))...)
	default:
		if !v.nonePasses(rows) {
			lines = append(lines, v.lines(in, rows, w, h-len(lines))...)
			break
		}
		lines = append(lines, v.lines(in, rows, w, min(1+len(rows), h-len(lines)))...)
		lines = append(lines, v.noneLines(in, w)...)
	}
	return widget.Height(lines, w, h)
}

// withBatch adds the batch to a heading of w cells, in as many words as there is room
// for next to how exact a step is and how much was searched.
func (v *View) withBatch(w int, exact string, remarks []string) (detail, right string) {
	details := []string{exact}
	if v.answer != nil {
		long, brief := v.answer.of.batchWords()
		details = []string{joined(exact, long), joined(exact, brief)}
	}
	last := len(remarks) - 1
	for _, rights := range [][]string{remarks[:last], remarks[last:]} {
		for _, detail = range details {
			for _, right = range rights {
				if widget.Width(detail+right) <= w {
					return detail, right
				}
			}
		}
	}
	return exact, remarks[last]
}

// joined returns two clauses, of which the first may be empty.
func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// illegalLine says that the current setup cannot run, and what is searched then.
func (v *View) illegalLine(in *screen.Context, w int) string {
	text := in.Glyphs.Cross + " your setup is illegal; these have its model, GPUs and batch: enter takes one"
	if long := text + ". " + in.Problems[0].Message; widget.Width(long) <= w {
		text = long
	}
	return widget.NewLine(w).Put(in.Paint(themes.Warn), in.Cut(text, w)).String()
}

// above returns how many lines stand above the heads of the columns.
func (v *View) above(in *screen.Context) int {
	n := 1
	if len(in.Problems) > 0 {
		n++
	}
	if v.table.Filtering() {
		n++
	}
	return n
}

// remarks say how much was searched, or how far it is, from the longest to the briefest. The
// counts of a search that ended add up to its layouts.
func (v *View) remarks(in *screen.Context) (texts []string, role themes.Role) {
	if j := v.running; j != nil {
		if n := int(j.questions.Load()); n > 0 {
			return []string{
				"nothing found; which limit excludes all? try " + figure.Comma(n),
				"nothing found; why?",
			}, themes.Accent
		}
		short := "searching" + in.Glyphs.Ellipsis
		return []string{fmt.Sprintf("%s %s layouts, %s evaluated", short, figure.Comma(int(j.legal.Load())),
			figure.Comma(int(j.evaluated.Load()))), short}, themes.Accent
	}
	if v.answer == nil {
		return []string{""}, themes.Muted
	}
	r := &v.answer.result
	if text := v.answer.of.lacking(); text != "" {
		return []string{text, "needs tokens"}, themes.Warn
	}
	if r.partial {
		share := figure.Percent(r.share)
		return []string{"PARTIAL: stopped after " + share + " of the space", "PARTIAL " + share}, themes.Warn
	}
	all := figure.Plural(r.legal, "layout")
	counts := fmt.Sprintf("%s: %s evaluated, %s ruled out", all, figure.Comma(r.evaluated),
		figure.Comma(max(0, r.legal-r.evaluated)))
	return []string{counts + " by bounds, " + seconds(v.answer.seconds), counts, all}, themes.Muted
}

// progress returns a bar of the ranking pass.
func (v *View) progress(in *screen.Context, w int) []string {
	j := v.running
	share, text := float64(j.ranked.Load())/1000, "bounding every legal layout, evaluating the best in full"
	if n := j.questions.Load(); n > 0 {
		share = float64(j.asking.Load()) / 1000
		text = fmt.Sprintf("searching again with some limits relaxed: try %d; esc stops", n)
	}
	bar := widget.Gauge{Value: share, Full: 1, Fill: themes.Gauge, Over: themes.Gauge}
	width := min(w-2*pointer, 48)
	l := widget.NewLine(w).Gap(pointer)
	l.Raw(bar.Render(in.Theme, in.Glyphs, width), max(width, 0))
	return []string{
		l.String(),
		in.Note(w, text),
	}
}

func (v *View) filterLine(in *screen.Context, w int) string {
	pass := ""
	if n := passing(v.shown(in)); n > 0 && v.answer != nil {
		pass = fmt.Sprintf("%s of %s pass; ", figure.Comma(n), v.lookedAt())
	}
	return v.table.Filter(in, w, "tp=4 pp>2 free>5 none", pass)
}
