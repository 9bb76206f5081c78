package calibrate_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"meshscope/engine/calibrate"
)

// machine returns runs of a step of three parts and a constant one: a/rate of compute, b/rate of
// a link, and c/rate of a second link that no run uses where its volume is 0.
func machine(volumes [][3]float64, truth []float64, noise float64) []calibrate.Run {
	step := func(v [3]float64, k []float64) float64 { return v[0]/k[0] + v[1]/k[1] + v[2]/k[2] + k[3] }
	random := rand.New(rand.NewPCG(7, 7))
	var runs []calibrate.Run
	for _, v := range volumes {
		measured := step(v, truth) * math.Exp(noise*random.NormFloat64())
		runs = append(runs,
			calibrate.Run{Measured: measured, Step: func(k []float64) float64 { return step(v, k) }})
	}
	return runs
}

func constants() []calibrate.Constant {
	return []calibrate.Constant{
		{ID: "compute", Value: 0.7, Low: 0.01, High: 1},
		{ID: "link", Value: 0.8, Low: 0.01, High: 1},
		{ID: "network", Value: 0.9, Low: 0.01, High: 1},
		{ID: "overhead", Value: 0, Low: 0, High: 10, Unit: 0.1},
	}
}

// TestFit: constants of another machine come back; what no run depends on, what looks like
// another constant and what more runs would be needed for stays as it was, with the reason.
func TestFit(t *testing.T) {
	truth := []float64{0.5, 0.6, 0.7, 0.3}
	for name, c := range map[string]struct {
		volumes [][3]float64
		why     [4]calibrate.Why
	}{
		"all are felt": {[][3]float64{
			{8, 1, 1},
			{2, 8, 1},
			{2, 1, 8},
			{0.1, 0.1, 0.1},
			{4, 4, 1},
			{1, 4, 4},
			{4, 1, 4},
			{0.2, 0.1, 0.1},
		}, [4]calibrate.Why{}},
		"no network": {
			[][3]float64{{8, 1, 0}, {2, 8, 0}, {0.1, 0.1, 0}, {4, 4, 0}, {1, 4, 0}, {0.1, 0.2, 0}},
			[4]calibrate.Why{2: calibrate.Unfelt},
		},
		"one ratio": {[][3]float64{
			{8, 4, 0},
			{4, 2, 0},
			{2, 1, 0},
			{1, 0.5, 0},
			{0.2, 0.1, 0},
			{0.1, 0.05, 0},
		}, [4]calibrate.Why{1: calibrate.Entangled, 2: calibrate.Unfelt}},
	} {
		r, err := calibrate.Fit(constants(), machine(c.volumes, truth, 0.005))
		if err != nil {
			t.Fatal(name, err)
		}
		before, after, out := 0.0, 0.0, 0.0
		for i, m := range machine(c.volumes, truth, 0.005) {
			before, after, out = before+math.Abs(math.Log(r.Before[i]/m.Measured)),
				after+math.Abs(math.Log(r.After[i]/m.Measured)),
				out+math.Abs(math.Log(r.LeftOut[i]/m.Measured))
		}
		if after > before/10 || out > before/5 {
			t.Errorf("%s: error %.4f before, %.4f after, %.4f left out", name, before, after, out)
		}
		for k, e := range r.Constants {
			switch {
			case e.Why != c.why[k]:
				t.Errorf("%s: %s: %q, want %q", name, e.ID, e.Why, c.why[k])
			case e.Why != "":
				if e.Fitted != e.Value || e.Error != 0 || e.Why == calibrate.Entangled && e.With == "" {
					t.Errorf("%s: %+v was not fitted", name, e)
				}
			case name != "one ratio" && math.Abs(e.Fitted/truth[k]-1) > 0.05, !(e.Error > 0):
				t.Errorf("%s: %s is %.3f ± %.3f, want %.3f", name, e.ID, e.Fitted, e.Error, truth[k])
			}
		}
	}
}

// TestLeftOut: what a fit says of each run left out is what a fit to the other runs predicts, also
// where these no longer determine a constant.
func TestLeftOut(t *testing.T) {
	volumes := [][3]float64{
		{8, 1, 1},
		{2, 8, 1},
		{2, 1, 8},
		{0.1, 0.1, 0.1},
		{4, 4, 1},
		{1, 4, 4},
		{4, 1, 4},
		{0.2, 0.1, 0.1},
	}
	far := 0
	for _, noise := range []float64{0.005, 0.02, 0.05} {
		runs := machine(volumes, []float64{0.35, 0.5, 0.7, 0.3}, noise)
		r, err := calibrate.Fit(constants(), runs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range runs {
			rest, err := calibrate.Fit(constants(), slices.Concat(runs[:i], runs[i+1:]))
			if err != nil {
				t.Fatal(err)
			}
			want := runs[i].Step(rest.Values)
			if math.Abs(r.LeftOut[i]/want-1) > 0.005 {
				t.Errorf("noise %g, run %d: %.4f s, a fit to the others gives %.4f", noise, i, r.LeftOut[i],
					want)
			}
			if math.Abs(want/r.After[i]-1) > 0.1 {
				far++
			}
		}
	}
	if far == 0 {
		t.Error("no run decides a constant by itself: the test says little")
	}
}

// TestScatter: runs that spread by 5 % still move the constants where they are far off: a column
// that leaves does not take the others along.
func TestScatter(t *testing.T) {
	volumes := [][3]float64{
		{8, 1, 1},
		{2, 8, 1},
		{2, 1, 8},
		{0.1, 0.1, 0.1},
		{4, 4, 1},
		{1, 4, 4},
		{4, 1, 4},
		{0.2, 0.1, 0.1},
	}
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		runs := machine(slices.Concat(volumes, volumes), []float64{0.35, 0.5, 0.7, 0.3}, 0)
		for i := range runs {
			runs[i].Measured *= math.Exp(0.05 * random.NormFloat64())
		}
		r, err := calibrate.Fit(constants(), runs)
		if err != nil {
			t.Fatal(err)
		}
		before, after := 0.0, 0.0
		for i := range runs {
			before, after = before+math.Abs(r.Before[i]/runs[i].Measured-1),
				after+math.Abs(r.After[i]/runs[i].Measured-1)
		}
		if !r.Changed() || after > before/2 {
			t.Errorf("seed %d: error %.3f before, %.3f after", seed, before/16, after/16)
		}
	}
}

// TestFewRuns: one run determines nothing that is left out of itself; without runs there is no fit.
func TestFewRuns(t *testing.T) {
	r, err := calibrate.Fit(constants(), machine([][3]float64{{8, 1, 1}}, []float64{0.5, 0.6, 0.7, 0.3}, 0))
	if err != nil || r.Changed() {
		t.Errorf("%+v, %v", r, err)
	}
	for _, runs := range [][]calibrate.Run{
		nil,
		{{Measured: 1, Step: func([]float64) float64 { return 0 }}},
		{{Step: func([]float64) float64 { return 1 }}},
	} {
		if _, err := calibrate.Fit(constants(), runs); !errors.Is(err, calibrate.ErrNoRun) {
			t.Errorf("%v", err)
		}
	}
}

// TestSpread: the rows that are chosen tell the columns apart; of two alike the second adds less.
func TestSpread(t *testing.T) {
	jacobian := [][]float64{{0.9, 0.1, 0}, {0.9, 0.1, 0}, {0.1, 0.9, 0}, {0.1, 0.1, 0.8}, {0.5, 0.5, 0}}
	got := calibrate.Spread(jacobian, []int{0}, 2)
	if len(got) != 2 || got[0]+got[1] != 2+3 {
		t.Errorf("%v, want rows 2 and 3", got)
	}
	if got := calibrate.Spread(nil, nil, 3); got != nil {
		t.Errorf("%v of nothing", got)
	}
}
