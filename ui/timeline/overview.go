package timeline

import (
	"strings"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// Overview is a whole timeline small: some lines, each the mix of its share of
// the ranks (see Share). Making it looks at every operation; drawing it does not.
type Overview struct {
	line *schedule.Timeline
	keys [][]uint32 // by line and column
}

// NewOverview computes n lines of w cells.
func NewOverview(line *schedule.Timeline, a *Axis, w, n int) *Overview {
	o := &Overview{line: line}
	if !drawable(line) || w <= 0 {
		return o
	}
	blend := newBlend(w)
	for i := range n {
		lo, hi := Share(len(line.Ranks), n, i)
		clear(blend.shares)
		for rank := lo; rank < hi; rank++ {
			addShares(blend.shares, line, rank, a.Whole, float32(hi-lo))
		}
		keys := make([]uint32, w)
		blend.settle(keys)
		o.keys = append(o.keys, keys)
	}
	return o
}

// Is reports whether it is that of a timeline at a size.
func (o *Overview) Is(line *schedule.Timeline, w, n int) bool {
	return o != nil && o.line == line && len(o.keys) == n && n > 0 && len(o.keys[0]) == w
}

// Render draws it. What lies outside the window, in places of the axis, is grey.
func (o *Overview) Render(a *Axis, t *themes.Theme, g widget.Glyphs, from, to float64) []string {
	if len(o.keys) == 0 {
		return nil
	}
	w := len(o.keys[0])
	whole := Frame{Cols: w, spans: []interval{{to: a.Whole, cols: w}}}
	gantt := Chart{Timeline: o.line}
	bright := gantt.newPainter(t, g, w, gantt.Rows(1))
	grey := gantt.newPainter(t.Dim(), g, w, gantt.Rows(1))
	bright.blend, grey.blend = newBlend(w), newBlend(w)
	bright.stacked, grey.stacked = false, false
	first, last := whole.Column(a.Moment(from)), whole.Column(a.Moment(to))
	lines := make([]string, 0, len(o.keys))
	cells := make([]cell, w)
	for _, keys := range o.keys {
		var b strings.Builder
		for c, key := range keys {
			p := bright
			if c < first || c > last {
				p = grey
			}
			if cells[c] = (cell{paint: p.idle, sign: bright.idleSign}); key != 0 {
				cells[c] = p.blend.look(p, key, c)
			}
		}
		writeCells(&b, cells)
		lines = append(lines, b.String())
	}
	return lines
}

// Share returns which of p ranks the i-th of n lines represents.
func Share(p, n, i int) (from, to int) {
	from, to = i*p/n, (i+1)*p/n
	return from, min(p, max(to, from+1))
}

// addShares adds the operations of a rank to the columns, each by how much of
// the column it fills.
func addShares(shares [][4]float32, line *schedule.Timeline, rank int, whole float64, of float32) {
	o := line.Order
	scale := float64(len(shares)) / whole
	for k := o.Start[rank]; k < o.Start[rank+1]; k++ {
		weight := 1 / of
		if o.Ops[k].Paired() || k > o.Start[rank] && o.Ops[k-1].Paired() {
			weight /= 2
		}
		kind := o.Ops[k].Kind()
		x, y := line.Begin[k]*scale, min(line.End[k]*scale, float64(len(shares)))
		for i := int(x); i < len(shares) && float64(i) < y; i++ {
			shares[i][kind] += weight * float32(min(y, float64(i+1))-max(x, float64(i)))
		}
	}
}

// WindowMark returns the line under an overview that shows where the window is.
func WindowMark(a *Axis, t *themes.Theme, g widget.Glyphs, w int, from, to float64) string {
	whole := Frame{Cols: w, spans: []interval{{to: a.Whole, cols: w}}}
	first, last := max(0, whole.Column(a.Moment(from))), min(w-1, whole.Column(a.Moment(to)))
	in, out := "=", "-"
	if g.Unicode {
		in, out = "━", "╌"
	}
	return widget.NewLine(w).Put(t.Paint(themes.Faint), widget.Fill(out, first)).
		Put(t.Paint(themes.Accent), widget.Fill(in, max(1, last-first+1))).
		Put(t.Paint(themes.Faint), widget.Fill(out, w-last-1)).String()
}

// Spark draws how much something is over the columns of a frame, each column
// the most in it: samples hold until the next one. Values are shares of top;
// those above limit (0: none) are in the look of what does not fit.
func (f *Frame) Spark(times, values []float64, top, limit float64, t *themes.Theme, g widget.Glyphs) string {
	signs := []string{" ", ".", ":", "-", "=", "+", "*", "%", "#"}
	if g.Unicode {
		signs = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	}
	cells := make([]cell, f.Cols)
	for i := range cells {
		cells[i].sign = " "
	}
	plain, over := t.Paint(themes.Memory), t.Paint(themes.Bad)
	k := 0
	for _, s := range f.spans {
		if s.folded > 0 || s.cols <= 0 {
			continue
		}
		width := (s.to - s.from) / float64(s.cols)
		for c := range s.cols {
			until := s.from + float64(c+1)*width
			for k+1 < len(times) && times[k+1] <= s.from+float64(c)*width {
				k++
			}
			most := 0.0
			for j := k; j < len(times) && times[j] < until; j++ {
				most = max(most, values[j])
			}
			if col := s.col + c; col < len(cells) && most > 0 && top > 0 {
				cells[col] = cell{paint: plain, sign: signs[min(8, max(1, int(8*most/top+0.5)))]}
				if limit > 0 && most > limit {
					cells[col].paint = over
				}
			}
		}
	}
	var b strings.Builder
	writeCells(&b, cells)
	return b.String()
}
