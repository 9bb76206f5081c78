package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// textbook is the memory of the Ultra-Scale Playbook's formulas and nothing
// else: ZeRO shards as in the ZeRO paper, activations as in Korthikanti et al.
// (arXiv 2205.05198, equations 1 to 4), no logits, no buffers, no overhead. TP
// divides every parameter, EP those of the routed experts.
type textbook struct{ common }

func (textbook) LazyGradients() bool { return true }

func (textbook) Assumptions(_ *layout.Layout, _ string, say func(bool, string)) {
	say(true, "memory is the playbook's formulas and nothing else: no logits, buffers or overhead")
}

func (textbook) Cut(in *Input) Divisors {
	t := float64(in.Layout.TP)
	e := float64(in.Layout.EP * in.Layout.ETP)
	return Divisors{
		sharded: t, replicated: t, experts: e, expertReplicated: e, vocab: float64(in.Model.Vocab),
	}
}

// Layer gives per layer and token, in units of h and bytes for 16-bit
// activations, with t the TP degree and a the heads,
//
//	none                10 + 24/t + 5as/(ht), with SP all of it over t
//	selective (flash)   without the 5as/h term
//
// Of the 34, 11 are attention's (3 of them whole without SP), 19 the MLP's (3)
// and 4 the norms'. The sequence is divided by CP, the scores' keys are not.
func (textbook) Layer(in *Input, _ bool) Kept {
	l, m := in.Layout, in.Model
	h := float64(m.Hidden)
	scores := 0.0
	if in.Recompute.Mode != recipe.RecomputeSelective && in.Attention == recipe.Standard {
		scores = 5 * float64(m.Heads) * float64(l.Seq)
	}
	attention, mlp := split{seq: 3 * h, even: 8*h + scores}, split{seq: 3 * h, even: 16 * h}
	var again split
	if in.Recompute.Has(recipe.ModuleNorm) {
		attention.seq -= 2 * h
		mlp.seq -= 2 * h
		again.seq += 4 * h
	}
	if in.Recompute.Has(recipe.ModuleAct) {
		mlp.even -= 8 * h
		again.even += 8 * h
	}
	return Kept{
		Attention: attention.bytes(l), MLP: mlp.bytes(l), Norms: split{seq: 4 * h}.bytes(l),
		again: again.bytes(l),
	}
}

// Stage adds up the layers; with full recomputation a layer keeps its input of
// 2h, never divided by TP. For weight gradients that wait a layer keeps 32: 14 of
// inputs and 18 of gradients of outputs (zero bubble paper, arXiv 2401.10241,
// table 1), all of it over t as the products are, also where it is recomputed.
func (k textbook) Stage(in *Input, stage int) Live {
	live := keep(in, stage, k, 2*float64(in.Model.Hidden))
	perLayer := 32 * float64(in.Model.Hidden) / float64(in.Layout.TP)
	live.WeightInputs = units.Bytes(in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2 * perLayer * float64(in.Stages[stage].Layers()))
	live.Backward = 0 // the formulas have no temporaries
	return live
}
