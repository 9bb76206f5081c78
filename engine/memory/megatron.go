package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// megatronCore is the memory of Megatron-Core with Transformer Engine: flash
// attention, no dropout, fused cross-entropy, fp32 main gradients, the
// distributed optimizer (ZeRO-1). ZeRO 2 and 3 mean Megatron-FSDP.
//
// The terms are a closed form without fitted constants, chosen while looking at
// SimuMax's 43 published B200 measurements (MooreThreads/SimuMax at 4dcaae5,
// docs/b200), so the error there is in-sample.
type megatronCore struct{ common }

func (megatronCore) Assumptions(l *layout.Layout, overhead string, say func(bool, string)) {
	say(true, "memory follows Megatron-Core with Transformer Engine: no dropout, one dummy weight gradient per weight shape")
	say(true, overhead)
	say(l.ZeRO >= 2, "ZeRO-2 and 3 on this stack mean Megatron-FSDP: one gathered and one prefetched layer at a time")
}

func (megatronCore) Cut(in *Input) Divisors {
	return tensorParallel(in, paddedVocab(in.Model.Vocab, in.Layout.TP))
}

// Layer is what one layer keeps.
func (megatronCore) Layer(in *Input, moe bool) Kept {
	m, l := in.Model, in.Layout
	h := float64(m.Hidden)
	attention, again := flashAttention(in)
	inner := split{seq: inputWidth(in) * h} // the second norm's output
	if in.Recompute.Has(recipe.ModuleNorm) {
		again = again.plus(inner)
		inner = split{}
	}
	kept := Kept{
		Attention: attention.bytes(l),
		// The layer's input and the residual; further norms keep theirs.
		Norms: split{seq: 4*h + 2*h*float64(m.NormsPer-2)}.bytes(l),
	}
	if moe {
		again = again.plus(expertLayer(in, inner, &kept))
	} else {
		mlp, act := gatedMLP(in, m.FFN)
		kept.MLP = inner.plus(mlp).bytes(l)
		again = again.plus(act)
	}
	kept.again = again.bytes(l)
	return kept
}

// flashAttention is what core attention and its projections keep, bytes per
// token in 16-bit: the norm's output, q, k, v, the output of attention and its
// log-sum-exp; for MLA also both latents and their norms. The second value is
// what is worked out again instead.
func flashAttention(in *Input) (kept, again split) {
	m, l := in.Model, in.Layout
	h, a := float64(m.Hidden), float64(m.Heads)
	w := inputWidth(in)
	kept = split{seq: w * h, even: 2*a + scores(in, 2)}
	if in.Recompute.Has(recipe.ModuleNorm) {
		kept.seq, again.seq = 0, w*h
	}
	own := 0.0 // of the output projection's input, where attention keeps another of its output
	if w < 2 {
		own = w
	}
	if m.IsMLA() {
		kept.seq += (2 + w) * float64(m.QLoraRank+m.KVLoraRank)
		up := 4*a*float64(m.QKNopeDim+m.QKRopeDim) + 2*a*float64(m.VHeadDim)
		kept.even += (2 + own) * a * float64(m.VHeadDim) // the output
		if in.Recompute.Has(recipe.ModuleMLAUp) {
			again.even += up
		} else {
			kept.even += up
		}
	} else {
		width := a * float64(m.HeadDim)
		kv := kvWidth(in)
		kept.even += (4+own)*width + 4*kv
		if m.QKNorm == "per-head" || m.QKNorm == "full-width" {
			kept.even += 2*width + 2*kv
		}
	}
	if l.CP > 1 {
		kept.seq += 2 * h // the output on both sides of the all-to-all exchange
	}
	return kept, again
}

// inputWidth is the bytes of a kept input of a product, for a 16-bit element.
func inputWidth(in *Input) float64 { return 2 * in.Precision.InputBytes() / in.Precision.Bytes() }

// keptWidth is what an MLP keeps per token and unit of width: what the activation
// read in 16 bits, and its product, an input.
func keptWidth(in *Input) float64 { return mlpWidth(in.Model.Gated) - 2 + inputWidth(in) }

// gatedMLP is the inside of an MLP of some width: what the activation read and
// its product, unless that is worked out again.
func gatedMLP(in *Input, width int) (kept, again split) {
	kept.even = keptWidth(in) * float64(width)
	if in.Recompute.Has(recipe.ModuleAct) {
		again.even = inputWidth(in) * float64(width)
		kept.even -= again.even
	}
	return kept, again
}

// expertLayer adds router, shared and routed experts to what a layer keeps and
// returns what is worked out again. Each rank receives as many tokens as it
// sends, times the load of the busiest one.
func expertLayer(in *Input, norm split, kept *Kept) (again split) {
	m, l := in.Model, in.Layout
	h, w, x := float64(m.Hidden), keptWidth(in), inputWidth(in)
	if x < 2 {
		norm.seq += 2 * h // the router reads 16 bits
	}
	kept.Router = norm.plus(split{seq: 8 * float64(m.Experts)}).bytes(l) // logits and probabilities
	if m.SharedFFN > 0 {
		inside, act := gatedMLP(in, m.SharedFFN)
		again = again.plus(act)
		if in.Recompute.Has(recipe.ModuleShared) {
			again = again.plus(inside)
			inside = split{}
		}
		kept.MLP = inside.plus(split{seq: x * h}).bytes(l)
	}
	routed := float64(m.TopK) * in.Load
	inside := w * float64(m.ExpertFFN)
	if in.Recompute.Has(recipe.ModuleMoEAct) {
		act := x * float64(m.ExpertFFN)
		inside -= act
		again.seq += routed * act
	}
	kept.Experts = split{seq: routed * (x*h*float64(l.ETP) + inside)}.bytes(l)
	return again
}

// Stage adds up the layers and the temporaries.
func (k megatronCore) Stage(in *Input, stage int) Live {
	live := keep(in, stage, k, split{seq: 2 * float64(in.Model.Hidden)}.bytes(in.Layout))
	transient(in, in.Stages[stage], &live, headWork(in))
	return live
}

// headWork is what the head makes beside the logits: the weight's gradient and,
// with TP, the gathers of SP.
func headWork(in *Input) float64 {
	l, m := in.Layout, in.Model
	h := float64(m.Hidden)
	extra := 2 * paddedVocab(m.Vocab, l.TP) * h / float64(l.TP)
	if l.TP > 1 {
		extra += 4 * l.MicroBatchTokens() * h
	}
	return extra
}

// logits are the bytes per token and vocabulary entry of the loss: in 16 bits
// where it is fused, else beside them in fp32.
func logits(loss recipe.Loss) float64 {
	if loss == recipe.UnfusedLoss {
		return 6
	}
	return 2
}

// transient adds the temporaries: on the last stage the head (logits, the final
// norm's input and output, and what else the stack's head makes), on others the
// gradients of the MLP's inner width and of the hidden state.
func transient(in *Input, st layout.Stage, live *Live, head float64) {
	l, m := in.Layout, in.Model
	t, h := float64(l.TP), float64(m.Hidden)
	tokens, e := l.MicroBatchTokens(), in.Precision.Bytes()/2
	if st.Head {
		vocab := paddedVocab(m.Vocab, l.TP)
		live.Logits = units.Bytes(logits(in.Loss) * tokens * vocab / t * e)
		if in.TrainMTP {
			live.Logits *= units.Bytes(1 + m.MTPLayers)
		}
		extra := 4*tokens*h/t + head
		live.Forward += units.Bytes(extra * e)
		live.Backward += units.Bytes(extra * e)
		return
	}
	inner := 0.0
	width := mlpWidth(m.Gated) - 2
	if st.Dense > 0 {
		inner = width * float64(m.FFN)
	}
	if st.MoE > 0 {
		inner = max(inner, width*float64(m.TopK)*float64(m.ExpertFFN)*in.Load)
	}
	live.Backward += units.Bytes(tokens * (inner + 4*h) / t * e)
}

// Buffers are Transformer Engine's dummy weight gradients, one in 16-bit per
// distinct weight shape on the rank, and what ZeRO 2 and 3 gather and scatter.
func (megatronCore) Buffers(in *Input, rank int, p Parameters) units.Bytes {
	l := in.Layout
	var shapes shapeSet
	for c := range in.Order.Chunks() {
		shapes.addStage(in, in.Stages[in.Order.StageOf(rank, c)])
	}
	total := units.Bytes(2 * shapes.elements() * in.Precision.Bytes() / 2)
	switch {
	case l.ZeRO == 3 && l.DenseShards() > 1:
		total += gathered(in, p)
	case l.ZeRO == 2 && l.DenseShards() > 1:
		total += units.Bytes((2 + 4) * p.Largest)
	}
	return total
}

// gathered is what ZeRO-3 holds of whole layers: the weights of one block,
// their gradient and the fp32 buffer it is scattered from, and the weights of
// the prefetched block (PyTorch's FSDP2, as in torchtitan).
func gathered(in *Input, p Parameters) units.Bytes {
	w := in.Precision.GatherBytes()
	return units.Bytes((w+in.Precision.Bytes()+4)*p.Largest + w*p.Largest)
}
