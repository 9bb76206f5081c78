package published

import (
	"math"
	"testing"
)

// The values are computed by hand from the definition: Pearson's correlation of the
// ranks, equal values at their mean rank.
func TestRankCorrelation(t *testing.T) {
	cases := []struct {
		name string
		a, b []float64
		want float64
	}{
		{"same order, other spacing", []float64{1, 2, 10}, []float64{3, 4, 5}, 1},
		{"reversed", []float64{1, 2, 3}, []float64{9, 8, 7}, -1},
		{"one swap of five: 1 - 6 x 2 / (5 x 24)", []float64{1, 2, 3, 4, 5}, []float64{2, 1, 3, 4, 5}, 0.9},
		{"a tie: ranks 0, 1.5, 1.5, 3", []float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}, 4.5 / math.Sqrt(4.5*5)},
		{
			"equal but for rounding",
			[]float64{1, 2, 2 + 1e-12, 3},
			[]float64{1, 2, 3, 4},
			4.5 / math.Sqrt(4.5*5),
		},
		{"no order", []float64{7, 7, 7}, []float64{1, 2, 3}, 0},
	}
	for _, c := range cases {
		if got := RankCorrelation(c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
