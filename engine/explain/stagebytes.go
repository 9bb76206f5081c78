package explain

import (
	"fmt"

	"meshscope/engine/recipe"
)

// tokens is T, the tokens of a micro-batch on one rank.
func (b *Book) tokens() *Expr {
	s := b.w.Setup
	return b.term("layout.tokens", about{
		name: "Tokens of a micro-batch on one GPU", symbol: "T", unit: Count, source: "sequence x micro-batch size / CP",
	}, func() *Expr { return div(mul(count("s", s.Seq), count("b", s.MBS)), count("c", s.CP)) })
}

// precision is what the setup's means on its stack.
func (b *Book) precision() recipe.Precision { return b.w.Setup.Precision.On(b.w.Setup.Stack) }

// input is the width in bytes of a product's input that is kept, for a 16-bit
// element.
func (b *Book) input() *Expr { return lit(b.inputWidth()) }

func (b *Book) inputWidth() float64 { return 2 * b.precision().InputBytes() / b.precision().Bytes() }

// ownInput is what the output projection keeps of attention's output beside
// attention itself, for a 16-bit element: nothing where both keep the same tensor.
func (b *Book) ownInput() float64 {
	if w := b.inputWidth(); w < 2 {
		return w
	}
	return 0
}

// element is the width of an activation over 16 bits.
func (b *Book) element() *Expr { return count("e", b.precision().Bytes()/2) }

// stageBytes is what one micro-batch adds on a stage.
func (b *Book) stageBytes(stage int, what string) *Expr {
	a := about{unit: Memory, symbol: fmt.Sprintf("%s of stage %d", what, stage)}
	var formula func() *Expr
	switch what {
	case "activations":
		a.name, a.source = "Activations that a stage keeps of one micro-batch", "layers times bytes per token (Korthikanti et al., arXiv 2205.05198, section 4, and the stack's own tensors)"
		formula = func() *Expr { return b.stageActivations(stage) }
	case "logits":
		a.name, a.source = "Logits of the stage", "bytes per logit x tokens x vocabulary / TP"
		formula = func() *Expr { return b.stageLogits(stage) }
	case "weight-inputs":
		a.name, a.source = "What the stage keeps until the weight gradient", "input and output gradient of every product (zero bubble, arXiv 2401.10241, and its code's weight_grad_store.py)"
		formula = func() *Expr { return b.weightInputs(stage) }
	default:
		backward := what == "backward-temporaries"
		a.name, a.source = "Temporaries while the forward runs", "tensors that the head makes; the stack's own"
		if backward {
			a.name, a.source = "Temporaries while the backward runs, with what one layer works out again", "gradients of the widest tensors; recomputed layers one at a time"
		}
		a.omits = "workspaces of kernels"
		formula = func() *Expr { return b.temporaries(stage, backward) }
	}
	a.name += fmt.Sprintf(", stage %d", stage)
	return b.term(fmt.Sprintf("stage.%d.%s", stage, what), a, formula)
}

func (b *Book) stageActivations(stage int) *Expr {
	s, st := b.w.Setup, b.w.Stages[stage]
	m, stack := &s.Model, s.Stack.Resolve()
	full := 0
	if s.Recompute.Mode == recipe.RecomputeFull {
		full = s.RecomputedLayers(s.Recompute.Layers, stage, st)
	}
	fullDense := min(full, st.Dense)
	var sum []*Expr
	layers := func(n int, name string, bytes *Expr) {
		if n > 0 {
			sum = append(sum, mul(count(name, n), bytes))
		}
	}
	layers(st.Dense-fullDense, "dense layers", b.layerBytes(false))
	layers(st.MoE-(full-fullDense), "MoE layers", b.layerBytes(true))
	layers(full, "recomputed layers", b.layerInput())
	if st.Head && s.TrainMTP && m.MTPLayers > 0 {
		sum = append(sum, mul(count("MTP modules", m.MTPLayers), add(b.layerBytes(m.IsMoE()), mul(lit(2), b.layerInput()))))
	}
	x := mul(b.tokens(), b.element(), add(sum...))
	switch {
	case (stack == recipe.Megatron2022 || stack == recipe.Megatron2021) && st.Embedding:
		x = add(x, mul(b.tokens(), b.overSP(b.hidden()))) // the mask of the embedding's dropout
	case stack == recipe.Nanotron && s.TP > 1:
		x = add(x, mul(count("bytes of gathered inputs", b.w.Memory.Fitted.Kept.Gathered), b.hidden(), b.tokens(), b.element()))
	}
	return x
}

// overSP divides by TP what sequence parallelism cuts.
func (b *Book) overSP(x *Expr) *Expr {
	if !b.w.Setup.SP || b.w.Setup.TP == 1 {
		return x
	}
	return div(x, b.tp())
}

// layerInput is what a recomputed layer keeps, per token.
func (b *Book) layerInput() *Expr {
	input := mul(lit(2), b.hidden())
	if b.w.Setup.Stack.Resolve() == recipe.Textbook {
		return input
	}
	return b.overSP(input)
}

// layerBytes is what one layer keeps per token, in 16 bits.
func (b *Book) layerBytes(moe bool) *Expr {
	kind := "dense"
	if moe {
		kind = "moe"
	}
	s := b.w.Setup
	return b.term("layer."+kind+".activations", about{
		name: "Bytes that one " + kind + " layer keeps per token in 16 bits", symbol: "bytes per token of a " + kind + " layer", unit: Count,
		source: "tensors that stack " + string(s.Stack.Resolve()) + " keeps from forward to backward; Korthikanti et al. (arXiv 2205.05198) section 4",
		omits:  "small tensors such as norm statistics",
	}, func() *Expr {
		if s.Stack.Resolve() == recipe.Textbook {
			return b.textbookLayer()
		}
		return b.keptLayer(moe)
	})
}

// textbookLayer is Korthikanti's formula in full: 34h + 5as, of which TP cuts
// 24h + 5as and sequence parallelism the other 10h.
func (b *Book) textbookLayer() *Expr {
	s := b.w.Setup
	even, seq := 24.0, 10.0
	if s.Recompute.Has(recipe.ModuleNorm) {
		seq -= 4
	}
	if s.Recompute.Has(recipe.ModuleAct) {
		even -= 8
	}
	cut := mul(lit(even), b.hidden())
	if s.Recompute.Mode != recipe.RecomputeSelective && s.Attention == recipe.Standard {
		cut = add(cut, mul(lit(5), count("a", s.Model.Heads), count("s", s.Seq)))
	}
	return add(b.overSP(mul(lit(seq), b.hidden())), div(cut, b.tp()))
}

// stageLogits is 0 but for the head.
func (b *Book) stageLogits(stage int) *Expr {
	s := b.w.Setup
	live := &b.r.Memory.Stages[stage]
	if live.Logits == 0 {
		return lit(0)
	}
	bytes, fused := 2.0, b.w.Memory.Loss != recipe.UnfusedLoss
	vocab := b.paddedVocab()
	switch stack := s.Stack.Resolve(); {
	case stack == recipe.Nanotron:
		vocab = count("V", s.Model.Vocab)
		if bytes = b.w.Memory.Fitted.Kept.Logit; b.w.Memory.Loss == recipe.FusedLoss {
			bytes = 2
		}
	case !fused && stack == recipe.TorchTitan:
		bytes = 12
	case !fused:
		bytes = 6
	}
	x := div(mul(count("bytes per logit", bytes), b.tokens(), vocab, b.element()), b.tp())
	if s.TrainMTP && s.Model.MTPLayers > 0 && s.Stack.Resolve() != recipe.Nanotron {
		x = mul(add(lit(1), count("MTP modules", s.Model.MTPLayers)), x)
	}
	return x
}
