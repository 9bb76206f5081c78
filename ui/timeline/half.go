package timeline

import (
	"slices"
	"strings"

	"meshscope/themes"
)

// DrawTwo writes two ranks into one line, one in the upper half of each cell and
// one in the lower. It needs a theme that blends: letters have no room, so that
// colours are all there is.
func (r *Rows) DrawTwo(b *strings.Builder, upper, lower int, mu, ml *Marks) {
	r.base.stacked, r.lit.stacked = false, false
	r.draw(upper, mu)
	above := slices.Clone(r.base.cells)
	r.draw(lower, ml)
	cells := r.base.cells
	if r.halves == nil {
		r.halves = map[[2]themes.Paint]cell{}
	}
	for i := range cells {
		if r.frame.folded(i) || cells[i] == above[i] && r.bare(cells[i].sign) {
			continue // the mark of a fold, idle time, the end of the step
		}
		pair := [2]themes.Paint{above[i].paint, cells[i].paint}
		half, ok := r.halves[pair]
		if !ok {
			paint, sign := themes.Halves(pair[0], pair[1])
			half = cell{paint: paint, sign: sign}
			r.halves[pair] = half
		}
		cells[i] = half
	}
	writeCells(b, cells)
}

// bare reports whether a sign represents idle time or the end of the step.
func (r *Rows) bare(sign string) bool {
	return sign == r.base.idleSign || sign == r.base.glyphs.Limit
}

// stall adds the waits of a rank that its cells do not show: those shorter than
// half a column, or where the cells are mixtures too short to change one.
func (r *Rows) stall(rank int) {
	line := r.base.line
	if len(r.stalls) != r.frame.Cols {
		r.stalls = make([]float64, r.frame.Cols)
	}
	r.drawn++
	half := 0.5 / r.frame.perUnit()
	if r.base.perOp < 1 {
		half /= blendLevels
	}
	from, _ := r.frame.Shows()
	k, _ := line.Running(rank, from)
	start, end := line.Order.Start[rank], line.Order.Start[rank+1]
	k = max(k, start+1)
	if k >= end {
		return
	}
	begins, ends := line.Begin[:end], line.End[:end]
	last := ends[k-1]                 // of the operation before
	for _, s := range r.frame.spans { // one after the other, as the operations are
		if s.folded > 0 || s.cols <= 0 {
			for k < end && begins[k] < s.to {
				last = ends[k]
				k++
			}
			continue
		}
		scale := s.to - s.from
		for ; k < len(begins) && begins[k] < s.to; k++ {
			begin, gap := begins[k], begins[k]-last
			last = ends[k]
			if gap > 0 && gap < half {
				if col := s.col + int((begin-s.from)*float64(s.cols)/scale); col >= 0 &&
					begin >= r.frame.spans[0].from {
					r.stalls[min(col, s.col+s.cols-1, len(r.stalls)-1)] += gap
				}
			}
		}
	}
}

// stallLeast is the share of a column's time, over all ranks drawn, from which
// waits that no cell shows are worth a mark.
const stallLeast = 0.02

// Stalled says, by column, whether ranks that were drawn wait in it without their
// cells showing it.
func (r *Rows) Stalled() []bool {
	out := make([]bool, len(r.stalls))
	column := 1 / r.frame.perUnit()
	for i, waits := range r.stalls {
		out[i] = waits > stallLeast*column*float64(r.drawn)
	}
	return out
}
