package lessons

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"meshscope/engine/explain"
)

// deadBand is how much a figure moves before it counts as moved: 2 %.
const deadBand = 0.02

// directions of a figure, in the order in which they are offered.
func directions() []string { return []string{"up", "same", "down"} }

// directionWords are the directions as they are offered.
func directionWords() map[string]string {
	return map[string]string{"up": "up", "same": "the same", "down": "down"}
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

// question resolves what an act asks and which answer is right.
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
		if f.Kind == Goal && len(f.Options) > 0 && a.Reached(a.Before.Setup).Right {
			l.failf(key+".options", "hold before anything turns")
		}
	case Number:
		if a.Against.Value <= 0 {
			l.failf(key+".figure", "is %s: a number that is asked for is above zero", Text(a.Against))
		}
		if a.Near = f.Near; !(a.Near > 1 && a.Near <= 10) {
			l.failf(key+".near", "is %v; allowed: a ratio above 1, such as 1.2", f.Near)
		}
		a.Low, a.High = f.No["low"], f.No["high"]
		if a.Low == "" || a.High == "" {
			l.failf(key+".no", "low and high are needed: what is said of an answer that is too low, too high")
		}
	case Point:
		l.point(key, f, a)
	default:
		l.failf(key+".kind", "is %q; allowed: %s", f.Kind,
			strings.Join([]string{
				string(Direction), string(Choice), string(Number), string(Point),
				string(Goal),
			}, ", "))
		return
	}
	if len(l.errs) == errs { // what cannot be evaluated is neither right nor wrong
		l.answers(key, f, a)
	}
}

// options resolves the conditions of a choice or a goal.
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

// point makes an option of every rank, term or stage that the * of a figure stands for: right is the one
// with the largest.
func (l *loader) point(key string, f *actFile, a *Act) {
	before, after, ok := strings.Cut(f.Figure, "*")
	if !ok || strings.Contains(after, "*") {
		l.failf(key+".figure", "needs one * for the rank, the term or the stage: memory.ranks.*.total, "+
			"memory.ranks.0.*, stage.*.time")
		return
	}
	names, values, err := a.pointed(before, after)
	if err != nil {
		l.fail(key+".figure", err)
		return
	}
	const alike = 0.999 // of the largest: as full as makes no difference
	most := slices.Max(values)
	for i, v := range values {
		say := names[i]
		if a.ranked {
			say = "rank " + say
		} else if strings.HasPrefix(before, "stage.") {
			say = "stage " + say
		}
		a.Options = append(a.Options, Option{
			Say: say, No: cmp.Or(f.No[names[i]], f.No["other"]),
			Right: v >= alike*most,
		})
		a.points = append(a.points, before+names[i]+after)
	}
}

// pointed returns what a * stands for and the figure of each.
func (a *Act) pointed(before, after string) (names []string, values []float64, err error) {
	figure := func(name string) (float64, error) {
		f, err := a.Before.figure(before + name + after)
		return f.Value, err
	}
	n := a.Before.Setup.PP
	switch {
	case strings.HasPrefix(before, "memory.ranks.") && after == "" && strings.Count(before, ".") == 3:
		names = terms()
	case strings.HasPrefix(before, "stage."):
		book, known := explain.Of(a.Before.Setup)
		figure = func(name string) (float64, error) {
			if known {
				if e, ok := book.Explain(before + name + after); ok {
					return e.Result, nil
				}
			}
			return 0, unknownFigure(before + name + after)
		}
		n *= max(a.Before.Setup.VPP, 1)
	case strings.HasPrefix(flat(before), "causal_"):
		n, a.ranked = a.Before.Setup.CP, true
	default:
		a.ranked = true
	}
	if n > letters {
		return nil, nil, fmt.Errorf("asks for one of %d; at most %d can be answered", n, letters)
	}
	for i := 0; i < n && len(names) < n && (a.ranked || strings.HasPrefix(before, "stage.")); i++ {
		names = append(names, strconv.Itoa(i))
	}
	for _, name := range names {
		v, err := figure(name)
		if err != nil {
			return nil, nil, err
		}
		values = append(values, v)
	}
	return names, values, nil
}

// AskByLetter returns the question for who answers with letters, as in a class or as text: without what to
// do with the cursor.
func (a *Act) AskByLetter() string { return strings.TrimSpace(strings.TrimSuffix(a.Ask, a.Point)) }

// PointAt returns the answer that a cursor stands for, on a figure or in the row of a rank; empty for none.
// Where each rank has one stage, all of its row is that stage, idle time too.
func (a *Act) PointAt(figure string, rank int) string {
	for i, id := range a.points {
		stage := id[:strings.LastIndexByte(id, '.')+1] // whatever its operation
		if id == figure || a.ranked && i == rank || strings.HasPrefix(id, "stage.") &&
			strings.HasPrefix(figure, stage) {
			return a.Options[i].Say
		}
	}
	if rank >= 0 && rank < len(a.points) && len(a.points) == a.Before.Setup.PP &&
		strings.HasPrefix(a.points[rank], "stage.") {
		return a.Options[rank].Say
	}
	return ""
}

// answers checks that exactly one answer is right and that every wrong one has its sentence.
func (l *loader) answers(key string, f *actFile, a *Act) {
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
	if f.Kind == Number || f.Kind == Goal && len(a.Options) > 0 || right == 1 ||
		f.Kind == Point && right > 0 {
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

// written returns the value of an operand as the screens write it.
func (a *Act) written(o operand, v any) string {
	side := &a.Before
	if o.side == afterSide {
		side = &a.After
	}
	name := o.name
	if name == "" {
		name = a.figure
	}
	f, err := side.figure(name)
	if _, number := v.(float64); !number || err != nil {
		return fmt.Sprint(v)
	}
	return Text(f)
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
		if part := name + " = " + a.written(u, v); err == nil && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return e.text
	}
	return e.text + " with " + strings.Join(parts, ", ")
}
