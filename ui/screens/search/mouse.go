package search

import (
	"slices"

	"meshscope/ui/screen"
)

// Mouse chooses knobs, columns and rows; a second click turns, sorts or
// takes.
func (v *View) Mouse(in *screen.Context, x, y int, button string) (handled bool, do screen.Request) {
	w, h := in.W, in.H
	if in.Setup == nil || x < 0 || y < 0 || x >= w || y >= h {
		return false, screen.Request{}
	}
	a := v.arrange(w, h)
	if x < a.knobs {
		return v.mouseKnob(in, h, y, button)
	}
	if v.guide.open {
		return v.mouseGuide(in, h, y, button)
	}
	if a.plotW > 0 && x >= a.plotX && x < a.plotX+a.plotW && y >= a.plotY && y < a.plotY+a.plotH {
		return v.mousePicture(in, a, y-a.plotY, x-a.plotX, button)
	}
	if x < a.x || x >= a.x+a.w || y >= a.table {
		return false, screen.Request{}
	}
	v.inPicture = false
	rows := v.shown(in)
	top := v.above(in) // line of the heads of the columns
	by := screen.Wheel(button)
	if by == 0 && button != "left" {
		return false, screen.Request{}
	}
	v.inKnob = false
	if by != 0 {
		v.table.Move(len(rows), by)
		return true, screen.Request{}
	}
	if y == top {
		form := v.form(in, a.w)
		return v.table.Click(&form, x-a.x), screen.Request{}
	}
	hit, again := v.table.Point(len(rows), current(rows), y-top, a.table-top)
	if again {
		return true, v.take(rows)
	}
	return hit, screen.Request{}
}

func (v *View) mouseKnob(in *screen.Context, h, y int, button string) (bool, screen.Request) {
	list := v.listed(in)
	i := y - 1
	if v.airy(in, h) && i > slices.Index(list, launchers) {
		if i--; i == slices.Index(list, launchers) {
			return false, screen.Request{}
		}
	}
	if i < 0 || i >= len(list) {
		return false, screen.Request{}
	}
	again := v.inKnob && v.knob == list[i]
	v.inKnob, v.knob = true, list[i]
	switch by := screen.Wheel(button); {
	case by != 0:
		v.turn(v.knob, -by)
	case button != "left":
		return false, screen.Request{}
	case !again:
		return true, screen.Request{}
	default:
		if before := v.chosen; !v.turn(v.knob, 1) && v.chosen == before { // round again
			v.set(v.knob, v.values[v.knob][0])
		}
	}
	return true, v.Refresh(in)
}
