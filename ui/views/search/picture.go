package search

import "meshscope/ui/widget"

// picture is what stands below or beside the table; where there is no room for
// both, in its place.
type picture uint8

// Pictures, in the order in which v goes through them.
const (
	scatterPicture picture = iota
	heatPicture
	measuredPicture
	pictures
)

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

// drawn is the picture.
func (v *View) drawn(in *Input, rows []row, w, h int) []string {
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
func (v *View) refreshPicture(in *Input) Request {
	switch v.picture {
	case heatPicture:
		return v.refreshHeat(in)
	case measuredPicture:
		return v.refreshMeasured(in)
	case scatterPicture, pictures:
	}
	return Request{}
}

// pictureKey gives a key to the picture that has the arrow keys.
func (v *View) pictureKey(key string) (bool, Request) {
	switch v.picture {
	case heatPicture:
		return v.heatKey(key)
	case measuredPicture:
		return v.measuredKey(key)
	case scatterPicture, pictures:
	}
	return false, Request{}
}

func (v *View) pictureBindings() []widget.Binding {
	what := "cell"
	if v.picture == measuredPicture {
		what = "run"
	}
	return []widget.Binding{
		{Keys: []string{"enter"}, Text: "take this " + what + " as the setup"},
		{Keys: []string{"up", "down", "k", "j"}, Text: what + " above, below"},
		{Keys: []string{"left", "right", "h", "l"}, Text: "number of nodes"},
		{Keys: []string{"home", "end", "G"}, Text: "first, last"},
	}
}

// mousePicture chooses in the picture; a second click takes.
func (v *View) mousePicture(a arrangement, y, x int, button string) (bool, Request) {
	if v.picture == scatterPicture {
		return false, Request{}
	}
	before := v.inPicture
	v.inPicture, v.inKnob = true, false
	switch button {
	case "wheelup":
		return v.pictureKey("up")
	case "wheeldown":
		return v.pictureKey("down")
	case "left":
	default:
		return false, Request{}
	}
	row, column, ok := v.pictureAt(a, y, x)
	if !ok {
		return true, Request{}
	}
	if v.picture == measuredPicture {
		if before && v.measured.row == row {
			return v.pictureKey("enter")
		}
		v.measured.row = row
		return true, Request{}
	}
	if before && v.heat.row == row && v.heat.column == column {
		return v.pictureKey("enter")
	}
	v.heat.row, v.heat.column = row, column
	return true, Request{}
}

// pictureAt is the run or the cell at a place.
func (v *View) pictureAt(a arrangement, y, x int) (row, column int, ok bool) {
	if v.picture == measuredPicture {
		const top = 3
		n := a.plotH - top
		i := y - top + page(min(v.measured.row, len(v.measured.runs)-1), n, len(v.measured.runs))
		return i, 0, y >= top && i < len(v.measured.runs)
	}
	m := &v.heat
	if len(m.nodes) == 0 {
		return 0, 0, false
	}
	each, tall := m.sizes(a.plotW, a.plotH)
	i := (y-2)/tall + page(m.row, max((a.plotH-3)/tall, 1), len(m.models))
	j := (x - heatLabel) / each
	return i, j, y >= 2 && x >= heatLabel && i < len(m.models) && j < len(m.nodes)
}
