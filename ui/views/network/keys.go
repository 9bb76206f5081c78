package network

import (
	"fmt"
	"strings"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/ui/widget"
)

func seconds(v float64) string { return figure.Seconds(units.Seconds(v)) }

// HandleKey moves the focus and the cursor, or turns the bandwidth.
func (v *View) HandleKey(in Input, w, h int, key string) (handled bool, do Request) {
	if !in.known() {
		return false, Request{}
	}
	node := in.Setup.Cluster.Node()
	row := v.planIn(&in, w, h).columns * node
	switch key {
	case "up", "k":
		v.turnFocus(&in, -1)
	case "down", "j":
		v.turnFocus(&in, 1)
	case "left", "h":
		v.rank = max(v.cursor(&in)-1, 0)
	case "right", "l":
		v.rank = min(v.cursor(&in)+1, in.Setup.GPUs-1)
	case "shift+left", "shift+up":
		v.moveInGroup(&in, -1)
	case "shift+right", "shift+down":
		v.moveInGroup(&in, 1)
	case "pgup":
		v.rank = max(v.cursor(&in)-row, 0)
	case "pgdown":
		v.rank = min(v.cursor(&in)+row, in.Setup.GPUs-1)
	case "home":
		v.rank = 0
	case "end":
		v.rank = in.Setup.GPUs - 1
	case "<":
		v.factor = max(v.factor-1, -asIs)
	case ">":
		v.factor = min(v.factor+1, steps-1-asIs)
	case "=":
		v.factor = 0
	case "enter":
		v.words = !v.words
	case "b":
		if in.Setup.Cluster.Inter.Bandwidth <= 0 {
			return true, Request{Text: "this cluster has no link between scale-up domains"}
		}
		v.other = !v.other
	default:
		return false, Request{}
	}
	return true, v.Refresh(in)
}

func (v *View) turnFocus(in *Input, by int) {
	if n := len(in.Report.Communication); n > 0 {
		v.dimension = in.Report.Communication[min(max(v.focus(in)+by, 0), n-1)].Dimension
	}
}

// moveInGroup goes to the next member of the focused group.
func (v *View) moveInGroup(in *Input, by int) {
	r := v.ring(in)
	if at, ok := r.Place(v.cursor(in)); ok {
		v.rank = r.At((at + by + r.Size) % r.Size)
	}
}

// planIn is the plan of the map as Render draws it.
func (v *View) planIn(in *Input, w, h int) plan {
	a := v.arrange(in, w, h)
	if a.left > 0 {
		w -= a.left + gutter
	}
	return v.plan(in, w, a.nodes-1)
}

// HandleMouse chooses a dimension or a GPU.
func (v *View) HandleMouse(in Input, w, h int, x, y int, button string) (handled bool, do Request) {
	if !in.known() || x < 0 || y < 0 || x >= w || y >= h {
		return false, Request{}
	}
	switch button {
	case "wheelup":
		return v.HandleKey(in, w, h, "pgup")
	case "wheeldown":
		return v.HandleKey(in, w, h, "pgdown")
	case "left":
	default:
		return false, Request{}
	}
	a := v.arrange(&in, w, h)
	if y < a.traffic {
		if y >= 1 && y <= len(in.Report.Communication) {
			v.dimension = in.Report.Communication[y-1].Dimension
			return true, v.Refresh(in)
		}
		return false, Request{}
	}
	top, from := a.traffic, 0
	if a.left > 0 {
		from = a.left + gutter
	} else {
		top += a.overlaps + a.ladder
	}
	p := v.planIn(&in, w, h)
	if rank, ok := v.at(&in, &p, x-from, y-top); ok {
		v.rank = rank
		return true, v.Refresh(in)
	}
	return false, Request{}
}

// Bindings are all keys of the screen for the help.
func (v *View) Bindings() []widget.Binding {
	return []widget.Binding{
		{Keys: []string{"up", "down", "k", "j"}, Text: "dimension above, below"},
		{Keys: []string{"left", "right", "h", "l"}, Text: "GPU before, after"},
		{Keys: []string{"shift+left", "shift+right", "shift+up", "shift+down"}, Text: "GPU before, after in its group"},
		{Keys: []string{"pgup", "pgdown"}, Text: "a row of nodes up, down"},
		{Keys: []string{"home", "end"}, Text: "first, last GPU"},
		{Keys: []string{"<", ">"}, Text: "half, twice the bandwidth in the chart"},
		{Keys: []string{"="}, Text: "bandwidth as it is"},
		{Keys: []string{"b"}, Text: "bandwidth of the other link"},
		{Keys: []string{"enter"}, Text: "the ratio in words, or not"},
	}
}

// Hints are the keys of the screen.
func (v *View) Hints(in Input) []widget.Hint {
	hints := []widget.Hint{
		{Key: "up/down", Text: "dimension"},
		{Key: "left/right", Text: "GPU"},
		{Key: "< >", Text: "bandwidth"},
		{Key: "enter", Text: "the ratio in words"},
		{Key: "shift+arrows", Text: "next of the group"},
		{Key: "pgup/pgdn", Text: "nodes"},
	}
	if in.Setup != nil && in.Setup.Cluster.Inter.Bandwidth > 0 {
		hints = append(hints, widget.Hint{Key: "b", Text: "other link"})
	}
	return append(hints, widget.Hint{Key: "=", Text: "bandwidth as it is"})
}

// ratioWords spells the ratio of the focused dimension, when it is asked for.
func (v *View) ratioWords(in *Input) string {
	if !v.words {
		return ""
	}
	for _, o := range engine.Overlaps(in.Setup, in.Report) {
		if o.Dimension == v.dim(in) {
			return fmt.Sprintf("%s %s = %s. Corrected: %s. Leaves out %s", o.ID, o.Formula, ratioText(o.Ratio), o.Erratum, o.LeavesOut)
		}
	}
	return v.dim(in) + ": no ratio for this dimension"
}

// Status explains the GPU under the cursor and its group's links, or what the
// chosen bandwidth changes.
func (v *View) Status(in Input, w int) string {
	if !in.known() {
		return ""
	}
	if text := v.ratioWords(&in); text != "" {
		return in.cut(text, w)
	}
	if text := v.change(&in); text != "" {
		return in.cut(text, w)
	}
	s, rank := in.Setup, v.cursor(&in)
	c := s.Coordinates(rank)
	text := fmt.Sprintf("GPU %s = node %s, GPU %d: %s", figure.Comma(rank), figure.Comma(rank/s.Cluster.Node()), rank%s.Cluster.Node(),
		place(&s.Layout, c))
	if r := v.ring(&in); r.Size > 1 {
		if group := ". Its " + v.dim(&in) + " group: " + in.links(v.dim(&in), r); widget.Width(text+group) <= w {
			text += group // the panel of the groups says it too
		}
	}
	return in.cut(text, w)
}

// place names every coordinate of more than one rank.
func place(l *layout.Layout, c layout.Coordinates) string {
	var parts []string
	for _, p := range []struct {
		name     string
		size, at int
	}{
		{"tp", l.TP, c.TP},
		{"cp", l.CP, c.CP},
		{"dp", l.DP, c.DP},
		{"pp", l.PP, c.PP},
		{"etp", l.ETP, c.ETP},
		{"ep", l.EP, c.EP},
	} {
		if p.size > 1 {
			parts = append(parts, fmt.Sprintf("%s %d", p.name, p.at))
		}
	}
	if len(parts) == 0 {
		return "the only rank"
	}
	return strings.Join(parts, ", ")
}

// links says over which link a group talks, and how fast.
func (in *Input) links(dimension string, r layout.Ring) string {
	if r.Size < 2 {
		return "alone"
	}
	nodes, domains := spread(in, r)
	link := in.Setup.Cluster.Intra
	where := "in one node"
	switch {
	case domains > 1:
		link, where = in.Setup.Cluster.Inter, fmt.Sprintf("on %s nodes", figure.Comma(nodes))
	case nodes > 1:
		where = fmt.Sprintf("on %d nodes of one scale-up domain", nodes)
	}
	text := fmt.Sprintf("%s GPUs %s, ", figure.Comma(r.Size), where)
	full := figure.Three(float64(link.Bandwidth)/1e9) + " GB/s " + link.Name
	g, ok := groupOf(in, dimension)
	reached := engine.Reached(in.Setup, g)
	switch {
	case !ok || reached <= 0:
		return text + full
	case domains > 1 && g.PerDomain > 1:
		return text + figure.Three(float64(reached)/1e9) + " GB/s with the links inside, of " + full
	default:
		return text + figure.Three(float64(reached)/1e9) + " of " + full
	}
}

// groupOf is a dimension's group as collectives see it; rings of messages
// between neighbours have none.
func groupOf(in *Input, dimension string) (layout.Group, bool) {
	g := in.Setup.Groups(&in.Setup.Cluster)
	switch dimension {
	case "tp":
		return g.TP, true
	case "ep":
		return g.EP, true
	case "etp":
		return g.ETP, true
	case "dp":
		return g.DenseDP, true
	case "expert-dp":
		return g.ExpertDP, true
	}
	return layout.Group{}, false
}
