package network

import (
	"fmt"
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/overlap"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

func seconds(v float64) string { return figure.Seconds(units.Seconds(v)) }

// Name returns the name of the pane.
func (*overview) Name() string { return "overview" }

// Keys returns the key table.
func (v *overview) Keys(in *screen.Context) []screen.Key {
	if in != nil && !known(in) {
		return nil
	}
	linked := in != nil && in.Setup.Cluster.Inter.Bandwidth > 0
	other := "other link"
	if !linked {
		other = ""
	}
	return []screen.Key{
		{
			ID: "dimension-up dimension-down", Keys: "up k | down j", Help: "dimension above, below",
			Hint: "dimension", Do: func(n int) { v.turnFocus(in, n) },
		},
		{
			ID: "gpu-before gpu-after", Keys: "left h | right l", Help: "GPU before, after", Hint: "GPU",
			Do: func(n int) { v.moveRank(in, n) },
		},
		{
			ID: "less-bandwidth more-bandwidth", Keys: "< | >",
			Help: "half, twice the bandwidth in the chart",
			Foot: "< >", Hint: "bandwidth", Do: v.turnFactor,
		},
		{
			Keys: "enter", Help: "explain the ratio, or not", Hint: "explain the ratio",
			Do: func(int) { v.words = !v.words },
		},
		{
			ID: "group-before group-after", Keys: "shift+left shift+up | shift+right shift+down",
			Help: "GPU before, after in its group", Foot: "shift+arrows", Hint: "next of the group",
			Do: func(n int) { v.moveInGroup(in, n) },
		},
		{
			ID: "nodes-up nodes-down", Keys: "pgup | pgdown", Help: "a row of nodes up, down",
			Foot: "pgup/pgdn",
			Hint: "nodes", Do: func(n int) { v.page(in, n) },
		},
		{
			ID: "first last", Keys: "home | end", Help: "first, last GPU",
			Do: func(n int) { v.moveRank(in, n*in.Setup.GPUs) },
		},
		{
			ID: "other-link", Keys: "b", Help: "bandwidth of the other link", Hint: other,
			Ask: func() screen.Request {
				if !linked {
					return screen.Request{Text: "this cluster has no link between scale-up domains"}
				}
				v.other = !v.other
				return screen.Request{}
			},
		},
		{
			ID: "as-it-is", Keys: "=", Help: "actual bandwidth", Hint: "actual bandwidth",
			Do: func(int) { v.factor = 0 },
		},
	}
}

// moveRank moves the cursor by n GPUs.
func (v *overview) moveRank(in *screen.Context, n int) {
	v.rank = widget.Step(v.cursor(in), n, in.Setup.GPUs)
}

// page moves the cursor by n rows of nodes.
func (v *overview) page(in *screen.Context, n int) {
	v.moveRank(in, n*v.planIn(in, in.W, in.H).columns*in.Setup.Cluster.Node())
}

// turnFactor goes n places on the ladder of bandwidths.
func (v *overview) turnFactor(n int) { v.factor = min(max(v.factor+n, -asIs), steps-1-asIs) }

func (v *overview) turnFocus(in *screen.Context, by int) {
	if n := len(in.Report.Communication); n > 0 {
		v.dimension = in.Report.Communication[widget.Step(v.focus(in), by, n)].Dimension
	}
}

// moveInGroup goes to the next member of the focused group.
func (v *overview) moveInGroup(in *screen.Context, by int) {
	r := v.ring(in)
	if at, ok := r.Place(v.cursor(in)); ok {
		v.rank = r.At((at + by + r.Size) % r.Size)
	}
}

// planIn returns the plan of the map as Render draws it.
func (v *overview) planIn(in *screen.Context, w, h int) plan {
	a := v.arrange(in, w, h)
	if a.left > 0 {
		w -= a.left + gutter
	}
	return v.plan(in, w, a.nodes-1)
}

// Mouse chooses a dimension or a GPU.
func (v *overview) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	w, h := in.W, in.H
	if !known(in) || x < 0 || y < 0 || x >= w || y >= h {
		return false, screen.Request{}
	}
	switch button {
	case "wheelup", "wheeldown":
		by := 1
		if button == "wheelup" {
			by = -1
		}
		v.page(in, by)
		return true, v.Refresh(in)
	case "left":
	default:
		return false, screen.Request{}
	}
	a := v.arrange(in, w, h)
	if y -= a.waits; y < a.traffic {
		t := v.trafficTable(in)
		hit, _ := t.Point(len(in.Report.Communication), -1, y, a.traffic)
		if !hit {
			return false, screen.Request{}
		}
		v.dimension = in.Report.Communication[t.Row].Dimension
		return true, v.Refresh(in)
	}
	top, from := a.traffic, 0
	if a.left > 0 {
		from = a.left + gutter
	} else {
		top += a.overlaps + a.ladder
	}
	p := v.planIn(in, w, h)
	if rank, ok := v.at(in, &p, x-from, y-top); ok {
		v.rank = rank
		return true, v.Refresh(in)
	}
	return false, screen.Request{}
}

// ratioWords spells the ratio of the focused dimension, when it is asked for.
func (v *overview) ratioWords(in *screen.Context) string {
	if !v.words {
		return ""
	}
	for _, o := range overlap.Ratios(in.Setup, in.Report) {
		if o.Dimension == v.dim(in) {
			return fmt.Sprintf("%s %s = %s. Corrected: %s. Leaves out %s", o.ID, o.Formula,
				ratioText(o.Ratio), o.Erratum, o.LeavesOut)
		}
	}
	return v.dim(in) + ": no ratio for this dimension"
}

// Status explains the GPU under the cursor and its group's links, or what the
// chosen bandwidth changes.
func (v *overview) Status(in *screen.Context) string {
	w := in.W
	if !known(in) {
		return ""
	}
	if text := v.ratioWords(in); text != "" {
		return in.Cut(text, w)
	}
	if text := v.change(in); text != "" {
		return in.Cut(text, w)
	}
	s, rank := in.Setup, v.cursor(in)
	c := s.Coordinates(rank)
	text := fmt.Sprintf("GPU %s = node %s, GPU %d: %s", figure.Comma(rank),
		figure.Comma(rank/s.Cluster.Node()), rank%s.Cluster.Node(),
		place(&s.Layout, c))
	if r := v.ring(in); r.Size > 1 {
		if group := ". Its " + v.dim(in) + " group: " + links(in, v.dim(in),
			r); widget.Width(text+group) <= w {
			text += group // the panel of the groups says it too
		}
	}
	return in.Cut(text, w)
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
func links(in *screen.Context, dimension string, r layout.Ring) string {
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
	reached := overlap.Reached(in.Setup, g)
	switch {
	case !ok || reached <= 0:
		return text + full
	case domains > 1 && g.PerDomain > 1:
		return text + figure.Three(float64(reached)/1e9) + " GB/s with the links inside, " + full + " alone"
	default:
		return text + figure.Three(float64(reached)/1e9) + " of " + full
	}
}

// groupOf returns a dimension's group as collectives see it; rings of messages
// between neighbours have none.
func groupOf(in *screen.Context, dimension string) (layout.Group, bool) {
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
