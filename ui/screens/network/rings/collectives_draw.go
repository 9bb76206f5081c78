package rings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/ring"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// Where the chunks stand.
const (
	chunksAt   = 7
	chunkWidth = 4
	listed     = 16 // height from which the collectives are listed
	roomyWidth = 104
)

// heading names the group, what it sends and the step.
func (v *collectives) heading(in *screen.Context, g *ring.Group, c *ring.Collective) string {
	step := fmt.Sprintf("step %d of %d", v.steps.at, c.Steps())
	detail := "an example: "
	switch {
	case g.Dimension != "":
		detail = fmt.Sprintf("%s group: %s GPUs, %s of %s", g.Dimension, figure.Comma(g.Size),
			bytesOf(g.Volume), g.What)
	case v.facts.current(in) == nil:
		detail += "evaluating the groups of this setup" + in.Glyphs.Ellipsis
	default:
		detail += "this setup has no group of several GPUs"
	}
	if some := drawn(g, c); some != "" {
		detail += some
		if in.W >= roomyWidth {
			whole := *c
			whole.Ranks, whole.PerNode = g.Size, g.PerDomain
			step += fmt.Sprintf(" drawn, %s in all", figure.Comma(whole.Steps()))
		}
	}
	name := strings.ToUpper(string(c.Op))
	return in.HeadingIn(themes.Current, in.W, name, in.Cut(detail, in.W-len(name)-len(step)-6), step)
}

// name is a collective in the list: its line, its place there and its text.
type name struct {
	op       ring.Op
	line, at int
	text     string
}

// names lays the list of collectives out in lines.
func (v *collectives) names(in *screen.Context, g *ring.Group) []name {
	var out []name
	if in.H < listed { // the heading names the one that is shown
		return nil
	}
	line, at := 0, 0
	for _, op := range ring.Ops() {
		text := " " + string(op) + " "
		if op == v.chosen(g) {
			text = "[" + string(op) + "]"
		}
		if at+widget.Width(text) > in.W && at > 0 {
			line, at = line+1, 0
		}
		out = append(out, name{op, line, at, text})
		at += widget.Width(text)
	}
	return out
}

// list draws the collectives; those that the setup does in the group stand out.
func (v *collectives) list(in *screen.Context, g *ring.Group) []string {
	var lines []*widget.Line
	for _, n := range v.names(in, g) {
		if n.line == len(lines) {
			lines = append(lines, widget.NewLine(in.W))
		}
		paint := themes.Muted
		switch {
		case n.op == v.chosen(g):
			paint = themes.Current
		case slices.Contains(g.Uses, n.op):
			paint = themes.Strong
		}
		lines[n.line].To(n.at).Put(in.Paint(paint), n.text)
	}
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, l.String())
	}
	return out
}

// tableTop returns the line of the table's head.
func (v *collectives) tableTop(in *screen.Context, g *ring.Group) int {
	top := 1 + 3
	for _, n := range v.names(in, g) {
		top = max(top, 1+n.line+1+3)
	}
	return top
}

// phases draws how far the collective is: an all-reduce in two passes.
func (v *collectives) phases(in *screen.Context, c *ring.Collective) string {
	l := widget.NewLine(in.W).Gap(1)
	bar := func(label string, done, of int) {
		l.Put(in.Paint(themes.Text), fmt.Sprintf("%s %d of %d ", label, done, of))
		s := widget.Stack{
			Scale: float64(of), Plain: true,
			Segments: []widget.Segment{{Fill: themes.Gauge, Value: float64(done)}},
		}
		l.Raw(s.Render(in.Theme, in.Glyphs, 14), 14).Gap(3)
	}
	at := v.steps.at
	if c.Op == ring.AllReduce {
		pass := c.Ranks - 1
		bar(string(ring.ReduceScatter), min(at, pass), pass)
		bar("then "+string(ring.AllGather), max(at-pass, 0), pass)
	} else {
		bar("steps", at, c.Steps())
		l.Put(in.Paint(themes.Muted), in.Cut(does(c.Op), l.Left()))
	}
	return l.String()
}

// does says what a collective is for.
func does(op ring.Op) string {
	return map[ring.Op]string{
		ring.ReduceScatter: "each GPU ends with the sum of one chunk",
		ring.AllGather:     "each GPU has one chunk and ends with all",
		ring.AllToAll:      "each GPU has a part for each other one",
		ring.Broadcast:     "GPU 0 has it, and all end with it",
		ring.Reduce:        "GPU 0 ends with the sum of all",
		ring.Scatter:       "GPU 0 has all and gives each GPU one chunk",
		ring.Gather:        "each GPU has one chunk, GPU 0 ends with all",
		ring.SendRecv:      "one GPU to one other",
		ring.Barrier:       "nobody goes on before all have come",
	}[op]
}

// circle draws the ring in two rows, with the chunk that each link carries next: from left to
// right above, back below.
func (v *collectives) circle(in *screen.Context, g *ring.Group, c *ring.Collective) []string {
	carries := make([]string, c.Ranks)
	for _, s := range c.Sends(v.steps.at) {
		if s.To == (s.From+1)%c.Ranks && c.Op != ring.AllToAll {
			carries[s.From] = "c" + strconv.Itoa(s.Chunk)
		}
	}
	half := (c.Ranks + 1) / 2
	u := in.Glyphs.Unicode
	link := func(l *widget.Line, from int, left, right string) {
		v.link(in, l, c, from, carries[from], left, right)
	}
	ahead, back, down, up, downBack, upOn := "▶", "◀", "╮", "╰", "╯", "╭"
	if !u {
		ahead, back, down, up, downBack, upOn = ">", "<", ".", "'", "'", "."
	}
	top, bottom := widget.NewLine(in.W), widget.NewLine(in.W)
	node := func(l *widget.Line, from, to int) {
		n := max(c.PerNode, 1)
		text := "node " + strconv.Itoa(from/n)
		if to/n != from/n {
			text = fmt.Sprintf("nodes %d-%d", from/n, to/n)
		}
		l.Put(in.Paint(themes.Muted), text).To(10)
	}
	gpu := func(l *widget.Line, rank int) {
		paint := in.Theme.Area(hue(in.Theme, rank/max(c.PerNode, 1)))
		if rank == v.rank {
			paint = in.Paint(themes.Chosen)
		}
		l.Put(paint, " "+strconv.Itoa(member(g, c, rank))+" ")
	}
	node(top, 0, half-1)
	top.Put(in.Paint(themes.Muted), upOn+ahead)
	for rank := range half {
		gpu(top, rank)
		if rank < half-1 {
			link(top, rank, "", ahead)
		}
	}
	link(top, half-1, "", down)
	end := top.Used()
	node(bottom, half, c.Ranks-1)
	link(bottom, c.Ranks-1, up, "")
	for rank := c.Ranks - 1; rank >= half; rank-- {
		gpu(bottom, rank)
		if rank > half {
			link(bottom, rank-1, back, "")
		}
	}
	fill := map[bool]string{true: "─", false: "-"}[u]
	bottom.Put(in.Paint(themes.Muted), back+widget.Fill(fill, end-bottom.Used()-2)+downBack)
	v.speeds(in, g, c, top, bottom)
	return []string{top.String(), bottom.String()}
}

// link draws the way from a GPU to the next, with the chunk that it carries.
func (v *collectives) link(in *screen.Context, l *widget.Line, c *ring.Collective, from int, carries, left,
	right string,
) {
	slow := c.Crosses(ring.Send{From: from, To: (from + 1) % c.Ranks})
	line, paint := "─", in.Paint(themes.Muted)
	if slow {
		line, paint = "═", in.Paint(themes.Warn)
	}
	if !in.Glyphs.Unicode {
		line = map[bool]string{true: "=", false: "-"}[slow]
	}
	if carries != "" && !slow {
		paint = in.Paint(themes.Strong)
	}
	l.Put(paint, left+carries+widget.Fill(line, 2+len(strconv.Itoa(c.Ranks-1))-len(carries))+right)
}

// table draws what each GPU has of each chunk: of sums how many GPUs are in them.
func (v *collectives) table(in *screen.Context, g *ring.Group, c *ring.Collective) []string {
	muted := in.Paint(themes.Muted)
	head := widget.NewLine(in.W).Put(muted, "GPU").To(chunksAt)
	for chunk := range c.Chunks() {
		paint := muted
		if chunk == v.chunk {
			paint = in.Paint(themes.Accent)
		}
		head.Put(paint, fmt.Sprintf(" %-*s", chunkWidth-1, "c"+strconv.Itoa(chunk)))
	}
	lines := []string{head.Gap(2).Put(muted, "sends next").Right(muted, "sent", 1).String()}
	state, next, arrived := c.After(v.steps.at), c.Sends(v.steps.at), c.Sends(v.steps.at-1)
	for rank := range c.Ranks {
		l := widget.NewLine(in.W)
		paint := themes.Text
		if rank == v.rank {
			paint = themes.Accent
		}
		l.Put(in.Paint(paint), fmt.Sprintf("GPU %d", member(g, c, rank))).To(chunksAt)
		for chunk := range c.Chunks() {
			came := slices.ContainsFunc(arrived,
				func(s ring.Send) bool { return s.To == rank && s.Chunk == chunk })
			v.cell(in, l, c, state[rank][chunk], came, rank == v.rank && chunk == v.chunk)
		}
		l.To(chunksAt + chunkWidth*c.Chunks()).Gap(2)
		at := l.Used()
		if i := slices.IndexFunc(next, func(s ring.Send) bool { return s.From == rank }); i >= 0 {
			what, role := "c"+strconv.Itoa(next[i].Chunk), themes.Text
			if c.Op == ring.AllToAll {
				what = "part"
			}
			if c.Crosses(next[i]) {
				role = themes.Warn
			}
			l.Put(in.Paint(role), fmt.Sprintf("%s%s%d", what, in.Glyphs.Arrow, member(g, c, next[i].To)))
		}
		l.To(at + 11)
		v.sent(in, l, g, c, rank)
		lines = append(lines, l.String())
	}
	return lines
}

// cell draws what a GPU has of a chunk, in brackets where it has just come.
func (v *collectives) cell(in *screen.Context, l *widget.Line, c *ring.Collective, has ring.Part, came,
	here bool,
) {
	open, end := " ", " "
	if came {
		open, end = "[", "]"
	}
	if here {
		open = in.Glyphs.Pointer
	}
	sign, paint := in.Glyphs.Dot, in.Paint(themes.Faint)
	switch {
	case has.Size == 0:
	case sums(c.Op):
		sign = strconv.Itoa(has.Size)
		switch has.Size {
		case 1:
			paint = in.Paint(themes.Text)
		case c.Ranks:
			paint = in.Theme.Area(themes.Gauge)
		default:
			paint = in.Theme.Area(themes.Heat1 + themes.Fill(3*has.Size/c.Ranks))
		}
	default:
		sign, paint = in.Glyphs.Here, in.Theme.Area(themes.Gauge)
	}
	l.Put(paint, open+sign+end).Gap(chunkWidth - 2 - widget.Width(sign))
}

// sums reports whether a collective adds.
func sums(op ring.Op) bool {
	return op == ring.AllReduce || op == ring.ReduceScatter || op == ring.Reduce
}

// sent draws how much a GPU has sent, of what it sends in all. Where fewer GPUs are drawn than the group
// has, the whole is that of the group.
func (v *collectives) sent(in *screen.Context, l *widget.Line, g *ring.Group, c *ring.Collective, rank int) {
	whole := *c
	whole.Ranks = g.Size
	share := whole.Share()
	if c.Op == ring.Barrier || share <= 0 {
		return
	}
	sent := share * float64(c.Sent(rank, v.steps.at)) / float64(c.Chunks()) / c.Share()
	text := fmt.Sprintf("%s of the data", figure.Percent(sent))
	switch {
	case hidden(in, g):
		text = "?"
	case g.Volume > 0:
		text = figure.Traffic(units.Bytes(sent) * g.Volume)
	}
	if room := l.Left() - 12; room > 3 {
		bar := widget.Stack{
			Scale: share, Plain: true,
			Segments: []widget.Segment{{Fill: themes.Gauge, Value: sent}},
		}
		l.Raw(bar.Render(in.Theme, in.Glyphs, room), room)
	}
	l.Right(in.Paint(themes.Text), text, 1)
}

// words says how to read the picture, what each GPU sends, what one ring takes, and what the engine makes
// of it, in h lines: where these are few, the formula of what is sent stays away, which the table shows.
func (v *collectives) words(in *screen.Context, g *ring.Group, c *ring.Collective, h int) []string {
	read := "Number: GPUs in the sum; [ ] has just come; = leaves the node."
	if !sums(c.Op) {
		read = in.Glyphs.Here + " is there; [ ] has just come; = leaves the node."
	}
	if in.Glyphs.Unicode {
		read = strings.ReplaceAll(read, "=", "═")
	}
	if hidden(in, g) {
		return []string{read}
	}
	whole := *c
	whole.Ranks, whole.PerNode = g.Size, g.PerDomain
	out := append([]string{sends(g, &whole)}, v.times(in, g, &whole)...)
	if len(out) > 1 && len(out) >= h {
		out = out[1:]
	}
	return append(out, read)
}

// times says what one ring takes, and what the engine predicts, of a group that sends something.
func (v *collectives) times(in *screen.Context, g *ring.Group, c *ring.Collective) []string {
	near, slow := g.Links(c.Op)
	t := c.Seconds(g.Volume, near, slow)
	if t <= 0 {
		return nil
	}
	far := c.Ranks > c.PerNode
	kind := "one ring"
	if c.Op == ring.AllToAll {
		kind = "step by step"
	}
	one := fmt.Sprintf(": %s %s %s = %s", figure.Plural(c.Steps(), "step"), in.Glyphs.Times,
		figure.Seconds(t/units.Seconds(c.Steps())), figure.Seconds(t))
	model, ok := g.Models(c.Op)
	if !ok {
		return []string{kind + one}
	}
	switch predicted := "predicted " + figure.Seconds(model); {
	case !far || c.PerNode <= 1 || c.Op == ring.SendRecv:
		return []string{kind + one + "; " + predicted}
	case c.Op == ring.AllToAll:
		return []string{kind + one + "; " + predicted + ": both links at once"}
	default: // one ring uses the network link of one GPU of each node
		rings := fmt.Sprintf("%s: %d rings at once", predicted, c.PerNode)
		if in.W >= roomyWidth {
			rings += ", one over the link of each GPU"
		}
		return []string{rings + "; a single one" + one}
	}
}

// sends says how much each GPU sends in a collective.
func sends(g *ring.Group, c *ring.Collective) string {
	data, total := "the data", ""
	if g.Volume > 0 {
		data, total = figure.Traffic(g.Volume), " = "+figure.Traffic(units.Bytes(c.Share())*g.Volume)
	}
	text := map[ring.Op]string{
		ring.AllReduce:     "2 passes of n-1 chunks, each 1/n: 2 x {share} x {data}{=} a GPU",
		ring.ReduceScatter: "n-1 chunks, each 1/n: {share} x {data}{=} a GPU, half an all-reduce",
		ring.AllGather: "n-1 chunks, each 1/n: {share} x {data}{=} a GPU, the other half of an " +
			"all-reduce",
		ring.AllToAll:  "n-1 parts, each 1/n: {share} x {data}{=} a GPU; in step k to k places on",
		ring.Broadcast: "{data} by each GPU but the last, chunk behind chunk",
		ring.Reduce:    "{data} by each GPU but the root; each adds its own",
		ring.Scatter:   "{share} x {data}{=} by GPU 0, the farthest chunk first; less by the others",
		ring.Gather:    "{share} x {data}{=} by the last GPU, less by those before",
		ring.SendRecv:  "{data}, as between pipeline stages and in ring attention",
		ring.Barrier:   "no data, only who has come; PyTorch runs an all-reduce of one number",
	}[c.Op]
	n := c.Ranks
	return "sent: " + strings.NewReplacer("{share}", figure.Comma(n-1)+"/"+figure.Comma(n), "{data}", data,
		"{=}", total).Replace(text)
}
