package engine_test

import (
	"maps"
	"math"
	"testing"

	"meshscope/engine/knob"
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

// given leaves out what a row does not state.
func given(values knob.Given) knob.Given {
	maps.DeleteFunc(values, func(_ knob.ID, v any) bool { n, number := v.(*int); return number && n == nil })
	for id, v := range values {
		if n, number := v.(*int); number {
			values[id] = *n
		}
	}
	return values
}

// leaveOut takes back what was given of some knobs.
func leaveOut(d *knob.Draft, ids ...knob.ID) {
	for _, id := range ids {
		d.Take(id)
	}
}
