package widget

import "meshscope/themes"

// Heat returns the paint of a cell of a heat map: share says where its value lies
// between the least, 0, and the largest, 1. The four steps are chosen by hand in
// every palette, in one order of lightness; where there are no colours the value
// that is written in the cell stands alone.
func Heat(t *themes.Theme, share float64) themes.Paint {
	if !t.Colours {
		return t.Paint(themes.Text)
	}
	steps := [...]themes.Fill{themes.Heat1, themes.Heat2, themes.Heat3, themes.Heat4}
	at := 0
	if share > 0 {
		at = min(int(share*float64(len(steps))), len(steps)-1)
	}
	return t.Area(steps[at])
}
