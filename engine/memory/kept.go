package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Kept is what one layer keeps per token from its forward to its backward, in
// bytes on one GPU for 16-bit activations, part by part.
type Kept struct {
	Attention float64 // projections and core attention, with their input
	MLP       float64 // dense MLP and shared experts, with their input
	Experts   float64 // routed experts
	Router    float64
	Norms     float64 // inputs of the norms: the residual stream

	again float64 // not kept but worked out again: alive in one layer at a time
}

// Sum is the whole layer.
func (k Kept) Sum() float64 { return k.Attention + k.MLP + k.Experts + k.Router + k.Norms }

// split is an amount of bytes per token: even is always divided by TP, seq only
// with sequence parallelism.
type split struct{ even, seq float64 }

func (s split) bytes(l *layout.Layout) float64 {
	if l.SP {
		return (s.even + s.seq) / float64(l.TP)
	}
	return s.even/float64(l.TP) + s.seq
}

func (s split) plus(t split) split { return split{s.even + t.even, s.seq + t.seq} }

// layers is the part of a Stack that keep needs.
type layers interface {
	Layer(in *Input, moe bool) Kept
}

// keep adds up the layers of a stage. A fully recomputed layer keeps its input
// only, of so many bytes per token, and one layer's activations are alive
// during its backward.
func keep(in *Input, stage int, k layers, input float64) Live {
	m, st := in.Model, in.Stages[stage]
	tokens := in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2
	dense, moe := k.Layer(in, false), Kept{}
	if st.MoE > 0 || in.TrainMTP && st.Head {
		moe = k.Layer(in, m.IsMoE())
	}
	full := recomputed(in, stage)
	fullDense := min(full, st.Dense)
	fullMoE := full - fullDense
	sum := float64(st.Dense-fullDense)*dense.Sum() + float64(st.MoE-fullMoE)*moe.Sum() + float64(full)*input
	if st.Head && in.TrainMTP {
		sum += float64(m.MTPLayers) * (moe.Sum() + 2*input)
	}
	live := Live{
		Activations:  units.Bytes(tokens * sum),
		WeightInputs: units.Bytes(tokens * weightInputs(in, st)),
	}
	again := 0.0
	if st.Dense > 0 {
		again = dense.again
	}
	if st.MoE > 0 {
		again = max(again, moe.again)
	}
	if full > 0 {
		one := dense.Sum()
		if fullMoE > 0 {
			one = max(one, moe.Sum())
		}
		again = one - input
	}
	live.Backward = units.Bytes(tokens * again)
	return live
}

// mlpWidth is how many bytes per token and unit of width an MLP keeps: the
// product, and what the activation read (gate and up where gated).
func mlpWidth(gated bool) float64 {
	if gated {
		return 6
	}
	return 4
}

// paddedVocab is the vocabulary that Megatron allocates: a multiple of 128*TP
// (megatron/training/tokenizer, --make-vocab-size-divisible-by 128).
func paddedVocab(vocab, tp int) float64 {
	block := 128 * tp
	return float64((vocab + block - 1) / block * block)
}

// tensorParallel says how TP and expert parallelism cut parameters: norms,
// router and what a row-parallel layer adds stand whole on every rank.
func tensorParallel(in *Input, vocab float64) Divisors {
	l := in.Layout
	return Divisors{
		sharded: float64(l.TP), replicated: 1,
		experts: float64(l.EP * l.ETP), expertReplicated: float64(l.EP), vocab: vocab,
		kvCopies: kvCopies(in.Model, l.TP),
	}
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

// kvWidth is the width of the keys of all ranks of a TP group together, and of
// their values: more than the model's where TP exceeds the kv heads. It is divided
// by TP where bytes are counted.
func kvWidth(in *Input) float64 {
	m, tp := in.Model, in.Layout.TP
	return m.KVHeadsPerRank(tp) * float64(m.HeadDim) * float64(tp)
}

// scores is what standard attention stores per token, unless selective
// recomputation drops it: the softmax in 2 bytes per head and key, and with
// dropout its mask and output, 5 in all (Korthikanti et al., arXiv 2205.05198,
// section 4.1).
func scores(in *Input, bytes float64) float64 {
	if in.Attention != recipe.Standard || in.Recompute.Mode == recipe.RecomputeSelective {
		return 0
	}
	return bytes * float64(in.Model.Heads) * float64(in.Layout.Seq)
}
