package model

import (
	"slices"

	"meshscope/engine/record"
)

// streams adds what a layer of Gemma 3n (AltUp, arXiv 2301.13310) does around its sub-layers: AltUpStreams
// copies of the stream are predicted before them from one that was computed, and corrected behind; what they
// save is inferred. The products of a few columns are left out of FLOPs.
func (b *builder) streams(x Ref) {
	k := record.Lit(float64(b.m.AltUpStreams))
	if b.m.AltUpStreams == 0 {
		return
	}
	all := b.tensor(k.Times(b.size.h), Sequence)
	predicted := b.like(all)
	// a router with a norm, coefficients of prediction and correction, a scale
	other := k.Plus(record.Lit(2)).Times(b.size.h).Plus(k.Times(k).Times(k.Plus(record.Lit(1))))
	b.add(Op{Kind: Multiply, Part: PartNorms, ID: "predict", Name: "predicted streams", Other: other},
		refs(all), refs(predicted))
	b.add(Op{Kind: Multiply, Part: PartNorms, ID: "correct", Name: "corrected streams"}, refs(predicted, x),
		refs(b.like(all)))
}

// narrowPath is a product to a few columns and one back, with a norm, whose result joins the stream: beside
// attention (LAuReL, arXiv 2411.07501), or with a part of the layer's own input between.
func (b *builder) narrowPath(x Ref, width int, id, name string, inputs bool) Ref {
	if width == 0 {
		return x
	}
	w, h := record.Lit(float64(width)), b.size.h
	b.part = PartAttention
	down := b.product(id+"-down", name+", down", x, b.tensor(w, Sequence))
	if inputs { // of a table and of the embedding, for each layer
		own := b.product(id+"-own", "projection of the layer's input", x, b.tensor(w, Sequence))
		down = b.gated(down, own, id, name)
	}
	up, normed := b.product(id+"-up", name+", up", down, b.tensor(h, Sequence)), b.tensor(h, Sequence)
	b.add(Op{Kind: Norm, ID: id + "-norm", Name: "norm of " + name, Other: h}, refs(up), refs(normed))
	return b.residual(x, normed)
}

// reusing is attention to keys and values of an earlier layer: its own projections of them stand in the
// weights and are not computed.
func reusing(of *sublayer) sublayer {
	return sublayer{
		id: of.id + "_reused", name: of.name + "_of_earlier_keys",
		has: func(m *Model, layer int) bool { return layer >= m.Layers-m.ReusedKV && of.has(m, layer) },
		add: func(b *builder, x Ref) Ref {
			b.reuses = true
			return of.add(b, x)
		},
	}
}

// Begins returns whether a pipeline stage may begin with a layer: the choice of tokens and the keys that
// layers of the stage take from an earlier one are made there, since nothing sends them between stages.
func (m *Model) Begins() func(layer int) bool {
	tied := m.tied()
	return func(layer int) bool {
		if m.Letter(layer) == LetterShared {
			return false
		}
		for _, t := range tied {
			if t.source < layer && layer <= t.last {
				return false
			}
		}
		return true
	}
}

// tie is the layer whose keys and values the last layers of its kind take, and the last of these.
type tie struct{ source, last int }

// tied returns those of the kinds that have any.
func (m *Model) tied() (out []tie) {
	if m.ReusedKV == 0 {
		return nil
	}
	kinds := keyed()
	of := func(layer int) int {
		return slices.IndexFunc(kinds, func(s sublayer) bool { return s.has(m, layer) })
	}
	for kind := range kinds {
		t := tie{m.Layers - m.ReusedKV - 1, m.Layers - 1}
		for t.last >= m.Layers-m.ReusedKV && of(t.last) != kind {
			t.last--
		}
		if t.last < m.Layers-m.ReusedKV { // none takes any
			continue
		}
		for t.source >= 0 && of(t.source) != kind {
			t.source--
		}
		out = append(out, t)
	}
	return out
}
