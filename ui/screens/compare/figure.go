package compare

import (
	"strconv"

	"meshscope/engine"
	"meshscope/engine/figures"
	"meshscope/engine/knob"
	"meshscope/ui/screen"
)

// Figure returns the figure in the line under the cursor, as the report names it.
func (v *View) Figure(in *screen.Context) string {
	switch v.pane {
	case alonePane:
		return "time.step"
	case methodsPane:
		return v.methodFigure(in)
	case pairPane, panes:
	}
	if v.pair == nil {
		return ""
	}
	if v.row < len(v.pair.way) {
		return "time.step"
	}
	if d := v.termUnder(); d != nil {
		return d.ID
	}
	return ""
}

// methodFigure returns the traffic of a method where it has any, else what it is there for.
func (v *View) methodFigure(in *screen.Context) string {
	list := methodRows()
	if v.row >= len(list) || in.Report == nil {
		return ""
	}
	row := &list[v.row]
	for _, dimension := range row.dimension {
		for i := range in.Report.Communication {
			if in.Report.Communication[i].Dimension == dimension {
				return "communication." + dimension + ".bytes"
			}
		}
	}
	switch row.note {
	case knob.ZeRO:
		return figures.FullestRank + "optimizer"
	case knob.Recompute:
		return "time.recompute"
	default:
	}
	return figures.FullestRank + "activations"
}

// SetupAtCursor returns the setup of the line under the cursor: on the way from A to B the one
// after that change, of a figure B, of a method alone its own; nil where that is the
// current setup.
func (v *View) SetupAtCursor(in *screen.Context) (*engine.Setup, string) {
	switch v.pane {
	case alonePane:
		if v.row < len(v.alone.list) && v.alone.list[v.row].Report.Legal {
			s := v.alone.list[v.row].Setup
			return &s, v.alone.list[v.row].Name + " alone"
		}
		return nil, ""
	case methodsPane:
		return nil, ""
	case pairPane, panes:
	}
	want, ok := v.sides(in)
	if !ok || v.pair == nil || v.pair.of != want {
		return nil, ""
	}
	if v.row < len(v.pair.way)-1 {
		m := &v.pair.way[v.row]
		return &m.Setup, "the setup after " + moveWords(in, m)
	}
	if v.against(in) {
		return &want.b, "B, " + v.rival.name
	}
	if v.b >= 0 {
		return &want.b, "B, pin " + strconv.Itoa(v.b+1)
	}
	return nil, ""
}
