package engine

import "meshscope/engine/units"

// DefaultHeadroom is the share of usable memory that a layout leaves free at least, where no
// other share is asked for, before it is proposed: the tensor-by-tensor peak leaves
// fragmentation, other processes on the GPU and changes of the software out.
const DefaultHeadroom = 0.05

// Margin returns the memory that a layout leaves free by default before it is proposed:
// DefaultHeadroom of the usable memory, or the error band of the peak where that is
// larger. With it a peak of 1 + band times the prediction still fits.
func (m *Memory) Margin() units.Bytes {
	band := m.Usable * units.Bytes(m.ErrorBand/(1+m.ErrorBand))
	return max(m.Usable*DefaultHeadroom, band)
}

// HasMargin reports whether a layout leaves its Margin free. Search, advice and the largest
// values that fit prefer layouts that do.
func (m *Memory) HasMargin() bool { return m.Peak+m.Margin() <= m.Usable }
