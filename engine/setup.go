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

// symbols says what the letters of all formulas are.
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
		record.In("h", m.Hidden), record.In("V", m.Vocab), record.In("L", m.Layers),
		record.In("a", m.Heads), record.In("kv_heads", m.KVHeads), record.In("d", m.HeadDim),
		record.In("f", m.FFN),
		record.In("d_nope", m.QKNopeDim), record.In("d_rope", m.QKRopeDim), record.In("d_v", m.VHeadDim),
		record.In("r_q", m.QLoraRank), record.In("r_kv", m.KVLoraRank),
		record.In("E", m.Experts), record.In("k", m.TopK), record.In("f_expert", m.ExpertFFN),
		record.In("f_shared", m.SharedFFN),
		record.In("a_local", m.LocalHeads), record.In("kv_local", m.LocalKVHeads),
		record.In("d_local", m.LocalHeadDim), record.In("v_local", m.LocalVHeadDim),
		record.In("h_latent", m.ExpertLatent), record.In("E_zero", m.ZeroExperts),
		record.In("index_heads", m.IndexHeads), record.In("d_index", m.IndexDim),
		record.In("top_tokens", m.IndexTopK), record.In("r_adapter", m.AdapterRank),
		record.In("compress_ratio", m.CompressRatio), record.In("compress_ratio_heavy", m.CompressHeavy),
		record.In("output_groups", m.OutputGroups), record.In("r_o", m.OutputRank),
		record.In("key_heads", m.LinearKeyHeads), record.In("d_key", m.LinearKeyDim),
		record.In("value_heads", m.LinearValueHeads),
		record.In("d_value", m.LinearValueDim), record.In("conv_width", m.ConvWidth),
		record.In("chunk", max(m.LinearChunk, 1)), record.In("scan_rank", m.LinearRank),
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
	if s.CP == 1 || s.CP > most {
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
