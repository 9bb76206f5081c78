package widget

import "meshscope/themes"

// Heat is the paint of a cell of a heat map: share says where its value lies
// between the least, 0, and the largest, 1. There are four steps, which are of one
// hue in every palette also where a terminal has 256 colours; where colours cannot
// be mixed the value that is written in the cell stands alone.
func Heat(t *themes.Theme, share float64) themes.Paint {
	if !t.Blends() {
		return t.Paint(themes.Text)
	}
	steps := [...]float64{0.1, 0.3, 0.55, 1}
	at := 0
	if share > 0 {
		at = min(int(share*float64(len(steps))), len(steps)-1)
	}
	return t.Blend(themes.Share{Fill: themes.Gauge, Share: steps[at]}, themes.Share{Fill: themes.Empty, Share: 1 - steps[at]})
}
