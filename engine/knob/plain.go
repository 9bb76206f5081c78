package knob

import (
	"iter"
	"strconv"
)

// Change is a knob that a setup has at another value than the plain one.
type Change struct {
	*Knob
	Value, Plain string
	Why          string // known reason for which the value has no effect; empty: none
	Setup        Setup  // the same with the plain value
}

// Changes yields every knob that a setup has at another value than an unset one, and that
// is bound by no lock: other knobs do not follow. Where the plain value is illegal, the
// first legal one takes its place; where there is none, the knob is left out.
func Changes(s *Setup) iter.Seq[*Change] {
	return func(yield func(*Change) bool) {
		knobs := registry()
		for i := range knobs {
			if c := knobs[i].change(s); c != nil && !yield(c) {
				return
			}
		}
	}
}

// change returns how a knob differs from the plain value; nil: it does not.
func (k *Knob) change(s *Setup) *Change {
	c := &Change{Knob: k, Value: k.textOf(s)}
	if k.Lock != NoLock || k.ID == Nodes || c.Value == "" || k.Kind == Number && k.intOf(s) < k.Min {
		return nil
	}
	for _, back := range [...]func(*Setup){k.reset, k.plain} {
		if back == nil {
			continue
		}
		c.Setup = *s
		back(&c.Setup)
		if c.Plain = k.textOf(&c.Setup); c.Plain == c.Value {
			return nil
		}
	}
	if !legal(&c.Setup) && !c.another(s) {
		return nil
	}
	if k.Off != nil {
		c.Why, _ = k.Off(s)
	}
	if c.Why == "" && k.Alike != nil {
		c.Why = k.Alike(s)
	}
	return c
}

// reset gives the field the value that it has where none is given.
func (k *Knob) reset(s *Setup) {
	if k.unset != nil {
		k.unset(s)
		return
	}
	var none Setup
	k.copyField(s, &none)
}

// another takes the first legal value of the knob that is not the present one.
func (c *Change) another(s *Setup) bool {
	words := c.Choices
	if c.Kind == Number {
		words = nil
		for _, n := range candidates(s, c.Knob, Locks{}) {
			words = append(words, strconv.Itoa(n))
		}
	}
	for _, word := range words {
		c.Setup = *s
		if word != c.Value && c.setTo(&c.Setup, word) == nil && legal(&c.Setup) {
			c.Plain = word
			return true
		}
	}
	return false
}

// ForMemory reports whether memory is what other values of the knob are for.
func (k *Knob) ForMemory() bool { return k.memory }
