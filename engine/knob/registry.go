package knob

import (
	"cmp"
	"slices"
	"sync"

	"meshscope/engine/recipe"
)

// registry is the table of the program's knobs, in the order in which a reader
// meets them. It is made once, because it is requested at every key press and for
// every line of a batch.
//
//nolint:gochecknoglobals // built once, then only read
var registry = sync.OnceValue(func() []Knob {
	knobs := slices.Concat(degrees(), []Knob{contextKnob()}, expertDegrees(), sharding(), batch(), machine(),
		recipeKnobs(), formatKnobs(), trainingKnobs(), plusPlus(), modelledKnobs(), softwareKnobs(),
		runKnobs())
	for i := range knobs {
		knobs[i].index = i
	}
	return knobs
})

// figures are the knobs of the registry whose field is a figure, which every check of a
// setup asks for.
//
//nolint:gochecknoglobals // built once, then only read
var figures = sync.OnceValue(func() (list []*Knob) {
	knobs := registry()
	for i := range knobs {
		if knobs[i].figure != nil {
			list = append(list, &knobs[i])
		}
	}
	return list
})

// All returns every knob. The slice is the caller's own, the Choices in it are
// shared and only to be read.
func All() []Knob { return slices.Clone(registry()) }

// Find looks a knob up by the name of its flag.
func Find(id ID) (Knob, bool) {
	if k := find(id); k != nil {
		return *k, true
	}
	return Knob{}, false
}

func find(id ID) *Knob {
	knobs := shown()
	for i := range knobs {
		if knobs[i].ID == id {
			return &knobs[i]
		}
	}
	return nil
}

// shown is the registry with the rows of a cluster of one's own at the end.
//
//nolint:gochecknoglobals // built once, then only read
var shown = sync.OnceValue(func() []Knob { return slices.Concat(registry(), machineRows()) })

// Shown returns every knob, with those of a cluster of one's own at the end.
func Shown() []Knob { return slices.Clone(shown()) }

// Advised lists the knobs that advice turns: how the training is cut, and what is
// kept. Model, machine, batch, sequence and number formats of 8 or 4 bits are
// what the user wants; they are not advice.
func Advised() []ID { return where(func(k *Knob) bool { return k.advised }) }

// Searched lists the knobs that a search varies.
func Searched() []ID { return where(func(k *Knob) bool { return k.searched }) }

func where(holds func(*Knob) bool) []ID {
	var ids []ID
	for _, k := range registry() {
		if holds(&k) {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// Group returns the group on most stacks.
func (k *Knob) Group() Group { return k.group }

// groupOn returns the group on a stack: what is trained is in the recipe where adapters and formats are the
// stack's question, and what splits a model is turned rarely where the stack only replicates and shards it.
func (k *Knob) groupOn(t *recipe.Traits) Group {
	switch {
	case t.Ledger && k.trains:
		return RecipeGroup
	case t.DataParallelOnly && k.group == LayoutGroup && k.ID != DP && k.ID != ZeRO:
		return MoreGroup
	}
	return k.group
}

// Column lists the knobs of a group of a setup from top to bottom.
func Column(g Group, s *Setup) []ID {
	var in []*Knob
	traits := s.Stack.Traits()
	for i := range shown() {
		if k := &shown()[i]; k.groupOn(&traits) == g {
			in = append(in, k)
		}
	}
	slices.SortStableFunc(in, func(a, b *Knob) int { return cmp.Compare(a.place, b.place) })
	ids := make([]ID, len(in))
	for i, k := range in {
		ids[i] = k.ID
	}
	return ids
}
