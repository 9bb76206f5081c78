package knob

import (
	"fmt"
	"maps"
	"slices"

	"meshscope/engine/hardware"
	"meshscope/engine/model"
)

// Draft is a setup of which some values were given and others left out. Resolve
// fills the gaps from the identities and the documented defaults. The zero Draft
// has nothing given.
type Draft struct {
	setup Setup  // what was given; zero where nothing was
	nodes int    // the number of nodes has no field in a Setup
	batch string // the global batch where it was given in tokens

	hasModel, hasCluster bool // given
	published            bool // what is not given may be that of a published run
	given                Set
	wrong                error // the first value of With that cannot be taken
}

// Set is a set of knobs, by their place in the registry.
type Set [2]uint64

func (g *Set) has(k *Knob) bool { return g[k.index/64]&(1<<(k.index%64)) != 0 }
func (g *Set) add(k *Knob)      { g[k.index/64] |= 1 << (k.index % 64) }
func (g *Set) drop(k *Knob)     { g[k.index/64] &^= 1 << (k.index % 64) }

// SetOf returns the set of some knobs; names of none are left out.
func SetOf(ids ...ID) (g Set) {
	for _, id := range ids {
		if k := find(id); k != nil {
			g.add(k)
		}
	}
	return g
}

// Has reports whether a knob is in the set.
func (g Set) Has(id ID) bool {
	k := find(id)
	return k != nil && g.has(k)
}

// With returns the set with a knob, Without one without it.
func (g Set) With(id ID) Set {
	if k := find(id); k != nil {
		g.add(k)
	}
	return g
}

// Without returns the set without a knob.
func (g Set) Without(id ID) Set {
	if k := find(id); k != nil {
		g.drop(k)
	}
	return g
}

// Given are values by knob, as they are written on the command line or as Go has
// them: Given{TP: 8, Recompute: "full"}.
type Given map[ID]any

// DraftOf returns a draft of a model on a machine with some values given.
func DraftOf(m model.Model, c hardware.Cluster, values Given) Draft {
	var d Draft
	d.SetModel(m)
	d.SetCluster(c)
	d.With(values)
	return d
}

// SetModel gives the model.
func (d *Draft) SetModel(m model.Model) { d.setup.Model, d.hasModel = m, true }

// SetCluster gives the machine.
func (d *Draft) SetCluster(c hardware.Cluster) { d.setup.Cluster, d.hasCluster = c, true }

// Model returns the given model.
func (d *Draft) Model() model.Model { return d.setup.Model }

// Cluster returns the given machine.
func (d *Draft) Cluster() hardware.Cluster { return d.setup.Cluster }

// With gives several values at once. One that cannot be taken is the error of
// Resolve.
func (d *Draft) With(values Given) {
	for _, id := range slices.Sorted(maps.Keys(values)) {
		if err := d.Set(id, fmt.Sprint(values[id])); err != nil && d.wrong == nil {
			d.wrong = err
		}
	}
}

// Set returns the value of one knob, in the words of the command line. A value that
// cannot be taken is a *ValueError.
func (d *Draft) Set(id ID, text string) error {
	k := find(id)
	if k == nil {
		return Unknown(id, text)
	}
	var err error
	_, tokens := BatchTokens(text)
	switch {
	case k.ID == Nodes:
		err = take(&d.nodes, text, k.ParseInt)
	case k.ID == GBS && tokens:
		d.batch, d.setup.GBS = text, 0
	default:
		err = k.setTo(&d.setup, text)
		if k.ID == GBS && err == nil {
			d.batch = ""
		}
	}
	if err == nil {
		d.given.add(k)
	}
	return err
}

// Unknown is the *ValueError of a value for a knob that there is not.
func Unknown(id ID, text string) error {
	return &ValueError{Field: string(id), Given: text, Allowed: "a known parameter"}
}

// Has reports whether a value of the knob was given.
func (d *Draft) Has(id ID) bool {
	k := find(id)
	return k != nil && d.given.has(k)
}

// BatchInSequences reports whether a global batch was given, and not in tokens.
func (d *Draft) BatchInSequences() bool { return d.Has(GBS) && d.batch == "" }

// Take returns the given value of a knob, in the words of the command line, and
// takes it back; false where none was given.
func (d *Draft) Take(id ID) (text string, ok bool) {
	k := find(id)
	if k == nil || !d.given.has(k) {
		return "", false
	}
	d.given.drop(k)
	if k.ID == Nodes {
		text, d.nodes = fmt.Sprint(d.nodes), 0
		return text, true
	}
	if k.ID == GBS && d.batch != "" {
		text, d.batch = d.batch, ""
		return text, true
	}
	text = k.textOf(&d.setup)
	k.copyField(&d.setup, &Setup{})
	return text, true
}

// copyField gives one setup the value that another has of the knob.
func (k *Knob) copyField(to, from *Setup) {
	switch {
	case k.copy != nil:
		k.copy(to, from)
	case k.number != nil:
		*k.number(to) = *k.number(from)
	case k.toggle != nil:
		*k.toggle(to) = *k.toggle(from)
	case k.figure != nil:
		*k.figure(to) = *k.figure(from)
	case k.word != nil:
		*k.word(to) = *k.word(from)
	case k.recompute != nil:
		*k.recompute(to) = *k.recompute(from)
	}
}

// Said returns the knobs of which a value was given.
func (d *Draft) Said() Set { return d.given }

// Whole reports whether a value of every knob was given but those that may be left out: a stage split
// and the figures of a whole run.
func (d *Draft) Whole() bool {
	knobs := registry()
	for i := range knobs {
		if k := &knobs[i]; !k.optional && !d.given.has(k) {
			return false
		}
	}
	return true
}

// Complete returns the draft as a setup where everything was given. Nothing is
// derived and the identities are not checked: Check does that. A stage split and
// the figures of a whole run may be left out, the number of nodes must be.
func (d *Draft) Complete() (Setup, bool) {
	if !d.Whole() || !d.hasModel || !d.hasCluster || d.Has(Nodes) || d.batch != "" || d.wrong != nil {
		return Setup{}, false
	}
	return d.setup, true
}
