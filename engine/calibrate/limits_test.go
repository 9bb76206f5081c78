package calibrate_test

import (
	"errors"
	"math"
	"testing"

	"meshscope/engine/calibrate"
)

// many are volumes that tell all constants apart.
func many() [][3]float64 {
	return [][3]float64{
		{8, 1, 1},
		{2, 8, 1},
		{2, 1, 8},
		{0.1, 0.1, 0.1},
		{4, 4, 1},
		{1, 4, 4},
		{4, 1, 4},
		{0.2, 0.1, 0.1},
	}
}

// TestFitEndsAtTheRange: a constant whose best value is beyond its range is put to the end of it and says so,
// at either end, and the others are then the best next to it: no step of a hundredth to either side is
// better.
func TestFitEndsAtTheRange(t *testing.T) {
	for name, c := range map[string]struct {
		low, high, fitted float64
	}{"below": {0.65, 1, 0.65}, "above": {0.01, 0.55, 0.55}} {
		list := constants()
		list[1].Low, list[1].High, list[1].Value = c.low, c.high, (c.low+c.high)/2
		truth := []float64{0.5, 0.6, 0.7, 0.3} // the second is outside
		runs := machine(many(), truth, 0)
		r, err := calibrate.Fit(list, runs)
		if err != nil {
			t.Fatal(err)
		}
		if e := r.Constants[1]; e.Fitted != c.fitted || e.Why != calibrate.AtTheLimit ||
			r.Values[1] != c.fitted {
			t.Errorf("%s: %+v, want %v at the limit", name, e, c.fitted)
		}
		cost := func(values []float64) (sum float64) {
			for _, run := range runs {
				d := math.Log(run.Measured / run.Step(values))
				sum += d * d
			}
			return sum
		}
		least, left := cost(r.Values), 0
		for _, k := range []int{0, 2, 3} {
			// next to a model that is off, one may not be told from another
			if e := r.Constants[k]; e.Why != "" {
				left++
				continue
			}
			for _, step := range []float64{0.99, 1.01} {
				next := append([]float64(nil), r.Values...)
				next[k] *= step
				if cost(next) < least {
					t.Errorf("%s: constant %d of %v is better at %v", name, k, r.Values[k], next[k])
				}
			}
		}
		if left > 1 {
			t.Errorf("%s: %d constants are not fitted", name, left)
		}
	}
}

// TestFitInsideTheRange: a value inside the range, however near its end, is not at the limit.
func TestFitInsideTheRange(t *testing.T) {
	list := constants()
	list[1].Low, list[1].High = 0.59, 0.61
	list[1].Value = 0.6
	r, err := calibrate.Fit(list, machine(many(), []float64{0.5, 0.6, 0.7, 0.3}, 0))
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []float64{0.5, 0.6, 0.7, 0.3} {
		if e := r.Constants[k]; e.Why == calibrate.AtTheLimit || math.Abs(r.Values[k]/want-1) > 1e-3 {
			t.Errorf("%+v, want %v", e, want)
		}
	}
}

// TestRunsThatSayNothing: a step that is not positive, measured or predicted, is none; neither is no run.
func TestRunsThatSayNothing(t *testing.T) {
	good := machine(many(), []float64{0.5, 0.6, 0.7, 0.3}, 0)
	for name, spoil := range map[string]func(r *calibrate.Run){
		"measured in no time":   func(r *calibrate.Run) { r.Measured = 0 },
		"measured not a number": func(r *calibrate.Run) { r.Measured = math.NaN() },
		"predicted in no time":  func(r *calibrate.Run) { r.Step = func([]float64) float64 { return 0 } },
		"no prediction": func(r *calibrate.Run) {
			r.Step = func([]float64) float64 { return math.NaN() }
		},
	} {
		runs := append([]calibrate.Run(nil), good...)
		spoil(&runs[3])
		if _, err := calibrate.Fit(constants(), runs); !errors.Is(err, calibrate.ErrNoRun) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := calibrate.Fit(constants(), nil); !errors.Is(err, calibrate.ErrNoRun) {
		t.Errorf("no runs: %v", err)
	}
	plain := []calibrate.Run{{Measured: 2, Step: func([]float64) float64 { return 1 }}}
	if r, err := calibrate.Fit(nil, plain); err != nil || r.Changed() || len(r.Values) != 0 {
		t.Errorf("no constants: %+v %v", r, err)
	}
}
