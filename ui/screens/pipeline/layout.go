package pipeline

import (
	"strconv"

	"meshscope/engine"
	"meshscope/engine/schedule"
	"meshscope/ui/screen"
	"meshscope/ui/timeline"
)

// block is one timeline of the screen.
type block struct {
	line   *schedule.Timeline
	setup  *engine.Setup
	report *engine.Report
	ranks  []int // those that are drawn
	two    bool  // two of them on each line
	top    int   // line of the first one
	hidden bool  // the other one is in its place

	rows *timeline.Rows // of the frame that is being drawn
}

// lines returns how many lines of ranks it has.
func (b *block) lines() int {
	if b.two {
		return (len(b.ranks) + 1) / 2
	}
	return len(b.ranks)
}

// layout is what lies where at one size.
type layout struct {
	blocks []block
	axis   timeline.Axis
	frame  timeline.Frame
	key    layoutKey
	small  *timeline.Overview // of the last frame, if any

	label, plot, margin int // widths
	pace                int // part of the margin: layers and times of each rank
	tall, spark, per    int // lines of a rank's bar; of the memory under it; of both
	problems            int // lines
	axisLine, legend    int // lines, -1: none
	overview, strips    int // lines: where it begins, and how many with the marks below it
	table               int
	details             int // line, -1: none
}

// layoutKey holds the inputs of the axis; computing it again costs more than
// all the rest.
type layoutKey struct {
	first, second *schedule.Timeline
	fold          bool
	about         float64
	plot          int
}

// Widths of the margin at the right: idle share and activations in flight.
const (
	idleWidth = 8
	liveWidth = 5
	leastPlot = 12
	paceWidth = 24  // layers, forward and backward of a micro-batch
	paceFrom  = 150 // width of the screen that has room for them
)

// wordLines is the number of lines of the sentence about the cursor where it is shown.
const wordLines = 5

// detailLines is the number of lines of the text under the picture where there is room.
const detailLines = 9

// tallest is how high the bar of a rank becomes where there is room.
const tallest = 6

// drawable reports whether there is a timeline, and room for it.
func drawable(in *screen.Context) bool {
	return lineOf(in) != nil && in.W >= leastPlot && in.H >= 3
}

// layout computes the screen at a size; nil where there is nothing to draw or
// no room.
func (v *View) layout(in *screen.Context, w, h int) *layout {
	first := lineOf(in)
	if first == nil || w < leastPlot || h < 3 {
		return nil
	}
	l := &layout{axisLine: -1, legend: -1, overview: -1, table: -1, tall: 1, per: 1}
	l.blocks = append(l.blocks, block{line: first, setup: in.Setup, report: in.Report})
	if b := v.second; b != nil && b.Report.Timeline != nil && h >= 8 && b.Setup.PP == in.Setup.PP {
		l.blocks = append(l.blocks, block{
			line: b.Report.Timeline.OpTimes(), setup: &b.Setup,
			report: &b.Report,
		})
	}
	l.label = len(strconv.Itoa(len(first.Ranks)-1)) + 2
	l.margin = idleWidth + liveWidth
	if w >= paceFrom {
		l.pace = paceWidth
		l.margin += l.pace
	}
	if w-l.label-l.margin < leastPlot {
		l.margin, l.pace = 0, 0
	}
	if w-l.label < leastPlot {
		l.label = 0
	}
	l.plot = w - l.label - l.margin
	l.hide(v)
	v.arrange(l)
	v.rows(l, in, w, h)
	return l
}

// rows divides the height.
func (v *View) rows(l *layout, in *screen.Context, w, h int) {
	p := len(l.blocks[0].line.Ranks)
	shown := 0
	for i := range l.blocks {
		if !l.blocks[i].hidden {
			shown++
		}
	}
	free := h - 1 - shown // axis, headings
	if len(errors(in.Problems)) > 0 && h >= 6 {
		l.problems = len(banner(in, w, max(2, h/5)))
		free -= l.problems
	}
	if v.words && h >= 14 {
		free -= wordLines
	}
	legend, table := h >= 8, len(l.blocks) > 1 && h >= 16
	if legend {
		free--
	}
	if table {
		free -= 4
	}
	if (v.zoomed() > 1 || l.cuts()) && h >= 12 {
		l.strips = 1
		if in.Theme.Colours { // letters of a whole step say nothing
			l.strips += min((p+7)/8, max(1, h/12))
		}
		free -= l.strips
	}
	each := max(1, free/shown)
	l.heights(v, in, each, p)
	l.place(v, in, each, h, legend, table)
}

// heights divides the lines of a block among the bar of each rank and the memory below it.
func (l *layout) heights(v *View, in *screen.Context, each, p int) {
	text, least := detailLines, 2
	if in.Asks { // it is one sentence, and the cells are what is asked about
		text, least = 2, 3
	}
	room := (each - text) / p
	if v.sparks == on && each >= 2*min(p, 3) || v.sparks == automatic && room >= least {
		l.spark = min(max(1, room/3), 3)
	}
	if in.Theme.Colours || in.Theme.Dimmed { // without colours more lines show no more
		l.tall = min(max(1, room-l.spark), tallest)
	}
	l.per = l.tall + l.spark
}

// place puts the blocks, each of so many lines, and what comes below them into h lines.
func (l *layout) place(v *View, in *screen.Context, each, h int, legend, table bool) {
	at, p := l.problems, len(l.blocks[0].line.Ranks)
	for i := range l.blocks {
		b := &l.blocks[i]
		if b.hidden {
			continue
		}
		b.top = at + 1
		if l.strips > 0 && l.overview < 0 { // below the first heading
			l.overview = b.top
			b.top += l.strips
		}
		room := max(1, each/l.per)
		// Where ranks do not fit two share a line, in the halves of its cells, which have no letters.
		b.two = room < p && !l.frame.Legible() && room >= 2 && in.Theme.Blends() && in.Glyphs.Unicode &&
			l.per == 1
		if b.two {
			room *= 2
		}
		b.ranks = v.shown(p, room)
		at = b.top + l.per*b.lines()
	}
	l.axisLine = at
	at++
	if legend {
		l.legend = at
		at++
	}
	if table {
		l.table = at
		at += 4
	}
	l.details = -1
	if h-at >= 3 {
		l.details = at
	}
}

// hide leaves one of two timelines out where they take turns.
func (l *layout) hide(v *View) {
	if !v.flip || len(l.blocks) < 2 {
		return
	}
	l.blocks[0].hidden, l.blocks[1].hidden = v.below, !v.below
}

// shown returns the ranks that fit in n of p lines: the page with the cursor's, and
// the first and the last one on every page.
func (v *View) shown(p, n int) []int {
	n = min(n, p)
	ranks := make([]int, 0, n)
	at := min(max(0, v.rank), p-1)
	switch {
	case n == 1:
		return append(ranks, at)
	case n == 2 && at > 0 && at < p-1:
		return append(ranks, 0, at)
	case n == 2:
		return append(ranks, 0, p-1)
	}
	from := 1
	if n < p {
		page := max(0, at-1) / (n - 2)
		from = min(1+page*(n-2), p-1-(n-2)) // the last page is full too
	}
	ranks = append(ranks, 0)
	for r := from; r < from+n-2; r++ {
		ranks = append(ranks, r)
	}
	return append(ranks, p-1)
}

// arrange makes the axis, or takes the last one, and the frame.
func (v *View) arrange(l *layout) {
	lines := make([]*schedule.Timeline, 0, 2)
	for i := range l.blocks {
		lines = append(lines, l.blocks[i].line)
	}
	l.key = layoutKey{first: lines[0], fold: !v.unfolded, about: v.about, plot: l.plot}
	if len(lines) > 1 {
		l.key.second = lines[1]
	}
	if v.drawn != nil && v.drawn.key == l.key {
		l.axis, l.small = v.drawn.axis, v.drawn.small
	} else {
		l.axis = timeline.NewAxis(lines, !v.unfolded, l.plot, v.about)
	}
	from, to := v.window()
	l.frame = l.axis.Frame(from, to, l.plot)
}

// errors returns the problems that make a setup illegal.
func errors(problems []engine.Problem) []engine.Problem {
	var out []engine.Problem
	for _, p := range problems {
		if p.Severity == "error" {
			out = append(out, p)
		}
	}
	return out
}
