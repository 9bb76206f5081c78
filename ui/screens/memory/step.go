package memory

import (
	"fmt"
	"strconv"

	"meshscope/engine"
	"meshscope/engine/memory"
	"meshscope/engine/units"
	"meshscope/report"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// gutter is the width of the figures left of the chart.
const gutter = 8

// picture is the chart of one rank, ready to draw.
type picture struct {
	steps steps
	axis  axis
	x     int           // column of the cursor
	now   memory.Sample // the most that is allocated there
	which int           // step of the cursor, 0 or 1
	from  float64       // moment from which a question hides it; 0: nothing is
}

// picture lays out the chart of the rank under the cursor on w cells.
func (v *View) picture(in *screen.Context, w int) (picture, bool) {
	m := memoryOf(in)
	rank := v.cursorRank(m)
	if !v.answers.known {
		return picture{}, false
	}
	s, ok := v.answers.stepsOf(rank)
	if !ok || w <= gutter+2 {
		return picture{}, false
	}
	q := &v.answers.setup
	p := picture{steps: s, axis: v.newAxis(s.length, q.PP, q.MicroBatches, w-gutter)}
	at := v.at * 2 * s.length
	if !v.moved {
		at = s.length + float64(s.profiles[1].Peak().At)
	}
	p.x = p.axis.column(at)
	if from, to, ok := p.axis.span(p.x); ok {
		p.now, p.which = s.most(from, to)
	}
	return p, true
}

// step draws memory over the first step and the one after it.
func (v *View) step(in *screen.Context, w, h int, headed bool) []string {
	m := memoryOf(in)
	rank := v.cursorRank(m)
	var lines []string
	if headed {
		lines = append(lines,
			v.heading(in, stepPane, w, "OVER A STEP",
				"rank "+strconv.Itoa(m.Ranks[rank].Rank)+", GiB over time", v.zoomWords()))
	}
	p, ok := v.picture(in, w)
	if !ok {
		l := widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted),
			"evaluating memory over a step"+in.Glyphs.Ellipsis)
		return append(lines, l.String())
	}
	if !v.fresh(in) {
		in.Theme = in.Theme.Dim() // an answer about the setup before
	}
	below := []string{v.momentLine(in, &p, w), v.termsLine(in, &p, w), v.verdict(in, rank, w)}
	if h-len(lines)-2-len(below) >= 9 {
		below = append(below, v.milestones(in, w)...)
	}
	high := h - len(lines) - 2 - len(below)
	if high < 3 {
		below = below[:min(2, len(below))]
		high = h - len(lines) - 2 - len(below)
	}
	if high > 0 {
		lines = append(lines, v.chart(in, &p, w, high)...)
	}
	lines = append(lines, v.axisLine(in, &p, w), v.timeLine(in, &p, w))
	return append(lines, below...)
}

func (v *View) zoomWords() string {
	if v.zoom == 0 {
		return ""
	}
	return "1/" + figure.Comma(1<<v.zoom) + " of two steps"
}

// chart returns the stacked area with figures left of it.
func (v *View) chart(in *screen.Context, p *picture, w, h int) []string {
	wide := w - gutter
	area := widget.Area{Cursor: p.x, Columns: make([][]float64, wide)}
	for t := range totalTerm {
		area.Fills = append(area.Fills, termFill(t))
	}
	usable := v.answers.over.Usable.GiB()
	rank := &v.answers.over.Ranks[v.cursorRank(memoryOf(in))]
	area.Limit = usable
	area.Scale = max(usable/0.92, rank.Peaks[0].GiB())
	if p.from == 0 {
		area.Scale = max(area.Scale, rank.Peaks[1].GiB())
	}
	area.Scale = widget.LimitScale(area.Scale, usable, h)
	room := make([]float64, wide*totalTerm)
	for x := range wide {
		from, to, ok := p.axis.span(x)
		if !ok {
			continue
		}
		sample, which := p.steps.most(from, to)
		column := room[x*totalTerm : (x+1)*totalTerm]
		for t, b := range sampleValues(&sample, p.steps.overhead[which]) {
			if t < totalTerm {
				column[t] = b.GiB()
			}
		}
		area.Columns[x] = column
	}
	rows := area.Render(in.Theme, in.Glyphs, wide, h)
	p.cover(in, rows)
	rowOf := func(v float64) int { return h - 1 - min(int(v/area.Scale*float64(h)), h-1) }
	limit, tick := rowOf(area.Limit), tickBelow(usable)
	lines := make([]string, h)
	for y := range rows {
		l := widget.NewLine(w)
		text, role := "", themes.Muted
		switch {
		case y == limit:
			text, role = figure.GiB(v.answers.over.Usable), themes.Limit
		case y == h-1:
			text = "0"
		case y == rowOf(tick) && h > 5:
			text = strconv.Itoa(int(tick))
		}
		l.RightAligned(in.Paint(role), text, gutter-1).To(gutter)
		lines[y] = l.Raw(rows[y], wide).String()
	}
	return lines
}

// tickBelow returns a round number near the half of the axis.
func tickBelow(full float64) float64 {
	tick := 1.0
	for _, n := range []float64{2, 5, 10, 20, 25, 40, 50, 75, 100, 150, 200, 250, 400, 500, 1000} {
		if n <= 0.6*full {
			tick = n
		}
	}
	return tick
}

// axisLine returns the line under the chart: where the steps are, where time is left
// out, and the cursor.
func (v *View) axisLine(in *screen.Context, p *picture, w int) string {
	wide := w - gutter
	sign := make([]string, wide)
	for x := range sign {
		sign[x] = in.Glyphs.Rule
		if _, _, ok := p.axis.span(x); !ok {
			sign[x] = in.Glyphs.Ellipsis
		}
	}
	for step := range 2 {
		first, last := wide, -1
		for _, q := range p.axis.pieces {
			if (q.from >= p.steps.length) == (step == 1) {
				first, last = min(first, q.x), max(last, q.x+q.w)
			}
		}
		name := []rune(" step 1 ")
		if step == 1 {
			name = []rune(" step 2 and later ")
		}
		at := first + 1
		if p.x >= first && p.x < at+len(name) {
			at = p.x + 1 // next to the cursor
		}
		if at+len(name) < last {
			for i, r := range name {
				sign[at+i] = string(r)
			}
		}
	}
	l := widget.NewLine(w).Gap(gutter)
	for x, s := range sign {
		if x == p.x {
			l.Put(in.Paint(themes.Current), in.Glyphs.Up)
			continue
		}
		l.Put(in.Paint(themes.Muted), s)
	}
	return l.String()
}

// timed reports whether a time on the axis would tell a masked figure.
func timed(in *screen.Context) bool {
	return in.Hides(append(screen.Speed(), "time.", "pipeline.")...)
}

// timeLine writes the times at the ends of the pieces, as far as there is room.
func (v *View) timeLine(in *screen.Context, p *picture, w int) string {
	if timed(in) {
		return screen.Unknown(in, w)
	}
	l := widget.NewLine(w)
	for _, q := range p.axis.pieces {
		start, end := figure.Seconds(units.Seconds(q.from)), figure.Seconds(units.Seconds(q.to))
		if l.Used() <= gutter+q.x {
			l.To(gutter+q.x).Put(in.Paint(themes.Muted), start)
		}
		if right := gutter + q.x + q.w - widget.Width(end); right > l.Used()+1 && q.to >= 2*p.steps.length {
			l.To(right).Put(in.Paint(themes.Muted), end)
		}
	}
	return l.String()
}

// momentLine says when the cursor is and what runs then.
func (v *View) momentLine(in *screen.Context, p *picture, w int) string {
	l := widget.NewLine(w).Gap(2)
	at := "????"
	if !timed(in) {
		at = figure.Seconds(units.Seconds(float64(p.now.At) + float64(p.which)*p.steps.length))
	}
	l.Put(in.Paint(themes.Strong), "at "+at).Put(in.Paint(themes.Muted), ", "+stepName(p.which))
	if op := v.operation(in, float64(p.now.At)); op != "" {
		l.Put(in.Paint(themes.Muted), ": "+op)
	}
	return l.String()
}

func stepName(which int) string {
	if which == 0 {
		return "step 1"
	}
	return "step 2"
}

// operation returns what the rank under the cursor does at a moment of the step.
func (v *View) operation(in *screen.Context, t float64) string {
	line := in.Report.Timeline.OpTimes()
	rank := v.cursorRank(memoryOf(in))
	if line == nil || line.Order == nil || !v.fresh(in) || rank >= line.Order.Spec.Ranks {
		return ""
	}
	return report.Doing(line, rank, t)
}

// termsLine lists the terms at the cursor.
func (v *View) termsLine(in *screen.Context, p *picture, w int) string {
	all := sampleValues(&p.now, p.steps.overhead[p.which])
	for variant := range 4 {
		l := widget.NewLine(w).Gap(2)
		fits := true
		for t := range totalTerm {
			name, value := "", figure.GiB(all[t])
			if variant < 3 {
				name = termName(t)[variant] + " "
			}
			fits = fits && l.Left() >= widget.Width(name)+widget.Width(value)+4
			widget.Swatch(l, in.Theme, in.Glyphs, termFill(t))
			l.Gap(1).Put(in.Paint(themes.Muted), name).Put(in.Paint(themes.Text), value).Gap(1)
		}
		sum := "= " + gib(all[totalTerm])
		if fits && l.Left() >= widget.Width(sum) || variant == 3 {
			role := themes.Strong
			if all[totalTerm] > v.answers.over.Usable {
				role = themes.Bad
			}
			return l.Put(in.Paint(role), sum).String()
		}
	}
	return widget.Blank(w)
}

// verdict reports whether the first step and the later ones fit.
func (v *View) verdict(in *screen.Context, rank, w int) string {
	long, short := v.verdictWords(in, rank)
	_, role := screen.Fit(memoryOf(in))
	return widget.NewLine(w).Gap(2).Put(in.Paint(role), in.Longest(w-2, long, short)).String()
}

// verdictWords say whether the steps of a rank fit, or that another rank is worse, in full and in brief.
func (v *View) verdictWords(in *screen.Context, rank int) (long, short string) {
	m := memoryOf(in)
	over := &v.answers.over
	r := &over.Ranks[rank]
	brief := fmt.Sprintf("%s, then %s", figure.GiB(r.Peaks[0]), gib(r.Peaks[1]))
	peaks := fmt.Sprintf("rank %d peaks at %s in step 1, %s from step 2 on", r.Rank, figure.GiB(r.Peaks[0]),
		gib(r.Peaks[1]))
	words, _ := report.FitOverSteps(r.Peaks, over.Usable, m.ErrorBand)
	switch own := engine.FitWithin(max(r.Peaks[0], r.Peaks[1]), over.Usable, m.ErrorBand); {
	case own == m.OnGPU(), engine.FitWithin(m.Ranks[rank].Total, over.Usable, m.ErrorBand) == m.OnGPU():
	case m.OnGPU() == engine.Over:
		words += fmt.Sprintf(", but rank %d does not fit", over.PeakRank)
	case m.OnGPU() == engine.Tight:
		words += fmt.Sprintf(", but rank %d is tight", over.PeakRank)
	}
	late, more := report.LateGradients(&m.Ranks[rank], r.Peaks)
	return words + ": " + peaks + late, words + ": " + brief + more
}

// milestones returns the levels of the rank under the cursor as training starts. They
// leave the overhead out, which the peaks above them hold.
func (v *View) milestones(in *screen.Context, w int) []string {
	m := &v.answers.over.Ranks[v.cursorRank(memoryOf(in))].Milestones
	var texts []string
	for _, names := range [][6]string{
		{
			"allocated, overhead left out:", " GiB once loaded", " with its states", " in the first pass",
			" after the update", " in later passes",
		},
		{"allocated, no overhead:", " loaded", " with states", " first pass", " updated", " later passes"},
		{"allocated:", " loaded", " states", " first", " updated", " later"},
	} {
		text := names[0] + " "
		for i, b := range []units.Bytes{m.Model, m.States, m.FirstPeak, m.AfterUpdate, m.LaterPeak} {
			if i > 0 {
				text += " " + in.Glyphs.Arrow + " "
			}
			text += figure.GiB(b) + names[i+1]
		}
		texts = append(texts, text)
	}
	texts = append(texts, fmt.Sprintf("allocated: %s loaded, first %s, updated %s, later %s",
		figure.GiB(m.Model), figure.GiB(m.FirstPeak), figure.GiB(m.AfterUpdate), figure.GiB(m.LaterPeak)))
	return []string{widget.NewLine(w).Gap(2).Put(in.Paint(themes.Muted), in.Longest(w-2, texts...)).String()}
}
