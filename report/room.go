package report

import (
	"fmt"

	"meshscope/engine"
	"meshscope/engine/units"
	"meshscope/report/figure"
)

// Room is how far the memory of a layout is from the capacity, and how far the model
// of memory may be off.
type Room struct {
	Fit  engine.Fit
	Fits bool // what is on the GPUs and what is offloaded
	Free units.Bytes
	Slip units.Bytes // by how much the peak may be wrong; 0: unknown
	Sure bool        // it leaves the margin free (engine.Memory.Margin)
}

// NewRoom returns that of the fullest rank.
func NewRoom(m *engine.Memory) Room {
	return Room{
		Fit: m.Fit, Fits: m.Fits, Free: m.Usable - m.Peak, Slip: m.PeakErrorBytes(),
		Sure: m.HasMargin(),
	}
}

// Doubt says that a layout fits without its margin; empty where it has it.
func (r *Room) Doubt(sign string) string {
	if !r.Fits || r.Sure {
		return ""
	}
	word := "no margin"
	if r.Fit == engine.Tight {
		word = string(r.Fit)
	}
	return fmt.Sprintf("%s: %s GiB free %s%s", word, figure.GiB(r.Free), sign, figure.GiB(r.Slip))
}

// Brief returns the same in few cells, also where it is sure to fit.
func (r *Room) Brief(sign string) string {
	switch {
	case !r.Fits:
		return ""
	case r.Slip > 0:
		return fmt.Sprintf("%s %s%s GiB free", figure.GiB(r.Free), sign, figure.GiB(r.Slip))
	}
	return fmt.Sprintf("%s GiB free", figure.GiB(r.Free))
}
