package fit

import (
	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/units"
)

// Limits are the largest sequence and micro-batch with which a setup still fits with its
// margin (engine.Memory.Margin) when nothing else changes (the number of micro-batches
// stays).
type Limits struct {
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

// Find finds where a setup stops fitting with its margin, by bisection. The second value is false for
// a setup that is illegal.
func Find(e *engine.Evaluator, s engine.Setup) (Limits, bool) {
	if !knob.Legal(&s) {
		return Limits{}, false
	}
	var out Limits
	out.SeqUnit = sequenceUnit(&s)
	longest := layout.MaxSeq
	if s.Model.Position == model.PositionLearned {
		longest = s.Model.MaxSeq
	}
	units, peak, open := largest(e, s, longest/out.SeqUnit,
		func(t *engine.Setup, n int) { t.Seq = n * out.SeqUnit })
	out.Seq, out.SeqPeak, out.SeqOpen = units*out.SeqUnit, peak, open
	most := min(layout.MaxDegree, layout.MaxGBS/(s.MicroBatches*s.DP))
	out.MBS, out.MBSPeak, out.MBSOpen = largest(e, s, most, func(t *engine.Setup, n int) { t.MBS = n })
	return out, true
}

// sequenceUnit returns the step in which sequences stay legal: what CP and SP cut
// into equal parts, and no finer than 128 tokens.
func sequenceUnit(s *engine.Setup) int {
	const grain = 128
	unit := s.CP
	if s.SP {
		unit *= s.TP
	}
	if s.CP > 1 {
		unit *= 2
	}
	return unit / layout.GCD(unit, grain) * grain
}

// largest returns the largest number up to top with which the setup has its margin, its peak,
// and whether top itself fits. Memory grows with what set sets.
func largest(e *engine.Evaluator, s engine.Setup, top int, set func(*engine.Setup, int)) (n int,
	peak units.Bytes, open bool,
) {
	try := func(n int) bool {
		t := s
		set(&t, n)
		m := e.Memory(t)
		if m != nil && m.HasMargin() {
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
