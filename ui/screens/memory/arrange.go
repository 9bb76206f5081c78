package memory

// rect is a part of the screen in cells.
type rect struct{ x, y, w, h int }

func (r rect) holds(x, y int) bool {
	return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h
}

// arrangement says where the panes are.
type arrangement struct {
	single             bool // one at a time, below a line of tabs
	ranks, step, layer rect
}

// Sizes from which all panes are on screen at once.
const (
	wideFrom = 100
	highFrom = 28
)

// arrange lays out w x h cells for so many ranks.
func (v *View) arrange(w, h, ranks int) arrangement {
	if w < wideFrom || h < highFrom {
		whole := rect{0, 1, w, h - 1}
		return arrangement{single: true, ranks: whole, step: whole, layer: whole}
	}
	top := min(ranksAround+ranks, h*9/20)
	if h >= 50 {
		top = min(ranksAround+ranks, h/2)
	}
	below := h - top - 1
	layer := min(max(w*2/5, 48), 80)
	if n := len(v.answers.kinds); n > 1 && w >= 160 {
		layer = max(layer, min(widthOfKinds(n, true), w*5/8))
	}
	step := w - layer - 2
	return arrangement{
		ranks: rect{0, 0, w, top},
		step:  rect{0, top + 1, step, below},
		layer: rect{step + 2, top + 1, layer, below},
	}
}

// ranksAround are the lines around the rows of the ranks: heading, two lines of
// names, the sum, without ZeRO, a blank and three of details.
const ranksAround = 9

// visible returns the arrangement with only the visible part.
func (v *View) visible(w, h, ranks int) map[pane]rect {
	a := v.arrange(w, h, ranks)
	all := map[pane]rect{ranksPane: a.ranks, stepPane: a.step, layerPane: a.layer}
	if !a.single {
		return all
	}
	return map[pane]rect{v.pane: all[v.pane]}
}
