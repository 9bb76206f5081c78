package engine_test

import (
	"math"
	"testing"
)

// near fails unless got is within a relative tolerance of want; NaN never is.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s: %.9g, want %.9g (within %g)", what, got, want, tolerance)
	}
}

// ptr is a pointer to a value, for the fields of a draft.
func ptr[T any](v T) *T { return &v }
