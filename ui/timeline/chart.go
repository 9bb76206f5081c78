package timeline

import (
	"math"
	"strconv"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Chart draws a pipeline timeline, one line per rank: time runs to the right,
// operations are areas of their kind's colour, dots are idle time. Wide
// operations carry letter and micro-batch. Where the whole step has no room for
// that, parts of it are cut out; below one column per operation the kinds are
// blended by their shares, because a column painted with its most frequent kind
// would make the steady state of 1F1B look like one long backward.
//
// It only reads its timeline: the same values give the same lines.
type Chart struct {
	Timeline *schedule.Timeline
	// Fold cuts repetitions of the steady state out of the picture when the
	// whole does not fit at a readable size, and writes their number instead.
	Fold bool
	// Shown are the ranks to draw, ascending. None: the first ones, and the last.
	Shown []int
	// Plain leaves the rank numbers and the idle shares out.
	Plain bool

	axis Axis // of the width that it was asked for last
	wide int
}

// Widths of the margins, and the least plot that they leave room for.
const (
	ganttIdle    = 8 // " 27.3 %" and a blank
	ganttMinPlot = 12
)

// Rows lists the ranks that Render draws at a height of h lines.
func (v *Chart) Rows(h int) []int {
	p := v.ranks()
	h = min(h, p)
	if h <= 0 {
		return nil
	}
	rows := make([]int, 0, h)
	for _, r := range v.Shown {
		if r >= 0 && r < p && len(rows) < h {
			rows = append(rows, r)
		}
	}
	if len(rows) > 0 {
		return rows
	}
	for r := range h {
		rows = append(rows, r)
	}
	if h > 1 {
		rows[h-1] = p - 1
	}
	return rows
}

// ranks returns 0 for a timeline that cannot be drawn.
func (v *Chart) ranks() int {
	t := v.Timeline
	if t == nil || t.Order == nil || len(t.Begin) != len(t.Order.Ops) || len(t.End) != len(t.Order.Ops) {
		return 0
	}
	return min(len(t.Ranks), len(t.Order.Start)-1)
}

// Render draws the timeline w cells wide and at most h lines high: one line per
// rank of Rows. Every line is w cells wide.
func (v *Chart) Render(t *themes.Theme, g widget.Glyphs, w, h int) []string {
	rows := v.Rows(h)
	if w <= 0 || len(rows) == 0 {
		return nil
	}
	if !(v.Timeline.Makespan > 0) || math.IsInf(v.Timeline.Makespan, 0) {
		return widget.Height(nil, w, len(rows))
	}
	label, idle := v.margins(w)
	plot := w - label - idle
	p := v.newPainter(t, g, plot)
	lines := make([]string, 0, len(rows))
	var b strings.Builder
	for _, r := range rows {
		b.Reset()
		b.Grow(6 * w)
		if label > 0 {
			b.WriteString(t.Paint(themes.Muted).Render(padLeft(strconv.Itoa(r), label-2) + " "))
			b.WriteString(t.Paint(themes.Faint).Render(g.Limit))
		}
		p.row(r)
		writeCells(&b, p.cells)
		if idle > 0 {
			b.WriteString(t.Paint(themes.Muted).Render(padLeft(v.idleText(r), idle)))
		}
		lines = append(lines, b.String())
	}
	return lines
}

// margins returns the widths of the rank numbers and of the idle shares, 0 where
// there is no room for them.
func (v *Chart) margins(w int) (label, idle int) {
	if v.Plain {
		return 0, 0
	}
	label, idle = len(strconv.Itoa(v.ranks()-1))+2, ganttIdle
	if w-label-idle < ganttMinPlot {
		idle = 0
	}
	if w-label < ganttMinPlot {
		label = 0
	}
	return label, idle
}

// idleText returns the rank's idle share of the step; what is too short for a dot is
// still seen here.
func (v *Chart) idleText(rank int) string {
	share := 100 * v.Timeline.Ranks[rank].Idle / v.Timeline.Makespan
	digits := 1
	if share > 0 && share < 0.1 {
		digits = 2
	}
	return strconv.FormatFloat(share, 'f', digits, 64) + " %"
}

// Folded returns how many periods of the steady state a picture w cells wide leaves out.
func (v *Chart) Folded(w, h int) int {
	n := 0
	for _, s := range v.picture(w, h) {
		if !s.cut {
			n += s.folded
		}
	}
	return n
}

// Blended reports whether a picture of this size has operations narrower than a
// column, so that it needs its legend.
func (v *Chart) Blended(w, h int) bool {
	spans := v.picture(w, h)
	return len(spans) > 0 && perOp(spans, v.axis.scale) < 1
}

func (v *Chart) picture(w, h int) []interval {
	rows := v.Rows(h)
	if w <= 0 || len(rows) == 0 || !(v.Timeline.Makespan > 0) {
		return nil
	}
	label, idle := v.margins(w)
	return v.spans(w - label - idle)
}

// spans divides w columns among the parts of the step that are shown.
func (v *Chart) spans(w int) []interval {
	if v.wide != w || v.axis.Whole == 0 {
		v.axis, v.wide = NewAxis([]*schedule.Timeline{v.Timeline}, v.Fold, w, 0), w
	}
	return v.axis.Frame(0, 1, w).spans
}

// timeScale is what decides how a timeline is drawn.
type timeScale struct {
	shortest float64 // duration of the shortest kind of operation
	regular  bool    // the other kinds last whole multiples of it
	readable float64 // columns that it has at least when nothing need be folded
	legible  float64 // columns in which its letter and its micro-batch fit
}

// scale looks at the first, the middle and the last of the given ranks. Ranks with little
// work and single short operations do not decide it.
func (v *Chart) scale(rows []int) timeScale {
	const (
		single = 0.6 // of the mean of its kind: what is shorter is an exception
		little = 0.5 // of the shortest other kind, or that of another rank: so is what this one has
	)
	t := v.Timeline
	digits := float64(len(strconv.Itoa(t.Order.Spec.MicroBatches - 1)))
	s := timeScale{shortest: t.Makespan, regular: true, readable: 2 + digits, legible: 1 + digits}
	var means []float64
	common := 0.0
	for _, r := range []int{rows[0], rows[len(rows)/2], rows[len(rows)-1]} {
		var sum, least [4]float64
		var n [4]int
		for k := t.Order.Start[r]; k < t.Order.Start[r+1]; k++ {
			kind, took := t.Order.Ops[k].Kind(), t.End[k]-t.Begin[k]
			if n[kind] == 0 || took < least[kind] {
				least[kind] = took
			}
			sum[kind] += took
			n[kind]++
		}
		own := 0.0
		for kind, total := range sum { // a weight gradient comes last
			if total <= 0 {
				continue
			}
			mean := total / float64(n[kind])
			means = append(means, mean)
			if least[kind] < single*mean {
				least[kind] = mean
			}
			if kind == int(schedule.WeightGradient) {
				least[kind] = max(least[kind], little*own)
			}
			if own == 0 || least[kind] < own {
				own = least[kind]
			}
		}
		if own > 0 { // it has operations
			s.shortest, common = min(s.shortest, own), max(common, own)
		}
	}
	s.shortest = max(s.shortest, little*common)
	for _, mean := range means {
		ratio := mean / s.shortest
		s.regular = s.regular && math.Abs(ratio-math.Round(ratio)) < 0.01
	}
	return s
}

// cell is one cell of a line.
type cell struct {
	paint themes.Paint
	sign  string
}

// writeCells writes cells as runs of equal paint.
func writeCells(b *strings.Builder, cells []cell) {
	for i := 0; i < len(cells); {
		paint := cells[i].paint
		b.WriteString(paint.Open())
		for i < len(cells) && cells[i].paint == paint {
			b.WriteString(cells[i].sign)
			i++
		}
		b.WriteString(paint.Close())
	}
}

func padLeft(s string, w int) string { return widget.Blank(max(0, w-len(s))) + s }
