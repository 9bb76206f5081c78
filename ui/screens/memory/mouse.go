package memory

import (
	"slices"

	"meshscope/ui/screen"
)

// Mouse takes a click or a turn of the wheel at a cell of the screen.
func (v *View) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	w, h := in.W, in.H
	m := memoryOf(in)
	if m == nil || w < 20 || h < 4 {
		return false, screen.Request{}
	}
	if y == 0 && v.arrange(w, h, len(m.Ranks)).single && button == "left" {
		return v.clickTab(x), v.Refresh(in)
	}
	for p, r := range v.visible(w, h, len(m.Ranks)) {
		if !r.holds(x, y) {
			continue
		}
		if n := screen.Wheel(button); n != 0 {
			v.wheel(in, p, r.w, n)
		} else if button == "left" {
			v.pane = p
			v.click(in, p, r, x-r.x, y-r.y, v.arrange(w, h, len(m.Ranks)).single)
		} else {
			return false, screen.Request{}
		}
		return true, v.Refresh(in)
	}
	return false, screen.Request{}
}

// clickTab chooses the pane whose name is at x.
func (v *View) clickTab(x int) bool {
	at := len("MEMORY") + 2
	for p := range panes {
		name := paneName(p)
		if x >= at && x < at+len(name)+2 {
			v.pane = p
			return true
		}
		at += len(name) + 3
	}
	return false
}

func (v *View) wheel(in *screen.Context, p pane, width, n int) {
	switch p {
	case ranksPane:
		v.moveRank(in, n)
	case stepPane:
		v.zoomTo(in, width, v.zoom-n)
	default:
		v.movePart(n)
	}
}

// click puts the cursor of a pane where it was clicked.
func (v *View) click(in *screen.Context, p pane, r rect, x, y int, single bool) {
	switch p {
	case ranksPane:
		v.clickRanks(in, r, x, y, single)
	case stepPane:
		pic, ok := v.picture(in, r.w)
		if !ok || x < gutter {
			return
		}
		if from, to, ok := pic.axis.span(x - gutter); ok {
			v.at, v.moved = (from+to)/2/(2*pic.steps.length), true
		}
	default:
		if !single {
			y--
		}
		if len(v.answers.kinds) > 1 {
			y--
		}
		if i := y - 1; i >= 0 && i < len(v.answers.layerRows()) {
			v.part = i
			columns := v.layerColumns(r.w)
			if n := slices.IndexFunc(columns,
				func(c column) bool { return x < c.end && c.figure >= 0 }); n >= 0 &&
				x >= columns[0].end-layerWidths()[0] {
				v.column, v.columnMoved = columns[n].at(), true
			}
		}
	}
}

func (v *View) clickRanks(in *screen.Context, r rect, x, y int, single bool) {
	g := v.grid(in, r.w, r.h, !single)
	row := y
	if !single {
		row--
	}
	if g.barsAbove(r.h) { // the bars above the table
		if row >= 0 && row < len(g.shown) {
			v.rank, v.rankMoved = g.shown[row], true
			return
		}
		row -= len(g.shown)
		if !g.brief {
			row--
		}
	}
	if row--; !g.brief {
		row--
	}
	if row < 0 || row >= len(g.shown) {
		return
	}
	v.rank, v.rankMoved = g.shown[row], true
	if term := (x - g.label) / max(g.pitch, 1); x >= g.label && term <= totalTerm {
		v.term, v.termMoved = term, true
	}
}
