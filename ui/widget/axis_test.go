package widget

import (
	"math"
	"slices"
	"strings"
	"testing"

	"meshscope/engine_test/draws"
	"meshscope/themes"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// TestAxisIsEven: an axis holds its range, its round values are multiples of 1, 2 or 5 in the unit, two at
// least, and stand on lines at even distances.
func TestAxisIsEven(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(0, 1e6).Draw(t, "low")
		high := low + rapid.Float64Range(1e-3*max(low, 1), 1e7).Draw(t, "span")
		h := rapid.IntRange(3, 60).Draw(t, "h")
		unit := rapid.SampledFrom([]float64{1, 0.01, 1 << 30}).Draw(t, "unit")
		low, high = low*unit, high*unit
		a := NewAxis(low, high, h, unit)
		air := 1e-6 * (high - low)
		// a line more than the range has, of the next round step
		most := max(4, 2.5*float64(h-1)/float64(h-2))
		if a.Low > low+air || a.High < high-air || a.High-a.Low > most*(high-low) {
			t.Fatalf("%g to %g in %d lines is %g to %g", low, high, h, a.Low, a.High)
		}
		ticks := a.Ticks()
		if len(ticks) < 2 {
			t.Fatalf("%g to %g in %d lines has the numbers %v", low, high, h, ticks)
		}
		first := a.Row(ticks[0]) - a.Row(ticks[1])
		for i := 1; i < len(ticks); i++ {
			if rows := a.Row(ticks[i-1]) - a.Row(ticks[i]); rows != first || rows < 1 {
				t.Fatalf("the numbers %v stand %d and %d lines apart", ticks, first, rows)
			}
		}
		step := (ticks[1] - ticks[0]) / unit
		digit := math.Round(step / math.Pow(10, math.Floor(math.Log10(step)+1e-9)))
		if !slices.Contains([]float64{1, 2, 5}, digit) {
			t.Fatalf("the numbers %v are not round in %g", ticks, unit)
		}
	})
}

// TestAxisOfNothingRound: where a step is lost in the rounding of the values the axis has few numbers, or
// none.
func TestAxisOfNothingRound(t *testing.T) {
	for _, r := range [][2]float64{
		{-1e300, 1},
		{1e17, 1e17 + 64},
		{-1 << 53, -1<<53 + 8},
		{0, 5e-324},
		{0, 1e308},
	} {
		if a := NewAxis(r[0], r[1], 20, 1); len(a.Ticks()) > 20 {
			t.Errorf("%g to %g: %d numbers in 20 lines", r[0], r[1], len(a.Ticks()))
		}
	}
}

// TestWithinTheBandIsFlat: where all values lie within the error band of the current one the line takes no
// more of the height than its share of the band.
func TestWithinTheBandIsFlat(t *testing.T) {
	look := looks(t)["256"]
	c := Curve{
		Values: []float64{2.034, 2.032, 2.031, 2.03, 2.03}, At: []int{2, 12, 22, 32, 42}, Current: 3,
		Role: themes.Time,
	}
	rows := func() int {
		used := map[int]bool{}
		for i, line := range c.Render(look.theme, look.glyphs, 50, 20) {
			if strings.TrimSpace(ansi.Strip(line)) != "" {
				used[i] = true
			}
		}
		return len(used)
	}
	if n := rows(); n < 10 {
		t.Errorf("without a band the line takes %d of 20 lines", n)
	}
	c.Band = 0.087
	if n := rows(); n > 2 {
		t.Errorf("within the band the line takes %d of 20 lines", n)
	}
}
