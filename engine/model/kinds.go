package model

import (
	"slices"

	"meshscope/engine/record"
)

// MaxKinds is the number of distinct layers that a model can have.
const MaxKinds = 8

// sublayer is a kind of mixer, or of feed-forward part: one file each, and its row below.
type sublayer struct {
	id, name string                         // of the layers that have it, where the model has others too
	has      func(m *Model, layer int) bool // whether a layer of the stack has it
	add      func(b *builder, x Ref) Ref    // lists its operations
}

// mixers lists the kinds of mixers; a layer has the first one that is its own.
func mixers() []sublayer {
	return []sublayer{
		{"latent", "latent", func(m *Model, _ int) bool { return m.IsMLA() }, latent},
		{"attention", "attention", func(*Model, int) bool { return true }, groupedQuery},
	}
}

// feedForwards is mixers for the part that follows.
func feedForwards() []sublayer {
	return []sublayer{
		{"moe", "MoE", (*Model).MoELayer, experts},
		{"dense", "dense", func(*Model, int) bool { return true }, denseMLP},
	}
}

// pattern returns the distinct layers of a model, each as its mixer and its feed-forward part of two
// lists, in the order of their first layers, and which of them each layer of the stack is.
func (m *Model) pattern(lists ...[]sublayer) (kinds [][2]*sublayer, order []uint8) {
	for i := range max(m.Layers, 1) {
		var k [2]*sublayer
		for part, list := range lists {
			n := slices.IndexFunc(list, func(s sublayer) bool { return s.has(m, i) })
			k[part] = &list[n]
		}
		n := slices.Index(kinds, k)
		if n < 0 {
			n, kinds = len(kinds), append(kinds, k)
		}
		order = append(order, uint8(n))
	}
	return kinds, order[:max(m.Layers, 0)]
}

// stack lays the distinct layers of the model out.
func (p *Program) stack(rec *record.Recorder, mixers, feedForwards []sublayer) {
	kinds, order := p.of.pattern(mixers, feedForwards)
	p.Layers, p.order, p.module = make([]Layer, len(kinds)), order, -1
	hybrid := false
	for i, k := range kinds {
		hybrid = hybrid || k[0] != kinds[0][0] || slices.ContainsFunc(kinds[:i], func(o [2]*sublayer) bool { return o[1] == k[1] })
	}
	for i, k := range kinds {
		l := &p.Layers[i]
		*l = newLayer(&p.of, rec, k)
		l.Index, l.ID, l.Name, l.Mixer, l.hybrid = i, k[1].id, k[1].name, k[0].id, hybrid
		if hybrid {
			l.ID, l.Name = k[0].id+"_"+k[1].id, k[0].name+"_"+k[1].name
		}
		if l.MoE || p.module < 0 && i == len(kinds)-1 {
			p.module = i
		}
	}
	for _, n := range order {
		p.Layers[n].Count++
	}
}

// Scope returns the scope of the figures of a part of a layer: they are the kind's own where layers
// differ in their mixers.
func (l *Layer) Scope(part string) string {
	if l.hybrid {
		part = l.ID + "." + part
	}
	return "layer." + part
}

// figure returns the identifier of one of them.
func (l *Layer) figure(part, id string) string { return l.Scope(part) + "." + id }
