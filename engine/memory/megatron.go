package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/model"
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
type megatronCore struct{}

// paddedVocab is the vocabulary that Megatron allocates: a multiple of 128*TP
// (megatron/training/tokenizer, --make-vocab-size-divisible-by 128).
func paddedVocab(vocab, tp int) float64 {
	block := 128 * tp
	return float64((vocab + block - 1) / block * block)
}

func (megatronCore) Parameters(in *Input, stage int) Parameters {
	l := in.Layout
	return stageParameters(in, stage, divisors{
		sharded: float64(l.TP), replicated: 1,
		experts: float64(l.EP * l.ETP), expertReplicated: float64(l.EP),
		vocab:    paddedVocab(in.Model.Vocab, l.TP),
		kvCopies: kvCopies(in.Model, l.TP),
	})
}

// kvCopies is what each rank keeps of the kv projections of a layer beyond its
// share, when TP exceeds the kv heads.
func kvCopies(m *model.Model, tp int) float64 {
	if m.IsMLA() {
		return 0
	}
	share := float64(m.KVHeads) / float64(tp)
	return 2 * float64(m.Hidden) * float64(m.HeadDim) * (m.KVHeadsPerRank(tp) - share)
}

func (megatronCore) Shard(in *Input) Sharding { return zero(in) }

// split is an amount of bytes per token: even is always divided by TP, seq only
// with sequence parallelism.
type split struct{ even, seq float64 }

func (s split) bytes(l *layout.Layout) float64 {
	if l.SP {
		return (s.even + s.seq) / float64(l.TP)
	}
	return s.even/float64(l.TP) + s.seq
}

// attention is what core attention and its projections keep, bytes per token
// in 16-bit: the layer's input and the norm's output, q, k, v, the output of
// attention and its log-sum-exp; for MLA also both latents and their norms.
func (megatronCore) attention(in *Input) split {
	m, l := in.Model, in.Layout
	h, a := float64(m.Hidden), float64(m.Heads)
	out := split{seq: 4 * h, even: 2 * a}
	if m.IsMLA() {
		out.seq += 4*float64(m.QLoraRank) + 4*float64(m.KVLoraRank)
		out.even += 4*a*float64(m.QKNopeDim+m.QKRopeDim) + 4*a*float64(m.VHeadDim)
	} else {
		width := a * float64(m.HeadDim)
		kv := m.KVHeadsPerRank(l.TP) * float64(m.HeadDim) * float64(l.TP) // over TP again below
		out.even += 4*width + 4*kv
		if m.QKNorm == "per-head" || m.QKNorm == "full-width" {
			out.even += 2*width + 2*kv
		}
	}
	if l.CP > 1 {
		out.seq += 2 * h // the output on both sides of the all-to-all exchange
	}
	if in.Attention == recipe.Standard && in.Recompute.Mode != recipe.RecomputeSelective {
		// the softmax's output; 5as with the dropout that this stack does not use
		// (Korthikanti et al. section 4.1)
		out.even += 2 * a * float64(l.Seq)
	}
	return out
}

// mlpWidth is how many bytes per token and unit of width an MLP keeps: the
// product, and what the activation read (gate and up where gated).
func mlpWidth(gated bool) float64 {
	if gated {
		return 6
	}
	return 4
}

// layer is what one layer keeps per token, in bytes for 16-bit activations.
func (k megatronCore) layer(in *Input, moe bool) float64 {
	m, l := in.Model, in.Layout
	h := float64(m.Hidden)
	w := mlpWidth(m.Gated)
	s := k.attention(in)
	s.seq += 4*h + 2*h*float64(m.NormsPer-2) // residual and second norm's output; further norms keep their inputs
	if !moe {
		s.even += w * float64(m.FFN)
		return s.bytes(l)
	}
	s.seq += 8 * float64(m.Experts) // router logits and probabilities
	if m.SharedFFN > 0 {
		s.seq += 2 * h
		s.even += w * float64(m.SharedFFN)
	}
	// Each rank receives as many tokens as it sends (balanced routing).
	routed := split{seq: float64(m.TopK) * (2*h*float64(l.ETP) + w*float64(m.ExpertFFN))}
	return s.bytes(l) + routed.bytes(l)
}

// Stage adds up the layers. With full recomputation a layer keeps its input,
// and one layer's activations are alive during its backward.
func (k megatronCore) Stage(in *Input, stage int) Live {
	l, m, st := in.Layout, in.Model, in.Stages[stage]
	tokens := l.MicroBatchTokens() * in.Precision.Bytes() / 2
	dense, moe := k.layer(in, false), 0.0
	if st.MoE > 0 || in.TrainMTP && st.Head {
		moe = k.layer(in, m.IsMoE())
	}
	full := recomputed(in, stage)
	fullDense := min(full, st.Dense)
	fullMoE := full - fullDense
	input := split{seq: 2 * float64(m.Hidden)}.bytes(l)
	kept := float64(st.Dense-fullDense)*dense + float64(st.MoE-fullMoE)*moe + float64(full)*input
	if st.Head && in.TrainMTP {
		kept += float64(m.MTPLayers) * (moe + 2*input)
	}
	live := Live{
		Activations:  units.Bytes(tokens * kept),
		WeightInputs: units.Bytes(tokens * weightInputs(in, st)),
	}
	if full > 0 {
		one := dense
		if fullMoE > 0 {
			one = max(one, moe)
		}
		live.Backward = units.Bytes(tokens * (one - input))
	}
	k.transient(in, st, &live)
	return live
}

// transient adds the temporaries: on the last stage the head (logits of a
// fused loss, the final norm's input and output, the head's weight gradient and
// the gathers of SP), on others the gradients of the MLP's inner width and of
// the hidden state.
func (megatronCore) transient(in *Input, st layout.Stage, live *Live) {
	l, m := in.Layout, in.Model
	t, h := float64(l.TP), float64(m.Hidden)
	tokens, e := l.MicroBatchTokens(), in.Precision.Bytes()/2
	if st.Head {
		vocab := paddedVocab(m.Vocab, l.TP)
		live.Logits = units.Bytes(2 * tokens * vocab / t * e)
		if in.TrainMTP {
			live.Logits *= units.Bytes(1 + m.MTPLayers)
		}
		extra := 4*tokens*h/t + 2*vocab*h/t
		if l.TP > 1 {
			extra += 4 * tokens * h
		}
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
		inner = max(inner, width*float64(m.TopK)*float64(m.ExpertFFN))
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
	case l.ZeRO == 3 && l.DP*l.CP > 1:
		// gathered weights, their gradient, the fp32 reduce-scatter buffer of one
		// block; gathered weights of the prefetched one (torchtitan's FSDP2).
		total += units.Bytes((2+2+4)*p.Largest + 2*p.Largest)
	case l.ZeRO == 2 && l.DP*l.CP > 1:
		total += units.Bytes((2 + 4) * p.Largest)
	}
	return total
}

// Overhead is what a GPU uses beyond allocated tensors: allocator slack (the
// median of reserved/allocated over SimuMax's 43 B200 rows is 1.040), and 1 GiB
// for the driver context and communicators (the playbook says 1 to 2 GB).
func (megatronCore) Overhead(_ *Input, allocated units.Bytes) units.Bytes {
	const slack = 0.040
	return units.Bytes(slack)*allocated + units.GiB
}
