package timeline

import (
	"math"
	"strings"

	"meshscope/engine/schedule"

	"meshscope/ui/widget"
)

// Axis is the time axis of one or two timelines, with the periods that are
// folded away taken out. A place on it is a share of its length, 0 to 1.
type Axis struct {
	Whole  float64 // the longest of the timelines, as long as it lasts
	Length float64 // the rest of that when folded
	Folded int     // periods left out
	Cut    bool    // stretches are left out, since no periods repeat

	cuts   []interval // ascending, folded > 0
	scale  timeScale
	least  float64 // the shortest of the timelines
	steady float64 // a moment in the middle of the steady state
}

// NewAxis returns the axis of the timelines (nil ones are passed over). With fold it
// leaves periods out, those that all have, where the whole would not be readable w cells wide;
// where that does not do, all but a few stretches. One of them is about a moment, if it is
// given as a share of the whole: 0 is the steady state.
func NewAxis(lines []*schedule.Timeline, fold bool, w int, about float64) Axis {
	a := Axis{}
	var cuts []periodic
	first := true
	for _, line := range lines {
		g := Chart{Timeline: line}
		if !drawable(line) {
			continue
		}
		rows := g.Rows(3)
		sc := g.scale(rows)
		if a.Whole = max(a.Whole, line.Makespan); first || line.Makespan < a.least {
			a.least = line.Makespan
		}
		if first || sc.shortest < a.scale.shortest {
			regular := sc.regular && (first || a.scale.regular)
			a.scale = sc
			a.scale.regular = regular
		}
		if fold {
			found := g.anyPeriod()
			if first {
				cuts = found
			} else {
				cuts = commonPeriods(cuts, found)
			}
		}
		first = false
	}
	a.Length = a.Whole
	if fold && a.PerOp()*a.scale.readable > float64(w) {
		a.cut(cuts, w)
		if a.PerOp()*a.scale.legible > a.drawn(w) {
			a.steady = steadyState(lines)
			a.stretches(w, about)
		}
	}
	return a
}

// drawn returns how many of w columns show time.
func (a *Axis) drawn(w int) float64 {
	for _, c := range a.cuts {
		w -= c.cols
	}
	return float64(w)
}

func drawable(line *schedule.Timeline) bool {
	g := Chart{Timeline: line}
	return g.ranks() > 0 && line.Makespan > 0 && !math.IsInf(line.Makespan, 0)
}

// foldWork bounds the search for long periods, in operations looked at.
const foldWork = 1 << 20

// anyPeriod returns periodic that also looks for long patterns: ranks of unequal
// length that wait for each other's send/recv repeat after about as many
// micro-batches as there are ranks in the slowest part.
func (v *Chart) anyPeriod() []periodic {
	if found := v.periodic(); len(found) > 0 {
		return found
	}
	s := v.Timeline.Order.Spec
	perTry := max(1, len(v.Timeline.Order.Ops)/v.ranks())
	most := min(s.MicroBatches/4, 2*s.Ranks, foldWork/perTry)
	for shift := 5; shift <= most; shift++ {
		if found := v.repeats(shift, false); len(found) > 0 {
			return found
		}
	}
	return nil
}

// commonPeriods returns intersect for periods of which one is a multiple of the other.
func commonPeriods(a, b []periodic) []periodic {
	return overlaps(a, b, func(x, y periodic) (float64, bool) {
		longer := max(x.period, y.period)
		times := longer / min(x.period, y.period)
		return longer, math.Abs(times-math.Round(times)) <= 1e-6
	})
}

// cut leaves out as many periods as it takes to make operations readable, and
// keeps at least one. A fold that makes the rest hardly wider is none.
func (a *Axis) cut(found []periodic, w int) {
	room := float64(w - len(found)*len("<x1000>"))
	foldable := 0.0
	for _, p := range found {
		foldable += float64(max(0, p.count()-1)) * p.period
	}
	if foldable <= 0 || room < ganttMinPlot {
		return
	}
	share := min(1, (a.Whole-room*a.scale.shortest/a.scale.readable)/foldable)
	for _, p := range found {
		n := int(math.Ceil(share * float64(p.count()-1)))
		if n < ganttLeastFold || n > p.count()-1 {
			continue
		}
		from := p.from + float64((p.count()-n+1)/2)*p.period
		to := min(from+float64(n)*p.period, a.Whole) // the sum may round up
		a.cuts = append(a.cuts,
			interval{from: from, to: to, folded: n, cols: widget.Width(foldText(n, true))})
		a.Length -= to - from
		a.Folded += n
	}
	if a.drawn(w)*a.Whole < ganttFoldGain*float64(w)*a.Length {
		a.cuts, a.Folded, a.Length = nil, 0, a.Whole
	}
}

// Place returns where a moment lies on the axis; one that is folded away lies on the fold.
func (a *Axis) Place(at float64) float64 {
	if a.Length <= 0 {
		return 0
	}
	passed := 0.0
	for _, c := range a.cuts {
		if at > c.from {
			passed += min(at, c.to) - c.from
		}
	}
	return min(1, max(0, (at-passed)/a.Length))
}

// Moment returns the time at a place of the axis.
func (a *Axis) Moment(place float64) float64 {
	at := place * a.Length
	for _, c := range a.cuts {
		if at > c.from {
			at += c.to - c.from
		}
	}
	return at
}

// PerOp returns how long the whole axis is in the shortest kind of operation.
func (a *Axis) PerOp() float64 {
	if a.scale.shortest <= 0 {
		return 1
	}
	return a.Length / a.scale.shortest
}

// Frame is a window of an axis laid out over columns.
type Frame struct {
	Cols  int // columns of the whole frame; the picture may end before
	spans []interval
	scale timeScale
}

// PerOp returns how many columns the shortest kind of operation has.
func (f *Frame) PerOp() float64 { return f.perUnit() * f.scale.shortest }

// Legible reports whether letter and micro-batch fit into every operation.
func (f *Frame) Legible() bool {
	const near = 0.98 // a whole number of columns is that of the axis, rounded
	return f.PerOp() >= near*f.scale.legible
}

// Frame lays the part of the axis from one place to another out over w columns.
func (a *Axis) Frame(from, to float64, w int) Frame {
	f := Frame{Cols: w, scale: a.scale}
	if a.Length <= 0 || w <= 0 || to <= from {
		return f
	}
	start, end := a.Moment(from), a.Moment(to)
	at := start
	for _, c := range a.cuts {
		if c.to <= start || c.from > end || c.from == end && to < 1 {
			continue
		}
		if c.from > at {
			f.spans = append(f.spans, interval{from: at, to: c.from})
		}
		f.spans = append(f.spans, c)
		at = c.to
	}
	if end > at {
		f.spans = append(f.spans, interval{from: at, to: end})
	}
	f.spans = placeSpans(f.spans, w, a.scale)
	return f
}

// Column returns where a moment is drawn; before or after the frame's own time it is
// -1 or Cols.
func (f *Frame) Column(at float64) int {
	if len(f.spans) == 0 || at < f.spans[0].from {
		return -1
	}
	for _, s := range f.spans {
		if at >= s.to {
			continue
		}
		if s.folded > 0 {
			return s.col + s.cols/2
		}
		return min(s.col+s.cols-1, s.col+int((at-s.from)*float64(s.cols)/(s.to-s.from)))
	}
	return f.Cols
}

// Time returns the moment in the middle of a column.
func (f *Frame) Time(col int) float64 {
	at := 0.0
	for _, s := range f.spans {
		if col < s.col {
			break
		}
		at = s.to
		if col < s.col+s.cols {
			share := (float64(col-s.col) + 0.5) / float64(s.cols)
			return s.from + share*(s.to-s.from)
		}
	}
	return at
}

// Shows returns the first and the last moment of the frame.
func (f *Frame) Shows() (from, to float64) {
	if len(f.spans) == 0 {
		return 0, 0
	}
	return f.spans[0].from, f.spans[len(f.spans)-1].to
}

// PerColumn returns how much time a column represents.
func (f *Frame) PerColumn() float64 {
	if scale := f.perUnit(); scale > 0 {
		return 1 / scale
	}
	return 0
}

// perUnit returns how many columns a unit of time has.
func (f *Frame) perUnit() float64 {
	most := 0.0
	for _, s := range f.spans {
		if s.folded == 0 && s.to > s.from {
			most = max(most, float64(s.cols)/(s.to-s.from))
		}
	}
	return most
}

// Part is a stretch of a frame: a time over some columns, or one that is left out.
type Part struct {
	From, To  float64
	Col, Cols int
	LeftOut   bool
	Mark      string // of what is left out
}

// Parts returns the stretches of the frame in their order.
func (f *Frame) Parts() []Part {
	parts := make([]Part, 0, len(f.spans))
	for _, s := range f.spans {
		p := Part{From: s.from, To: s.to, Col: s.col, Cols: s.cols, LeftOut: !s.drawn()}
		switch {
		case s.cut:
			p.Mark = "⋯"
		case s.folded > 0:
			p.Mark = foldText(s.folded, true)
		}
		parts = append(parts, p)
	}
	return parts
}

// Tick is a label of a time axis.
type Tick struct {
	Col  int
	Text string
}

// Ticks returns moments 1, 2 or 5 times a power of ten apart, so many that their
// texts do not touch. The unit is chosen for the whole axis.
func (f *Frame) Ticks(unit func(step, at float64) string) []Tick {
	scale := f.perUnit()
	from, to := f.Shows()
	if !(scale > 0) || math.IsInf(scale, 0) {
		return nil
	}
	step := 1.0
	for range 4 { // longer texts need wider steps
		least := float64(widget.Width(unit(step, to))+4) / scale
		step = math.Pow(10, math.Floor(math.Log10(least)))
		for _, k := range []float64{1, 2, 5, 10} {
			if k*step >= least {
				step *= k
				break
			}
		}
	}
	if !(step > 0) || (to-from)/step > 1e7 {
		return nil
	}
	var ticks []Tick
	free := 0
	for _, s := range f.spans {
		if s.folded > 0 {
			free = max(free, s.col+s.cols)
			continue
		}
		none := len(ticks)
		for i := max(0, math.Ceil(s.from/step-1e-9)); i*step < s.to; i++ {
			col := f.Column(math.Max(i*step, s.from))
			text := unit(step, i*step)
			if col < free || col+1+widget.Width(text) > min(f.Cols, s.col+s.cols) {
				continue
			}
			ticks = append(ticks, Tick{Col: col, Text: text})
			free = col + widget.Width(text) + 2
		}
		if text := unit(step, s.from); len(ticks) == none && s.col >= free && 1+widget.Width(text) <= s.cols {
			ticks = append(ticks, Tick{Col: s.col, Text: text}) // each stretch says when it is
			free = s.col + widget.Width(text) + 2
		}
	}
	return ticks
}

// Text writes ticks as one line: a stroke at each moment and its text after it.
func (f *Frame) Text(ticks []Tick, g widget.Glyphs) string {
	var b strings.Builder
	at := 0
	for _, t := range ticks {
		if t.Col < at {
			continue
		}
		b.WriteString(widget.Blank(t.Col - at))
		b.WriteString(g.Limit)
		b.WriteString(t.Text)
		at = t.Col + 1 + widget.Width(t.Text)
	}
	return b.String() + widget.Blank(max(0, f.Cols-at))
}

// Unfolded returns the axis with nothing left out.
func (a *Axis) Unfolded() Axis {
	whole := *a
	whole.cuts, whole.Length, whole.Folded, whole.Cut = nil, a.Whole, 0, false
	return whole
}

// About returns the axis that leaves what is about a moment in, a share of the whole, where this one
// shows stretches.
func (a *Axis) About(w int, at float64) Axis {
	if !a.Cut {
		return *a
	}
	moved := a.Unfolded()
	moved.stretches(w, at)
	return moved
}

// LeftOut reports whether a moment is between two of the stretches that are shown.
func (a *Axis) LeftOut(at float64) bool {
	for _, c := range a.cuts {
		if c.cut && at > c.from && at < c.to {
			return true
		}
	}
	return false
}

// Outside returns the moment itself, or, where that is folded away, the one just
// behind the fold in the given direction, 1 or -1.
func (a *Axis) Outside(at float64, dir int) float64 {
	for _, c := range a.cuts {
		if at > c.from && at < c.to {
			if dir < 0 {
				return c.from - 1e-9*a.Whole
			}
			return c.to + 1e-9*a.Whole
		}
	}
	return at
}
