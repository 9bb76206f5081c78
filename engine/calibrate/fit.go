// Package calibrate fits few constants to measured step times and tells which of them the runs
// determine. It knows numbers only: what a constant is, and how long a step takes with it, the
// caller says.
//
// A fit is least squares of ln(measured / predicted) by Gauss-Newton. The unknown of a constant
// is the logarithm of its change, so that all are of one size. Constants that the runs do not
// determine stay as they were: those with a standard error above Limit leave, the largest first
// (backward elimination; Belsley, Kuh, Welsch: Regression Diagnostics, 1980, chapter 3, on why
// columns that depend on each other must not be fitted together), and so do those without which
// runs that are left out are predicted better (PRESS: Allen, Technometrics 16, 1974).
package calibrate

import (
	"errors"
	"math"
	"slices"
)

// Constant is what a fit may change.
type Constant struct {
	ID        string
	Value     float64 // before the fit
	Low, High float64 // its range
	// Unit is for constants that add to a step and may be zero: the unknown is then the change in
	// units; 0: the unknown is the logarithm of the ratio.
	Unit float64
}

// at returns the value for an unknown, within the range.
func (c *Constant) at(x float64) float64 {
	v := c.Value * math.Exp(x)
	if c.Unit > 0 {
		v = c.Value + c.Unit*x
	}
	return min(max(v, c.Low), c.High)
}

// unknown returns the inverse of at.
func (c *Constant) unknown(v float64) float64 {
	if c.Unit > 0 {
		return (v - c.Value) / c.Unit
	}
	return math.Log(v / c.Value)
}

// Run is a measured step.
type Run struct {
	Measured float64 // seconds
	// Step returns the predicted seconds with values of the constants, in their order; not
	// positive where there is no prediction.
	Step func(values []float64) float64
}

// Limits of what counts as determined.
const (
	// standard error of a constant, relative to it; of one that adds to the larger of it and its unit.
	Limit = 0.10
	Noise = 0.02 // least spread of measured steps around a model that is right
	// leastSlope is how much 100 % of a constant must change some step.
	leastSlope = 0.005
	// leastGain is by how much the squared error of runs that are left out must fall without a
	// constant for it to stay as it was.
	leastGain = 0.02
)

// Why tells why a constant was not fitted.
type Why string

// Reasons.
const (
	Unfelt     Why = "unfelt"     // no step depends on it
	Scattered  Why = "scattered"  // the runs spread too much around any fit
	Entangled  Why = "entangled"  // its change looks like that of another constant
	TooFew     Why = "too few"    // more constants than the runs can hold
	Unfounded  Why = "unfounded"  // left-out runs are predicted as well without changing it
	AtTheLimit Why = "at a limit" // fitted, to the end of its range
)

// Estimate is what became of a constant.
type Estimate struct {
	Constant
	Fitted float64 // its value after the fit; Value where it was not fitted
	Error  float64 // standard error of the fitted value, in its unit; 0: not fitted
	Why    Why     // empty: fitted
	With   string  // of an entangled one: the constant that it cannot be told from
}

// Result is what a fit gives.
type Result struct {
	Constants []Estimate
	Values    []float64 // of the constants, fitted or not
	Spread    float64   // standard deviation of ln(measured / predicted) after the fit
	Before    []float64 // predicted seconds of each run with the constants as they were
	After     []float64 // the same after the fit
	// the same after a fit, with its choice of constants, without the run; of many runs without some others,
	// too
	LeftOut []float64
}

// Changed reports whether any constant was fitted.
func (r *Result) Changed() bool {
	return slices.ContainsFunc(r.Constants, func(e Estimate) bool { return e.Error > 0 })
}

// ErrNoRun reports a fit without any run that has a prediction.
var ErrNoRun = errors.New("no run with a measured and a predicted step time")

// Fit fits the constants to the runs.
func Fit(constants []Constant, runs []Run) (*Result, error) {
	if len(runs) == 0 {
		return nil, ErrNoRun
	}
	f := newFit(constants, runs)
	before := f.predict(f.x)
	for i, p := range before {
		if !(p > 0) || !(runs[i].Measured > 0) {
			return nil, ErrNoRun
		}
	}
	f.linearise(nil)
	start := f.of(f.rows)
	f.descend(felt(f.jacobian, f.y, f.rows, f.limits(), Noise), false)
	f.linearise(nil)
	middle := f.of(f.rows)
	chosen := choose(f.jacobian, f.y, f.rows, f.limits())
	f.descend(chosen, false)
	f.linearise(nil)
	chosen = chosen.again(f.jacobian, f.y)
	out := &Result{Before: before, After: f.predict(f.x), Values: f.values(f.x), Spread: chosen.spread}
	for k := range constants {
		out.Constants = append(out.Constants, f.estimate(k, &chosen))
	}
	out.LeftOut = f.leftOut(start, middle)
	return out, nil
}

// Fits without some runs: each run is left out by itself as long as these fits predict about
// mostLeftOut runs, else with as few others as that allows, in at least leastFolds parts.
const mostLeftOut, leastFolds = 1000, 5

// leftOut returns what fits without a run, or of many runs without a part of them, predict for it.
// Each finds what is felt at the start of the whole fit and chooses its constants in the middle of
// that, where all that are felt were fitted, as Fit does; it descends from the end of it.
func (f *fit) leftOut(start, middle *fit) []float64 {
	all := len(f.runs)
	out, parts := make([]float64, all), min(all, max(leastFolds, mostLeftOut/all))
	for part := range parts {
		var rows, apart []int
		for i := range f.runs { // those next to each other are often of one layout: they are apart
			if i%parts == part {
				apart = append(apart, i)
			} else {
				rows = append(rows, i)
			}
		}
		s, m, rest := start.of(rows), middle.of(rows), f.of(rows)
		m.x = m.bounded(felt(s.jacobian, s.y, s.rows, s.limits(), Noise))
		rest.descend(choose(m.jacobian, m.y, m.rows, m.limits()), true)
		for _, i := range apart {
			out[i] = f.runs[i].Step(rest.values(rest.x))
		}
	}
	return out
}

// of returns a copy of the fit with some of its runs.
func (f *fit) of(rows []int) *fit {
	out := &fit{constants: f.constants, x: slices.Clone(f.x)}
	for n, i := range rows {
		out.runs, out.rows = append(out.runs, f.runs[i]), append(out.rows, n)
		out.jacobian, out.y = append(out.jacobian, slices.Clone(f.jacobian[i])), append(out.y, f.y[i])
	}
	return out
}

// fit is the state of Gauss-Newton.
type fit struct {
	constants []Constant
	runs      []Run
	rows      []int
	x         []float64
	jacobian  [][]float64 // d ln(step) / dx at x
	y         []float64   // what the linear model at x explains: ln(measured / step at 0)
}

func newFit(constants []Constant, runs []Run) *fit {
	f := &fit{
		constants: constants, runs: runs, x: make([]float64, len(constants)),
		rows: make([]int, len(runs)),
	}
	for i := range runs {
		f.rows[i] = i
	}
	return f
}

func (f *fit) values(x []float64) []float64 {
	out := make([]float64, len(x))
	for k := range x {
		out[k] = f.constants[k].at(x[k])
	}
	return out
}

func (f *fit) predict(x []float64) []float64 {
	v, out := f.values(x), make([]float64, len(f.runs))
	for i := range f.runs {
		out[i] = f.runs[i].Step(v)
	}
	return out
}

// cost returns the squared error; infinite where a run has no prediction.
func (f *fit) cost(x []float64) (sum float64) {
	for i, p := range f.predict(x) {
		if !(p > 0) {
			return math.Inf(1)
		}
		d := math.Log(f.runs[i].Measured / p)
		sum += d * d
	}
	return sum
}

// slopeStep is the change of an unknown that slopes are taken over.
const slopeStep = 0.02

// linearise fills the Jacobian at x for some columns, nil: all; the others stay as they are.
func (f *fit) linearise(columns []int) {
	if columns == nil {
		f.jacobian = Jacobian(f.constants, f.runs, f.x)
	} else {
		f.slopes(f.jacobian, columns, f.x)
	}
	f.y = make([]float64, len(f.runs))
	for i, p := range f.predict(f.x) {
		f.y[i] = math.Log(f.runs[i].Measured/p) + dot(f.jacobian[i], f.x)
	}
}

// Jacobian returns d ln(step) / dx of each run and constant at unknowns x; nil: as they are.
func Jacobian(constants []Constant, runs []Run, x []float64) [][]float64 {
	f := fit{constants: constants, runs: runs}
	if x == nil {
		x = make([]float64, len(constants))
	}
	out, columns := make([][]float64, len(runs)), make([]int, len(constants))
	for i := range runs {
		out[i] = make([]float64, len(constants))
	}
	for k := range columns {
		columns[k] = k
	}
	f.slopes(out, columns, x)
	return out
}

// slopes fills columns of a Jacobian by differences to both sides, or to the one that the range of
// a constant leaves.
func (f *fit) slopes(into [][]float64, columns []int, x []float64) {
	for _, k := range columns {
		c := &f.constants[k]
		up, down := f.values(x), f.values(x)
		up[k], down[k] = c.at(x[k]+slopeStep), c.at(x[k]-slopeStep)
		width := c.unknown(up[k]) - c.unknown(down[k])
		for i := range f.runs {
			a, b := f.runs[i].Step(up), f.runs[i].Step(down)
			if into[i][k] = 0; width > 0 && a > 0 && b > 0 {
				into[i][k] = math.Log(a/b) / width
			}
		}
	}
}

// Rounds of Gauss-Newton, its longest step and halvings of one, of which a step below still has
// none; a change of the cost below converged ends it.
const (
	rounds, halvings = 20, 6
	longest          = 0.5
	converged, still = 1e-4, 1e-3
)

// limits returns the standard errors of the unknowns below which constants are determined.
func (f *fit) limits() []float64 {
	out := make([]float64, len(f.constants))
	for k := range out {
		if out[k] = Limit; f.constants[k].Unit > 0 {
			out[k] *= max(1, f.values(f.x)[k]/f.constants[k].Unit)
		}
	}
	return out
}

// descend moves x to the least squares of the chosen constants. The Jacobian is that of x where it
// is fresh.
func (f *fit) descend(chosen choice, fresh bool) {
	for k := range f.x {
		if f.x[k] != 0 && !slices.Contains(chosen.columns, k) {
			f.x[k], fresh = 0, false
		}
	}
	cost := f.cost(f.x)
	for range rounds {
		if !fresh {
			f.linearise(chosen.columns)
		}
		fresh = false
		to, moved, gain := f.bounded(chosen), 0.0, 0.0
		for k := range to {
			moved = max(moved, math.Abs(to[k]-f.x[k]))
		}
		scale := min(1, longest/max(moved, longest))
		for range halvings {
			next := slices.Clone(f.x)
			for k := range next {
				next[k] += scale * (to[k] - f.x[k])
			}
			if c := f.cost(next); c < cost {
				gain, cost, f.x = cost-c, c, next
				break
			}
			if moved < still {
				break
			}
			scale /= 2
		}
		if gain <= converged*cost {
			break
		}
	}
}

// bounded returns the unknowns of all constants: 0 for those that were not chosen. One whose
// value would leave its range is put to the end of it, and the others are fitted again.
func (f *fit) bounded(c choice) []float64 {
	out, y := make([]float64, len(f.constants)), slices.Clone(f.y)
	free := slices.Clone(c.columns)
	for {
		n := normalOf(f.jacobian, c.rows, free)
		x, fixed := n.solve(n.gradient(f.jacobian, y, c.rows)), false
		for a := len(free) - 1; a >= 0; a-- {
			k := free[a]
			v := f.constants[k].at(x[a])
			if out[k] = x[a]; v <= f.constants[k].Low || v >= f.constants[k].High {
				out[k], fixed = f.constants[k].unknown(v), true
				for i := range y {
					y[i] -= f.jacobian[i][k] * out[k]
				}
				free = slices.Delete(free, a, a+1)
			}
		}
		if !fixed {
			return out
		}
	}
}

func (f *fit) estimate(k int, c *choice) Estimate {
	e := Estimate{Constant: f.constants[k], Fitted: f.constants[k].Value, Why: c.why[k]}
	if w := c.with[k]; w >= 0 {
		e.With = f.constants[w].ID
	}
	a := slices.Index(c.columns, k)
	if a < 0 {
		return e
	}
	e.Fitted, e.Error = f.constants[k].at(f.x[k]), c.deviation[a]*e.Unit
	if e.Unit == 0 {
		e.Error = c.deviation[a] * e.Fitted
	}
	if e.Fitted <= e.Low || e.Fitted >= e.High {
		e.Why = AtTheLimit
	}
	return e
}
