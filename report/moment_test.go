package report

import (
	"testing"

	"meshscope/engine/units"
)

// TestFitOverSteps: both steps are checked with the error band of the memory, as the whole is.
func TestFitOverSteps(t *testing.T) {
	for _, c := range []struct {
		first, later units.Bytes
		words        string
		alike        bool
	}{
		{80, 90, "fits", true},
		{80, 92, "fits in step 1, tight from step 2 on", false},
		{92, 95, "tight", true},
		{92, 105, "tight", true},
		{105, 111, "tight in step 1, over from step 2 on", false},
		{90, 111, "fits step 1 but not step 2", false},
		{111, 120, "does not fit", true},
		{92, 90, "tight in step 1, fits from step 2 on", false},
	} {
		if words, alike := FitOverSteps([2]units.Bytes{c.first, c.later}, 100, 0.1); words != c.words ||
			alike != c.alike {
			t.Errorf("%g, then %g of 100: %q, %v, want %q, %v", float64(c.first), float64(c.later), words,
				alike, c.words, c.alike)
		}
	}
}
