package calibrate

import "math"

// Spread returns k rows of a Jacobian that together tell its columns apart best, in addition to the rows
// that are taken anyway: greedily the row that raises det(JᵀJ) most (D-optimal design; Wynn,
// Annals of Mathematical Statistics 41, 1970; Fedorov, Theory of Optimal Experiments, 1972). The
// determinant is over the volume of the confidence region of the constants; a row raises it by
// 1 + r (JᵀJ)⁻¹ rᵀ. A weak prior of one unit of ln on every column lets the first rows count.
func Spread(jacobian [][]float64, taken []int, k int) []int {
	if len(jacobian) == 0 || len(jacobian[0]) == 0 {
		return nil
	}
	all := len(jacobian[0])
	columns, rows := make([]int, all), []int{}
	j := append([][]float64{}, jacobian...)
	used := map[int]bool{}
	for c := range all {
		prior := make([]float64, all)
		prior[c], columns[c] = 1, c
		rows, j = append(rows, len(j)), append(j, prior)
	}
	for i := range jacobian {
		scaled := make([]float64, all)
		for c := range all {
			scaled[c] = jacobian[i][c] / Noise // in units of the spread of a measured step
		}
		j[i] = scaled
	}
	for _, t := range taken {
		rows, used[t] = append(rows, t), true
	}
	var out []int
	for range k {
		n, best, gain := normalOf(j, rows, columns), -1, 1e-3 // less than 0.1 %: nothing new
		for i := range jacobian {
			if g := math.Log1p(dot(j[i], n.solve(j[i]))); !used[i] && g > gain {
				best, gain = i, g
			}
		}
		if best < 0 {
			break
		}
		out, rows, used[best] = append(out, best), append(rows, best), true
	}
	return out
}

// Determined returns the standard errors that runs with these rows of a Jacobian would leave for
// the unknown of each constant; 0: they would not determine it.
func Determined(jacobian [][]float64, rows []int) []float64 {
	if len(jacobian) == 0 {
		return nil
	}
	out, limits := make([]float64, len(jacobian[0])), make([]float64, len(jacobian[0]))
	for k := range limits {
		limits[k] = Limit
	}
	c := felt(jacobian, make([]float64, len(jacobian)), rows, limits, Noise)
	for a, k := range c.columns {
		out[k] = c.deviation[a]
	}
	return out
}
