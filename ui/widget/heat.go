package widget

import (
	"math"

	"meshscope/themes"
)

// Heat returns the paint of a cell of a heat map: share says where its value lies
// between the least, 0, and the largest, 1; any other share, infinite ones too, is
// painted as the nearer of the two, and NaN, where all values are one, as the least.
// The four steps are chosen by hand in every palette, in one order of lightness;
// where there are no colours the value that is written in the cell stands alone.
func Heat(t *themes.Theme, share float64) themes.Paint {
	if !t.Colours {
		return t.Paint(themes.Text)
	}
	steps := [...]themes.Fill{themes.Heat1, themes.Heat2, themes.Heat3, themes.Heat4}
	last := float64(len(steps) - 1) // compared as a float: an infinite share is no int
	if math.IsNaN(share) {
		share = 0
	}
	return t.Area(steps[int(min(max(share*float64(len(steps)), 0), last))])
}
