package knob

import (
	"slices"
	"strings"

	"meshscope/engine/layout"
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Legality is the result of Check without its messages, for callers that check many setups:
// Rejected is set where some launcher would not run a legal one. A setup is legal where
// what is given, the recomputation, the layout and the schedule each are, and
// rejected where any is.
type Legality struct{ Legal, Rejected bool }

// Checker finds the Legality of parts of setups without building messages. The zero
// value is ready; one belongs to one goroutine.
type Checker struct{ problems []Problem }

// Given checks what a search does not vary.
func (j *Checker) Given(s Setup) Legality {
	if s.Model.Check() != nil || s.Cluster.Check() != nil {
		return Legality{}
	}
	s.Recompute = recipe.Recompute{Mode: recipe.RecomputeNone} // checked by itself
	j.problems = s.words(j.problems[:0])
	return legalityOf(j.problems)
}

// CheckGiven says what Given refuses of a setup, else what its stack does, with values that mend it where one
// does.
func CheckGiven(s Setup) (out []Problem) {
	s.Recompute = recipe.Recompute{Mode: recipe.RecomputeNone}
	for _, p := range s.refused() {
		for _, fix := range wordFixes(&s, p.Field) {
			if (&Checker{}).Given(fix).Legal && len(fix.refused()) == 0 {
				p.Nearest = difference(&s, &fix)
				break
			}
		}
		out = append(out, p)
	}
	return out
}

// refused returns the errors of words, where there are none those of the stack.
func (s *Setup) refused() []Problem {
	warns := func(p Problem) bool { return p.Severity != layout.Error }
	if out := slices.DeleteFunc(s.words(nil), warns); len(out) > 0 {
		return out
	}
	return slices.DeleteFunc(s.stackWarnings(nil, false), warns)
}

// Elsewhere says why the stack of a setup refuses values of a knob, which names the stacks that have them:
// "adafactor: megatron-core has no adafactor here; ...".
func (k *Knob) Elsewhere(s *Setup) (lines []string) {
	values := map[string][]string{}
	var order []string
	for _, word := range k.Choices {
		t := *s
		if k.Kind != Choice || k.setTo(&t, word) != nil {
			continue
		}
		for _, p := range t.refused() {
			if p.Field != string(k.ID) {
				continue
			}
			why := strings.Replace(p.Message, "no "+word+" here", "none here", 1)
			if values[why] == nil {
				order = append(order, why)
			}
			values[why] = append(values[why], word)
			break
		}
	}
	for _, why := range order {
		lines = append(lines, strings.Join(values[why], ", ")+": "+why)
	}
	return lines
}

// Recompute checks what is recomputed.
func (j *Checker) Recompute(r recipe.Recompute) Legality {
	j.problems = recomputeErrors(j.problems[:0], r)
	return legalityOf(j.problems)
}

// Layout checks the layout of a setup whose model and cluster are sound.
func (j *Checker) Layout(s *Setup) Legality {
	j.problems = s.RuleCodes(&s.Model, &s.Cluster, j.problems[:0])
	if layout.HasErrors(j.problems) {
		return Legality{}
	}
	j.problems = s.stackWarnings(j.problems, true)
	return legalityOf(j.problems)
}

// LegalityOfSchedule checks a schedule whose counts a legal layout has.
func LegalityOfSchedule(spec schedule.Spec) Legality {
	v := Legality{Legal: true}
	for _, issue := range spec.Check() {
		v.Legal = v.Legal && issue.Warning
		v.Rejected = v.Rejected || rejects(issue.Code)
	}
	return v
}

func legalityOf(problems []Problem) Legality {
	return Legality{Legal: !layout.HasErrors(problems), Rejected: LauncherRejects(problems)}
}
