package lanes

import (
	"meshscope/engine/units"

	lane "meshscope/engine/lanes"
)

// axis maps the time of a step to columns. A folded stretch is drawn shorter than it is.
type axis struct {
	w        int
	length   units.Seconds
	from, to units.Seconds // of the fold; equal: none
	fold     float64       // its width in columns
}

// mostFold is the widest that a folded stretch is drawn.
const mostFold = 16

func newAxis(s *lane.Step, w int) axis {
	a := axis{w: w, length: s.Length}
	for _, g := range s.Lanes[0].Segments {
		if g.Kind == lane.Folded {
			a.from, a.to = g.Start, g.End()
			a.fold = min(mostFold, float64(w)*float64(g.Length/s.Length))
		}
	}
	return a
}

// scale returns columns per second outside the fold.
func (a *axis) scale() float64 {
	if open := a.length - (a.to - a.from); open > 0 {
		return (float64(a.w) - a.fold) / float64(open)
	}
	return 0
}

// place returns the column of a moment.
func (a *axis) place(t units.Seconds) float64 {
	switch scale := a.scale(); {
	case t <= a.from || a.to <= a.from:
		return float64(t) * scale
	case t < a.to:
		return float64(a.from)*scale + a.fold*float64((t-a.from)/(a.to-a.from))
	default:
		return float64(t-(a.to-a.from))*scale + a.fold
	}
}

// moment returns the time at a column.
func (a *axis) moment(x float64) units.Seconds {
	scale := a.scale()
	if scale == 0 {
		return a.from + units.Seconds(x/float64(max(a.w, 1)))*(a.to-a.from)
	}
	before := float64(a.from) * scale
	switch {
	case a.to <= a.from || x <= before:
		return units.Seconds(x / scale)
	case x < before+a.fold:
		return a.from + units.Seconds((x-before)/a.fold)*(a.to-a.from)
	default:
		return units.Seconds((x-a.fold)/scale) + a.to - a.from
	}
}
