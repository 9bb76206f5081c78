package ui

// Rect is a region of the screen in cells; the zero Rect is not shown.
type Rect struct{ X, Y, W, H int }

// Shown says whether the region has any cells.
func (r Rect) Shown() bool { return r.W > 0 && r.H > 0 }

// Contains says whether a cell lies in the region.
func (r Rect) Contains(x, y int) bool {
	return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H
}

// Rects are the regions of the Explore screen.
type Rects struct {
	Tiny bool // too small for panels: one line that answers the question

	Title    Rect
	Gauges   Rect
	Knobs    Rect
	Memory   Rect
	Pipeline Rect
	Step     Rect
	Traffic  Rect
	Chart    Rect
	Foot     Rect // what happened, problems, and the sentence about the focus
	Help     Rect
}

// Content is what the layout must know of what is to be drawn.
type Content struct {
	Ranks   int // pipeline ranks
	Traffic int // dimensions with traffic
}

// Sizes at which the screen changes its shape. Below minWidth x minHeight one
// line remains.
const (
	minWidth  = 60
	minHeight = 20

	mediumWidth  = 100
	wideWidth    = 120
	threeColumns = 150

	airyHeight = 28 // blank lines between the parts
	tallHeight = 44
)

// Layout cuts a screen of w x h cells into regions.
func Layout(w, h int, c Content) Rects {
	var r Rects
	if w < minWidth || h < minHeight {
		r.Tiny = true
		return r
	}
	margin := 0
	if w >= wideWidth {
		margin = 1
	}
	x, inner := margin, w-2*margin
	gap := 0
	if h >= airyHeight {
		gap = 1
	}
	y := 0
	r.Title = Rect{x, y, inner, 1}
	y += 1 + gap
	r.Gauges = Rect{x, y, inner, 2}
	y += 2 + gap

	foot := 2
	if h >= airyHeight {
		foot = 3
	}
	if h >= tallHeight {
		foot = 4
	}
	r.Help = Rect{x, h - 1, inner, 1}
	r.Foot = Rect{x, h - 1 - foot, inner, foot}
	body := Rect{x, y, inner, r.Foot.Y - gap - y}
	columns(&r, body, w, c)
	return r
}

// columns shares the body between the knobs and one or two columns of panels.
func columns(r *Rects, body Rect, w int, c Content) {
	knobs, gutter := 27, 2
	switch {
	case w >= 200:
		knobs, gutter = 58, 4
	case w >= threeColumns:
		knobs, gutter = 50, 3
	case w >= wideWidth:
		knobs, gutter = 49, 3
	case w >= mediumWidth:
		knobs, gutter = 42, 2
	case w >= 80:
		knobs = 31
	}
	r.Knobs = Rect{body.X, body.Y, knobs, body.H}
	x := body.X + knobs + gutter
	width := body.X + body.W - x
	if w < threeColumns {
		stackPanels(x, body.Y, width, body.H, []panel{
			memoryPanel(&r.Memory, c), pipelinePanel(&r.Pipeline, c), stepPanel(&r.Step),
			chartPanel(&r.Chart), trafficPanel(&r.Traffic, c),
		})
		return
	}
	left := (width - gutter) / 2
	stackPanels(x, body.Y, left, body.H, []panel{memoryPanel(&r.Memory, c), pipelinePanel(&r.Pipeline, c)})
	stackPanels(x+left+gutter, body.Y, width-gutter-left, body.H, []panel{
		stepPanel(&r.Step), trafficPanel(&r.Traffic, c), chartPanel(&r.Chart),
	})
}

// panel says how many rows a panel can use: least, wanted, at most. A rank
// above another one is dropped first when there is no room for all.
type panel struct {
	rect              *Rect
	least, want, most int
	dropped           int // order of being left out; 0: never
}

func memoryPanel(r *Rect, c Content) panel {
	n := max(c.Ranks, 1)
	return panel{rect: r, least: 2 + min(n, 3), want: 2 + min(n, 8), most: 2 + min(n, 40) + 9}
}

func pipelinePanel(r *Rect, c Content) panel {
	n := max(c.Ranks, 1)
	return panel{rect: r, least: 2 + min(n, 2), want: 3 + min(n, 8), most: 3 + min(n, 64)}
}

func stepPanel(r *Rect) panel { return panel{rect: r, least: 4, want: 6, most: 6} }

func chartPanel(r *Rect) panel { return panel{rect: r, least: 3, want: 9, most: 17} }

func trafficPanel(r *Rect, c Content) panel {
	n := 1 + max(c.Traffic, 1)
	return panel{rect: r, least: n, want: n, most: n, dropped: 1}
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
	grow(sizes, left, panels, func(p panel) int { return p.most })
	for i, p := range panels {
		*p.rect = Rect{x, y, w, sizes[i]}
		y += sizes[i] + gap
	}
}

// keepFitting leaves out the panels that may be missing when the least sizes
// and the blank lines between them exceed the height.
func keepFitting(h int, panels []panel) []panel {
	need := len(panels) - 1
	for _, p := range panels {
		need += max(p.least, p.want)
	}
	if need <= h {
		return panels
	}
	kept := make([]panel, 0, len(panels))
	for _, p := range panels {
		if p.dropped == 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// grow gives rows to panels in turn until each has what it may have.
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
