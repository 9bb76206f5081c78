package calibrate

import (
	"math"
	"slices"
)

// choice is a linear fit of the columns that its rows determine.
type choice struct {
	rows      []int
	limits    []float64 // of the standard errors of all columns
	columns   []int
	deviation []float64 // standard errors of the unknowns of the columns
	spread    float64   // of the rows around the fit
	noise     float64   // what the standard errors that decided were for
	why       []Why     // of all columns; empty: chosen
	with      []int     // of entangled columns; -1: none
}

// felt returns the columns that rows depend on and determine where those spread by so much
// around a model that is right; 0: by as much as they do around the fit of all columns that are
// felt, which is noise alone. Around a fit without some of them they spread by what those would
// explain, too: the standard errors of all others would grow with each column that leaves, until
// none is left.
func felt(j [][]float64, y []float64, rows []int, limits []float64, spread float64) choice {
	c := choice{rows: rows, limits: limits}
	if len(j) == 0 {
		return c
	}
	all := len(j[0])
	c.why, c.with = make([]Why, all), make([]int, all)
	for k := range all {
		most := 0.0
		for _, r := range rows {
			most = max(most, math.Abs(j[r][k]))
		}
		if c.with[k] = -1; most < leastSlope {
			c.why[k] = Unfelt
			continue
		}
		c.columns = append(c.columns, k)
	}
	c.determine(j, y, spread)
	return c
}

// choose fits y by the columns of J over some rows: all that are felt, without those that the
// rows do not determine, and without those that do not help to predict rows left out.
func choose(j [][]float64, y []float64, rows []int, limits []float64) choice {
	c := felt(j, y, rows, limits, 0)
	c.justify(j, y)
	c.determine(j, y, c.noise)
	return c
}

// again returns the choice with the spread and standard errors at another point.
func (c choice) again(j [][]float64, y []float64) choice {
	variance, _ := c.solve(j, y).variance()
	c.deviate(variance, 0)
	return c
}

// drop takes a column out.
func (c *choice) drop(a int, why Why, with int) {
	k := c.columns[a]
	c.why[k], c.with[k] = why, with
	c.columns = slices.Delete(slices.Clone(c.columns), a, a+1)
}

// solve fits the columns.
func (c *choice) solve(j [][]float64, y []float64) *normal {
	n := normalOf(j, c.rows, c.columns)
	x, sum := n.solve(n.gradient(j, y, c.rows)), 0.0
	for _, r := range c.rows {
		d := y[r] - dot(n.of(j[r]), x)
		sum += d * d
	}
	c.spread = math.Sqrt(sum / float64(max(len(c.rows)-len(c.columns), 1)))
	return n
}

// deviate fills the standard errors for a spread of the rows, 0: theirs, and returns the spread
// and the column with the largest error; -1: none.
func (c *choice) deviate(variance []float64, spread float64) (used float64, worst int) {
	if spread == 0 {
		spread = max(c.spread, Noise)
	}
	c.deviation, worst = make([]float64, len(variance)), -1
	for a := range variance {
		c.deviation[a] = spread * math.Sqrt(variance[a])
		if worst < 0 || c.over(a) > c.over(worst) {
			worst = a
		}
	}
	return spread, worst
}

// over returns the standard error of a column over its limit.
func (c *choice) over(a int) float64 { return c.deviation[a] / c.limits[c.columns[a]] }

// determine drops the column with the largest standard error until all are below their limits and
// there is a row more than columns.
func (c *choice) determine(j [][]float64, y []float64, spread float64) {
	for {
		variance, with := c.solve(j, y).variance()
		few := len(c.columns) >= len(c.rows)
		if spread == 0 && !few {
			spread = max(c.spread, Noise)
		}
		used, worst := c.deviate(variance, spread)
		c.noise = used
		if worst < 0 || !few && c.over(worst) <= 1 {
			return
		}
		k, why := c.columns[worst], Entangled
		alone := 0.0
		for _, r := range c.rows {
			alone += j[r][k] * j[r][k]
		}
		switch { // not even if all others were known
		case Noise/math.Sqrt(alone) > c.limits[k]:
			why, with[worst] = Unfelt, -1
		case used/math.Sqrt(alone) > c.limits[k]:
			why, with[worst] = Scattered, -1
		case few:
			why = TooFew
		}
		c.drop(worst, why, with[worst])
	}
}

// justify drops columns as long as rows that are left out are predicted better without one, the
// one whose absence helps most first.
func (c *choice) justify(j [][]float64, y []float64) {
	for len(c.columns) > 0 {
		least, at := press(j, y, c.rows, c.columns)*(1-leastGain), -1
		for a := range c.columns {
			if p := press(j, y, c.rows, slices.Delete(slices.Clone(c.columns), a, a+1)); p <= least {
				least, at = p, a
			}
		}
		if at < 0 {
			return
		}
		c.drop(at, Unfounded, -1)
	}
}

// press returns the squared error of rows predicted by fits without them: the residual over
// one minus its leverage.
func press(j [][]float64, y []float64, rows, columns []int) (sum float64) {
	n := normalOf(j, rows, columns)
	x := n.solve(n.gradient(j, y, rows))
	for _, r := range rows {
		row := n.of(j[r])
		d := (y[r] - dot(row, x)) / max(1-dot(row, n.solve(row)), 1e-6)
		sum += d * d
	}
	return sum
}
