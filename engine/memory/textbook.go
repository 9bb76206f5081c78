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

func (textbook) Assumptions(into []string, _ *layout.Layout, _ string) []string {
	into = append(into, "memory follows the playbook's formulas only: no logits, buffers or overhead")
	return into
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
func (textbook) Layer(in *Input, moe bool) Kept {
	l, m, note := in.Layout, in.Model, in.layerNote(moe)
	h := float64(m.Hidden)
	scores := 0.0
	if in.Recompute.Mode != recipe.RecomputeSelective && in.Attention == recipe.Standard {
		scores = 5 * float64(m.Heads) * float64(l.Seq)
		note.part("attention").even("5 * a * s")
	}
	attention, mlp := split{seq: 3 * h, even: 8*h + scores}, split{seq: 3 * h, even: 16 * h}
	note.part("attention").even("8 * h")
	var recompute split
	if in.Recompute.Has(recipe.ModuleNorm) {
		attention.seq -= 2 * h
		mlp.seq -= 2 * h
		recompute.seq += 4 * h
		note.part("attention").seq("h")
		note.part("mlp").seq("h")
	} else {
		note.part("attention").seq("3 * h")
		note.part("mlp").seq("3 * h")
	}
	if in.Recompute.Has(recipe.ModuleAct) {
		mlp.even -= 8 * h
		recompute.even += 8 * h
		note.part("mlp").even("8 * h")
	} else {
		note.part("mlp").even("16 * h")
	}
	note.part("norms").seq("4 * h")
	return Kept{
		Attention: attention.bytes(l), MLP: mlp.bytes(l), Norms: split{seq: 4 * h}.bytes(l),
		recompute: recompute.bytes(l),
	}
}

// Stage adds up the layers; with full recomputation a layer keeps its input of
// 2h, never divided by TP. For weight gradients that wait a layer keeps 32: 14 of
// inputs and 18 of gradients of outputs (zero bubble paper, arXiv 2401.10241,
// table 1), all of it over t as the products are, also where it is recomputed. The
// formulas have no temporaries.
func (k textbook) Stage(in *Input, stage int) Live {
	var live Live
	note := in.stageNote(stage)
	h, layers := float64(in.Model.Hidden), in.Stages[stage].Layers()
	live.Activations, _, _ = keep(in, stage, recomputed(in, stage), k, input{2 * h, "2 * h"})
	perLayer := 32 * h / float64(in.Layout.TP)
	live.WeightInputs = units.Bytes(in.Layout.MicroBatchTokens() * in.Precision.Bytes() / 2 * perLayer * float64(layers))
	note.term("weight-inputs", "T * e * 32 * h / t * layers")
	note.given("layers", float64(layers))
	return live
}
