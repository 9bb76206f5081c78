package step

import (
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// ring adds what a ring of CP ranks costs core attention beside its arithmetic:
// one kernel for every rank's keys and values instead of one in all, each with its
// own start, and the merging of their partial outputs in the forward, of the partial
// gradients of queries, keys and values in the backward: read, and the sum read and
// written (NVIDIA/TransformerEngine, context_parallel.py:
// flash_attn_fwd_out_correction). Under a causal mask each of the others' steps
// concerns half of the queries or half of the keys.
func (k *kernels) ring() {
	m, l := k.in.Model, k.in.Layout
	if l.CP == 1 || k.in.Attention == recipe.Standard || k.scores <= 0 {
		return
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
	k.scores += starts + k.m.Stream(units.Bytes(merged*out))
	k.scoresBack += starts + k.m.Stream(units.Bytes(merged*grads))
}

// RingShare is the part of the outputs, or of the gradients, that a step of the
// ring beyond the first concerns: all or half, as often.
const RingShare = 0.75
