// Package engine answers what a way of cutting the training costs. The flow is
// Setup -> Evaluate -> Report. The package is pure: no terminal, clock, file or
// global state; the same Setup gives the same Report on any goroutine.
package engine

import (
	"fmt"

	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/engine/record"
)

// Setup is everything the user chooses. Its fields stand with the knobs that turn
// them, in engine/knob.
type Setup = knob.Setup

// Problem is a reason why a setup is illegal, or a warning about a legal one.
type Problem = layout.Problem

// Check says what is wrong with a setup: errors for what cannot be executed at
// all, warnings for the rest. Every error carries values that make the setup
// legal, where any exist.
func Check(s Setup) []Problem {
	e := Evaluator{setup: s}
	return e.checkLink(knob.Check(&s))
}

// Legal reports whether a setup has no errors. It is much cheaper than Check on an
// illegal one, because nearest values are not looked for.
func Legal(s Setup) bool { return knob.Legal(&s) }

// symbols says what the letters of all formulas are; those of a layer's widths are its own (model.Program).
func (p *plan) symbols() {
	s, r := p.setup, p.record
	if !r.On() {
		return
	}
	m := &s.Model
	r.Given(
		record.In("s", s.Seq), record.In("b", s.MBS), record.In("m", s.MicroBatches), record.In("gbs", s.GBS),
		record.In("GPUs", s.GPUs),
		record.In("dp", s.DP), record.In("t", s.TP), record.In("p", s.PP), record.In("c", s.CP),
		record.In("v", s.VPP),
		record.In("EP", s.EP), record.In("ETP", s.ETP),
		record.In("V", m.Vocab), record.In("L", m.Layers),
		record.In("imbalance", s.ExpertLoad()),
		record.In("bytes", s.Precision.On(s.Stack).Bytes()),
		record.In("bytes_of_a_gradient", s.GradDtype.Bytes(s.Precision.On(s.Stack))),
	)
	r.Figure(record.Entry{
		ID: "layout.tokens", Name: "tokens of a micro-batch on one GPU", Symbol: "T",
		Value:   s.MicroBatchTokens(),
		Formula: "s * b / c", Source: "sequence x micro-batch size / CP",
	})
	recordCausalWork(r, s)
}

// recordCausalWork records what each rank of context parallelism computes of a causal mask.
func recordCausalWork(r *record.Recorder, s *Setup) {
	const most = 64 // ranks
	zigzag := s.Seq%(2*s.CP) == 0
	if s.CP == 1 || s.CP > most || s.SharesHeads() {
		return
	}
	parts, formula := s.CP, "part * ((2 * rank + 1) * part + 1) / 2"
	if zigzag {
		parts, formula = 2*s.CP, "part * (2 * c * part + 1)"
	}
	for rank, pairs := range layout.CausalWork(s.Seq, s.CP, zigzag) {
		r.Figure(record.Entry{
			ID:     fmt.Sprintf("layer.attention.causal-work.%d", rank),
			Name:   fmt.Sprintf("query-key pairs of a causal mask on CP rank %d", rank),
			Symbol: fmt.Sprintf("pairs of CP rank %d", rank), Formula: formula, Value: float64(pairs),
			Source: "zig-zag where the sequence divides into two parts for each rank (the i-th from both " +
				"ends), else in order (Ring Attention, arXiv 2310.01889; Megatron-LM)",
		}, record.In("part", s.Seq/parts).As("tokens of a part"), record.In("rank", rank))
	}
}
