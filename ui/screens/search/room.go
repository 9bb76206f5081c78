package search

import (
	"fmt"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// room is how far the memory of a layout is from the capacity, and how far the model
// of memory may be off.
type room struct {
	fit  engine.Fit
	fits bool // what is on the GPUs and what is offloaded
	free units.Bytes
	slip units.Bytes // by how much the peak may be wrong; 0: unknown
	sure bool        // it leaves the margin free (engine.Memory.Margin)
}

func roomOf(m *engine.Memory) room {
	return room{
		fit: m.Fit, fits: m.Fits, free: m.Usable - m.Peak, slip: m.PeakErrorBytes(),
		sure: m.HasMargin(),
	}
}

// mark stands before a peak that leaves no margin.
func (r *room) mark() string {
	if r.fits && !r.sure {
		return "?"
	}
	return ""
}

// doubt says that a layout fits without its margin; empty where it has it.
func (r *room) doubt(sign string) string {
	if !r.fits || r.sure {
		return ""
	}
	word := "no margin"
	if r.fit == engine.Tight {
		word = string(r.fit)
	}
	return fmt.Sprintf("%s: %s GiB free %s%s", word, figure.GiB(r.free), sign, figure.GiB(r.slip))
}

// brief returns the same in few cells, also where it is sure to fit.
func (r *room) brief(sign string) string {
	switch {
	case !r.fits:
		return ""
	case r.slip > 0:
		return fmt.Sprintf("%s %s%s GiB free", figure.GiB(r.free), sign, figure.GiB(r.slip))
	}
	return fmt.Sprintf("%s GiB free", figure.GiB(r.free))
}
