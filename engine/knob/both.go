package knob

import (
	"fmt"
	"math"
)

// TurnBoth turns two knobs so that both hold in the result, with what follows them.
// Which of the two is named first makes no difference. The result may be illegal, as
// that of Turn: Check tells. A value that cannot be taken is a *ValueError, two that
// cannot hold together are a *ContradictionError; both leave the setup as it was.
func TurnBoth(s Setup, a ID, atext string, b ID, btext string, l Locks) (Setup, error) {
	first, second := knobAt{a, atext}, knobAt{b, btext}
	if turnPlace(second.id) < turnPlace(first.id) || turnPlace(second.id) == turnPlace(first.id) &&
		second.id < first.id {
		first, second = second, first
	}
	out, err := turnPair(s, first, second, l)
	if err == nil {
		return out, nil
	}
	if other, failed := turnPair(s, second, first, l); failed == nil {
		return other, nil
	}
	return s, err
}

// knobAt is a knob and the value that it is to have.
type knobAt struct {
	id   ID
	text string
}

// ContradictionError says that two knobs cannot have two values at once, because with
// the one the other follows from an identity.
type ContradictionError struct {
	Knob, Value   string // this one holds
	Other, Wanted string // and then this one does not:
	Becomes       string // it is that
}

func (e *ContradictionError) Error() string {
	return fmt.Sprintf("%s %s and %s %s contradict each other: with %s %s, %s is %s",
		e.Knob, e.Value, e.Other, e.Wanted, e.Knob, e.Value, e.Other, e.Becomes)
}

// turnPlace returns the place of a knob among those that move others; those that move
// none come last.
func turnPlace(id ID) int {
	if k := find(id); k != nil && k.moves > 0 {
		return k.moves
	}
	return math.MaxInt
}

// turnPair turns one knob and then the other, and holds the result against both.
func turnPair(s Setup, first, second knobAt, l Locks) (Setup, error) {
	out, err := Turn(s, first.id, first.text, l)
	if err != nil {
		return s, err
	}
	if out, err = turnAfter(s, out, second, l); err != nil {
		return s, err
	}
	for _, k := range []struct{ held, other knobAt }{{second, first}, {first, second}} {
		other := find(k.other.id)
		wanted := out
		if err := other.setTo(&wanted, k.other.text); err != nil {
			return s, err
		}
		if want, is := other.textOf(&wanted), other.textOf(&out); want != is {
			return s, &ContradictionError{
				Knob: string(k.held.id), Value: k.held.text, Other: string(k.other.id), Wanted: want,
				Becomes: is,
			}
		}
	}
	return out, nil
}

// turnAfter turns a knob where another one has been turned. It may have the value by
// that other one's following alone, rounded down (96 sequences on 4 GPUs are one
// micro-batch of 512), and then what follows from the value has still to follow.
func turnAfter(s, turned Setup, k knobAt, l Locks) (Setup, error) {
	out, err := Turn(turned, k.id, k.text, l)
	whole := turned.GPUs == product(turned.DP, turned.TP, turned.PP, turned.CP) &&
		turned.GBS == product(turned.MBS, turned.MicroBatches, turned.DP)
	if err != nil || out != turned || whole || turned == s {
		return out, err
	}
	before := turned
	if err := derive(&turned, &before, find(k.id), k.text, l); err != nil {
		return before, err
	}
	return turned, nil
}
