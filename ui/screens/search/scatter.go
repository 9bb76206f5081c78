package search

import (
	"math"

	"meshscope/report/figure"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// slowest is the share of the best speed below which what has no rank stands at the edge of the plot: the
// height is for the layouts that compete.
const slowest = 0.75

// scatter draws memory across and speed up: what was found, its front, the setup
// in use and the layout under the cursor.
func (v *View) scatter(in *screen.Context, rows []row, w, h int) []string {
	lines := []string{in.Heading(w, "MEMORY AND SPEED", "across: peak GiB, up: tokens/s/GPU", "")}
	if v.ranked() == 0 || h < 6 || w < 24 {
		if v.foundNothing() {
			lines = append(lines, in.Note(w, "no layout to draw"))
		}
		return widget.Height(lines, w, h)
	}
	s := widget.Scatter{
		Limit: v.answer.of.base.Cluster.GPU.MemoryUsable.GiB(), LimitName: "usable",
		Tick: tick,
	}
	dot := func(r *row, kind widget.Spot) {
		if r.PerGPU > 0 && !math.IsInf(r.PerGPU, 0) {
			slow := r.Rank == 0 && !r.Current && r.PerGPU < slowest*v.answer.rows[0].PerGPU
			s.Points = append(s.Points, widget.Dot{X: r.Peak.GiB(), Y: r.PerGPU, Spot: kind, Loose: !r.Fits ||
				slow})
		}
	}
	for i := range v.answer.rows {
		r := &v.answer.rows[i]
		kind := widget.SpotPlain
		if r.Front {
			kind = widget.SpotMarked
		}
		dot(r, kind)
	}
	names := [widget.Spots]string{
		widget.SpotPlain: "found", widget.SpotMarked: "none faster with less memory",
		widget.SpotHere: "your setup", widget.SpotPointed: "selected",
	}
	if w < 72 { // so that every sign has its name
		names[widget.SpotMarked] = "best at its GiB"
	}
	if own := v.own(in); own != nil {
		dot(own, widget.SpotHere)
		if last := len(s.Points) - 1; last >= 0 && s.Beyond(s.Points[last]) {
			names[widget.SpotHere] = beyondEdge(own, w)
			names[widget.SpotMarked] = "best at its GiB"
		}
	}
	if r := v.table.Under(rows); r != nil && !v.inKnob {
		dot(r, widget.SpotPointed)
	}
	lines = append(lines, s.Render(in.Theme, in.Glyphs, w, h-2)...)
	lines = append(lines, s.Legend(in.Theme, in.Glyphs, w, names))
	return widget.Height(lines, w, h)
}

// beyondEdge names the current setup where it is outside the window of the plot, in
// as many words as there is room for.
func beyondEdge(own *row, w int) string {
	const others = 36 // cells that the axis and the other names take
	name := ""
	for _, text := range []string{
		"your setup, beyond the edge: " + figure.GiB(own.Peak) + " GiB, " + figure.Three(own.PerGPU) +
			" tokens/s/GPU",
		"your setup, beyond: " + figure.GiB(own.Peak) + " GiB",
		"yours: " + figure.GiB(own.Peak) + " GiB",
	} {
		if name = text; widget.Width(text)+others <= w {
			break
		}
	}
	return name
}

// tick returns a number of an axis; what is left of a difference of equals is nothing.
func tick(x float64) string {
	if math.Abs(x) < 1e-6 {
		return "0"
	}
	return figure.Three(x)
}
