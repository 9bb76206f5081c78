package memory

import (
	"math"

	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Name returns the name of the tab.
func (*View) Name() string { return "Memory" }

// Keys returns the key table.
func (v *View) Keys(in *screen.Context) []screen.Key {
	if in != nil && memoryOf(in) == nil {
		return nil
	}
	v.lookFor(in)
	at := func(p pane) func() bool { return func() bool { return v.pane == p } }
	listed := func() bool { return v.pane != layerPane }
	toggle := func(p pane) func(int) {
		return func(int) {
			if v.pane == p { // s and i go back where they came from
				v.pane = ranksPane
				return
			}
			v.pane = p
		}
	}
	hint := func(p pane) string { // for the keys that go to another pane
		if v.pane == p {
			return ""
		}
		return paneName(p)
	}
	rank := screen.Key{
		ID: "rank-up rank-down", Keys: "up k | down j", Help: "rank above, below",
		Foot: "↑↓", Hint: "rank", Do: func(n int) { v.moveRank(in, n) },
	}
	onRanks, onStep := rank, rank
	onRanks.When, onStep.When = at(ranksPane), at(stepPane)
	return []screen.Key{
		onRanks,
		{
			ID: "term-before term-after", Keys: "left h | right l", Help: "term before, after",
			Foot: "←→",
			Hint: "term", When: at(ranksPane), Do: func(n int) { v.moveTerm(in, n) },
		},
		{
			ID: "earlier later", Keys: "left h | right l", Help: "earlier, later", Foot: "←→",
			Hint: "time",
			When: at(stepPane), Do: func(n int) { v.moveColumn(in, v.chartWidth(in), n) },
		},
		{
			ID: "zoom-in zoom-out", Keys: "+ = | -", Help: "zoom in, out", Foot: "+-", Hint: "zoom",
			When: at(stepPane), Do: func(n int) { v.zoomTo(in, v.chartWidth(in), v.zoom-n) },
		},
		onStep,
		{
			ID: "overview", Keys: "0 o", Help: "both steps whole", Foot: "0", Hint: "overview",
			When: at(stepPane), Do: func(int) { v.zoomTo(in, v.chartWidth(in), 0) },
		},
		{
			ID: "part-up part-down", Keys: "up k | down j", Help: "part above, below", Foot: "↑↓",
			Hint: "part", When: at(layerPane), Do: v.movePart,
		},
		{
			ID: "figure-before figure-after", Keys: "left h | right l",
			Help: "figure before, after, and on to the next kind of layer", Foot: "←→", Hint: "figure",
			When: at(layerPane), Do: func(n int) { v.moveLayerColumn(v.layerWidth(in), n) },
		},
		{
			ID: "step", Keys: "s", Help: "memory over a step, and back", Hint: hint(stepPane),
			Do: toggle(stepPane),
		},
		{
			ID: "layer", Keys: "i", Help: "inside a layer, and back", Hint: hint(layerPane),
			Do: toggle(layerPane),
		},
		{
			ID: "next-pane last-pane", Keys: "v | V", Help: "next pane, pane before", Foot: "v",
			Hint: "next pane",
			Do:   func(n int) { v.pane = pane((int(v.pane) - n + int(panes)) % int(panes)) },
		},
		{
			ID: "fullest", Keys: "f", Help: "back to the fullest rank", Hint: "fullest rank",
			Do: func(int) { v.rankMoved, v.termMoved, v.moved = false, false, false },
		},
		{
			ID: "ranks-up ranks-down", Keys: "pgup K shift+up | pgdown J shift+down",
			Help: "eight ranks up, down", When: listed, Do: func(n int) { v.moveRank(in, n*farRanks) },
		},
		{
			ID: "far-earlier far-later", Keys: "shift+left H | shift+right L",
			Help: "a tenth of the chart earlier, later", When: at(stepPane),
			Do: func(n int) { v.moveColumn(in, v.chartWidth(in), n*max(v.chartWidth(in)/10, 2)) },
		},
		{
			ID: "first last", Keys: "home | end G", Help: "first, last rank", When: at(ranksPane),
			Do: func(n int) { v.moveRank(in, n<<20) },
		},
		{
			ID: "start end", Keys: "home | end", Help: "start of the first step, end of the second",
			When: at(stepPane),
			Do:   func(n int) { v.at, v.from, v.moved = float64(n+1)/2, float64(n+1)/2, true },
		},
		{
			ID: "first last", Keys: "home | end G", Help: "first, last part", When: at(layerPane),
			Do: func(n int) { v.movePart(n << 20) },
		},
	}
}

// Show goes to a pane: step, layer, or the ranks for any other name.
func (v *View) Show(name string) {
	v.pane = map[string]pane{"step": stepPane, "layer": layerPane}[name]
}

// Pane returns the name that shows the pane that has the keys.
func (v *View) Pane() string { return [panes]string{"ranks", "step", "layer"}[v.pane] }

// layerWidth returns the width of the layer pane.
func (v *View) layerWidth(in *screen.Context) int {
	return v.arrange(in.W, in.H, len(memoryOf(in).Ranks)).layer.w
}

// moveTerm goes n terms to the right.
func (v *View) moveTerm(in *screen.Context, n int) {
	v.term, v.termMoved = min(max(v.cursorTerm(memoryOf(in))+n, 0), totalTerm), true
}

// movePart goes n rows down in the layer.
func (v *View) movePart(n int) {
	v.part = widget.Step(v.part, n, len(v.answers.layerRows()))
}

// farRanks is how many ranks the keys pass that go far.
const farRanks = 8

// moveRank goes n ranks down.
func (v *View) moveRank(in *screen.Context, n int) {
	m := memoryOf(in)
	v.rank = widget.Step(v.cursorRank(m), n, len(m.Ranks))
	v.rankMoved = true
}

// chartWidth returns the width of the pane with the chart.
func (v *View) chartWidth(in *screen.Context) int {
	return v.arrange(in.W, in.H, len(memoryOf(in).Ranks)).step.w
}

// moveColumn moves the moment by n columns; the window follows it, and breaks
// of the axis are passed over.
func (v *View) moveColumn(in *screen.Context, width, n int) {
	p, ok := v.picture(in, width)
	if !ok {
		return
	}
	both := 2 * p.steps.length
	x := p.x + n
	if v.zoom > 0 && (x < 0 || x >= p.axis.w) {
		from, to, _ := p.axis.span(p.x)
		at := (from+to)/2 + float64(n)*(to-from)
		v.at, v.moved = min(max(at/both, 0), 1), true
		v.follow()
		return
	}
	x = min(max(x, 0), p.axis.w-1)
	from, to, ok := p.axis.span(x)
	if !ok { // a break: one further
		if n < 0 {
			x--
		} else {
			x++
		}
		from, to, _ = p.axis.span(x)
	}
	v.at, v.moved = (from+to)/2/both, true
}

// follow moves the window so that the moment is in it.
func (v *View) follow() {
	window := 1 / math.Pow(2, float64(v.zoom))
	if v.at < v.from {
		v.from = v.at
	}
	if v.at > v.from+window {
		v.from = v.at - window
	}
	v.from = min(max(v.from, 0), 1-window)
}

// zoomTo sets the zoom with the moment in the middle.
func (v *View) zoomTo(in *screen.Context, width, zoom int) {
	p, ok := v.picture(in, width)
	if !ok {
		return
	}
	if from, to, ok := p.axis.span(p.x); ok {
		v.at, v.moved = (from+to)/2/(2*p.steps.length), true
	}
	// No closer than a few operations.
	most := 0
	for n := p.steps.profiles[1].Len() / 6; n > 0; n /= 2 {
		most++
	}
	v.zoom = min(max(zoom, 0), most)
	v.from = v.at - 0.5/math.Pow(2, float64(v.zoom))
	v.follow()
}

// Status explains the item under the cursor in one line.
func (v *View) Status(in *screen.Context) string {
	w := in.W
	m := memoryOf(in)
	if m == nil {
		return ""
	}
	rank := v.cursorRank(m)
	text := ""
	switch v.pane {
	case ranksPane:
		text = rankWords(m, rank)
	case stepPane:
		if p, ok := v.picture(in, 80); ok {
			text, _ = v.verdictWords(in, rank)
			if op := v.operation(in, float64(p.now.At)); op != "" && v.moved {
				text = op + "; " + text
			}
		} else {
			text = "memory over a step: activations rise and drain, the optimizer is complete from step 2 on"
		}
	default:
		text = v.layerWords(in)
	}
	return widget.CutText(text, w, in.Glyphs.Ellipsis)
}
