package memory

import (
	"math"

	"meshscope/ui/widget"
)

// HandleKey takes a key, named as Bubble Tea names it. Anything that needs work
// comes back as a Request.
func (v *View) HandleKey(in Input, w, h int, key string) (handled bool, do Request) {
	m := in.memory()
	if m == nil {
		return false, Request{}
	}
	handled = v.paneKey(key)
	if !handled {
		switch v.pane {
		case ranksPane:
			handled = v.ranksKey(in, key)
		case stepPane:
			handled = v.stepKey(in, w, h, key)
		default:
			handled = v.layerKey(key)
		}
	}
	return handled, v.Refresh(in)
}

// paneKey changes the pane. s and i go back where they came from.
func (v *View) paneKey(key string) bool {
	toggle := func(p pane) {
		if v.pane == p {
			p = ranksPane
		}
		v.pane = p
	}
	switch key {
	case "v":
		v.pane = (v.pane + 1) % panes
	case "V":
		v.pane = (v.pane + panes - 1) % panes
	case "s":
		toggle(stepPane)
	case "i":
		toggle(layerPane)
	case "f":
		v.rankMoved, v.termMoved, v.moved = false, false, false
	default:
		return false
	}
	return true
}

// moveRank goes n ranks down.
func (v *View) moveRank(in Input, n int) {
	m := in.memory()
	v.rank = min(max(v.cursorRank(m)+n, 0), len(m.Ranks)-1)
	v.rankMoved = true
}

// Steps of the keys that go far.
const farRanks = 8

func (v *View) rankKey(in Input, key string) bool {
	switch key {
	case "up", "k":
		v.moveRank(in, -1)
	case "down", "j":
		v.moveRank(in, 1)
	case "shift+up", "K", "pgup":
		v.moveRank(in, -farRanks)
	case "shift+down", "J", "pgdown":
		v.moveRank(in, farRanks)
	default:
		return false
	}
	return true
}

func (v *View) ranksKey(in Input, key string) bool {
	m := in.memory()
	switch key {
	case "left", "h":
		v.term, v.termMoved = max(v.cursorTerm(m)-1, 0), true
	case "right", "l":
		v.term, v.termMoved = min(v.cursorTerm(m)+1, totalTerm), true
	case "home":
		v.rank, v.rankMoved = 0, true
	case "end", "G":
		v.rank, v.rankMoved = len(m.Ranks)-1, true
	default:
		return v.rankKey(in, key)
	}
	return true
}

func (v *View) stepKey(in Input, w, h int, key string) bool {
	width := v.chartWidth(in, w, h)
	far := max(width/10, 2)
	switch key {
	case "left", "h":
		v.moveColumn(in, width, -1)
	case "right", "l":
		v.moveColumn(in, width, 1)
	case "shift+left", "H":
		v.moveColumn(in, width, -far)
	case "shift+right", "L":
		v.moveColumn(in, width, far)
	case "home":
		v.at, v.from, v.moved = 0, 0, true
	case "end":
		v.at, v.from, v.moved = 1, 1, true
	case "+", "=":
		v.zoomTo(in, width, v.zoom+1)
	case "-":
		v.zoomTo(in, width, v.zoom-1)
	case "0", "o":
		v.zoomTo(in, width, 0)
	default:
		return v.rankKey(in, key)
	}
	return true
}

// chartWidth is the width of the pane with the chart.
func (v *View) chartWidth(in Input, w, h int) int {
	return arrange(w, h, len(in.memory().Ranks)).step.w
}

// moveColumn moves the moment by n columns; the window follows it, and breaks
// of the axis are passed over.
func (v *View) moveColumn(in Input, width, n int) {
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
func (v *View) zoomTo(in Input, width, zoom int) {
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

func (v *View) layerKey(key string) bool {
	rows := len(v.answers.layerRowsOf())
	switch key {
	case "up", "k":
		v.part--
	case "down", "j":
		v.part++
	case "home":
		v.part = 0
	case "end", "G":
		v.part = rows - 1
	default:
		return false
	}
	v.part = min(max(v.part, 0), max(rows-1, 0))
	return true
}

// Bindings are all keys of the screen for the help.
func (v *View) Bindings() []widget.Binding {
	all := []widget.Binding{
		{Keys: []string{"v", "V"}, Text: "next pane, pane before"},
		{Keys: []string{"s"}, Text: "memory over a step, and back"},
		{Keys: []string{"i"}, Text: "inside a layer, and back"},
		{Keys: []string{"f"}, Text: "back to the fullest rank"},
	}
	rank := []widget.Binding{
		{Keys: []string{"up", "down", "k", "j"}, Text: "rank above, below"},
		{Keys: []string{"pgup", "pgdown", "K", "J", "shift+up", "shift+down"}, Text: "eight ranks up, down"},
	}
	switch v.pane {
	case ranksPane:
		return append(append(all, rank...),
			widget.Binding{Keys: []string{"left", "right", "h", "l"}, Text: "term before, after"},
			widget.Binding{Keys: []string{"home", "end", "G"}, Text: "first, last rank"})
	case stepPane:
		return append(append(all, rank...),
			widget.Binding{Keys: []string{"left", "right", "h", "l"}, Text: "earlier, later"},
			widget.Binding{Keys: []string{"shift+left", "shift+right", "H", "L"}, Text: "a tenth of the chart earlier, later"},
			widget.Binding{Keys: []string{"home", "end"}, Text: "begin of the first step, end of the second"},
			widget.Binding{Keys: []string{"+", "-", "="}, Text: "zoom in, out"},
			widget.Binding{Keys: []string{"0", "o"}, Text: "both steps whole"})
	default:
		return append(all,
			widget.Binding{Keys: []string{"up", "down", "k", "j"}, Text: "part above, below"},
			widget.Binding{Keys: []string{"home", "end", "G"}, Text: "first, last part"})
	}
}

// Hints are the keys for the moment, best first.
func (v *View) Hints(in Input) []widget.Hint {
	all := map[pane][]widget.Hint{
		ranksPane: {{Key: "↑↓", Text: "rank"}, {Key: "←→", Text: "term"}},
		stepPane:  {{Key: "←→", Text: "time"}, {Key: "+-", Text: "zoom"}, {Key: "↑↓", Text: "rank"}, {Key: "0", Text: "overview"}},
		layerPane: {{Key: "↑↓", Text: "part"}},
	}
	hints := all[v.pane]
	if !in.Glyphs.Unicode {
		for i, h := range hints {
			switch h.Key {
			case "↑↓":
				hints[i].Key = "j/k"
			case "←→":
				hints[i].Key = "h/l"
			}
		}
	}
	for p := stepPane; p < panes; p++ {
		if name, key := paneName(p); p != v.pane {
			hints = append(hints, widget.Hint{Key: key, Text: name})
		}
	}
	return append(hints, widget.Hint{Key: "v", Text: "next pane"}, widget.Hint{Key: "f", Text: "fullest rank"})
}

// Status explains what is under the cursor in one line.
func (v *View) Status(in Input, w int) string {
	m := in.memory()
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
			text, _, _ = v.verdictWords(rank)
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
