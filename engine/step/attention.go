package step

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// coreAttention is scores, softmax and the product with the values.
func (k *kernels) coreAttention() {
	m, l := k.in.Model, k.in.Layout
	width := m.HeadDim
	if m.IsMLA() {
		width = m.QKNopeDim + m.QKRopeDim
	}
	if k.in.Attention != recipe.Standard {
		f := m.LayerForward(false, l.Seq, true).Scores * units.FLOPs(m.WindowShare(l.Seq, true)*l.CausalImbalance()*k.tokens/k.t)
		k.scores, k.scoresBack = k.m.Attention(f, width)
		forward, backward := k.ring()
		k.recordFused(f, width, forward, backward)
		return
	}
	// Unfused: two batched products over the whole square, the mask does not
	// help, and the scores pass through memory: written, read and written by
	// the scaled masked softmax, by dropout (with its mask), read again.
	heads := float64(m.Heads) / k.t
	square := heads * k.tokens * float64(l.Seq)
	touched := units.Bytes(k.elem * (square + 2*heads*k.tokens*float64(width)))
	batched := max(heads*k.tokens/float64(l.Seq), 1) // products, one per head and sequence
	rows := heads * k.tokens / batched
	rec := k.recordUnfused()
	first := k.m.GroupedMatMul(rec[0], batched, rows, float64(width), float64(l.Seq), touched)
	second := k.m.GroupedMatMul(rec[1], batched, rows, float64(l.Seq), float64(width), touched)
	passes := (2*k.elem + 2*k.elem + 1)
	k.scores = first + second + k.m.Stream(units.Bytes(passes*square))
	k.scoresBack = 2*(first+second) + k.m.Stream(units.Bytes((passes+k.elem)*square))
	if k.rec.On() {
		both := rec[0].Ref("") + " + " + rec[1].Ref("")
		k.recordScores(both+" + "+k.m.StreamFormula("bytes_per_score * a / t * T * s", 1),
			"2 * ("+both+") + "+k.m.StreamFormula("(bytes_per_score + bytes) * a / t * T * s", 1), record.In("bytes_per_score", passes))
	}
}

// recordScores records core attention; without a formula there is none.
func (k *kernels) recordScores(forward, backward string, operands ...record.Operand) {
	rec := k.rec.Scope("layer.attention", "core attention")
	e := record.Entry{
		ID: "forward", Name: "core attention, forward", Symbol: "t(core attention)", Unit: record.Seconds, Formula: forward, Value: float64(k.scores),
		Source: record.From(k.m.Ops.From), LeavesOut: "clocks under load",
	}
	rec.Figure(e, operands...)
	e.ID, e.Name, e.Symbol, e.Formula, e.Value = "backward", "core attention, backward", "t(core attention, backward)", backward, float64(k.scoresBack)
	rec.Figure(e, operands...)
	k.scoresFormula, k.scoresBackFormula = rec.Ref("forward"), rec.Ref("backward")
}

// recordFused records a fused kernel of f operations with the formulas of a ring.
func (k *kernels) recordFused(f units.FLOPs, width int, ringForward, ringBackward string) {
	if !k.rec.On() {
		return
	}
	m, l := k.in.Model, k.in.Layout
	k.rec.Figure(record.Entry{
		ID: "layer.attention.core-flops", Name: "FLOPs of core attention of one micro-batch in one layer, as the kernel computes them", Symbol: "F_core",
		Unit: record.FLOPs, Value: float64(f), Formula: "FLOPs_per_token * share_inside_local_windows * imbalance_of_the_causal_split * T / t",
		Source: "2 x heads x widths x sequence / 2 per token under the causal mask, less what windows skip, times the busiest CP rank's share",
	}, record.In("FLOPs_per_token", m.LayerForward(false, l.Seq, true).Scores),
		record.InUnit(record.Share, "share_inside_local_windows", m.WindowShare(l.Seq, true)), record.In("imbalance_of_the_causal_split", l.CausalImbalance()))
	if k.scores > 0 {
		forward, backward := k.m.AttentionFormulas(width)
		k.recordScores(forward+ringForward, backward+ringBackward)
	}
}

// recordUnfused makes the scopes of the two products of unfused attention.
func (k *kernels) recordUnfused() (products [2]*record.Recorder) {
	if !k.rec.On() {
		return products
	}
	width := "d"
	if k.in.Model.IsMLA() {
		width = "(d_nope + d_rope)"
	}
	rec := k.rec.Scope("layer.attention", "core attention")
	for i, p := range [...]product{{id: "scores", name: "scores", inner: width, cols: "s"}, {id: "values", name: "scores times values", inner: "s", cols: width}} {
		r := rec.Scope(p.id, p.name)
		r.Let("groups", "max(a / t * T / s, 1)")
		r.Let("rows", "a / t * T / max(a / t * T / s, 1)")
		r.Let("inner", p.inner)
		r.Let("cols", p.cols)
		r.Let("touched", "bytes * (a / t * T * s + 2 * a / t * T * "+width+")")
		products[i] = r
	}
	return products
}

// ring adds what a ring of CP ranks costs core attention next to its arithmetic:
// one kernel for every rank's keys and values instead of one in all, each with its
// own start, and the merging of their partial outputs in the forward, of the partial
// gradients of queries, keys and values in the backward: read, and the sum read and
// written (NVIDIA/TransformerEngine, context_parallel.py:
// flash_attn_fwd_out_correction). Under a causal mask each of the others' steps
// concerns half of the queries or half of the keys.
//
// The formulas are what to add to those of attention.
func (k *kernels) ring() (forward, backward string) {
	m, l := k.in.Model, k.in.Layout
	if l.CP == 1 || k.in.Attention == recipe.Standard || k.scores <= 0 {
		return "", ""
	}
	q, kv := float64(m.Heads*m.HeadDim)/k.t, m.KVHeadsPerRank(l.TP)*float64(m.HeadDim)
	out, grads := q, q+2*kv
	if m.IsMLA() {
		heads := float64(m.Heads) / k.t
		qk, v := float64(m.QKNopeDim+m.QKRopeDim), float64(m.VHeadDim)
		out, grads = heads*v, heads*(2*qk+v)
	}
	others := float64(l.CP - 1)
	merged := 3 * k.elem * k.tokens * (1 + RingShare*others)
	starts := units.Seconds(others) * k.m.Ops.AttentionStart
	f, b := starts+k.m.Stream(units.Bytes(merged*out)), starts+k.m.Stream(units.Bytes(merged*grads))
	k.scores += f
	k.scoresBack += b
	if !k.rec.On() {
		return "", ""
	}
	width, widthBack := "a * d / t", "(a * d / t + 2 * kv)"
	if m.IsMLA() {
		width, widthBack = "a / t * d_v", "a / t * (2 * (d_nope + d_rope) + d_v)"
	}
	return k.recordRing("forward", width, f), k.recordRing("backward", widthBack, b)
}

// recordRing records what the ring adds to a pass.
func (k *kernels) recordRing(pass, width string, t units.Seconds) string {
	id := "layer.attention.ring-" + pass
	k.in.Record.Figure(record.Entry{
		ID: id, Name: "steps of the CP ring, " + pass, Symbol: "t(steps of the CP ring, " + pass + ")", Unit: record.Seconds, Value: float64(t),
		Formula: "(c - 1) * attention_start + " + k.m.StreamFormula("3 * bytes * T * (1 + share_of_a_step * (c - 1)) * "+width, t),
		Source: "a kernel per CP rank, and the merging of partial results: each read, their sum read and written; " +
			"half of it under the causal mask in half of the steps (NVIDIA/TransformerEngine, context_parallel.py)",
	}, record.In("share_of_a_step", RingShare))
	return " + " + record.Ref(id)
}

// RingShare is the part of the outputs, or of the gradients, that a step of the
// ring beyond the first concerns: all or half, as often.
const RingShare = 0.75
