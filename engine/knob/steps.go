package knob

import (
	"cmp"
	"slices"
	"strconv"
)

// Step is one legal value of a knob and the setup that turning to it gives.
type Step struct {
	Text    string
	Setup   Setup
	Current bool
}

// maxSteps bounds the ladder of a knob: what fits on a screen and can be
// evaluated between two key presses.
const maxSteps = 40

// Steps returns the ladder of a knob: its legal values in ascending order (choices
// in their own order), under the locks. The current value is always among
// them, also when it is illegal.
func Steps(s Setup, id ID, l Locks) []Step {
	k := find(id)
	if k == nil {
		return nil
	}
	return k.Steps(s, l)
}

// Steps returns the ladder of the knob, see the function of that name.
func (k *Knob) Steps(s Setup, l Locks) []Step {
	if k.Kind != Number {
		return wordSteps(&s, k, l)
	}
	current := k.intOf(&s)
	values := candidates(&s, k, l)
	if !slices.Contains(values, current) {
		values = append(values, current)
		slices.Sort(values)
	}
	steps := make([]Step, 0, min(len(values), 2*maxSteps))
	for _, v := range values {
		steps = appendStep(steps, &s, k, strconv.Itoa(v), v == current, l)
	}
	return thin(steps)
}

func wordSteps(s *Setup, k *Knob, l Locks) []Step {
	current := k.textOf(s)
	words := k.Choices
	if k.differ != nil {
		words = k.differ(s)
	}
	if !slices.Contains(words, current) { // full:4, a split by hand
		words = append(slices.Clone(words), current)
		if k.Kind == Figure || k.Kind == Rate {
			slices.SortFunc(words,
				func(a, b string) int { return cmp.Compare(k.ladderValue(a), k.ladderValue(b)) })
		}
	}
	steps := make([]Step, 0, len(words))
	for _, w := range words {
		steps = appendStep(steps, s, k, w, w == current, l)
	}
	return steps
}

func appendStep(steps []Step, s *Setup, k *Knob, text string, current bool, l Locks) []Step {
	if current {
		return append(steps, Step{Text: text, Setup: *s, Current: true})
	}
	n := len(steps)
	steps = append(steps, Step{Text: text})
	if turned := &steps[n].Setup; turnInto(turned, s, k, text, l) != nil || !legal(turned) {
		return steps[:n]
	}
	return steps
}

// thin drops steps from an over-long ladder, evenly, never the current one or
// the ends.
func thin(steps []Step) []Step {
	if len(steps) <= maxSteps {
		return steps
	}
	kept := make([]Step, 0, maxSteps+1)
	last := len(steps) - 1
	next := 0
	for i := range steps {
		wanted := i == next*last/(maxSteps-2)
		if wanted {
			next++
		}
		if wanted || steps[i].Current {
			kept = append(kept, steps[i])
		}
	}
	return kept
}

// candidates returns the values of a knob that may be legal, ascending. Check has
// the last word.
func candidates(s *Setup, k *Knob, l Locks) []int {
	top := k.Max
	if s.Cluster.MaxGPUs > 0 && k.machine {
		top = min(top, s.Cluster.MaxGPUs)
	}
	if k.ladder == nil {
		return tidy(ladder(min(top, maxLadder)), k.Min, top)
	}
	return tidy(k.ladder(s, l), k.Min, top)
}

// maxLadder ends the ladder of a knob that has no values of its own.
const maxLadder = 4096

// ladder is 1 2 3 4 6 8 12 16 ... up to top: powers of two and halves between.
func ladder(top int) []int {
	values := []int{1}
	for v := 2; v <= top; v *= 2 {
		values = append(values, v)
		if half := v + v/2; half <= top {
			values = append(values, half)
		}
	}
	return values
}

func multiples(of int, factors []int) []int {
	values := make([]int, len(factors))
	for i, f := range factors {
		values[i] = product(max(of, 1), f)
	}
	return values
}

// divisors of n up to top. The search stops there, so a huge n is no danger.
func divisors(n, top int) []int {
	var values []int
	for d := 1; d <= min(n, top); d++ {
		if n%d == 0 {
			values = append(values, d)
		}
	}
	return values
}

// quotientOf is n/d rounded up, at least 1.
func quotientOf(n, d int) int { return max(1, (n+d-1)/max(d, 1)) }

// tidy sorts, removes doubles and what lies outside [low, high].
func tidy(values []int, low, high int) []int {
	slices.Sort(values)
	values = slices.Compact(values)
	return slices.DeleteFunc(values, func(v int) bool { return v < low || v > high })
}
