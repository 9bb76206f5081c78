package search

import (
	"slices"

	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// picture is what stands below or next to the table; where there is no room for
// both, in its place.
type picture uint8

// Pictures, in the order in which v goes through them.
const (
	scatterPicture picture = iota
	heatPicture
	measuredPicture
	pictures
)

// pictureNames returns the names that show the pictures.
func pictureNames() []string { return []string{"scatter", "sizes", "measured"} }

// Show goes to a picture by its name, to the steps of "guide", or to the table.
func (v *View) Show(pane string) {
	v.guide.open, v.inKnob = pane == "guide", false
	at := slices.Index(pictureNames(), pane)
	v.picture, v.inPicture = picture(max(at, 0)), at >= 0
}

// Pane returns the name that shows what has the keys; empty: the table.
func (v *View) Pane() string {
	switch {
	case v.guide.open:
		return "guide"
	case v.inPicture:
		return pictureNames()[v.picture]
	}
	return ""
}

// nextPicture shows another picture and gives it the arrow keys where it has a
// use for them. On a small screen the table is one of the round.
func (v *View) nextPicture(small bool) {
	switch {
	case small && !v.inPicture:
		v.inPicture, v.picture = true, scatterPicture
	case v.picture+1 < pictures:
		v.picture++
		v.inPicture = true
	default:
		v.picture, v.inPicture = scatterPicture, false
	}
	v.inKnob = false
}

// drawn returns the picture.
func (v *View) drawn(in *screen.Context, rows []row, w, h int) []string {
	switch v.picture {
	case heatPicture:
		return v.heatMap(in, w, h)
	case measuredPicture:
		return v.measuredTable(in, w, h)
	case scatterPicture, pictures:
	}
	return v.scatter(in, rows, w, h)
}

// refreshPicture asks for what the picture in front lacks.
func (v *View) refreshPicture(in *screen.Context) screen.Request {
	switch v.picture {
	case heatPicture:
		return v.refreshHeat(in)
	case measuredPicture:
		return v.refreshMeasured(in)
	case scatterPicture, pictures:
	}
	return screen.Request{}
}

// pictureKeys move in the picture and take the item under the cursor.
func (v *View) pictureKeys(in *screen.Context) []screen.Key {
	what := "cell"
	if v.picture == measuredPicture {
		what = "run"
	}
	return []screen.Key{
		{
			Keys: "enter", Help: "take this " + what + " as the setup", Hint: "take it",
			Ask: func() screen.Request { return v.takePicture(in) },
		},
		{
			ID: "picture-up picture-down", Keys: "up k | down j", Help: what + " above, below",
			Foot: "arrows",
			Hint: "move", Do: v.movePicture,
		},
		{
			ID: "measured-cells", Keys: "b", Help: "model sizes by nodes: found by search, or measured",
			Hint: "measured", When: func() bool { return v.picture == heatPicture }, Do: func(int) {
				v.heat.measured = !v.heat.measured
			},
		},
		{ID: "nodes-before nodes-after", Keys: "left h | right l", Help: "number of nodes", Do: v.moveNodes},
		{ID: "picture-first picture-last", Keys: "home | end G", Help: "first, last", Do: func(n int) {
			if v.picture == measuredPicture {
				v.movePicture(n << 20)
			} else {
				v.moveNodes(n << 20)
			}
		}},
	}
}

// takePicture takes the cell or the run under the cursor.
func (v *View) takePicture(in *screen.Context) screen.Request {
	v.entry = entry{}
	if v.picture == measuredPicture {
		return v.takeRun()
	}
	return v.takeCell(in)
}

// movePicture goes n cells or runs down.
func (v *View) movePicture(n int) {
	if m := &v.measured; v.picture == measuredPicture {
		m.row = widget.Step(m.row, n, len(m.runs))
		return
	}
	m := &v.heat
	m.row = widget.Step(m.row, n, len(m.models))
}

// moveNodes goes n numbers of nodes to the right; runs have their own.
func (v *View) moveNodes(n int) {
	if m := &v.heat; v.picture == heatPicture {
		m.column = widget.Step(m.column, n, len(m.nodes))
	}
}

// mousePicture chooses in the picture; a second click takes.
func (v *View) mousePicture(in *screen.Context, a arrangement, y, x int, button string) (bool,
	screen.Request,
) {
	if v.picture == scatterPicture {
		return false, screen.Request{}
	}
	before := v.inPicture
	v.inPicture, v.inKnob = true, false
	if by := screen.Wheel(button); by != 0 {
		v.movePicture(by)
		return true, screen.Request{}
	} else if button != "left" {
		return false, screen.Request{}
	}
	row, column, ok := v.pictureAt(a, y, x)
	if !ok {
		return true, screen.Request{}
	}
	if v.picture == measuredPicture {
		if before && v.measured.row == row {
			return true, v.takePicture(in)
		}
		v.measured.row = row
		return true, screen.Request{}
	}
	if before && v.heat.row == row && v.heat.column == column {
		return true, v.takePicture(in)
	}
	v.heat.row, v.heat.column = row, column
	return true, screen.Request{}
}

// pictureAt returns the run or the cell at a place.
func (v *View) pictureAt(a arrangement, y, x int) (row, column int, ok bool) {
	if v.picture == measuredPicture {
		const top = 3
		n := a.plotH - top
		i := y - top + widget.Page(min(v.measured.row, len(v.measured.runs)-1), n, len(v.measured.runs))
		return i, 0, y >= top && i < len(v.measured.runs)
	}
	m := &v.heat
	if len(m.nodes) == 0 {
		return 0, 0, false
	}
	each, tall := m.sizes(a.plotW, a.plotH)
	i := (y-2)/tall + widget.Page(m.row, max((a.plotH-3)/tall, 1), len(m.models))
	j := (x - heatLabel) / each
	return i, j, y >= 2 && x >= heatLabel && i < len(m.models) && j < len(m.nodes)
}
