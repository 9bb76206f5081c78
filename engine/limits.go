package engine

import (
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/memory"
	"meshscope/engine/model"
	"meshscope/engine/units"
)

// MemoryLimits are the largest sequence and micro-batch with which a setup
// still fits when nothing else changes (the number of micro-batches stays).
type MemoryLimits struct {
	// Seq is in tokens, a multiple of SeqUnit; 0 when not even one unit fits.
	// SeqOpen says that memory is not what ends it: the model's table of
	// positions or the bound of what is evaluated is reached first.
	Seq     int         `json:"seq"`
	SeqUnit int         `json:"seq_unit"`
	SeqPeak units.Bytes `json:"seq_peak_bytes"`
	SeqOpen bool        `json:"seq_open"`

	MBS     int         `json:"mbs"`
	MBSPeak units.Bytes `json:"mbs_peak_bytes"`
	MBSOpen bool        `json:"mbs_open"`
}

// Limits finds where a setup stops fitting, by bisection. The second value is
// false for a setup that is illegal.
func Limits(s Setup) (MemoryLimits, bool) {
	var e Evaluator
	return e.Limits(s)
}

// Limits is the function of that name, with what the Evaluator knows.
func (e *Evaluator) Limits(s Setup) (MemoryLimits, bool) {
	if !knob.Legal(&s) {
		return MemoryLimits{}, false
	}
	var out MemoryLimits
	out.SeqUnit = sequenceUnit(&s)
	longest := layout.MaxSeq
	if s.Model.Position == model.PositionLearned {
		longest = s.Model.MaxSeq
	}
	units, peak, open := e.largest(s, longest/out.SeqUnit, func(t *Setup, n int) { t.Seq = n * out.SeqUnit })
	out.Seq, out.SeqPeak, out.SeqOpen = units*out.SeqUnit, peak, open
	most := min(layout.MaxDegree, layout.MaxGBS/(s.MicroBatches*s.DP))
	out.MBS, out.MBSPeak, out.MBSOpen = e.largest(s, most, func(t *Setup, n int) { t.MBS = n })
	return out, true
}

// sequenceUnit is the step in which sequences stay legal: what CP and SP cut
// into equal parts, and no finer than 128 tokens.
func sequenceUnit(s *Setup) int {
	const grain = 128
	unit := s.CP
	if s.SP {
		unit *= s.TP
	}
	if s.CP > 1 {
		unit *= 2
	}
	for a, b := unit, grain; ; a, b = b, a%b {
		if b == 0 {
			return unit / a * grain
		}
	}
}

// largest is the largest number up to top with which the setup fits, its peak,
// and whether top itself fits. Memory grows with what set sets.
func (e *Evaluator) largest(s Setup, top int, set func(*Setup, int)) (n int, peak units.Bytes, open bool) {
	try := func(n int) bool {
		t := s
		set(&t, n)
		m := e.memory(t)
		if m != nil && m.Fits {
			peak = m.Peak
			return true
		}
		return false
	}
	low, high := 0, 1 // low fits, high does not
	for high <= top && try(high) {
		low, high = high, 2*high
	}
	for high = min(high, top+1); high-low > 1; {
		if middle := low + (high-low)/2; try(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, peak, low >= top
}

// memory is the memory part of Evaluate, for a setup known to be legal but for
// its batch; nil when its pipeline cannot be ordered.
func (e *Evaluator) memory(s Setup) *Memory {
	e.setup = s
	stack, ok := memory.For(e.setup.Stack)
	if !ok || e.arrange(&e.setup) != nil {
		return nil
	}
	m := worst(&e.setup, e.mem.Ranks(&e.memInput, stack, make([]memory.Rank, 0, s.PP)))
	return &m
}

// LayerParts is one kind of layer of a setup, taken to pieces.
type LayerParts struct {
	MoE    bool          `json:"moe"`
	Layers int           `json:"layers"` // of this kind in the model
	Parts  []memory.Part `json:"parts"`
}

// Parts takes one layer of each kind that the model has to pieces: parameters
// and what is kept of one micro-batch, on one GPU. The second value is false
// for a setup that is illegal.
func Parts(s Setup) ([]LayerParts, bool) {
	var e Evaluator
	return e.Parts(s)
}

// Parts is the function of that name, with what the Evaluator knows.
func (e *Evaluator) Parts(s Setup) ([]LayerParts, bool) {
	if !knob.Legal(&s) || e.memory(s) == nil {
		return nil, false
	}
	stack, _ := memory.For(s.Stack)
	var kinds []LayerParts
	moe := s.Model.MoELayers()
	for _, k := range []LayerParts{{Layers: s.Model.Layers - moe}, {MoE: true, Layers: moe}} {
		if k.Layers > 0 {
			k.Parts = memory.Parts(&e.memInput, stack, k.MoE)
			kinds = append(kinds, k)
		}
	}
	return kinds, true
}
