package step

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// ring adds what a ring of CP ranks costs core attention beside its arithmetic:
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
