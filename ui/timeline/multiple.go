package timeline

import (
	"sort"
	"strings"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// middle leaves out what lies between the beginning and the end of the axis, where nothing that
// repeats can be folded: the beginnings stay aligned at the left, the ends to one another. first is
// how long the beginning is at least, last the end.
func (a *Axis) middle(first, last float64, w int) {
	first = max(first, last/2)
	room := float64(w-ganttCut) * a.scale.shortest // one operation a column
	if more := room - first - last; more > 0 {
		first, last = first+more/2, last+more/2
	}
	if w < 2*ganttMinPlot || (first+last)*ganttFoldGain > a.Whole {
		return
	}
	a.cuts = []interval{{from: first, to: a.Whole - last, folded: 1, cut: true, cols: ganttCut}}
	a.Length, a.Cut = first+last, true
}

// fillShare is how much more than the filling of a pipeline is kept of it.
const fillShare = 1.5

// fills returns how long timelines take to fill and to drain, and by how much the first ends
// before the last.
func fills(lines []*schedule.Timeline) (fill, drain, apart float64) {
	least, most := 0.0, 0.0
	for _, line := range lines {
		if !drawable(line) {
			continue
		}
		for i := range line.Ranks {
			fill = max(fill, line.Begin[line.Order.Start[i]])
			drain = max(drain, line.Makespan-line.Ranks[i].Last)
		}
		if least == 0 || line.Makespan < least {
			least = line.Makespan
		}
		most = max(most, line.Makespan)
	}
	return fill, drain, most - least
}

// Ends returns the axis of many timelines that are known by their makespans alone: the shortest,
// and the longest that is drawn whole. fill is how long a pipeline takes to fill, op its shortest
// operation.
func Ends(shortest, longest, fill, op float64, w int) Axis {
	a := Axis{Whole: longest, Length: longest, scale: timeScale{shortest: op, readable: 1}}
	a.middle(fillShare*fill, longest-shortest+fillShare*fill, w)
	return a
}

// multipleCols is the width at which a Multiple is kept, multipleLines the most lines that it is
// drawn in, each with one rank or two.
const (
	multipleCols  = 200
	multipleLines = 4
)

// Multiple is one of many timelines on one axis, small: some of its ranks, from the first to the
// last. It keeps the looks of its columns, not the timeline.
type Multiple struct {
	frame Frame
	ranks int
	keys  map[int][]uint32 // by rank, the looks of its columns
	end   float64
}

// NewMultiple reads a timeline.
func NewMultiple(line *schedule.Timeline, a *Axis) *Multiple {
	m := &Multiple{frame: a.Frame(0, 1, multipleCols), keys: map[int][]uint32{}}
	if !drawable(line) || len(m.frame.spans) == 0 {
		return m
	}
	m.end, m.ranks = line.Makespan, len(line.Ranks)
	b := newBlend(multipleCols)
	for n := 1; n <= min(2*multipleLines, m.ranks); n++ {
		for i := range n {
			rank := m.rank(i, n)
			if m.keys[rank] != nil {
				continue
			}
			clear(b.shares)
			m.add(b.shares, line, rank)
			m.keys[rank] = make([]uint32, multipleCols)
			b.settle(m.keys[rank])
		}
	}
	return m
}

// rank returns the i-th of n ranks that are drawn: the first, the last, and some in between.
func (m *Multiple) rank(i, n int) int { return i * (m.ranks - 1) / max(n-1, 1) }

// add adds the operations of a rank to the columns, each by how much of the column it fills.
func (m *Multiple) add(shares [][4]float32, line *schedule.Timeline, rank int) {
	o := line.Order
	for _, s := range m.frame.spans {
		if s.folded > 0 || s.cols <= 0 || s.to <= s.from {
			continue
		}
		scale := float64(s.cols) / (s.to - s.from)
		from, to := o.Start[rank], o.Start[rank+1]
		k := from + sort.Search(to-from, func(i int) bool { return line.End[from+i] > s.from })
		for ; k < to && line.Begin[k] < s.to; k++ {
			weight := float32(1)
			if o.Ops[k].Paired() || k > from && o.Ops[k-1].Paired() {
				weight /= 2
			}
			x := max(0, (line.Begin[k]-s.from)*scale)
			y := min(float64(s.cols), (line.End[k]-s.from)*scale)
			for i := int(x); i < s.cols && float64(i) < y; i++ {
				shares[s.col+i][o.Ops[k].Kind()] += weight * float32(min(y, float64(i+1))-max(x, float64(i)))
			}
		}
	}
}

// Lines returns how many lines it can be drawn in.
func (m *Multiple) Lines() int { return min(multipleLines, m.ranks) }

// Shown returns how many ranks n lines show: two in one where colours tell them apart and there are
// more ranks than lines.
func (m *Multiple) Shown(t *themes.Theme, n int) int {
	if t.Blends() && n < m.ranks {
		n *= 2
	}
	return min(n, m.ranks)
}

// Render draws it in n lines as wide as a frame of its axis; nil where it has not so many.
func (m *Multiple) Render(f *Frame, t *themes.Theme, g widget.Glyphs, n int) []string {
	if n < 1 || n > m.Lines() || len(f.spans) == 0 {
		return nil
	}
	p := &painter{
		theme: t, glyphs: g, spans: f.spans, mark: t.Paint(themes.Muted), blend: newBlend(f.Cols),
		idleSign: ".", inside: t.Paint(themes.Faint),
	}
	if g.Unicode {
		p.idleSign = "·"
	}
	shown := m.Shown(t, n)
	lines := make([]string, 0, n)
	for i := range n {
		switch {
		case shown > n && 2*i >= shown: // two in each line above
			lines = append(lines, widget.Blank(f.Cols))
			continue
		case shown <= n:
			p.cells = m.cells(f, p, m.rank(min(i, shown-1), shown))
		default:
			p.cells = m.cells(f, p, m.rank(2*i, shown))
			below := make([]cell, f.Cols)
			if 2*i+1 < shown {
				below = m.cells(f, p, m.rank(2*i+1, shown))
			}
			for c, upper := range p.cells {
				if upper.sign != p.idleSign || below[c].sign != p.idleSign {
					p.cells[c].paint, p.cells[c].sign = themes.Halves(upper.paint, below[c].paint)
				}
			}
		}
		for _, s := range f.spans {
			if s.cut {
				p.fold(s)
			}
		}
		var b strings.Builder
		writeCells(&b, p.cells)
		lines = append(lines, b.String())
	}
	return lines
}

// cells returns the columns of a rank.
func (m *Multiple) cells(f *Frame, p *painter, rank int) []cell {
	cells, keys := make([]cell, f.Cols), m.keys[rank]
	for c := range cells {
		at := f.Time(c)
		key := keys[min(max(m.frame.Column(at), 0), len(keys)-1)]
		switch {
		case key != 0:
			cells[c] = p.blend.look(p, key, c)
		case at > m.end:
			cells[c] = cell{sign: " "}
		default:
			cells[c] = cell{paint: p.inside, sign: p.idleSign}
		}
	}
	return cells
}
