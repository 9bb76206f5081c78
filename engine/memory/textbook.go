package memory

import (
	"meshscope/engine/layout"
	"meshscope/engine/model"
	"meshscope/engine/recipe"
	"meshscope/engine/record"
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

// Save gives per layer and token, in units of h and bytes for 16-bit
// activations, with t the TP degree and a the heads,
//
//	none                10 + 24/t + 5as/(ht), with SP all of it over t
//	selective (flash)   without the 5as/h term
//
// Of the 34, 11 are attention's (3 of them whole without SP), 19 the MLP's (3)
// and 4 the norms'. The sequence is divided by CP, the scores' keys are not.
func (textbook) Save(s *saver) {
	h := s.layer.Tensor(model.Input).Width
	s.scores(model.PartAttention, record.Lit(5))
	for _, of := range [...]struct {
		part      model.Part
		seq, even float64
		norm, act float64 // of seq what norms write, of even what the activation does
	}{{model.PartAttention, 3, 8, 2, 0}, {model.PartMLP, 3, 16, 2, 8}, {model.PartNorms, 4, 0, 0, 0}} {
		if s.recomputation.Has(recipe.ModuleNorm) {
			of.seq -= of.norm
			s.moreRecomputed.seq.Add(of.norm, h)
		}
		if s.recomputation.Has(recipe.ModuleAct) {
			of.even -= of.act
			s.moreRecomputed.even.Add(of.act, h)
		}
		s.more[of.part].seq.Add(of.seq, h)
		s.more[of.part].even.Add(of.even, h)
	}
}

// Stage adds up the layers; with full recomputation a layer keeps its input of
// 2h, never divided by TP. For weight gradients that wait a layer keeps 32: 14 of
// inputs and 18 of gradients of outputs (zero bubble paper, arXiv 2401.10241,
// table 1), all of it over t as the products are, also where it is recomputed. The
// formulas have no temporaries.
func (k textbook) Stage(in *Input, stage int) StageMemory {
	var mem StageMemory
	note := in.stageNote(stage)
	tokens, t, h, e := in.micro()
	mem.Activations = stageActivations(
		in,
		stage,
		recomputed(in, stage),
		k,
		record.Lit(2).Times(in.Program.Hidden().Width),
	)
	inputs := tokens.Times(e).
		Times(record.Lit(32).Times(h).Over(t)).
		Times(note.named("layers", float64(in.Stages[stage].Layers())))
	mem.WeightInputs = units.Bytes(inputs.V)
	note.add("weight-inputs", inputs)
	return mem
}
