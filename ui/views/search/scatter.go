package search

import (
	"math"

	"meshscope/themes"
	"meshscope/ui/figure"
	"meshscope/ui/widget"
)

// scatter draws memory across and speed up: what was found, its front, the setup
// in force and the layout under the cursor.
func (v *View) scatter(in *Input, rows []row, w, h int) []string {
	lines := []string{in.heading(w, "MEMORY AND SPEED", "across: peak GiB, up: tokens/s/GPU", "", themes.Muted)}
	if v.ranked() == 0 || h < 6 || w < 24 {
		return widget.Height(lines, w, h)
	}
	s := widget.Scatter{Limit: v.answer.of.base.Cluster.GPU.MemoryUsable.GiB(), LimitName: "usable", Tick: tick}
	dot := func(r *row, kind widget.Spot) {
		if r.perGPU > 0 && !math.IsInf(r.perGPU, 0) {
			s.Points = append(s.Points, widget.Dot{X: r.peak.GiB(), Y: r.perGPU, Spot: kind})
		}
	}
	for i := range v.answer.rows {
		r := &v.answer.rows[i]
		kind := widget.SpotPlain
		if r.front {
			kind = widget.SpotMarked
		}
		dot(r, kind)
	}
	if own := v.own(in); own != nil {
		dot(own, widget.SpotHere)
	}
	if len(rows) > 0 && !v.inKnob {
		dot(&rows[min(max(v.table.row, 0), len(rows)-1)], widget.SpotPointed)
	}
	lines = append(lines, s.Render(in.Theme, in.Glyphs, w, h-2)...)
	lines = append(lines, s.Legend(in.Theme, in.Glyphs, w, [widget.Spots]string{
		widget.SpotPlain: "found", widget.SpotMarked: "none is faster with less", widget.SpotHere: "your setup", widget.SpotPointed: "cursor",
	}))
	return widget.Height(lines, w, h)
}

// tick is a number of an axis; what is left of a difference of equals is nothing.
func tick(x float64) string {
	if math.Abs(x) < 1e-6 {
		return "0"
	}
	return figure.Three(x)
}
