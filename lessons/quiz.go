package lessons

import (
	"fmt"

	"meshscope/engine"
	"meshscope/engine/knob"
)

// Quiz is the figure that is asked for before each change of any setup; empty: none.
type Quiz string

// The figures that are asked for.
const (
	quizPeak Quiz = "memory.peak"
	quizStep Quiz = "time.step"
)

// Next returns the figure that is asked for next: the peak, the step, none.
func (q Quiz) Next() Quiz {
	switch q {
	case "":
		return quizPeak
	case quizPeak:
		return quizStep
	default:
		return ""
	}
}

// Says tells what is asked from now on.
func (q Quiz) Says() string {
	switch q {
	case quizPeak:
		return "before each change you are asked for the peak; P again: for the step"
	case quizStep:
		return "before each change you are asked for the step; P again: nothing"
	default:
		return "changes are made at once"
	}
}

// Before returns the question before a change, as a lesson of one act on the screen in front; false
// where a side has no figures or nothing turns.
func (q Quiz) Before(from, to engine.Setup, turned knob.ID, rule string) (*Lesson, bool) {
	a := Act{
		Kind: Direction, Before: newSide(from), After: newSide(to), figure: string(q),
		Mask: []string{string(q)}, Rule: rule,
	}
	if from == to || !a.Before.Report.Legal || !a.After.Report.Legal {
		return nil, false
	}
	for _, k := range knob.All() {
		if was, is := k.Text(from), k.Text(to); was != is {
			t := Turn{k.ID, k.Label, was, is}
			if k.ID == turned {
				a.Turned = append([]Turn{t}, a.Turned...)
			} else {
				a.Turned = append(a.Turned, t)
			}
		}
	}
	var errB, errA error
	a.Figure, errB = a.Before.figure(a.figure)
	a.Against, errA = a.After.figure(a.figure)
	if len(a.Turned) == 0 || errB != nil || errA != nil {
		return nil, false
	}
	first := a.Turned[0]
	a.Ask = fmt.Sprintf("%s from %s to %s: what happens to the %s?", first.Label, first.From, first.To,
		title(a.figure))
	right := direction(a.Figure.Value, a.Against.Value)
	for _, d := range directions() {
		o := Option{Say: directionWords()[d], Right: d == right}
		if !o.Right {
			o.No = "It moves from " + Text(a.Figure) + " to " + Text(a.Against) + "."
		}
		a.Options = append(a.Options, o)
	}
	return &Lesson{Title: "Before the change", Acts: []Act{a}}, true
}
