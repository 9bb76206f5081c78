package explain

import (
	"meshscope/engine/recipe"
)

// share is bytes per token: even is always divided by TP, seq only with sequence
// parallelism.
type share struct{ even, seq []*Expr }

func (s *share) evenly(x ...*Expr) { s.even = append(s.even, mul(x...)) }

func (s *share) along(x ...*Expr) { s.seq = append(s.seq, mul(x...)) }

// bytes puts the parts together.
func (b *Book) bytes(s share) *Expr {
	var sum []*Expr
	if len(s.even) > 0 {
		sum = append(sum, b.overTP(add(s.even...)))
	}
	if len(s.seq) > 0 {
		sum = append(sum, b.overSP(add(s.seq...)))
	}
	return add(sum...)
}

// keptPart is a part of a layer's activations with its formula.
func (b *Book) keptPart(moe bool, id, name string, s share) *Expr {
	kind := "dense"
	if moe {
		kind = "moe"
	}
	return b.term("layer."+kind+".activations."+id, about{
		name: "Bytes that the " + name + " of one " + kind + " layer keeps per token in 16 bits", symbol: id, unit: Count,
		source: "tensors that the stack " + string(b.w.Setup.Stack.Resolve()) + " keeps from forward to backward (engine/memory)",
		omits:  "statistics of norms",
	}, func() *Expr { return b.bytes(s) })
}

// keptLayer is what one layer keeps, by part, in the Megatron family and the
// stacks that keep the same tensors.
func (b *Book) keptLayer(moe bool) *Expr {
	s := b.w.Setup
	m, stack := &s.Model, s.Stack.Resolve()
	if stack == recipe.TorchTitan && s.Recompute.Mode == recipe.RecomputeSelective && !m.IsMLA() && !moe {
		return b.halfKept()
	}
	if moe {
		return add(append(b.keptCommon(true), b.keptExperts()...)...)
	}
	return add(b.keptDense()...)
}

// keptCommon is what both kinds of layers keep.
func (b *Book) keptCommon(moe bool) []*Expr {
	m := &b.w.Setup.Model
	var norms share
	norms.along(lit(4), b.hidden())
	if m.NormsPer != 2 {
		norms.along(lit(2), b.hidden(), sub(count("norms", m.NormsPer), lit(2)))
	}
	return []*Expr{
		b.keptPart(moe, "attention", "attention", b.keptAttention()),
		b.keptPart(moe, "norms", "residual stream and norms", norms),
	}
}

// keptDense is what a dense layer keeps when nothing is dropped by products.
func (b *Book) keptDense() []*Expr {
	var mlp share
	b.keptNorm(&mlp)
	b.keptInside(&mlp, count("f", b.w.Setup.Model.FFN), b.w.Setup.Recompute.Has(recipe.ModuleAct))
	b.dropoutMask(&mlp)
	return append(b.keptCommon(false), b.keptPart(false, "mlp", "MLP", mlp))
}

// keptNorm is the output of the second norm.
func (b *Book) keptNorm(s *share) {
	if !b.w.Setup.Recompute.Has(recipe.ModuleNorm) {
		s.along(b.input(), b.hidden())
	}
}

// widthBytes is what an MLP keeps per unit of width.
func (b *Book) widthBytes() float64 {
	switch {
	case b.w.Setup.Stack.Resolve() == recipe.Nanotron:
		if b.w.Setup.Model.Gated {
			return b.w.Memory.Fitted.Kept.MLP - 2 + b.inputWidth()
		}
		return b.w.Memory.Fitted.Kept.MLP - 4 + b.inputWidth()
	case b.w.Setup.Model.Gated:
		return 4 + b.inputWidth()
	}
	return 2 + b.inputWidth()
}

// keptInside is the inside of an MLP: what the activation read and its product,
// unless that is worked out again.
func (b *Book) keptInside(s *share, width *Expr, again bool) {
	w := b.widthBytes()
	if again {
		w -= b.inputWidth()
	}
	s.evenly(lit(w), width)
}

func (b *Book) megatronOld() bool {
	stack := b.w.Setup.Stack.Resolve()
	return stack == recipe.Megatron2022 || stack == recipe.Megatron2021
}

func (b *Book) dropoutMask(s *share) {
	if b.megatronOld() {
		s.along(b.hidden())
	}
}

// keptAttention is core attention with its projections: the norm's output, q, k,
// v, the output and its log-sum-exp; stored scores where they are.
func (b *Book) keptAttention() share {
	s := b.w.Setup
	m := &s.Model
	var out share
	a, d := count("a", m.Heads), count("d", m.HeadDim)
	b.keptNorm(&out)
	if !b.megatronOld() || s.Attention == recipe.Flash {
		out.evenly(lit(2), a) // log-sum-exp
	}
	if s.Attention == recipe.Standard && s.Recompute.Mode != recipe.RecomputeSelective {
		bytes := 2.0
		if b.megatronOld() {
			bytes = 5 // with dropout's mask and output
		}
		out.evenly(lit(bytes), a, count("s", s.Seq))
	}
	if m.IsMLA() {
		both := lit(2 + b.inputWidth()) // the norm's input and its output
		out.along(both, count("r_q", m.QLoraRank))
		out.along(both, count("r_kv", m.KVLoraRank))
		v := count("d_v", m.VHeadDim)
		out.evenly(lit(2+b.ownInput()), a, v)
		if !s.Recompute.Has(recipe.ModuleMLAUp) {
			out.evenly(lit(4), a, count("d_nope + d_rope", m.QKNopeDim+m.QKRopeDim))
			out.evenly(lit(2), a, v)
		}
	} else {
		kv := mul(maxOf(div(count("kv heads", m.KVHeads), b.tp()), lit(1)), b.tp(), d)
		out.evenly(lit(4+b.ownInput()), a, d)
		out.evenly(lit(4), kv)
		if m.QKNorm == "per-head" || m.QKNorm == "full-width" {
			out.evenly(lit(2), a, d)
			out.evenly(lit(2), kv)
		}
	}
	if s.CP > 1 {
		out.along(lit(2), b.hidden())
	}
	if s.Stack.Resolve() == recipe.Nanotron {
		out.evenly(lit(b.w.Memory.Fitted.Kept.Layer), b.hidden())
	}
	b.dropoutMask(&out)
	return out
}

// keptExperts are router, shared and routed experts.
func (b *Book) keptExperts() []*Expr {
	s := b.w.Setup
	m := &s.Model
	var router, routed share
	b.keptNorm(&router)
	if b.ownInput() > 0 {
		router.along(lit(2), b.hidden()) // the router reads 16 bits
	}
	router.along(lit(8), count("E", m.Experts))
	sum := []*Expr{b.keptPart(true, "router", "router", router)}
	if m.SharedFFN > 0 {
		var shared share
		shared.along(b.input(), b.hidden())
		f := count("f_shared", m.SharedFFN)
		switch {
		case !s.Recompute.Has(recipe.ModuleShared):
			b.keptInside(&shared, f, s.Recompute.Has(recipe.ModuleAct))
		case s.Stack.Resolve() == recipe.Nanotron:
			shared.evenly(lit(b.w.Memory.Fitted.Kept.MLP-6), f)
		}
		sum = append(sum, b.keptPart(true, "shared", "shared experts", shared))
	}
	w := b.widthBytes()
	if s.Recompute.Has(recipe.ModuleMoEAct) {
		w -= b.inputWidth()
	}
	each := add(mul(b.input(), b.hidden(), count("ETP", s.ETP)), mul(lit(w), count("f_expert", m.ExpertFFN)))
	k := count("k", m.TopK)
	routed.along(scaled(b.w.Load(), "imbalance", k), each)
	b.dropoutMask(&routed)
	return append(sum, b.keptPart(true, "experts", "routed experts", routed))
}

// halfKept is torchtitan's selective recomputation: the input, q, v, the output
// of attention, the gate and the MLP's output are kept.
func (b *Book) halfKept() *Expr {
	m := &b.w.Setup.Model
	var attention, mlp, norms share
	a, d := count("a", m.Heads), count("d", m.HeadDim)
	attention.evenly(lit(4), a, d)
	attention.evenly(lit(2), mul(maxOf(div(count("kv heads", m.KVHeads), b.tp()), lit(1)), b.tp(), d))
	attention.evenly(lit(2), a)
	mlp.along(lit(2), b.hidden())
	mlp.evenly(lit(2), count("f", m.FFN))
	norms.along(lit(2), b.hidden())
	return add(b.keptPart(false, "half-attention", "attention", attention), b.keptPart(false, "half-mlp", "MLP", mlp), b.keptPart(false, "input", "input", norms))
}
