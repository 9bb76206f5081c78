package state

import (
	"fmt"
	"slices"
	"strings"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/ui/knobs"
)

// turnBy steps the focused knob along its legal values.
func turnBy(s State, n int) State {
	p, _ := knob.Find(s.Focus)
	if why := knobs.Off(&s.Setup, s.Focus); why != "" {
		s.Note = Note{Text: p.Label + " has no effect here: " + why, Tone: Answer}
		return s
	}
	steps := knob.Steps(s.Setup, s.Focus, s.Locks)
	current := slices.IndexFunc(steps, func(st knob.Step) bool { return st.Current })
	to := min(max(current+n, 0), len(steps)-1)
	if current < 0 || to == current {
		s.Note = Note{Text: atTheEnd(&s, &p, n, len(steps)), Tone: Answer}
		return s
	}
	out := s.use(s.batched(steps[to].Setup), "")
	return out.given(s.Focus, &s.Setup)
}

// atTheEnd says why a knob does not turn further.
func atTheEnd(s *State, p *knob.Knob, n, steps int) string {
	at := knobs.Show(p, p.Text(s.Setup))
	text := ""
	switch {
	case p.Kind == knob.List && steps > 1:
		return p.Label + " has no further choice here; others are typed: enter, then " + p.Allowed()
	case p.Kind == knob.List:
		return p.Label + " is typed: enter, then " + p.Allowed()
	case steps <= 1:
		text = p.Label + " has no other legal value here"
	case p.Kind != knob.Number:
		text = p.Label + " has no further choice that is legal here"
	case n > 0:
		text = p.Label + " " + at + " is the largest legal value here"
	default:
		text = p.Label + " " + at + " is the smallest legal value here"
	}
	if next, why := refusal(s, p, n); why != "" {
		text += fmt.Sprintf(" (%s: %s)", next, why)
	}
	return text
}

// refusal returns the next value in the direction of n, were it legal, and the first
// problem with it; empty where there is no next value.
func refusal(s *State, p *knob.Knob, n int) (next, why string) {
	for _, text := range candidates(&s.Setup, p, n) {
		turned, err := knob.Turn(s.Setup, p.ID, text, s.Locks)
		if err != nil || turned == s.Setup {
			continue
		}
		if errs := Errors(engine.Check(turned)); len(errs) > 0 {
			return knobs.Show(p, text), strings.TrimSuffix(errs[0].Message, ".")
		}
	}
	return "", ""
}

// candidates returns values beyond the current one that people would try: the next
// number and the doubled one, or the other choices.
func candidates(s *engine.Setup, p *knob.Knob, n int) []string {
	switch {
	case p.Kind == knob.Number && n > 0:
		at := p.Int(*s)
		return []string{fmt.Sprint(2 * max(at, 1)), fmt.Sprint(at + 1)}
	case p.Kind == knob.Number:
		at := p.Int(*s)
		return []string{fmt.Sprint(at / 2), fmt.Sprint(at - 1)}
	case p.Kind == knob.Figure || p.Kind == knob.Rate:
		return nil // every value of the ladder is legal
	}
	i := slices.Index(p.Choices, p.Text(*s))
	if n > 0 {
		return p.Choices[i+1:]
	}
	before := slices.Clone(p.Choices[:max(i, 0)])
	slices.Reverse(before)
	return before
}
