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

// overviewRanks is how many of its ranks a line is the mix of, evenly spread: more look alike.
const overviewRanks = 4

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
		sample := min(hi-lo, overviewRanks)
		for k := range sample {
			addShares(blend.shares, line, lo+k*(hi-lo)/sample, a.Whole, float32(sample))
		}
		keys := make([]uint32, w)
		blend.round(keys)
		o.keys = append(o.keys, keys)
	}
	return o
}

// Is reports whether it is that of a timeline at a size.
func (o *Overview) Is(line *schedule.Timeline, w, n int) bool {
	return o != nil && o.line == line && len(o.keys) == n && n > 0 && len(o.keys[0]) == w
}

// Render draws it.
func (o *Overview) Render(t *themes.Theme, g widget.Glyphs) []string {
	gantt := Chart{Timeline: o.line}
	lines := make([]string, 0, len(o.keys))
	var p *painter
	for _, keys := range o.keys {
		if p == nil {
			p = gantt.newPainter(t, g, len(keys))
			p.blend, p.stacked = newBlend(len(keys)), g.Unicode // colours of the legend, not mixes of them
		}
		for c, key := range keys {
			if p.cells[c] = (cell{paint: p.idle, sign: p.idleSign}); key != 0 {
				p.cells[c] = p.blend.look(p, key, c)
			}
		}
		var b strings.Builder
		writeCells(&b, p.cells)
		lines = append(lines, b.String())
	}
	return lines
}

// leftOut returns how long the stretch about a moment is of which the frame shows nothing.
func (f *Frame) leftOut(whole, at float64) float64 {
	from, to := 0.0, whole
	for _, s := range f.spans {
		switch {
		case !s.drawn():
		case s.from > at:
			to = min(to, s.from)
		default:
			from = max(from, s.to)
		}
	}
	return to - from
}

// shown reports, by column of a whole that is w cells wide, whether the frame shows any of it.
func (f *Frame) shown(whole float64, w int) []bool {
	in := make([]bool, w)
	for _, s := range f.spans {
		if !s.drawn() {
			continue
		}
		from := int(s.from / whole * float64(w))
		for c := from; c < w && (c == from || float64(c)*whole < s.to*float64(w)); c++ {
			in[c] = true
		}
	}
	return in
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

// Windows returns the line under an overview that shows where the parts of a frame are, and what
// words says of a time that is left out, where that has room.
func (f *Frame) Windows(whole float64, t *themes.Theme, g widget.Glyphs, w int,
	words func(left float64) string,
) string {
	in, out := "=", "-"
	if g.Unicode {
		in, out = "━", "╌"
	}
	shown, line := f.shown(whole, w), widget.NewLine(w)
	for i := 0; i < w; {
		j := i
		for j < w && shown[j] == shown[i] {
			j++
		}
		switch text := " " + words(f.leftOut(whole, whole*float64(i+j)/float64(2*w))) + " "; {
		case shown[i]:
			line.Put(t.Paint(themes.Accent), widget.Fill(in, j-i))
		case widget.Width(text)+2 > j-i:
			line.Put(t.Paint(themes.Faint), widget.Fill(out, j-i))
		default:
			before := (j - i - widget.Width(text)) / 2
			line.Put(t.Paint(themes.Faint), widget.Fill(out, before)).Put(t.Paint(themes.Muted), text).
				Put(t.Paint(themes.Faint), widget.Fill(out, j-i-before-widget.Width(text)))
		}
		i = j
	}
	return line.String()
}

// Spark draws how much something is over the columns of a frame in n lines, each column the most in
// it: samples hold until the next one. Values are shares of top; those above limit (0: none) are in
// the look of what does not fit.
func (f *Frame) Spark(times, values []float64, top, limit float64, t *themes.Theme, g widget.Glyphs,
	n int,
) []string {
	signs := []string{" ", ".", ":", "-", "=", "+", "*", "%", "#"}
	if g.Unicode {
		signs = []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	}
	most := f.most(times, values)
	lines := make([]string, 0, n)
	cells := make([]cell, f.Cols)
	for below := n - 1; below >= 0; below-- {
		for i, value := range most {
			cells[i] = cell{sign: " "}
			if value <= 0 || top <= 0 {
				continue
			}
			height := max(1, int(float64(8*n)*value/top+0.5)) - 8*below
			if height <= 0 {
				continue
			}
			cells[i] = cell{paint: t.Paint(themes.Memory), sign: signs[min(8, height)]}
			if limit > 0 && value > limit {
				cells[i].paint = t.Paint(themes.Bad)
			}
		}
		var b strings.Builder
		writeCells(&b, cells)
		lines = append(lines, b.String())
	}
	return lines
}

// most returns the most of the samples in each column.
func (f *Frame) most(times, values []float64) []float64 {
	out := make([]float64, f.Cols)
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
			for j := k; j < len(times) && times[j] < until && s.col+c < len(out); j++ {
				out[s.col+c] = max(out[s.col+c], values[j])
			}
		}
	}
	return out
}
