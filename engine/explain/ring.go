package explain

import (
	"meshscope/engine/recipe"
	"meshscope/engine/step"
)

// ring is what a ring of CP ranks adds to core attention, forward and backward;
// zero without one.
func (b *Book) ring() (forward, backward *Expr) {
	s := b.w.Setup
	m := &s.Model
	if s.CP == 1 || b.w.Step.Attention == recipe.Standard {
		return lit(0), lit(0)
	}
	a := count("a", m.Heads)
	out := b.overTP(mul(a, count("d", m.HeadDim)))
	grads := add(out, mul(lit(2), b.kvWidth()))
	if m.IsMLA() {
		out = b.overTP(mul(a, count("d_v", m.VHeadDim)))
		grads = b.overTP(mul(a, add(mul(lit(2), count("d_nope + d_rope", m.QKNopeDim+m.QKRopeDim)), count("d_v", m.VHeadDim))))
	}
	others := sub(count("c", s.CP), lit(1))
	starts := mul(others, seconds("start", b.machine().Ops.AttentionStart))
	merge := func(id, name string, width *Expr) *Expr {
		return b.term(id, about{
			name: name, symbol: "t(" + name + ")", unit: Seconds,
			source: "a kernel per CP rank, and the merging of partial results: each read, their sum read and written; half of it under the causal mask in half of the steps (NVIDIA/TransformerEngine, context_parallel.py)",
		}, func() *Expr {
			bytes := mul(lit(3), b.elem(), b.tokens(), add(lit(1), mul(count("share of a step", step.RingShare), others)), width)
			return add(starts, b.stream(bytes))
		})
	}
	return merge("layer.attention.ring-forward", "steps of the CP ring, forward", out),
		merge("layer.attention.ring-backward", "steps of the CP ring, backward", grads)
}
