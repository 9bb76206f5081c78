package lanes

import (
	"meshscope/engine/overlap"
	"meshscope/report/figure"
	"meshscope/themes"
	"meshscope/ui/screen"
	"meshscope/ui/widget"

	lane "meshscope/engine/lanes"
)

// choiceName returns how a list calls a choice.
func (v *View) choiceName(list int, c *lane.Choice) string {
	switch list {
	case 0:
		return c.Name
	case 1:
		return figure.Short(c.Value)
	case 2:
		return figure.Comma(int(c.Value))
	}
	if c.Value == 0 {
		return "one call"
	}
	return figure.Trim(c.Value/1e6) + " MB"
}

// listName returns the label of a list.
func listName(list int) string {
	return [lists]string{"variant", "tokens/GPU", "GPUs", "bucket"}[list]
}

// cellOf returns the width of a choice in its row.
func (v *View) cellOf(list int) int {
	w := 6
	for i := range v.drawn.choices.Lists()[list] {
		w = max(w, widget.Width(v.choiceName(list, &v.drawn.choices.Lists()[list][i])))
	}
	return w + 3
}

// chosen returns the choice of a list that is drawn.
func (v *View) chosen(list int) int {
	if v.list == list {
		return v.pick
	}
	return current(v.drawn.choices.Lists()[list])
}

// choices draws the names of a list, the one that is drawn in brackets.
func (v *View) choices(in *screen.Context, row, list int) string {
	l := v.label(in, row, listName(list))
	cell := v.cellOf(list)
	if list == 0 {
		cell = 0
	}
	for i := range v.drawn.choices.Lists()[list] {
		c := &v.drawn.choices.Lists()[list][i]
		name, paint := " "+v.choiceName(list, c)+" ", themes.Muted
		if i == v.chosen(list) {
			name, paint = "["+v.choiceName(list, c)+"]", themes.Current
		} else if c.Current {
			paint = themes.Strong
		}
		at := l.Used()
		l.Put(in.Paint(paint), name).To(at + v.cellAt(list, i, cell))
	}
	if text := v.remark(in, list); widget.Width(text) < l.Left() {
		l.Right(in.Paint(themes.Muted), text, 0)
	}
	return l.String()
}

// cellAt returns the width of one choice: all the same, but those of the variants.
func (v *View) cellAt(list, i, cell int) int {
	if cell > 0 {
		return cell
	}
	return max(10, widget.Width(v.choiceName(list, &v.drawn.choices.Lists()[list][i]))+3)
}

// prices draws what of a step each choice of a list leaves exposed.
func (v *View) prices(in *screen.Context, list int) string {
	l := widget.NewLine(in.W).To(2).Put(in.Paint(themes.Muted), "exposed").To(labelWidth)
	if v.costs.setup != *in.Setup || !v.costs.known {
		return l.String()
	}
	cell := v.cellOf(list)
	if list == 0 {
		cell = 0
	}
	for i, c := range v.costs.of[list] {
		text, paint := in.Glyphs.None, themes.Muted
		if c.Known {
			text = figure.Seconds(c.Exposed)
			if list == 1 || list == 2 { // of steps of different lengths
				text = figure.Percent(float64(c.Exposed / c.Step))
			}
			if i == v.chosen(list) {
				paint = themes.Strong
			}
		}
		at := l.Used()
		l.Put(in.Paint(paint), " "+text).To(at + v.cellAt(list, i, cell))
	}
	return l.String()
}

// remark says more of a list.
func (v *View) remark(in *screen.Context, list int) string {
	switch list {
	case 0:
		for i := range v.drawn.choices.Variants {
			if c := &v.drawn.choices.Variants[i]; c.Current && v.list != none {
				return "yours: " + c.Name
			}
		}
		return "how traffic is timed"
	case 1:
		for _, o := range overlap.Ratios(in.Setup, in.Report) {
			if o.Dimension == "dp" && len(o.Needs) > 0 {
				return "DP " + figure.Three(o.Ratio) + in.Glyphs.Times + " its compute, 1" + in.Glyphs.Times + " at " + figure.Short(o.Needs[0].Needed)
			}
		}
	case 2:
		return "the same work on each"
	case 3:
		return "gradients in a call"
	}
	return ""
}
