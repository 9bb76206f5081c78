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

// cellOf returns the width of a choice in its row: of variants its own, else the same of all.
func (v *View) cellOf(list, i int) int {
	const gap, price = 3, 7
	choices := v.drawn.choices.Lists()[list]
	if list == 0 {
		return gap + max(price, widget.Width(choices[i].Name))
	}
	w := price - 1
	for i := range choices {
		w = max(w, widget.Width(v.choiceName(list, &choices[i])))
	}
	return gap + w
}

// choiceAt returns the choice of a list that is drawn in a column; -1: none.
func (v *View) choiceAt(list, x int) int {
	at := labelWidth
	for i := range v.drawn.choices.Lists()[list] {
		if end := at + v.cellOf(list, i); x >= at && x < end {
			return i
		}
		at += v.cellOf(list, i)
	}
	return -1
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
	for i := range v.drawn.choices.Lists()[list] {
		c := &v.drawn.choices.Lists()[list][i]
		name, paint := " "+v.choiceName(list, c)+" ", themes.Muted
		if i == v.chosen(list) {
			name, paint = "["+v.choiceName(list, c)+"]", themes.Current
		} else if c.Current {
			paint = themes.Strong
		}
		at := l.Used()
		l.Put(in.Paint(paint), name).To(at + v.cellOf(list, i))
	}
	if text := v.remark(in, list); widget.Width(text) < l.Left() {
		l.Right(in.Paint(themes.Muted), text, 0)
	}
	return l.String()
}

// prices draws the share of the step that each choice of a list leaves exposed.
func (v *View) prices(in *screen.Context, list int) string {
	l := widget.NewLine(in.W).To(2).Put(in.Paint(themes.Muted), "exposed").To(labelWidth)
	if v.costs.setup != *in.Setup || !v.costs.known {
		return l.String()
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
		l.Put(in.Paint(paint), " "+text).To(at + v.cellOf(list, i))
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
				return "DP " + figure.Three(o.Ratio) + in.Glyphs.Times + " its compute, 1" + in.Glyphs.Times +
					" at " + figure.Short(o.Needs[0].Needed)
			}
		}
	case 2:
		return "the same work on each"
	case 3:
		return "gradients in a call"
	}
	return ""
}
