package widget

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meshscope/engine_test/draws"
)

func drawn(t *Tornado, s Sides) string {
	signs := TornadoSigns(false)
	var text strings.Builder
	for _, c := range t.Cells(s) {
		text.WriteString(signs[c])
	}
	return text.String()
}

// TestTornado: half and twice are as far from now, what fits is told from what does
// not, and a bar that is longer than the scale ends in a sign.
func TestTornado(t *testing.T) {
	spans := []Sides{
		{Low: 0.5, High: 2, FitLow: 0.5, FitHigh: 2},
		{Low: 0.5, High: 2, FitLow: 1, FitHigh: 2},
		{Low: 0.5, High: 8},
		{Low: 1, High: 1, FitLow: 1, FitHigh: 1},
	}
	scale := NewTornado(spans, 21)
	for i, want := range []string{
		"##########|##########",
		"::::::::::|##########",
		"::::::::::|:::::::::>",
		"          |          ",
	} {
		if got := drawn(&scale, spans[i]); got != want {
			t.Errorf("%+v is %q, not %q", spans[i], got, want)
		}
	}
	if scale.Low != 0.5 || scale.High != 2 {
		t.Errorf("the scale is from %v to %v", scale.Low, scale.High)
	}
}

// TestTornadoWidth: whatever is drawn has its width, one axis, and as many cells to a
// side as a bar that is contained in it or more.
func TestTornadoWidth(t *testing.T) {
	draws.Check(t, func(t *rapid.T) {
		low, high := rapid.Float64Range(0.01, 1), rapid.Float64Range(1, 100)
		var spans []Sides
		for range rapid.IntRange(1, 5).Draw(t, "bars") {
			s := Sides{Low: low.Draw(t, "low"), High: high.Draw(t, "high")}
			if rapid.Bool().Draw(t, "fits") {
				s.FitLow, s.FitHigh = max(s.Low, low.Draw(t, "fit low")),
					min(s.High, high.Draw(t, "fit high"))
			}
			spans = append(spans, s)
		}
		w := rapid.IntRange(1, 90).Draw(t, "width")
		scale := NewTornado(spans, w)
		for i, s := range spans {
			text := drawn(&scale, s)
			if len(text) != w || strings.Count(text, "|") != 1 {
				t.Fatalf("%+v in %d cells: %q", s, w, text)
			}
			if strings.Contains(text, "#") && s.FitLow == 0 {
				t.Fatalf("%+v has what fits: %q", s, text)
			}
			for _, o := range spans[:i] {
				left := func(s string) int { return len(strings.TrimLeft(s, " ")) }
				if o.Low <= s.Low && left(drawn(&scale, o)) < left(text) && o.High >= s.High {
					t.Fatalf("%+v is drawn shorter than %+v", o, s)
				}
			}
		}
	})
}
