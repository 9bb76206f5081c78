package memory

import (
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// textbook is the memory of the Ultra-Scale Playbook's formulas and nothing
// else: ZeRO shards as in the ZeRO paper, activations as in Korthikanti et al.
// (arXiv 2205.05198, equations 1 to 4), no logits, no buffers, no overhead. TP
// divides every parameter, EP those of the routed experts.
type textbook struct{}

func (textbook) Parameters(in *Input, stage int) Parameters {
	t := float64(in.Layout.TP)
	e := float64(in.Layout.EP * in.Layout.ETP)
	return stageParameters(in, stage, divisors{
		sharded: t, replicated: t, experts: e, expertReplicated: e, vocab: float64(in.Model.Vocab),
	})
}

func (textbook) Shard(in *Input) Sharding { return zero(in) }

// Stage gives s*b*h per layer times, with t the TP degree and a the heads,
//
//	none                10 + 24/t + 5as/(ht), with SP all of it over t
//	selective (flash)   without the 5as/h term
//	full                2, never over t
//
// in bytes for 16-bit activations; the sequence is divided by CP, the scores'
// keys are not. For weight gradients that wait a layer keeps 32: 14 of inputs
// and 18 of gradients of outputs (zero bubble paper, arXiv 2401.10241, table 1),
// all of it over t as the products are, also where the layer is recomputed.
func (textbook) Stage(in *Input, stage int) Live {
	l, m := in.Layout, in.Model
	t := float64(l.TP)
	h := float64(m.Hidden)
	scores := 0.0
	if in.Recompute.Mode != recipe.RecomputeSelective && in.Attention == recipe.Standard {
		scores = 5 * float64(m.Heads) * float64(l.Seq) / h
	}
	perLayer := 10 + (24+scores)/t
	if l.SP {
		perLayer = (34 + scores) / t
	}
	full := recomputed(in, stage)
	kept := float64(in.Stages[stage].Layers() - full)
	sbh := l.MicroBatchTokens() * h * in.Precision.Bytes() / 2
	return Live{
		Activations:  units.Bytes(sbh * (kept*perLayer + 2*float64(full))),
		WeightInputs: units.Bytes(sbh * 32 / t * float64(in.Stages[stage].Layers())),
	}
}

func (textbook) Buffers(*Input, int, Parameters) units.Bytes { return 0 }

func (textbook) Overhead(*Input, units.Bytes) units.Bytes { return 0 }
