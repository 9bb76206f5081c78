package timeline

import (
	"strings"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Mark is why an operation stands out in a Row.
type Mark uint8

// Marks, from the weakest to the strongest.
const (
	Lit      Mark = iota // one of those that are shown while the others are grey
	Producer             // the cursor's operation takes its result
	Consumer             // it takes the result of the cursor's operation
	Here                 // the cursor's own
)

// Marked is an operation that stands out, by its index in Order.Ops.
type Marked struct {
	Op   int
	Mark Mark
}

// Rows draws the ranks of one timeline into a frame, one after the other.
type Rows struct {
	frame *Frame
	theme *themes.Theme
	base  *painter // grey where only some operations are lit
	lit   *painter
	grey  bool
	blank bool // letters of grey operations are left out: there are no colours to tell them apart
	// stalls is, by column, how long ranks that were drawn waited for less than half
	// a column, which their cells do not show; drawn is how many they were.
	stalls []float64
	drawn  int
	halves map[[2]themes.Paint]cell
	edge   themes.Paint
	// tall is how many lines a rank has, above how many of them are below the one that was written last;
	// heights are those of the stacks in its columns, in eighths.
	tall, above int
	heights     []int
}

// NewRows prepares the drawing of a timeline's ranks. With grey set, operations
// that are not marked stand back.
func NewRows(line *schedule.Timeline, f *Frame, t *themes.Theme, g widget.Glyphs, grey bool) *Rows {
	if !drawable(line) || len(f.spans) == 0 {
		return nil
	}
	gantt := Chart{Timeline: line}
	painter := func(t *themes.Theme) *painter {
		p := gantt.newPainter(t, g, f.Cols)
		p.spans, p.perOp = f.spans, f.PerOp()
		if p.perOp < 1 && p.perOp > 0.98 {
			p.perOp = 1 // a window of one column per operation need not fall on whole columns
		}
		if p.perOp < 1 {
			p.blend = newBlend(f.Cols)
		}
		return p
	}
	r := &Rows{
		frame: f, theme: t, base: painter(t), grey: grey, blank: !t.Colours,
		edge: t.Paint(themes.Muted),
	}
	r.lit = r.base
	if grey {
		r.base = painter(t.Dim())
		r.lit.cells = r.base.cells
	}
	return r
}

// PerOp returns how many columns the shortest kind of operation has.
func (r *Rows) PerOp() float64 { return r.base.perOp }

// Marks is what stands out on one rank.
type Marks struct {
	Ops      []Marked
	Gap      bool // the cursor is on idle time, that between From and To
	From, To float64
	Until    float64 // what comes later is grey; 0: nothing
}

// Draw writes one rank.
func (r *Rows) Draw(b *strings.Builder, rank int, m *Marks) {
	r.draw(rank, m)
	if r.tall > 1 {
		r.heights = r.heights[:0]
		for i := range r.base.cells {
			r.heights = append(r.heights, stackHeight(r.base.cells[i].sign))
		}
		r.stacked(r.tall - 1)
	}
	writeCells(b, r.base.cells)
}

// draw fills the cells with one rank.
func (r *Rows) draw(rank int, m *Marks) {
	r.base.row(rank)
	r.stall(rank)
	r.drawRecompute(rank)
	r.ends(rank)
	if r.grey && r.blank {
		r.mute(0)
	}
	for kind := Lit; kind <= Here; kind++ {
		for _, op := range m.Ops {
			if op.Mark == kind {
				r.mark(rank, op)
			}
		}
	}
	for _, s := range r.frame.spans {
		if s.folded > 0 && len(m.Ops) > 0 { // an operation longer than the fold covers it
			r.base.fold(s)
		}
	}
	if m.Until > 0 {
		r.future(m.Until)
	}
	if m.Gap {
		r.gap(m.From, m.To)
	}
}

// drawRecompute draws the part of backwards that recomputes the forward.
func (r *Rows) drawRecompute(rank int) {
	line := r.base.line
	if len(line.Recompute) == 0 || r.base.perOp < 2 {
		return
	}
	from, to := r.frame.Shows()
	k, _ := line.Running(rank, from)
	for ; k < line.Order.Start[rank+1] && line.Begin[k] < to; k++ {
		if a, b := r.columns(k); b > a {
			r.recompute(r.base, rank, k, a, b)
		}
	}
}

// recompute draws that part of one backward in the columns a to b-1, if it has any.
func (r *Rows) recompute(p *painter, rank, k, a, b int) {
	from, to := r.frame.Shows()
	until := p.line.RecomputeEnd(rank, k)
	if until <= p.line.Begin[k] || until <= from || p.perOp < 2 {
		return
	}
	middle := min(b, r.exact(min(until, to)))
	p.op(p.line.Order.Ops[k], middle, b, p.line.End[k] <= to)
	paint, filler := p.theme.Area(themes.Recompute), " "
	if !p.theme.Colours {
		filler = "-"
	}
	for i := a; i < middle; i++ {
		p.cells[i] = cell{paint: paint, sign: filler}
	}
	if a < middle {
		p.cells[a].sign = "R"
	}
}

// Legend names the looks of the ranks that were drawn: mixes of kinds where
// operations are narrower than a column, then the kinds.
func (r *Rows) Legend() []LegendEntry {
	r.lit.blend.seen = r.base.blend.seen
	r.lit.small, r.lit.joined = r.lit.small || r.base.small, r.lit.joined || r.base.joined
	entries := r.lit.legend([]int{0})
	for _, d := range r.lit.line.Recompute {
		if d > 0 && r.lit.perOp >= 2 {
			return append(entries, LegendEntry{
				Paint: r.theme.Area(themes.Recompute), Sign: r.lit.framed("R"),
				Text: "forward again",
			})
		}
	}
	return entries
}

// gap marks idle time.
func (r *Rows) gap(from, to float64) {
	cells := r.base.cells
	a := max(0, r.exact(from))
	z := min(len(cells), max(a+1, r.exact(to)))
	paint := r.theme.Paint(themes.Cursor).Reversed()
	for i := a; i < z; i++ {
		if cells[i].paint = paint; isStack(cells[i].sign) {
			cells[i].sign = " "
		}
		if !r.theme.Colours && (i == a || i == z-1) {
			cells[i].sign = r.base.glyphs.Here
		}
	}
}

// ends mends the waiting of a window: it is inside the rank's work or not by the
// times, not by what the window shows, and after the step's end there is none.
func (r *Rows) ends(rank int) {
	p, line := r.base, r.base.line
	st := &line.Ranks[rank]
	end := r.frame.Column(line.Makespan)
	for i := range p.cells {
		c := &p.cells[i]
		if c.sign != p.idleSign || c.paint != p.idle && c.paint != p.inside {
			continue
		}
		at := r.frame.Time(i)
		switch {
		case i >= end:
			*c = cell{sign: " "}
			if i == end {
				*c = cell{paint: r.edge, sign: p.glyphs.Limit}
			}
		case at > st.First && at < st.Last:
			c.paint = p.inside
		default:
			c.paint = p.idle
		}
	}
}

// mute takes letters and digits out of the cells from one on.
func (r *Rows) mute(from int) {
	cells := r.base.cells
	for i := max(0, from); i < len(cells); i++ {
		if lettered(cells[i].sign) && !r.frame.folded(i) { // a fold keeps its number
			cells[i].sign = "-"
		}
	}
}

// future greys what lies after a moment.
func (r *Rows) future(until float64) {
	from := r.frame.Column(until) + 1
	faint := r.theme.Paint(themes.Faint)
	cells := r.base.cells
	stacks := r.base.perOp < 1 && r.base.stacks() && !r.base.mixes()
	for i := max(0, from); i < len(cells); i++ {
		switch c := &cells[i]; {
		case stacks &&
			(c.sign == " " && c.paint != (themes.Paint{}) || isStack(c.sign) && !r.base.idleAbove(c.paint) ||
				lettered(c.sign) && !r.frame.folded(i)):
			c.sign = "█"
		case c.sign == " " && c.paint != (themes.Paint{}) && !r.frame.folded(i):
			c.sign = "-"
		}
		cells[i].paint = faint
	}
	if r.blank {
		r.mute(from)
	}
}

// mark draws an operation once more, in its own colours or as what it is to the
// cursor.
func (r *Rows) mark(rank int, m Marked) {
	p := r.lit
	a, b := r.columns(m.Op)
	if b <= a {
		return
	}
	op := p.line.Order.Ops[m.Op]
	if m.Mark == Lit || p.perOp >= 1 && !r.theme.Dimmed {
		p.op(op, a, b, true)
		r.recompute(p, rank, m.Op, a, b)
		if m.Mark == Lit && p.perOp < 1 {
			r.letter(op, a, b)
		}
	}
	role := map[Mark]themes.Role{Producer: themes.Input, Consumer: themes.Reader, Here: themes.Cursor}[m.Mark]
	if m.Mark == Lit {
		return
	}
	paint := r.theme.Paint(role).Reversed()
	for i := a; i < b; i++ {
		if sign := p.cells[i].sign; sign == p.idleSign || sign == "" || isStack(sign) {
			p.cells[i].sign = " "
		}
		p.cells[i].paint = paint
	}
	if r.theme.Colours {
		return
	}
	sign := map[Mark]string{Producer: "<", Consumer: ">", Here: p.glyphs.Here}[m.Mark]
	if b-a == 1 {
		p.cells[a].sign = sign
	} else {
		p.cells[b-1].sign = sign
	}
}

// letter marks an operation too narrow to be drawn.
func (r *Rows) letter(op schedule.Op, a, b int) {
	for i := a; i < b; i++ {
		r.lit.cells[i] = cell{paint: r.theme.Area(r.lit.fill(op)), sign: op.Kind().String()}
	}
}

// columns returns those of an operation, at least one where it is in the frame; the
// half of a pair has its half.
func (r *Rows) columns(k int) (a, b int) {
	line := r.base.line
	begin, end := line.Begin[k], line.End[k]
	from, to := r.frame.Shows()
	if end <= from || begin >= to || end <= begin {
		return 0, 0
	}
	a = max(0, r.exact(max(begin, from)))
	b = min(r.frame.Cols, r.exact(min(end, to)))
	if s := r.frame.Column(begin); s >= 0 && r.frame.inFold(begin) && r.frame.inFold(end) {
		return 0, 0
	}
	for _, s := range r.frame.spans {
		if s.folded > 0 && begin < s.from && end > s.from && end <= s.to {
			b = s.col // what ends inside a fold is drawn up to it
		}
	}
	b = max(b, a+1)
	ops := line.Order.Ops
	middle := (a + b + 1) / 2
	if ops[k].Paired() && b-a > 1 {
		return a, middle
	}
	if k > 0 && ops[k-1].Paired() && b-a > 1 {
		return middle, b
	}
	return a, min(b, r.frame.Cols)
}

// exact returns the column boundary nearest to a moment.
func (r *Rows) exact(at float64) int {
	for _, s := range r.frame.spans {
		if at > s.to {
			continue
		}
		if s.folded > 0 || s.to <= s.from {
			return s.col + s.cols
		}
		return s.col + int((max(at, s.from)-s.from)*float64(s.cols)/(s.to-s.from)+0.5)
	}
	return r.frame.Cols
}

// folded reports whether a column is part of a fold's mark.
func (f *Frame) folded(col int) bool {
	for _, s := range f.spans {
		if s.folded > 0 && col >= s.col && col < s.col+s.cols {
			return true
		}
	}
	return false
}

func (f *Frame) inFold(at float64) bool {
	for _, s := range f.spans {
		if s.folded > 0 && at >= s.from && at <= s.to {
			return true
		}
	}
	return false
}
