package published

import (
	"cmp"
	"math"
	"slices"
)

// RankCorrelation is Spearman's rank correlation of two lists of the same length, -1
// to 1; equal values share their mean rank, and 0 is the answer where a list has no order.
func RankCorrelation(a, b []float64) float64 {
	x, y := ranks(a), ranks(b)
	mx, my := Mean(x), Mean(y)
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

// ranks returns the places in ascending order; equal values share theirs, as do
// values that differ by rounding.
func ranks(list []float64) []float64 {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(list[a], list[b]) })
	out := make([]float64, len(list))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && list[order[to]]-list[order[from]] <= 1e-9*math.Abs(list[order[from]]) {
			to++
		}
		for k := from; k < to; k++ {
			out[order[k]] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}
