package evidence

import (
	"math"
	"slices"
	"strconv"

	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// axis is a logarithmic scale over n dots.
type axis struct {
	low, high float64 // decimal logarithms
	n         int
}

func (a axis) at(v float64) int {
	return min(max(int((math.Log10(v)-a.low)/(a.high-a.low)*float64(a.n)), 0), a.n-1)
}

// even returns the axis of some cells with so many dots each that holds low to high in its middle, each
// power of ten the same number of cells from the next.
func even(low, high float64, cells, dots int) axis {
	if each := math.Floor(float64(cells) / (high - low)); each >= 1 {
		air := (float64(cells)/each - (high - low)) / 2
		low, high = low-air, high+air
	}
	return axis{low, high, dots * cells}
}

const (
	tickWidth = 6 // cells left of the plot
	plotFoot  = 3 // heading, axis, legend
)

// scatter draws measured to the right, predicted upwards, both logarithmic.
func (v *View) scatter(in *screen.Context, close []int, w, h int) []string {
	if h <= 0 {
		return nil
	}
	name := "STEP TIME, s"
	if v.memory {
		name = "MEMORY, GiB"
	}
	detail := "across: measured, up: predicted"
	briefs := []string{"predicted over measured", "up: predicted", ""}
	switch v.picture {
	case byScale:
		detail, briefs = "predicted / measured by GPUs", []string{"error by GPUs", "by GPUs"}
	case byRelease:
		detail, briefs = "predicted / measured by release", []string{"error by release", "by release"}
	default:
	}
	for _, brief := range briefs {
		if widget.Width(name+detail)+1 > w {
			detail = brief
		}
	}
	lines := []string{in.Heading(w, name, detail, "")}
	pw, ph := w-tickWidth, h-plotFoot
	rows := v.pool()
	if pw < 8 || ph < 3 || len(rows) == 0 {
		return widget.Height(lines, w, h)
	}
	low, high := v.span(rows)
	x, y := even(low, high, pw, 2), even(low, high, ph, 4)
	var releases []string
	if v.picture != byValue {
		releases = v.releases(rows)
		x, y = v.residualAxes(rows, releases, pw, ph)
	}
	grid := v.spots(rows, close, releases, x, y, pw, ph)
	for i := range ph {
		l := widget.NewLine(w)
		tick, ok := tickAt(y, ph-1-i, 4)
		if v.picture != byValue {
			tick, ok = offTick(y, ph-1-i)
		}
		if ok {
			l.RightAligned(in.Paint(themes.Muted), tick, tickWidth-1)
		}
		l.To(tickWidth-1).Put(in.Paint(themes.Faint), in.Glyphs.Limit)
		for j := range pw {
			grid.Draw(l, in.Theme, in.Glyphs, j, i, themes.Memory)
		}
		lines = append(lines, l.String())
	}
	foot := v.foot
	if v.picture != byValue {
		foot = func(in *screen.Context, x axis, w, pw int) string {
			return v.residualFoot(in, x, releases, w, pw)
		}
	}
	return widget.Height(append(lines, foot(in, x, w, pw), v.legend(in, w)), w, h)
}

// span returns the range of both axes, with a little air.
func (v *View) span(rows []int) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, i := range rows {
		for _, f := range [2]float64{v.data.rows[i].Measured, v.data.rows[i].Predicted} {
			if f > 0 && !math.IsInf(f, 0) {
				low, high = min(low, math.Log10(f)), max(high, math.Log10(f))
			}
		}
	}
	if low > high {
		return 0, 1
	}
	air := max(0.03*(high-low), 0.05)
	return low - air, high + air
}

// spots puts the runs into the plot: marked are those of the chosen group or, where all are, those that no
// fit has seen; of the others the nearest to the setup and the one under the cursor stand out.
func (v *View) spots(rows, close []int, releases []string, x, y axis, pw, ph int) *widget.Raster {
	grid := widget.NewRaster(pw, ph)
	for dx := range x.n {
		if v.picture != byValue {
			grid.Put(dx, y.at(1), widget.SpotLine)
			continue
		}
		if up := (x.low + (float64(dx)+0.5)/float64(x.n)*(x.high-x.low) - y.low) /
			(y.high - y.low); up >= 0 && up < 1 {
			grid.Put(dx, int(up*float64(y.n)), widget.SpotLine)
		}
	}
	list := v.listed()
	chosen := &list[v.chosen(list)]
	cursor := -1
	if shown := v.shown(); v.inRows && len(shown) > 0 {
		cursor = shown[v.cursor(shown)]
	}
	for _, i := range rows {
		r := &v.data.rows[i]
		c := widget.SpotPlain
		switch {
		case !(r.Measured > 0 && r.Predicted > 0):
			continue
		case i == cursor:
			c = widget.SpotPointed
		case slices.Contains(close, i):
			c = widget.SpotHere
		case chosen.named() && chosen.has(r), !chosen.named() && !v.data.groups[r.group].Fitted:
			c = widget.SpotMarked
		}
		if v.picture != byValue {
			across, up := v.residual(r, releases)
			grid.Put(x.at(across), y.at(up), c)
			continue
		}
		grid.Put(x.at(r.Measured), y.at(r.Predicted), c)
	}
	return grid
}

// tickAt returns the power of ten that falls into a cell of some dots.
func tickAt(a axis, cell, dots int) (string, bool) {
	for p := int(math.Ceil(a.low)); float64(p) <= a.high; p++ {
		if a.at(math.Pow(10, float64(p)))/dots == cell {
			return strconv.FormatFloat(math.Pow(10, float64(p)), 'g', -1, 64), true
		}
	}
	return "", false
}

// foot returns the horizontal axis with its powers of ten.
func (v *View) foot(in *screen.Context, x axis, w, pw int) string {
	l := widget.NewLine(w).To(tickWidth)
	for cell := range pw {
		tick, ok := tickAt(x, cell, 2)
		at := tickWidth + cell - widget.Width(tick)/2
		if ok && at >= l.Used() && at+widget.Width(tick) <= w {
			l.To(at).Put(in.Paint(themes.Muted), tick).Gap(1)
		}
	}
	return l.String()
}

// legend names the signs.
func (v *View) legend(in *screen.Context, w int) string {
	l := widget.NewLine(w)
	list := v.listed()
	words := [widget.Spots]string{
		widget.SpotPlain: "fitted", widget.SpotMarked: "not fitted",
		widget.SpotHere: "nearest",
	}
	if list[v.chosen(list)].named() {
		words[widget.SpotPlain], words[widget.SpotMarked] = "other groups", v.group
	}
	if shown := v.shown(); v.inRows && v.picture != byValue && len(shown) > 0 {
		words = [widget.Spots]string{
			widget.SpotPointed: v.data.rows[shown[v.cursor(shown)]].ID,
			widget.SpotHere:    "nearest",
		}
	} else if v.inRows {
		words[widget.SpotPointed] = "selected"
	}
	widget.SpotNames(l, in.Theme, in.Glyphs, words, themes.Memory)
	return l.String()
}
