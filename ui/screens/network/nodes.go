package network

import (
	"fmt"
	"strconv"
	"strings"

	"meshscope/engine/layout"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// plan is how the map of ranks is laid out: nodes next to and below each other,
// each of them a few lines of cells.
type plan struct {
	full    bool // cells give every coordinate, not only the focused one
	cell    int  // width of a cell, its brackets included
	label   int  // width of a node's number
	across  int  // GPUs in one line of a node
	lines   int  // lines of a node
	columns int  // nodes next to each other
	rows    int  // rows of nodes that are shown
	list    []span
	first   int // first of them that is shown
	width   int // of one node, with the gap behind it
}

// places is how many nodes or spans of nodes are shown.
func (p *plan) places() int { return min(p.rows*p.columns, len(p.list)-p.first) }

// whole reports whether every node is shown.
func (p *plan) whole() bool { return p.places() == len(p.list) }

// nodes draws the map of the ranks: a row per node, a cell per GPU, the focused
// group of the GPU under the cursor in brackets.
func (v *overview) nodes(in *screen.Context, w, h int) []string {
	if h <= 0 {
		return nil
	}
	p := v.plan(in, w, h-1)
	if h <= p.lines { // no room for a node: its groups alone
		return widget.Height(v.groupLines(in, w, h), w, h)
	}
	lines := []string{v.nodesHeading(in, &p, w)}
	for row := 0; row < p.rows; row++ {
		for part := range p.lines {
			l := widget.NewLine(w)
			for c := range p.columns {
				at := row*p.columns + c
				if at >= p.places() {
					break
				}
				l.To(c * p.width)
				v.nodeLine(in, &p, l, p.list[p.first+at], part)
			}
			lines = append(lines, l.String())
		}
	}
	return widget.Height(append(lines, v.groupLines(in, w, h-len(lines))...), w, h)
}

// groupLines say over which links each group of the GPU under the cursor talks,
// as far as there is room below the map.
func (v *overview) groupLines(in *screen.Context, w, h int) []string {
	list := in.Report.Communication
	if h < 1 || len(list) == 0 {
		return nil
	}
	var lines []string
	if h > len(list)+1 {
		lines = append(lines, widget.Blank(w), in.Heading(w, "ITS GROUPS", "GPU "+figure.Comma(v.cursor(in)),
			""))
	}
	names := 0
	for i := range list {
		names = max(names, widget.Width(list[i].Dimension))
	}
	for i := range list {
		name := list[i].Dimension
		r := in.Setup.Ring(name, v.cursor(in))
		l := widget.NewLine(w).Gap(2)
		paint := themes.Strong
		if name == v.dim(in) {
			paint = themes.Accent
		}
		l.Put(in.Paint(paint), strings.ToUpper(name))
		words := widget.Wrap(links(in, name, r), w-4-names)
		if len(lines)+len(list)-i+len(words)-1 > h { // the others need the room
			words = []string{in.Cut(links(in, name, r), w-4-names)}
		}
		for _, text := range words {
			lines = append(lines, l.To(4+names).Put(in.Paint(themes.Muted), text).String())
			l = widget.NewLine(w)
		}
	}
	return lines
}

// plan chooses the fullest cells with which everything fits, else those with
// which one node fits a line.
func (v *overview) plan(in *screen.Context, w, h int) plan {
	brief, full := v.planOf(in, w, h, false), v.planOf(in, w, h, true)
	if full.whole() || !brief.whole() && full.lines == 1 {
		return full
	}
	return brief
}

func (v *overview) planOf(in *screen.Context, w, h int, full bool) plan {
	s := in.Setup
	gpus, total := min(s.Cluster.Node(), s.GPUs), s.Nodes()
	p := plan{full: full, cell: v.cellWidth(in, full) + 2}
	if full {
		p.list = apart(total)
	} else {
		p.list = v.spans(s, v.dim(in), v.cursor(in))
	}
	for _, one := range p.list {
		p.label = max(p.label, len(one.name())+1)
	}
	p.across = min(gpus, max((w-p.label)/p.cell, 1))
	p.lines = (gpus + p.across - 1) / p.across
	p.across = (gpus + p.lines - 1) / p.lines // 4 and 4, not 5 and 3
	p.width = p.label + p.across*p.cell + 2
	p.columns = 1
	if p.lines == 1 {
		p.columns = min(max((w+2)/p.width, 1), len(p.list))
	}
	p.rows = min(max(h/p.lines, 1), (len(p.list)+p.columns-1)/p.columns)
	// Pages stand still while the cursor moves within one.
	page := p.rows * p.columns
	p.first = slot(p.list, v.cursor(in)/max(s.Cluster.Node(), 1)) / page * page
	return p
}

// dims returns the coordinates that a full cell gives: those of more than one rank.
func dims(l *layout.Layout, c layout.Coordinates) string {
	var b strings.Builder
	put := func(letter string, size, at int) {
		if size > 1 {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%s%-*d", letter, len(strconv.Itoa(size-1)), at)
		}
	}
	put("t", l.TP, c.TP)
	put("c", l.CP, c.CP)
	put("d", l.DP, c.DP)
	put("p", l.PP, c.PP)
	put("x", l.ETP, c.ETP)
	put("e", l.EP, c.EP)
	return b.String()
}

func (v *overview) cellWidth(in *screen.Context, full bool) int {
	l := &in.Setup.Layout
	if full {
		return max(1, widget.Width(dims(l, l.Coordinates(0))))
	}
	return len(strconv.Itoa(max(v.ring(in).Size-1, 0)))
}

// name returns what a place of the map is called.
func (s span) name() string {
	if s.first == s.last {
		return "node " + strconv.Itoa(s.first)
	}
	return "nodes " + strconv.Itoa(s.first) + "-" + strconv.Itoa(s.last)
}

// nodeLine draws a line of a node, or of the first of those that are alike.
func (v *overview) nodeLine(in *screen.Context, p *plan, l *widget.Line, of span, part int) {
	s, node := in.Setup, of.first
	at := l.Used()
	if part == 0 {
		l.Put(in.Paint(themes.Muted), of.name())
	}
	l.To(at + p.label)
	ring, cursor := v.ring(in), v.cursor(in)
	for gpu := part * p.across; gpu < min((part+1)*p.across, s.Cluster.Node()); gpu++ {
		rank := node*s.Cluster.Node() + gpu
		if rank >= s.GPUs {
			return
		}
		text, paint, open, end := v.cellText(in, p, rank), in.Paint(themes.Muted), " ", " "
		_, member := ring.Place(rank)
		switch {
		case rank == cursor:
			paint, open, end = in.Paint(themes.Current), in.Glyphs.Pointer, "]"
		case member && ring.Size > 1:
			paint, open, end = in.Theme.Area(themes.Forward), "[", "]"
		}
		l.Put(paint, open+text+end)
	}
}

func (v *overview) cellText(in *screen.Context, p *plan, rank int) string {
	l := &in.Setup.Layout
	width := p.cell - 2
	text := dims(l, l.Coordinates(rank))
	if !p.full {
		r := l.Ring(v.dim(in), rank)
		place, _ := r.Place(rank)
		text = strconv.Itoa(place)
		return widget.Blank(width-len(text)) + text
	}
	return text + widget.Blank(width-widget.Width(text))
}

func (v *overview) nodesHeading(in *screen.Context, p *plan, w int) string {
	s := in.Setup
	remark := ""
	if !p.whole() {
		remark = fmt.Sprintf("nodes %d-%d of %s", p.list[p.first].first, p.list[p.first+p.places()-1].last,
			figure.Comma(s.Nodes()))
	}
	name := "RANKS ON NODES"
	detail := ""
	if r := v.ring(in); r.Size > 1 {
		detail = fmt.Sprintf("%s of %s", figure.Plural(s.GPUs/r.Size, v.dim(in)+" group"),
			figure.Comma(r.Size))
		if !p.full {
			detail += ", cells give the rank in its group"
		}
	}
	if widget.Width(name+detail+remark)+4 > w {
		detail = ""
	}
	return in.Heading(w, name, detail, remark)
}

// spread returns over how many nodes and scale-up domains a group stands.
func spread(in *screen.Context, r layout.Ring) (nodes, domains int) {
	lastNode, lastDomain := -1, -1
	for i := range r.Size {
		rank := r.At(i)
		if n := rank / in.Setup.Cluster.Node(); n != lastNode {
			nodes, lastNode = nodes+1, n
		}
		if d := rank / in.Setup.Domain(&in.Setup.Cluster); d != lastDomain {
			domains, lastDomain = domains+1, d
		}
	}
	return nodes, domains
}

// at finds the rank drawn at a cell of the map, whose heading is line 0.
func (v *overview) at(in *screen.Context, p *plan, x, y int) (int, bool) {
	y--
	if y < 0 || x < 0 || y >= p.rows*p.lines {
		return 0, false
	}
	column := min(x/p.width, p.columns-1)
	inside := x - column*p.width - p.label
	place := y/p.lines*p.columns + column
	if inside < 0 || inside >= p.across*p.cell || place >= p.places() {
		return 0, false
	}
	node := p.list[p.first+place].first
	gpu := y%p.lines*p.across + inside/p.cell
	rank := node*in.Setup.Cluster.Node() + gpu
	return rank, gpu < in.Setup.Cluster.Node() && rank < in.Setup.GPUs
}
