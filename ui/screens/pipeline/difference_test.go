package pipeline

import (
	"testing"

	"meshscope/engine/record"
)

// TestPointsOfShown: a difference of shares is that of the two that are shown.
func TestPointsOfShown(t *testing.T) {
	a, b := new(entry), new(entry)
	c := &column{Unit: record.Share, Value: func(r *entry) float64 {
		if r == a {
			return 0.0426
		}
		return 0.0264
	}}
	if got := difference(c, a, b); got != "-1.7 pts" {
		t.Error(got)
	}
}
