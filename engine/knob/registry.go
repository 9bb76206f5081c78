package knob

import (
	"cmp"
	"slices"
	"sync"
)

// Registry is a table of knobs. The built-in one is Default; a test makes one
// with rows of its own.
type Registry struct{ knobs []Knob }

// NewRegistry is a registry of these knobs, in the order in which a reader meets
// them.
func NewRegistry(knobs ...Knob) *Registry {
	r := &Registry{slices.Clone(knobs)}
	for i := range r.knobs {
		r.knobs[i].index = i
	}
	return r
}

// Default returns the registry of the program. It is made once, because it is
// asked for at every key press and for every line of a batch.
//
//nolint:gochecknoglobals // built once, then only read
var Default = sync.OnceValue(func() *Registry {
	return NewRegistry(slices.Concat(degrees(), batch(), machine(), recipeKnobs(), runKnobs())...)
})

// All returns every knob. The slice is the caller's own, the Choices in it are
// shared and only to be read.
func (r *Registry) All() []Knob { return slices.Clone(r.knobs) }

// Find looks a knob up by the name of its flag.
func (r *Registry) Find(id ID) (Knob, bool) {
	if k := r.find(id); k != nil {
		return *k, true
	}
	return Knob{}, false
}

func (r *Registry) find(id ID) *Knob {
	for i := range r.knobs {
		if r.knobs[i].ID == id {
			return &r.knobs[i]
		}
	}
	return nil
}

// Where lists the knobs of which a property holds, in the order of the registry.
func (r *Registry) Where(holds func(*Knob) bool) []ID {
	var ids []ID
	for i := range r.knobs {
		if holds(&r.knobs[i]) {
			ids = append(ids, r.knobs[i].ID)
		}
	}
	return ids
}

// Column lists the knobs of a group from top to bottom.
func (r *Registry) Column(g Group) []ID {
	var in []*Knob
	for i := range r.knobs {
		if r.knobs[i].Group == g {
			in = append(in, &r.knobs[i])
		}
	}
	slices.SortStableFunc(in, func(a, b *Knob) int { return cmp.Compare(a.Place, b.Place) })
	ids := make([]ID, len(in))
	for i := range in {
		ids[i] = in[i].ID
	}
	return ids
}

// All returns every knob of the program, see Registry.All.
func All() []Knob { return Default().All() }

// Find looks a knob of the program up by the name of its flag.
func Find(id ID) (Knob, bool) { return Default().Find(id) }
