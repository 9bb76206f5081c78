package report

import (
	"math"
	"strings"
	"testing"
)

// TestPictureOfEndlessSizes: a size without end is no width.
func TestPictureOfEndlessSizes(t *testing.T) {
	got := string(drawBars("t",
		[]bar{{name: "a", parts: []barPart{{"p", math.Inf(1), "#000"}, {"q", math.NaN(), "#000"}}}}, 80,
		"usable", ""))
	if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error(got)
	}
}
