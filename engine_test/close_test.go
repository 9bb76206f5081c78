package engine_test

import (
	"testing"

	"meshscope/engine"
	"meshscope/engine/units"
)

// TestFitWithin: a layout fits, or is over, only if it is so with the error band too.
func TestFitWithin(t *testing.T) {
	for _, c := range []struct {
		peak units.Bytes
		band float64
		want engine.Fit
	}{
		{70, 0.1, engine.Fits},
		{72.7, 0.1, engine.Fits},
		{73, 0.1, engine.Tight},
		{80, 0.1, engine.Tight},
		{87.9, 0.1, engine.Tight},
		{88.1, 0.1, engine.Over},
		{80, 0, engine.Fits},
		{80.1, 0, engine.Over},
	} {
		if got := engine.FitWithin(c.peak, 80, c.band); got != c.want {
			t.Errorf("a peak of %v of 80 within %v: %s, wanted %s", c.peak, c.band, got, c.want)
		}
	}
}
