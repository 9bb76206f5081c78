package model

import (
	"meshscope/engine/recipe"
	"meshscope/engine/record"
	"meshscope/engine/units"
)

// Recomputation selects the operations of a layer that run again in the backward.
type Recomputation struct {
	recipe.Recompute
	Products bool // selective keeps every second product and the output of attention (torchtitan)
	Scores   bool // the scores of attention are stored, which selective recomputation does not
}

// Partial reports whether some operations of each layer run again, and not all.
func (a Recomputation) Partial() bool {
	return a.Mode == recipe.RecomputeModules || a.Mode == recipe.RecomputeSelective &&
		(a.Products || a.Scores)
}

// Experts reports whether tokens are sent to the experts of each layer again, where not
// everything is.
func (a Recomputation) Experts() bool {
	return a.Has(recipe.ModuleMoE) || a.Products && a.Mode == recipe.RecomputeSelective
}

// Outputs returns the outputs of an operation that run again.
func (a Recomputation) Outputs(l *Layer, o *Op) (out [3]Ref) {
	switch {
	case a.Mode == recipe.RecomputeFull, a.Has(o.Module):
		return o.Out
	case a.Mode != recipe.RecomputeSelective:
	case a.Products:
		return a.secondProduct(l, o)
	case a.Scores && o.Kind == Core:
		return o.Out
	}
	return out
}

// secondProduct returns the outputs that run again where every second product is kept
// (torchtitan/distributed/activation_checkpoint.py at b5bcd76): those of even numbers, of
// the router and of the experts, and all that is no product. The last products run no more,
// since nobody reads what they give.
func (a Recomputation) secondProduct(l *Layer, o *Op) (out [3]Ref) {
	last := o.IsProduct() && l.SplitIn(o) && o.Part != PartAttention
	switch {
	case last || o.Kind == Core || o.Kind == Residual || o.Kind == Rotary || o.Part == PartExtra:
		return out // additions and rotary positions are part of what reads them
	case o.Number == 0:
		return o.Out
	case !o.Apart:
		if o.Number%2 == 0 {
			return o.Out
		}
		return out
	}
	n := 0
	for i, r := range o.Out {
		if r != 0 && (o.Number+i)%2 == 0 {
			out[n] = r
			n++
		}
	}
	return out
}

// FLOPs returns what runs again of one token in a layer; scores are those of its attention.
func (a Recomputation) FLOPs(l *Layer, scores units.FLOPs) units.FLOPs {
	products, core := a.products(l)
	if core {
		return units.FLOPs(products.V) + scores
	}
	return units.FLOPs(products.V)
}

// Formula returns that of FLOPs.
func (a Recomputation) Formula(l *Layer) string {
	products, core := a.products(l)
	switch scores := record.Ref(l.figure("attention", "score-flops-per-token")); {
	case core && products.V == 0:
		return scores
	case core:
		return products.Text() + " + " + scores
	}
	return products.Text()
}

func (a Recomputation) products(l *Layer) (sum record.Num, core bool) {
	var all record.Terms
	for i := range l.Ops {
		out := a.Outputs(l, &l.Ops[i])
		if out[0] == 0 || l.Ops[i].Part == PartExtra {
			continue
		}
		o := l.Ops[i]
		o.Out = out
		core = core || o.Kind == Core
		all.Add(1, l.FLOPs(&o))
	}
	return all.Num(), core
}
