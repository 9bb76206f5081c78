package explain

import (
	"meshscope/engine/recipe"
)

// megatronFamily are the stacks whose head and MLP make the same temporaries.
func (b *Book) megatronFamily() bool {
	return b.w.Setup.Stack.Resolve() == recipe.MegatronCore || b.megatronOld()
}

// temporaries are what a stage needs besides while a forward or backward runs.
func (b *Book) temporaries(stage int, backward bool) *Expr {
	s, st := b.w.Setup, b.w.Stages[stage]
	stack := s.Stack.Resolve()
	if stack == recipe.Textbook {
		return lit(0)
	}
	var sum []*Expr
	if again := b.workedOutAgain(stage); backward && again != nil {
		sum = append(sum, mul(b.tokens(), b.element(), again))
	}
	t := func(parts ...*Expr) *Expr { return mul(append(parts, b.element())...) }
	h, tokens := b.hidden(), b.tokens()
	switch {
	case stack == recipe.Nanotron:
		if s.TP > 1 && s.PP == 1 {
			sum = append(sum, t(count("bytes of gathered inputs without a pipeline", b.w.Memory.Fitted.Kept.NoPipeline), h, tokens))
		}
	case st.Head:
		sum = append(sum, t(b.overTP(mul(lit(4), tokens, h)))) // the final norm's input and output
		if b.megatronFamily() {
			sum = append(sum, t(b.overTP(mul(lit(2), b.paddedVocab(), h)))) // the weight's gradient
			if s.TP > 1 {
				sum = append(sum, t(lit(4), tokens, h)) // what SP gathers
			}
		}
	case backward:
		sum = append(sum, t(b.overTP(mul(tokens, add(b.innerGradient(stage), mul(lit(4), h))))))
	}
	return add(sum...)
}

// innerGradient is the gradient of the MLP's inner width.
func (b *Book) innerGradient(stage int) *Expr {
	m, st := &b.w.Setup.Model, b.w.Stages[stage]
	width := 2.0
	if m.Gated {
		width = 4
	}
	inner := []*Expr{}
	if st.Dense > 0 {
		inner = append(inner, mul(lit(width), count("f", m.FFN)))
	}
	if st.MoE > 0 {
		inner = append(inner, scaled(b.w.Load(), "imbalance", mul(lit(width), count("k", m.TopK), count("f_expert", m.ExpertFFN))))
	}
	if len(inner) == 0 {
		return lit(0)
	}
	return maxOf(inner...)
}

// workedOutAgain is what one layer of a stage works out again in its backward, bytes per
// token; nil where nothing is.
func (b *Book) workedOutAgain(stage int) *Expr {
	s, st := b.w.Setup, b.w.Stages[stage]
	full := 0
	if s.Recompute.Mode == recipe.RecomputeFull {
		full = s.RecomputedLayers(s.Recompute.Layers, stage, st)
	}
	if full > 0 {
		kinds := []*Expr{b.layerBytes(false)}
		if full > min(full, st.Dense) {
			kinds = append(kinds, b.layerBytes(true))
		}
		return sub(maxOf(kinds...), b.layerInput())
	}
	var kinds []*Expr
	if st.Dense > 0 {
		if x := b.againOf(false); x != nil {
			kinds = append(kinds, x)
		}
	}
	if st.MoE > 0 {
		if x := b.againOf(true); x != nil {
			kinds = append(kinds, x)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	return maxOf(kinds...)
}

// againOf is what one layer does not keep but works out again.
func (b *Book) againOf(moe bool) *Expr {
	s := b.w.Setup
	m, r := &s.Model, s.Recompute
	if !moe && s.Stack.Resolve() == recipe.TorchTitan && r.Mode == recipe.RecomputeSelective && !m.IsMLA() {
		return maxOf(lit(0), sub(add(b.keptDense()...), b.layerBytes(false)))
	}
	var out share
	if r.Has(recipe.ModuleNorm) {
		out.along(lit(2*b.inputWidth()), b.hidden())
	}
	if r.Has(recipe.ModuleMLAUp) && m.IsMLA() {
		a := count("a", m.Heads)
		out.evenly(lit(4), a, count("d_nope + d_rope", m.QKNopeDim+m.QKRopeDim))
		out.evenly(lit(2), a, count("d_v", m.VHeadDim))
	}
	width := 2 + b.inputWidth()
	if m.Gated {
		width = 4 + b.inputWidth()
	}
	f := count("f", m.FFN)
	if moe {
		f = count("f_shared", m.SharedFFN)
	}
	inside := (!moe || m.SharedFFN > 0)
	switch shared := moe && m.SharedFFN > 0 && r.Has(recipe.ModuleShared); {
	case shared:
		out.evenly(lit(width), f) // with its activation
	case inside && r.Has(recipe.ModuleAct):
		out.evenly(b.input(), f)
	}
	if moe && r.Has(recipe.ModuleMoEAct) {
		out.along(scaled(b.w.Load(), "imbalance", count("k", m.TopK)), b.input(), count("f_expert", m.ExpertFFN))
	}
	if len(out.even)+len(out.seq) == 0 {
		return nil
	}
	return b.bytes(out)
}

// weightInputs is what a stage's weight gradients need when a schedule puts them
// off: of every product its input and the gradient of its output.
func (b *Book) weightInputs(stage int) *Expr {
	s, st := b.w.Setup, b.w.Stages[stage]
	m := &s.Model
	if s.Stack.Resolve() == recipe.Textbook {
		return mul(b.tokens(), b.element(), b.overTP(mul(lit(32), b.hidden())), count("layers", st.Layers()))
	}
	modules := 0
	if st.Head && s.TrainMTP {
		modules = m.MTPLayers
	}
	var sum []*Expr
	each := func(n int, name string, x *Expr) {
		if n > 0 {
			sum = append(sum, mul(count(name, n), x))
		}
	}
	each(st.Layers()+modules, "layers", b.bytes(b.attentionWeightInputs()))
	dense, moe := st.Dense, st.MoE+modules
	if !m.IsMoE() {
		dense, moe = st.Dense+modules, 0
	}
	each(dense, "dense layers", b.bytes(b.mlpWeightInputs(count("f", m.FFN))))
	if moe > 0 {
		each(moe, "MoE layers", b.expertWeightInputs())
	}
	each(modules, "MTP modules", b.overSP(mul(lit(6), b.hidden())))
	return mul(b.tokens(), b.element(), add(sum...))
}

// mlpWeightInputs are those of an MLP.
func (b *Book) mlpWeightInputs(width *Expr) share {
	var out share
	out.along(lit(4), b.hidden())
	if b.w.Setup.Model.Gated {
		out.evenly(lit(6), width)
	} else {
		out.evenly(lit(4), width)
	}
	return out
}

func (b *Book) expertWeightInputs() *Expr {
	s := b.w.Setup
	m := &s.Model
	var out share
	if m.SharedFFN > 0 {
		out = b.mlpWeightInputs(count("f_shared", m.SharedFFN))
	} else {
		out.along(lit(2), b.hidden())
	}
	out.along(lit(4), count("E", m.Experts))
	width := 4.0
	if m.Gated {
		width = 6
	}
	out.along(count("k", m.TopK), add(mul(lit(4), b.hidden(), count("ETP", s.ETP)), mul(lit(width), count("f_expert", m.ExpertFFN))))
	return b.bytes(out)
}

// attentionWeightInputs are those of the projections around core attention.
func (b *Book) attentionWeightInputs() share {
	m := &b.w.Setup.Model
	var out share
	a, d := count("a", m.Heads), count("d", m.HeadDim)
	out.along(lit(4), b.hidden())
	if !m.IsMLA() {
		kv := mul(maxOf(div(count("kv heads", m.KVHeads), b.tp()), lit(1)), b.tp(), d)
		out.evenly(lit(4), a, d)
		out.evenly(lit(4), kv)
		return out
	}
	if m.QLoraRank > 0 {
		out.along(lit(4), count("r_q", m.QLoraRank))
	}
	out.along(lit(2), count("r_kv + d_rope", m.KVLoraRank+m.QKRopeDim))
	out.along(lit(2), count("r_kv", m.KVLoraRank))
	out.evenly(lit(2), a, count("d_nope + d_rope", m.QKNopeDim+m.QKRopeDim))
	out.evenly(lit(2), a, count("d_nope + d_v", m.QKNopeDim+m.VHeadDim))
	out.evenly(lit(2), a, count("d_v", m.VHeadDim))
	return out
}
