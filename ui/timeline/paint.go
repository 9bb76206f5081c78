package timeline

import (
	"math"
	"sort"
	"strconv"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// painter fills the cells of one rank at a time.
type painter struct {
	theme  *themes.Theme
	glyphs widget.Glyphs
	line   *schedule.Timeline
	spans  []interval
	perOp  float64 // columns of the shortest kind of operation
	cells  []cell
	chunks []chunkLabel // of the rank that is drawn
	// small and joined: a label of a second chunk was written, and the mark of a pair.
	small, joined bool

	idleSign     string
	idle, inside themes.Paint // waiting at the ends of the step, and between two operations
	mark         themes.Paint
	blend        blend
	// stacked: columns that hold several operations are stacks, though colours can be mixed. Of
	// forward and backward they show the shares, where the mix is one grey; with the two parts
	// of a split backward as well they would flicker, and the mixes are three hues.
	stacked bool
}

// mixes reports whether a column that holds several operations has their colours mixed.
func (p *painter) mixes() bool { return p.theme.Blends() && !p.stacked }

// chunkLabel is what the second line of a high bar says of an operation.
type chunkLabel struct {
	col  int
	text string
}

// newPainter prepares w columns.
func (v *Chart) newPainter(t *themes.Theme, g widget.Glyphs, w int) *painter {
	spans := v.spans(w)
	p := &painter{
		theme: t, glyphs: g, line: v.Timeline, spans: spans, cells: make([]cell, w),
		idleSign: ".", idle: t.Paint(themes.Faint), inside: t.Paint(themes.Warn), mark: t.Paint(themes.Muted),
	}
	if g.Unicode {
		p.idleSign = "·"
	}
	if info, ok := v.Timeline.Order.Spec.Kind.Info(); ok {
		p.stacked = g.Unicode && t.Blends() && !info.SplitsBackward
	}
	p.perOp = perOp(p.spans, v.axis.scale)
	if p.perOp < 1 {
		p.blend = newBlend(w)
	}
	return p
}

// row fills the cells with one rank.
func (p *painter) row(rank int) {
	p.chunks = p.chunks[:0]
	for i := range p.cells {
		p.cells[i] = cell{}
	}
	o := p.line.Order
	from, to := o.Start[rank], o.Start[rank+1]
	for _, s := range p.spans {
		if s.folded > 0 || s.cut {
			p.fold(s)
			continue
		}
		if s.cols <= 0 || s.to <= s.from {
			continue
		}
		first := from + sort.Search(to-from, func(i int) bool { return p.line.End[from+i] > s.from })
		if p.perOp < 1 {
			p.blend.span(p, s, first, to)
		} else {
			p.span(s, first, to)
		}
	}
	p.wait()
}

// fold writes the mark of what is left out.
func (p *painter) fold(s interval) {
	i := s.col
	text := foldText(s.folded, p.glyphs.Unicode)
	if s.cut {
		text = " " + p.glyphs.Cut + " "
	}
	for _, r := range text {
		if i < len(p.cells) && i < s.col+s.cols {
			p.cells[i] = cell{paint: p.mark, sign: string(r)}
			i++
		}
	}
}

// wait fills the cells that nothing has filled: those between the rank's first
// and last operation in a warmer look than those before and after.
func (p *painter) wait() {
	end := p.spans[len(p.spans)-1]
	used := min(len(p.cells), end.col+end.cols)
	for i := used; i < len(p.cells); i++ {
		p.cells[i].sign = " " // a picture to a whole scale may be narrower
	}
	cells := p.cells[:used]
	first, last := used, -1
	for i := range cells {
		if cells[i].sign != "" {
			first, last = min(first, i), i
		}
	}
	for i := range cells {
		if cells[i].sign != "" {
			continue
		}
		paint := p.idle
		if i > first && i < last {
			paint = p.inside
		}
		cells[i] = cell{paint: paint, sign: p.idleSign}
	}
}

// span draws operations of at least one column, from the given one on.
func (p *painter) span(s interval, k, end int) {
	scale := float64(s.cols) / (s.to - s.from)
	column := func(at float64) int {
		return s.col + int(math.Round(min(max(at-s.from, 0), s.to-s.from)*scale))
	}
	ops := p.line.Order.Ops
	for ; k < end && p.line.Begin[k] < s.to; k++ {
		a, b := column(p.line.Begin[k]), column(p.line.End[k])
		closed := p.line.End[k] <= s.to*(1+1e-12)
		if ops[k].Paired() && k+1 < end {
			// One box of two tones: the halves share start and end.
			middle := (a + b + 1) / 2
			p.op(ops[k], a, middle, false)
			p.op(ops[k+1], middle, b, closed)
			if middle-a >= 2 && !lettered(p.cells[middle-1].sign) {
				p.cells[middle-1].sign, p.joined = "&", true
			}
			k++
			continue
		}
		p.op(ops[k], a, b, closed)
	}
}

// op draws one operation into the columns a to b-1. A closed one ends there.
func (p *painter) op(op schedule.Op, a, b int, closed bool) {
	n := b - a
	if n <= 0 {
		return
	}
	paint := p.theme.Area(p.fill(op))
	filler := " "
	if !p.theme.Colours {
		filler = "-"
	}
	for i := a; i < b; i++ {
		p.cells[i] = cell{paint: paint, sign: filler}
	}
	text := p.label(op, n)
	for i := range len(text) {
		p.cells[a+i].sign = text[i : i+1]
	}
	if p.line.Order.Chunks() > 1 {
		if text := "c" + strconv.Itoa(op.Chunk()); len(text) <= n {
			p.chunks = append(p.chunks, chunkLabel{a, text})
		}
	}
	edge := 4
	if !p.theme.Colours {
		edge = 3
	}
	if closed && n >= edge && len(text) < n {
		p.cells[b-1].sign = p.glyphs.Limit
	}
}

// label returns what an operation of n columns says: letter and micro-batch, or only
// one of them, never a part of a number. Without colours the letter is always
// there; a second chunk has a small one.
func (p *painter) label(op schedule.Op, n int) string {
	letter, number := op.Kind().String(), strconv.Itoa(op.MicroBatch())
	second := op.Chunk()%2 == 1
	if second {
		letter = string(letter[0] | 0x20)
	}
	fits := len(letter)+len(number) <= n
	switch {
	case p.theme.Colours && n == 1:
		return ""
	case p.theme.Colours && len(number) <= n && !fits:
		return number
	}
	p.small = p.small || second
	if fits {
		return letter + number
	}
	return letter
}

// fill returns the colour of an operation. The second shade tells chunks apart or,
// with one chunk and no room for an edge, neighbouring micro-batches. Below
// two columns it would only flicker.
func (p *painter) fill(op schedule.Op) themes.Fill {
	alt := op.Chunk()%2 == 1
	if p.line.Order.Chunks() == 1 && p.perOp < 4 {
		alt = op.MicroBatch()%2 == 1
	}
	alt = alt && p.perOp >= 2*(1-1e-9)
	switch op.Kind() {
	case schedule.Forward:
		if alt {
			return themes.ForwardAlt
		}
		return themes.Forward
	case schedule.InputGradient:
		return themes.InputGrad
	case schedule.WeightGradient:
		return themes.WeightGrad
	case schedule.Backward:
		if alt {
			return themes.BackwardAlt
		}
	}
	return themes.Backward
}
