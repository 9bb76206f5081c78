package lessons

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// deadBand is how much a figure moves before it counts as moved: 2 %.
const deadBand = 0.02

// directions of a figure, in the order in which they are offered.
func directions() []string { return []string{"up", "same", "down"} }

// directionWords are the directions as they are offered.
func directionWords() map[string]string {
	return map[string]string{"up": "it goes up", "same": "it stays", "down": "it goes down"}
}

// direction returns how a figure moves.
func direction(before, after float64) string {
	switch move := after - before; {
	case math.Abs(move) <= deadBand*math.Abs(before):
		return "same"
	case move > 0:
		return "up"
	}
	return "down"
}

// question settles what an act asks and which answer is right.
func (l *loader) question(key string, f *actFile, a *Act) {
	needs := map[Kind]bool{Direction: true, Number: true, Point: true}
	if needs[f.Kind] && f.Figure == "" {
		l.failf(key+".figure", "is missing: a question of kind %s needs it", f.Kind)
		return
	}
	errs := len(l.errs)
	switch f.Kind {
	case Direction:
		right := direction(a.Figure.Value, a.Against.Value)
		for _, d := range directions() {
			a.Options = append(a.Options, Option{Say: directionWords()[d], No: f.No[d], Right: d == right})
		}
	case Choice, Goal:
		l.options(key, f, a)
	case Number:
		if a.Near = f.Near; a.Near <= 1 || a.Near > 10 {
			l.failf(key+".near", "is %v; allowed: a ratio above 1, such as 1.2", f.Near)
		}
		a.Low, a.High = f.No["low"], f.No["high"]
		if a.Low == "" || a.High == "" {
			l.failf(key+".no", "low and high are needed: what is said of an answer that is too low, too high")
		}
	case Point:
		l.point(key, f, a)
	default:
		l.failf(key+".kind", "is %q; allowed: %s", f.Kind, strings.Join([]string{string(Direction), string(Choice), string(Number), string(Point), string(Goal)}, ", "))
		return
	}
	if len(l.errs) == errs { // what cannot be evaluated is neither right nor wrong
		l.judged(key, f, a)
	}
}

// options settles the conditions of a choice or a goal.
func (l *loader) options(key string, f *actFile, a *Act) {
	for i, o := range f.Options {
		e, holds := l.condition(fmt.Sprintf("%s.options.%d.is", key, i), o.Is, a)
		a.Options = append(a.Options, Option{Say: o.Say, No: o.No, Right: holds, is: e})
		if o.Say == "" {
			l.failf(fmt.Sprintf("%s.options.%d.say", key, i), "is missing")
		}
		if f.Kind == Goal && e != nil && !holds {
			l.failf(key+".reach", "does not reach %q: %s", o.Is, e.values(a))
		}
	}
}

// point makes an option of every rank: right is the one with the largest figure.
func (l *loader) point(key string, f *actFile, a *Act) {
	if !strings.Contains(f.Figure, "*") {
		l.failf(key+".figure", "needs a * for the number of the rank: memory.ranks.*.total")
		return
	}
	ranks := a.Before.Setup.PP
	if strings.HasPrefix(flat(f.Figure), "causal_") {
		ranks = a.Before.Setup.CP
	}
	if ranks > letters {
		l.failf(key+".figure", "asks for one of %d ranks; at most %d can be answered", ranks, letters)
		return
	}
	values := make([]float64, ranks)
	for i := range values {
		v, err := a.Before.figure(strings.ReplaceAll(f.Figure, "*", strconv.Itoa(i)))
		if err != nil {
			l.fail(key+".figure", err)
			return
		}
		values[i] = v.Value
	}
	const alike = 0.999 // of the largest: as full as makes no difference
	most := slices.Max(values)
	for i, v := range values {
		a.Options = append(a.Options, Option{Say: fmt.Sprintf("rank %d", i), No: f.No["other"], Right: v >= alike*most})
	}
}

// judged checks that exactly one answer is right and that every wrong one has its sentence.
func (l *loader) judged(key string, f *actFile, a *Act) {
	right := 0
	for i := range a.Options {
		o := &a.Options[i]
		at := fmt.Sprintf("%s.options.%d", key, i)
		if f.Kind == Direction || f.Kind == Point {
			at = key + ".no"
		}
		if o.Right {
			right++
		}
		if (!o.Right || f.Kind == Goal) && o.No == "" {
			l.failf(at, "%q needs its own sentence: why it is wrong", o.Say)
		}
		if o.Right && f.Kind != Goal {
			o.No = ""
		}
	}
	if f.Kind == Number || f.Kind == Goal && len(a.Options) > 0 || right == 1 || f.Kind == Point && right > 0 {
		return
	}
	l.failf(key+".options", "%d options are true; exactly one has to be%s", right, a.truth())
}

// truth lists which options are true.
func (a *Act) truth() string {
	var b strings.Builder
	for _, o := range a.Options {
		if o.is != nil {
			fmt.Fprintf(&b, "; %s is %t", o.is.values(a), o.Right)
		}
	}
	return b.String()
}

// values writes an expression with the numbers of its figures.
func (e *Expression) values(a *Act) string {
	var parts []string
	for _, u := range e.uses {
		v, err := a.operand(u)
		name := u.side
		if u.name != "" {
			name = u.name + "(" + u.side + ")"
		}
		if part := fmt.Sprintf("%s = %v", name, v); err == nil && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return e.text + " with " + strings.Join(parts, ", ")
}
