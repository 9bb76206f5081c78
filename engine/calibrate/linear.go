package calibrate

import "math"

// normal is the symmetric matrix JᵀJ of some columns of a Jacobian and its Cholesky factor.
type normal struct {
	columns []int
	l       [][]float64 // lower triangle; nil: the columns depend on each other
}

// ridge keeps the factor of columns that depend on each other finite: their variance is then so
// large that no limit lets them pass.
const ridge = 1e-10

// normalOf factors JᵀJ of some columns over the rows that count.
func normalOf(j [][]float64, rows, columns []int) *normal {
	n := &normal{columns, make([][]float64, len(columns))}
	for a, ca := range columns {
		n.l[a] = make([]float64, a+1)
		for b, cb := range columns[:a+1] {
			sum := 0.0
			for _, r := range rows {
				sum += j[r][ca] * j[r][cb]
			}
			if a == b {
				sum += ridge
			}
			for k := range b {
				sum -= n.l[a][k] * n.l[b][k]
			}
			if a == b {
				n.l[a][a] = math.Sqrt(max(sum, ridge*ridge))
			} else {
				n.l[a][b] = sum / n.l[b][b]
			}
		}
	}
	return n
}

// solve returns (JᵀJ)⁻¹ v.
func (n *normal) solve(v []float64) []float64 {
	x := make([]float64, len(v))
	for a := range v {
		x[a] = v[a]
		for k := range a {
			x[a] -= n.l[a][k] * x[k]
		}
		x[a] /= n.l[a][a]
	}
	for a := len(v) - 1; a >= 0; a-- {
		for k := a + 1; k < len(v); k++ {
			x[a] -= n.l[k][a] * x[k]
		}
		x[a] /= n.l[a][a]
	}
	return x
}

// variance returns the diagonal of (JᵀJ)⁻¹ and, of each column, which other one it is most
// correlated with; -1: none.
func (n *normal) variance() (diagonal []float64, with []int) {
	size := len(n.columns)
	inverse := make([][]float64, size)
	for a := range size {
		unit := make([]float64, size)
		unit[a] = 1
		inverse[a] = n.solve(unit)
	}
	diagonal, with = make([]float64, size), make([]int, size)
	for a := range size {
		diagonal[a], with[a] = inverse[a][a], -1
		most := 0.0
		for b := range size {
			if c := math.Abs(inverse[a][b]) / math.Sqrt(inverse[a][a]*inverse[b][b]); a != b && c > most {
				most, with[a] = c, n.columns[b]
			}
		}
	}
	return diagonal, with
}

// gradient returns Jᵀy of the columns over some rows.
func (n *normal) gradient(j [][]float64, y []float64, rows []int) []float64 {
	out := make([]float64, len(n.columns))
	for a, c := range n.columns {
		for _, r := range rows {
			out[a] += j[r][c] * y[r]
		}
	}
	return out
}

// of returns the columns of a row.
func (n *normal) of(row []float64) []float64 {
	out := make([]float64, len(n.columns))
	for a, c := range n.columns {
		out[a] = row[c]
	}
	return out
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
