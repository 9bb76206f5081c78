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

	none Setup // of which a field has its zero value
}

// Changes yields every knob that a setup has at another value than an unset one, and that
// is bound by no lock: other knobs do not follow. Where the plain value is illegal, the
// first legal one takes its place; where there is none, the knob is left out. What is yielded
// is reused.
func Changes(s *Setup) iter.Seq[*Change] {
	return func(yield func(*Change) bool) {
		c := Change{Setup: *s}
		knobs := shown()
		for i := range knobs {
			c.Knob = &knobs[i]
			if c.differs(s) && !yield(&c) {
				return
			}
			c.copyField(&c.Setup, s)
		}
	}
}

// differs fills in how a knob differs from its plain value; false: it does not. Of the setup
// the field of the knob alone is changed.
func (c *Change) differs(s *Setup) bool {
	k := c.Knob
	if k.ID == otherRate(s) {
		return false
	}
	if k.Lock != NoLock || k.ID == Nodes || k.Kind == Number && k.intOf(s) < k.Min {
		return false
	}
	c.Value = k.textOf(s)
	for _, back := range [...]func(*Setup){c.reset, k.plain} {
		if back == nil {
			continue
		}
		k.copyField(&c.Setup, s)
		back(&c.Setup)
		if c.Plain = k.textOf(&c.Setup); c.Plain == c.Value || c.Value == "" {
			return false
		}
	}
	if !legal(&c.Setup) && !c.another(s) {
		return false
	}
	c.Why = ""
	if k.Off != nil {
		c.Why, _ = k.Off(s)
	}
	if c.Why == "" && k.Alike != nil {
		c.Why = k.Alike(s)
	}
	return true
}

// reset gives the field the value that it has where none is given.
func (c *Change) reset(s *Setup) {
	if c.unset != nil {
		c.unset(s)
		return
	}
	c.copyField(s, &c.none)
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
		if word != c.Value && c.setTo(&c.Setup, word) == nil && legal(&c.Setup) {
			c.Plain = word
			return true
		}
	}
	return false
}

// ForMemory reports whether memory is what other values of the knob are for.
func (k *Knob) ForMemory() bool { return k.memory }
