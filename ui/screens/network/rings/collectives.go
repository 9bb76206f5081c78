package rings

import (
	"cmp"
	"fmt"
	"slices"

	"meshscope/engine/ring"
	"meshscope/engine/units"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// collectives is the pane of the collectives on a ring, for a group of the setup.
type collectives struct {
	facts     *facts
	steps     player
	op        ring.Op // empty: the first
	dimension string  // of the group, as in the report; empty or absent: the one that crosses the network
	rank      int     // under the cursor
	chunk     int     // under the cursor
	most      int     // GPUs that the last picture had room for
}

// Copy returns the pane with its cursor, at rest.
func (v *collectives) Copy() screen.Screen {
	c := *v
	c.facts, c.steps.playing = v.facts.copied(), false
	return &c
}

// Name returns the name of the pane.
func (*collectives) Name() string { return "collectives" }

// Show goes to the group of that dimension, with what the setup does in it; empty: the one that crosses the
// network.
func (v *collectives) Show(dimension string) {
	if dimension != v.dimension {
		v.op, v.steps = "", player{}
	}
	v.dimension = dimension
}

// chosen returns the collective that is shown: of a group that was asked for the first that the setup does
// there, until another is chosen.
func (v *collectives) chosen(g *ring.Group) ring.Op {
	if v.op == "" && v.dimension != "" && len(g.Uses) > 0 {
		return g.Uses[0]
	}
	return cmp.Or(v.op, ring.Ops()[0])
}

// group returns the group of the setup whose size and links are shown: the chosen one, else the
// first that leaves the node. A setup that sends nothing has an example of two nodes without
// sizes.
func (v *collectives) group(in *screen.Context) *ring.Group {
	f := v.facts.current(in)
	if f == nil || len(f.Groups) == 0 {
		return &ring.Group{Size: 8, PerDomain: 4}
	}
	var best *ring.Group
	for i := range f.Groups {
		g := &f.Groups[i]
		if g.Dimension == v.dimension {
			return g
		}
		if best == nil || best.Size <= best.PerDomain && g.Size > g.PerDomain &&
			!slices.Equal(g.Uses, []ring.Op{ring.SendRecv}) {
			best = g
		}
	}
	return best
}

// mostRanks is how many GPUs of a ring are drawn at most.
const mostRanks = 16

// room returns how many GPUs have room: in addition to them there are lines of words, and where the height
// allows more of these and the list of collectives.
func room(h int) int {
	other := 7
	if h >= listed {
		other = 10
	}
	return min((h-other)/2*2, mostRanks)
}

// example returns the ring that is drawn: the group, or where it is too large some of its nodes, of which two
// have as many GPUs as there is room for where they do not have it whole.
func (v *collectives) example(g *ring.Group) ring.Collective {
	most := max(v.most, fewRanks)
	c := ring.Collective{Op: v.chosen(g), Ranks: g.Size, PerNode: g.PerDomain}
	switch node := max(g.PerDomain, 1); {
	case g.Size <= most:
	case node >= g.Size:
		c.Ranks, c.PerNode = most, most
	case node <= most/2:
		c.Ranks = most / node * node
	default:
		c.PerNode = most / 2
		c.Ranks = 2 * c.PerNode
	}
	v.steps.until(c.Steps())
	v.rank, v.chunk = min(max(v.rank, 0), c.Ranks-1), min(max(v.chunk, 0), c.Chunks()-1)
	return c
}

// member returns the number in its group of a GPU that is drawn.
func member(g *ring.Group, c *ring.Collective, rank int) int {
	if c.PerNode >= g.PerDomain || c.PerNode < 1 {
		return rank
	}
	return rank/c.PerNode*g.PerDomain + rank%c.PerNode
}

// drawn says which GPUs of a group are drawn; empty: all.
func drawn(g *ring.Group, c *ring.Collective) string {
	switch {
	case c.Ranks >= g.Size:
		return ""
	case c.PerNode < g.PerDomain && g.PerDomain < g.Size:
		return fmt.Sprintf("; %d drawn, %d of %d a node", c.Ranks, c.PerNode, g.PerDomain)
	}
	return fmt.Sprintf("; %d drawn", c.Ranks)
}

// Keys returns the key table.
func (v *collectives) Keys(in *screen.Context) []screen.Key {
	if in != nil {
		if !known(in) {
			return nil
		}
		v.example(v.group(in))
	}
	return append(v.steps.keys(in),
		screen.Key{
			ID: "collective-before collective-after", Keys: "N | n", Help: "collective before, after",
			Foot: "n", Hint: "next collective", Do: func(n int) { v.turnOp(in, n) },
		},
		screen.Key{
			ID: "group-kind-before group-kind-after", Keys: "D | d",
			Help: "group before, after: tp, dp, ...", Foot: "d", Hint: "group",
			Do: func(n int) { v.turnGroup(in, n) },
		},
		screen.Key{
			ID: "row-up row-down", Keys: "up k | down j", Help: "GPU above, below", Foot: "↑↓",
			Hint: "GPU", Do: func(n int) { v.rank += n },
		},
		screen.Key{
			ID: "column-before column-after", Keys: "shift+left H | shift+right L",
			Help: "chunk before, after", Foot: "shift+arrows", Hint: "chunk",
			Do: func(n int) { v.chunk += n },
		},
	)
}

// turnOp goes n collectives on, to its start.
func (v *collectives) turnOp(in *screen.Context, n int) {
	all := ring.Ops()
	v.op = all[(slices.Index(all, v.chosen(v.group(in)))+n+len(all))%len(all)]
	v.steps = player{}
}

// turnGroup goes n groups on.
func (v *collectives) turnGroup(in *screen.Context, n int) {
	f := v.facts.current(in)
	if f == nil || len(f.Groups) == 0 {
		return
	}
	at := slices.IndexFunc(f.Groups, func(g ring.Group) bool { return g.Dimension == v.group(in).Dimension })
	v.dimension = f.Groups[(at+n+len(f.Groups))%len(f.Groups)].Dimension
	v.steps = player{}
}

// Mouse chooses a collective, or a chunk on a GPU.
func (v *collectives) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	if !known(in) || button != "left" {
		return false, screen.Request{}
	}
	for _, n := range v.names(in, v.group(in)) {
		if n.line == y-1 && x >= n.at && x < n.at+widget.Width(n.text) {
			v.op, v.steps = n.op, player{}
			return true, screen.Request{}
		}
	}
	c := v.example(v.group(in))
	rank, chunk := y-v.tableTop(in, v.group(in))-1, (x-chunksAt)/chunkWidth
	if rank < 0 || rank >= c.Ranks || x < chunksAt || chunk >= c.Chunks() {
		return false, screen.Request{}
	}
	v.rank, v.chunk = rank, chunk
	return true, screen.Request{}
}

// Status explains the chunk under the cursor.
func (v *collectives) Status(in *screen.Context) string {
	if !known(in) {
		return ""
	}
	g := v.group(in)
	c := v.example(g)
	return in.Cut(v.explain(g, &c), in.W)
}

// explain says what the GPU under the cursor has of the chunk under it, and what comes next.
func (v *collectives) explain(g *ring.Group, c *ring.Collective) string {
	gpu := func(rank int) int { return member(g, c, rank) }
	has := c.After(v.steps.at)[v.rank][v.chunk]
	text := fmt.Sprintf("GPU %d, c%d: ", gpu(v.rank), v.chunk)
	last := (has.First + has.Size - 1) % c.Ranks
	switch {
	case has.Size == 0:
		text += "not here yet"
		if c.Wanted(v.rank, v.chunk).Size == 0 {
			text += ", and not wanted here"
		}
	case c.Op == ring.Barrier:
		text += fmt.Sprintf("knows that GPU %d has come", gpu(has.First))
	case c.Op == ring.AllToAll:
		text += fmt.Sprintf("the part that GPU %d has for GPU %d", gpu(has.First), gpu(v.rank))
	case has.Size == c.Ranks:
		text += fmt.Sprintf("the sum of all %d GPUs", c.Ranks)
		if c.Ranks < g.Size {
			text += " that are drawn"
		}
	case has.Size > 1:
		text += fmt.Sprintf("the sum of %d GPUs, %d to %d", has.Size, gpu(has.First), gpu(last))
	case has.First == v.rank:
		text += "its own"
	default:
		text += fmt.Sprintf("that of GPU %d", gpu(has.First))
	}
	if v.steps.at > 0 {
		for _, s := range c.Sends(v.steps.at - 1) {
			if s.To == v.rank && s.Chunk == v.chunk {
				text += fmt.Sprintf("; came from GPU %d in this step", gpu(s.From))
			}
		}
	}
	for _, s := range c.Sends(v.steps.at) {
		if s.From == v.rank && s.Chunk == v.chunk && c.Op != ring.AllToAll {
			text += fmt.Sprintf("; goes to GPU %d next", gpu(s.To))
			if c.Crosses(s) {
				text += " over the slow link"
			}
		}
	}
	return text
}

// Refresh asks for the group of the setup.
func (v *collectives) Refresh(in *screen.Context) screen.Request { return v.facts.refresh(in) }

// Playing reports whether the steps play.
func (v *collectives) Playing() bool { return v.steps.playing }

// Tick moves the steps by a frame.
func (v *collectives) Tick() bool { return v.steps.tick() }

// Figure returns the traffic of the group, as the report names it.
func (v *collectives) Figure(in *screen.Context) string {
	if g := v.group(in); g.Dimension != "" {
		return "communication." + g.Dimension + ".bytes"
	}
	return ""
}

// Render draws the pane: exactly h lines of w cells.
func (v *collectives) Render(in *screen.Context) []string {
	if lines, empty := in.Empty(); empty {
		return lines
	}
	if !known(in) {
		return nothing(in, "COLLECTIVES")
	}
	g := v.group(in)
	v.most = room(in.H)
	c := v.example(g)
	lines := []string{v.heading(in, g, &c)}
	lines = append(lines, v.list(in, g)...)
	lines = append(lines, v.phases(in, &c))
	lines = append(lines, v.circle(in, g, &c)...)
	lines = append(lines, v.table(in, g, &c)...)
	for _, text := range v.words(in, g, &c, in.H-len(lines)) {
		lines = append(lines, widget.NewLine(in.W).Put(in.Paint(themes.Muted), in.Cut(text, in.W)).String())
	}
	return widget.Height(lines, in.W, in.H)
}

// hidden reports whether a question is about what the group sends.
func hidden(in *screen.Context, g *ring.Group) bool {
	return g.Dimension != "" && in.Hides("communication."+g.Dimension+".", "time.exposed")
}

// bytesOf writes a size, or nothing where the group has none.
func bytesOf(b units.Bytes) string {
	if b <= 0 {
		return ""
	}
	return figure.Traffic(b)
}
