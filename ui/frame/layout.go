// Package frame cuts the screen into regions and puts drawn panels into them.
package frame

import "slices"

// Rect is a region of the screen in cells; the zero Rect is not shown.
type Rect struct{ X, Y, W, H int }

// Shown reports whether the region has any cells.
func (r Rect) Shown() bool { return r.W > 0 && r.H > 0 }

// Contains reports whether a cell lies in the region.
func (r Rect) Contains(x, y int) bool {
	return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H
}

// Rects are the regions of the Explore screen.
type Rects struct {
	Tiny bool // too small for panels: one line that answers the question

	Title    Rect
	Tabs     Rect
	Headline Rect // the verdict in a sentence
	Gauges   Rect
	Knobs    Rect
	Memory   Rect
	Pipeline Rect
	Step     Rect
	Traffic  Rect
	Run      Rect // the whole training run
	Chart    Rect
	Assumed  Rect // the assumptions of the figures
	Foot     Rect // what happened, problems, and the sentence about the focus
	Help     Rect
}

// Content is the input of the layout: counts of the things to be drawn.
type Content struct {
	Ranks   int // pipeline ranks
	Traffic int // dimensions with traffic
	Run     int // rows of the whole run; 0: none was asked for
}

// Sizes at which the screen changes its shape. Below MinWidth x MinHeight one
// line remains.
const (
	MinWidth  = 60
	MinHeight = 20

	mediumWidth  = 100
	wideWidth    = 120
	threeColumns = 150
	assumedFrom  = 120 // width of the body right of the knobs

	verdictFrom    = 24 // the verdict in a sentence, and the chart's numbers
	airyHeight     = 28 // blank lines between the parts
	threeFootLines = 34
	roomyHeight    = 40 // a blank line below the gauges
	chartFrom      = 20 // lines of the body from which there is a chart
)

// Layout cuts a screen of w x h cells into regions.
func Layout(w, h int, c Content) Rects {
	var r Rects
	if w < MinWidth || h < MinHeight {
		r.Tiny = true
		return r
	}
	x := Margin(w)
	inner := w - 2*x
	gap := 0
	if h >= airyHeight {
		gap = 1
	}
	y := 0
	r.Title = Rect{x, y, inner, 1}
	r.Tabs = Rect{x, y + 1, inner, 1}
	y += 2
	if h >= verdictFrom {
		r.Headline = Rect{x, y, inner, 1}
		y++
	}
	r.Gauges = Rect{x, y, inner, 1 + gap} // low screens have the figures without their bars
	y += 1 + gap
	if h >= roomyHeight {
		y++
	}

	foot := 2
	if h >= threeFootLines {
		foot = 3
	}
	r.Help = Rect{x, h - 1, inner, 1}
	r.Foot = Rect{x, h - 1 - foot, inner, foot}
	body := Rect{x, y, inner, r.Foot.Y - gap - y}
	columns(&r, body, w, h, c)
	return r
}

// Margin returns how many columns stay blank on either side.
func Margin(w int) int {
	if w >= wideWidth {
		return 1
	}
	return 0
}

// columns shares the body of a screen of w x h cells between the knobs and one or two columns of panels.
func columns(r *Rects, body Rect, w, h int, c Content) {
	knobs, gutter := 26, 2
	switch {
	case w >= 200:
		knobs, gutter = 58, 4
	case w >= threeColumns:
		knobs, gutter = 50, 3
	case w >= wideWidth:
		knobs, gutter = 49, 3
	case w >= mediumWidth:
		knobs, gutter = 41, 2
	case w >= 80:
		knobs = 32
	}
	r.Knobs = Rect{body.X, body.Y, knobs, body.H}
	x := body.X + knobs + gutter
	width := body.X + body.W - x
	if w < threeColumns {
		memory, pipeline, step := memoryPanel(&r.Memory, c), pipelinePanel(&r.Pipeline, c), stepPanel(&r.Step)
		panels := []panel{memory, pipeline, step}
		if body.H >= chartFrom {
			panels = append(panels, chartPanel(&r.Chart))
		} else if h >= verdictFrom {
			chart := chartPanel(&r.Chart)
			chart.most, chart.extra = chart.least, 0
			memory.least, memory.want, pipeline.least, pipeline.want, step.least, step.want = 3, 4, 3, 5, 3, 3
			panels = []panel{memory, pipeline, step, chart}
			// less on low screens: two ranks of memory, the bar of the step, and a blank line between them
		} else {
			panels[0].want, panels[1].want, panels[2].least, panels[2].want = memory.least+1, pipeline.want-1,
				step.least-1, step.least-1
		}
		stackPanels(x, body.Y, width, body.H,
			append(panels, trafficPanel(&r.Traffic, c), runPanel(&r.Run, c)))
		return
	}
	bands(r, Rect{x, body.Y, width, body.H}, gutter, c)
}

// bands shares a wide body: memory next to step and traffic on top, then the
// timeline and the chart over the whole width, where they show most.
func bands(r *Rects, body Rect, gutter int, c Content) {
	var top Rect
	steady := c // a few ranks more or less do not move the panels below
	steady.Ranks = max(c.Ranks, 4)
	stackPanels(body.X, body.Y, body.W, body.H,
		[]panel{topBand(&top, body.W, steady), pipelinePanel(&r.Pipeline, steady), chartPanel(&r.Chart)})
	left := (body.W - gutter) / 2
	r.Memory = Rect{top.X, top.Y, left, top.H}
	stackPanels(top.X+left+gutter, top.Y, top.W-gutter-left, top.H,
		[]panel{stepPanel(&r.Step), trafficPanel(&r.Traffic, c), runPanel(&r.Run, c)})
	if body.W < assumedFrom {
		return
	}
	chart := r.Chart
	r.Chart.W = (chart.W - gutter) * 3 / 5
	r.Assumed = Rect{
		chart.X + r.Chart.W + gutter, chart.Y, chart.W - gutter - r.Chart.W,
		body.Y + body.H - chart.Y,
	}
}

// panel says how many rows a panel can use: least, wanted, at most, and how
// many more for details, all or none, and then at most with these. One that
// may be dropped is left out where not all fit.
type panel struct {
	rect              *Rect
	least, want, most int
	extra, full       int
	dropped           bool
}

func topBand(r *Rect, w int, c Content) panel {
	n, beside := max(c.Ranks, 1), 7+1+1+max(c.Traffic, 1)
	if c.Run > 0 {
		beside += 1 + c.Run
	}
	p := panel{rect: r, least: 8, want: max(3+min(n, 8), beside), most: max(3+min(n, 24), beside)}
	if table := n + 2 + termRows; n <= 12 && table > p.most && w >= assumedFrom {
		p.extra, p.full = table-p.most, table
	}
	return p
}

// termRows is what the table of terms in the memory panel takes.
const termRows = 9

func memoryPanel(r *Rect, c Content) panel {
	n := max(c.Ranks, 1)
	return panel{
		rect: r, least: 2 + min(n, 2), want: 3 + min(n, 8), most: 3 + min(n, 40),
		extra: termRows - 1, full: 2 + min(n, 40) + termRows,
	}
}

func pipelinePanel(r *Rect, c Content) panel {
	n := max(c.Ranks, 1)
	return panel{rect: r, least: 3, want: 3 + min(n, 8), most: 3 + min(n, 64)}
}

func stepPanel(r *Rect) panel { return panel{rect: r, least: 5, want: 6, most: 7, extra: 1, full: 8} }

func chartPanel(r *Rect) panel { return panel{rect: r, least: 3, want: 3, most: 4, extra: 4, full: 30} }

func trafficPanel(r *Rect, c Content) panel {
	n := 1 + max(c.Traffic, 1)
	return panel{rect: r, least: n, want: n, most: n, dropped: true}
}

// runPanel takes no rows where no run was asked for.
func runPanel(r *Rect, c Content) panel {
	return panel{rect: r, least: c.Run, want: c.Run, most: c.Run, dropped: true}
}

// stackPanels puts panels below each other: first what each needs at least,
// then what it wants, then blank lines between them, then the rest.
func stackPanels(x, y, w, h int, panels []panel) {
	panels = keepFitting(h, panels)
	sizes, left := make([]int, len(panels)), h
	for i, p := range panels {
		sizes[i] = min(p.least, left)
		left -= sizes[i]
	}
	left = grow(sizes, left, panels, func(p panel) int { return p.want })
	gap := 0
	if blank := len(panels) - 1; blank > 0 && left >= blank {
		gap, left = 1, left-blank
	}
	left = grow(sizes, left, panels, func(p panel) int { return p.most })
	for i := range panels {
		if p := &panels[i]; p.extra > 0 && left >= p.extra {
			sizes[i] += p.extra
			left -= p.extra
			p.most = p.full
		}
	}
	grow(sizes, left, panels, func(p panel) int { return p.most })
	for i, p := range panels {
		*p.rect = Rect{x, y, w, sizes[i]}
		y += sizes[i] + gap
	}
}

// keepFitting leaves out panels that ask for no rows, and as many of those that
// may be missing, the last first, as the height does not hold.
func keepFitting(h int, panels []panel) []panel {
	kept := slices.DeleteFunc(panels, func(p panel) bool { return p.want == 0 })
	for {
		need := len(kept) - 1
		for _, p := range kept {
			need += max(p.least, p.want)
		}
		last := len(kept) - 1
		for last >= 0 && !kept[last].dropped {
			last--
		}
		if need <= h || last < 0 {
			return kept
		}
		kept = slices.Delete(kept, last, last+1)
	}
}

// grow gives rows to panels one after the other until each has what it may have.
func grow(sizes []int, left int, panels []panel, upTo func(panel) int) int {
	for grown := true; grown && left > 0; {
		grown = false
		for i, p := range panels {
			if left > 0 && sizes[i] < upTo(p) {
				sizes[i]++
				left--
				grown = true
			}
		}
	}
	return left
}
