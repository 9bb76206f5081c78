package published

import (
	"fmt"
	"math"
	"slices"
)

// leastCell is how many layouts a cell has at least: one model on one machine of
// one size and time.
const leastCell = 5

// rates are the absolute errors of tokens per second.
func (j *judged) rates() []float64 {
	out := make([]float64, len(j.rows))
	for i := range j.rows {
		out[i] = math.Abs(j.rows[i].Measured/j.rows[i].Predicted - 1)
	}
	return out
}

// cells are the rows by model, machine and number of GPUs, those with enough
// layouts.
func (j *judged) cells() [][]int {
	at := map[string][]int{}
	var order []string
	for i, r := range j.runs {
		key := fmt.Sprint(r.Setup.Model.ID, r.Setup.Cluster.ID, r.Setup.GPUs)
		if at[key] == nil {
			order = append(order, key)
		}
		at[key] = append(at[key], i)
	}
	var out [][]int
	for _, key := range order {
		if len(at[key]) >= leastCell {
			out = append(out, at[key])
		}
	}
	return out
}

// correlation is the mean rank correlation of predicted and measured time over
// the cells, and that of a constant rate, whose time is the work.
func (j *judged) correlation() (ours, constant float64, cells int) {
	var a, b []float64
	for _, cell := range j.cells() {
		measured, predicted, work := make([]float64, len(cell)), make([]float64, len(cell)), make([]float64, len(cell))
		for k, i := range cell {
			measured[k], predicted[k], work[k] = j.rows[i].Measured, j.rows[i].Predicted, j.rows[i].work
		}
		a, b = append(a, spearman(predicted, measured)), append(b, spearman(work, measured))
	}
	return Mean(a), Mean(b), len(a)
}

// firstChoice is how fast the layout with the best prediction of each cell is
// against the fastest one, on average; ties count at their worst. A constant
// rate cannot tell layouts of the same work apart.
func (j *judged) firstChoice() (ours, constant float64, cells int) {
	var a, b []float64
	for _, cell := range j.cells() {
		a = append(a, j.share(cell, func(i int) float64 { return j.rows[i].Predicted }))
		b = append(b, j.share(cell, func(i int) float64 { return j.rows[i].work }))
	}
	return Mean(a), Mean(b), len(a)
}

// share is the rate of the layout that a prediction prefers over the best rate.
func (j *judged) share(cell []int, predicted func(i int) float64) float64 {
	best, chosen, at := 0.0, 0.0, math.Inf(1)
	for _, i := range cell {
		tokens := j.runs[i].Setup.Tokens()
		rate, p := tokens/j.rows[i].Measured, predicted(i)/tokens
		best = max(best, rate)
		const same = 1e-9
		if p < at*(1-same) || p < at*(1+same) && rate < chosen {
			at, chosen = p, rate
		}
	}
	return chosen / best
}

// spearman is the rank correlation of two lists; 0 where one has no order.
func spearman(a, b []float64) float64 {
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

// ranks gives the places in ascending order; equal values share theirs, as do
// values that differ by rounding.
func ranks(list []float64) []float64 {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case list[a] < list[b]:
			return -1
		case list[a] > list[b]:
			return 1
		}
		return 0
	})
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
