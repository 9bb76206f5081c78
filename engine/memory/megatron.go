package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
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

func (megatronCore) Assumptions(into []string, l *layout.Layout, overhead string) []string {
	into = append(into, "memory follows Megatron-Core with Transformer Engine: no dropout, one dummy weight gradient per weight shape")
	into = append(into, overhead)
	if l.ZeRO >= 2 {
		into = append(into, "ZeRO-2 and 3 on this stack mean Megatron-FSDP: one gathered and one prefetched layer at a time")
	}
	return into
}

func (megatronCore) Cut(in *Input) Divisors {
	d := tensorParallel(in, paddedVocab(in))
	d.padded = true
	return d
}

// Layer returns what one layer keeps.
func (megatronCore) Layer(in *Input, moe bool) Kept {
	m, l, note := in.Model, in.Layout, in.layerNote(moe)
	h := float64(m.Hidden)
	attention, recompute := flashAttention(in, note)
	kept := Kept{Attention: attention.bytes(l)}
	inner := split{seq: inputWidth(in) * h}         // the second norm's output
	if moe && in.Recompute.Has(recipe.ModuleNorm) { // of a dense MLP the norm is part of the first product
		recompute.seq += 2 * h // in 16 bits, since the products then keep their input as they got it
		note.part("recompute").seq("2 * h")
		inner = split{}
	}
	// The layer's input and the residual; further norms keep theirs.
	kept.Norms = split{seq: 4*h + 2*h*float64(m.NormsPer-2)}.bytes(l)
	note.part("norms").seq("4 * h")
	if m.NormsPer != 2 {
		note.part("norms").seq("2 * h * (norms_per_layer - 2)")
	}
	if moe {
		recompute = recompute.plus(expertLayer(in, note, inner, &kept))
	} else {
		if inner.seq > 0 {
			note.part("mlp").seq("b_in * h")
		}
		mlp, act := gatedMLP(in, note.part("mlp"), "f", m.FFN)
		kept.MLP = inner.plus(mlp).bytes(l)
		recompute = recompute.plus(act)
		if act.even > 0 {
			note.part("recompute").even("b_in * f")
		}
	}
	kept.recompute = recompute.bytes(l)
	return kept
}

// flashAttention returns what core attention and its projections keep, bytes per
// token in 16-bit: the norm's output, q, k, v, the output of attention and its
// log-sum-exp; for MLA also both latents and their norms. The second value is
// what is recomputed instead.
func flashAttention(in *Input, note note) (kept, recompute split) {
	m, l := in.Model, in.Layout
	h, a := float64(m.Hidden), float64(m.Heads)
	w := inputWidth(in)
	keeps, recomputes := note.part("attention"), note.part("recompute")
	kept = split{seq: w * h, even: 2*a + scores(in, 2)}
	keeps.even("2 * a")
	if scores(in, 2) > 0 {
		keeps.even("2 * a * s")
	}
	if m.IsMLA() && in.Recompute.Has(recipe.ModuleNorm) { // else the norm is part of the projection
		kept.seq, recompute.seq = 0, 2*h
		recomputes.seq("2 * h")
	} else {
		keeps.seq("b_in * h")
	}
	output := outputWidth(in)
	if m.IsMLA() {
		latents := float64(m.QLoraRank + m.KVLoraRank)
		kept.seq += 2 * latents
		keeps.seq("2 * (r_q + r_kv)")
		up := 4*a*float64(m.QKNopeDim+m.QKRopeDim) + 2*a*float64(m.VHeadDim)
		const upward = "4 * a * (d_nope + d_rope) + 2 * a * d_v"
		kept.even += output * a * float64(m.VHeadDim)
		keeps.even("b_out * a * d_v")
		if in.Recompute.Has(recipe.ModuleMLAUp) { // with the latents' norms, which are part of the products
			recompute.even += up
			recompute.seq += w * latents
			recomputes.even(upward)
			recomputes.seq("b_in * (r_q + r_kv)")
		} else {
			kept.even += up
			kept.seq += w * latents
			keeps.even(upward)
			keeps.seq("b_in * (r_q + r_kv)")
		}
	} else {
		width, kv := a*float64(m.HeadDim), kvWidth(in)
		kept.even += (2+output)*width + 4*kv
		keeps.even("(2 + b_out) * a * d + 4 * kv_width")
		if m.QKNorm == model.QKNormPerHead || m.QKNorm == model.QKNormFullWidth {
			kept.even += 2*width + 2*kv
			keeps.even("2 * a * d + 2 * kv_width")
		}
	}
	if l.CP > 1 {
		kept.seq += 2 * h // the output on both sides of the all-to-all exchange
		keeps.seq("2 * h")
	}
	return kept, recompute
}

// inputWidth returns the bytes of a kept input of a product, for a 16-bit element: b_in
// in formulas.
func inputWidth(in *Input) float64 { return 2 * in.Precision.InputBytes() / in.Precision.Bytes() }

// outputWidth returns the bytes of attention's output that attention and the output
// projection keep, for a 16-bit element: b_out in formulas.
func outputWidth(in *Input) float64 { return 2 * in.Precision.AttentionBytes() / in.Precision.Bytes() }

// readWidth returns the bytes per unit of width of what an MLP's activation read, as it is
// kept: b_read in formulas.
func readWidth(in *Input) float64 {
	return (mlpWidth(in.Model.Gated) - 2) * in.Precision.ActivationBytes() / in.Precision.Bytes()
}

// keptWidth returns what an MLP keeps per token and unit of width: what the activation
// read, and its product, an input.
func keptWidth(in *Input) float64 { return readWidth(in) + inputWidth(in) }

// gatedMLP returns the inside of an MLP of some width: what the activation read and
// its product, unless that is recomputed.
func gatedMLP(in *Input, note part, name string, width int) (kept, recompute split) {
	kept.even = keptWidth(in) * float64(width)
	if in.Recompute.Has(recipe.ModuleAct) {
		recompute.even = inputWidth(in) * float64(width)
		kept.even -= recompute.even
		note.even("b_read * ", name)
		return kept, recompute
	}
	note.even("(b_read + b_in) * ", name)
	return kept, recompute
}

// expertLayer adds router, shared and routed experts to what a layer keeps and
// returns what is recomputed. Where norms are recomputed, fp8 products that read them keep no
// copy of their own (NVIDIA/Megatron-LM, moe_layer.py: set_for_recompute_pre_mlp_layernorm).
// Each rank receives as many tokens as it sends, times
// the load of the busiest one.
func expertLayer(in *Input, note note, norm split, kept *Kept) (recompute split) {
	m, l := in.Model, in.Layout
	h, w, x := float64(m.Hidden), keptWidth(in), inputWidth(in)
	recomputes := note.part("recompute")
	input := x * h // of the shared experts
	if norm.seq > 0 {
		note.part("router").seq("b_in * h")
	}
	if x < 2 { // the router reads 16 bits, and shared experts make a copy of their own
		if in.Recompute.Has(recipe.ModuleNorm) {
			input = 0
		} else {
			norm.seq += 2 * h
			note.part("router").seq("2 * h")
		}
	}
	kept.Router = norm.plus(split{seq: 8 * float64(m.Experts)}).bytes(l) // logits and probabilities
	note.part("router").seq("8 * E")
	if m.SharedFFN > 0 {
		into := note.part("shared")
		if in.Recompute.Has(recipe.ModuleShared) {
			into = recomputes
		}
		inside, act := gatedMLP(in, into, "f_shared", m.SharedFFN)
		recompute = recompute.plus(act)
		if act.even > 0 {
			recomputes.even("b_in * f_shared")
		}
		if in.Recompute.Has(recipe.ModuleShared) {
			recompute = recompute.plus(inside)
			inside = split{}
		}
		kept.MLP = inside.plus(split{seq: input}).bytes(l)
		if input > 0 {
			note.part("shared").seq("b_in * h")
		}
	}
	routed := float64(m.TopK) * in.Load
	inside := w * float64(m.ExpertFFN)
	if in.Recompute.Has(recipe.ModuleMoEAct) {
		act := x * float64(m.ExpertFFN)
		inside -= act
		recompute.seq += routed * act
		recomputes.seq("routed * b_in * f_expert")
		note.part("experts").seq("routed * (b_in * h * ETP + b_read * f_expert)")
	} else {
		note.part("experts").seq("routed * (b_in * h * ETP + (b_read + b_in) * f_expert)")
	}
	kept.Experts = split{seq: routed * (x*h*float64(l.ETP) + inside)}.bytes(l)
	return recompute
}

// Stage adds up the layers and the temporaries.
func (k megatronCore) Stage(in *Input, stage int) Live {
	live := pass(in, stage, k)
	transient(in, stage, &live, logits(in.Loss), headWork)
	return live
}

// headWork returns what the head makes next to the logits: the weight's gradient and,
// with TP, the gathers of SP.
func headWork(in *Input, note note) float64 {
	l, h := in.Layout, float64(in.Model.Hidden)
	extra := 2 * paddedVocab(in) * h / float64(l.TP)
	note.temporary("2 * {model.padded-vocabulary} * h / t * e")
	if l.TP > 1 {
		extra += 4 * l.MicroBatchTokens() * h
		note.temporary("4 * T * h * e")
	}
	return extra
}

// noWork returns a head that makes nothing next to the logits.
func noWork(*Input, note) float64 { return 0 }

// logits returns the bytes per token and vocabulary entry of the loss: in 16 bits
// where it is fused, else next to them in fp32.
func logits(loss recipe.Loss) float64 {
	if loss != recipe.FusedLoss {
		return 6
	}
	return 2
}

// transient adds the temporaries: on the last stage the head (logits, the final
// norm's input and output, and what else the stack's head makes), on others the
// gradients of the MLP's inner width and of the hidden state.
func transient(in *Input, stage int, live *Live, perLogit float64, headWork func(*Input, note) float64) {
	l, m, st, note := in.Layout, in.Model, in.Stages[stage], in.stageNote(stage)
	t, h := float64(l.TP), float64(m.Hidden)
	tokens, e := l.MicroBatchTokens(), in.Precision.Bytes()/2
	if st.Head {
		live.Logits = units.Bytes(perLogit * tokens * paddedVocab(in) / t * e)
		modules := ""
		if in.TrainMTP && m.MTPLayers > 0 {
			live.Logits *= units.Bytes(1 + m.MTPLayers)
			modules = "(1 + MTP_modules) * "
		}
		note.given("MTP_modules", float64(m.MTPLayers))
		note.given("bytes_per_logit", perLogit)
		note.term("logits", modules, "bytes_per_logit * T * {model.padded-vocabulary} / t * e")
		note.temporary("4 * T * h / t * e")
		extra := 4*tokens*h/t + headWork(in, note)
		live.Forward += units.Bytes(extra * e)
		live.Backward += units.Bytes(extra * e)
		return
	}
	width := mlpWidth(m.Gated) - 2
	inner, formula := 0.0, "0"
	if st.Dense > 0 {
		inner, formula = width*float64(m.FFN), "b_act * f"
	}
	if st.MoE > 0 {
		inner = max(inner, width*float64(m.TopK)*float64(m.ExpertFFN)*in.Load)
		formula = "max(b_act * f, b_act * routed * f_expert)"
		if st.Dense == 0 {
			formula = "b_act * routed * f_expert"
		}
	}
	live.Backward += units.Bytes(tokens * (inner + 4*h) / t * e)
	note.term("backward-temporaries", "T * (", formula, " + 4 * h) / t * e")
}

// Buffers are Transformer Engine's dummy weight gradients, one in 16-bit per
// distinct weight shape on the rank, and what ZeRO 2 and 3 gather and scatter.
func (megatronCore) Buffers(in *Input, rank int, p Parameters) units.Bytes {
	l, note := in.Layout, in.rankNote(rank)
	total := units.Bytes(2 * in.shapeElements(rank) * in.Precision.Bytes() / 2)
	if note.rec.On() {
		shapes := in.shapes(rank)
		formula, operands := shapes.formula()
		note.buffer(record.Entry{
			ID: "buffers.dummies", Name: "Dummy weight gradients", Symbol: "dummy gradients", Formula: "bytes * (" + formula + ")", Value: float64(total),
			Source:    "Transformer Engine returns one in 16 bits per distinct weight shape to autograd, since it accumulates the real ones itself",
			LeavesOut: "shapes of embedding and head",
		}, operands...)
	}
	switch {
	case l.ZeRO == 3 && l.DenseShards() > 1:
		total += gathered(in, note, p)
	case l.ZeRO == 2 && l.DenseShards() > 1:
		total += units.Bytes((2 + 4) * p.Largest)
		note.scattered(&p, 2)
	}
	return total
}
