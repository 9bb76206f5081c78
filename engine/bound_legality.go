package engine

import (
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Legality is what Check comes to, for a caller that walks through many setups: Rejected is where
// some launcher would not run a legal one. A setup is legal where the given, the
// recomputation, the layout and the schedule each are, and rejected where any is.
type Legality struct{ Legal, Rejected bool }

// LegalityOfModel judges what SetModel took.
func (f *Bounder) LegalityOfModel() Legality {
	s := &f.e.setup
	if s.Model.Check() != nil || s.Cluster.Check() != nil {
		return Legality{}
	}
	asked := s.Recompute
	s.Recompute = recipe.Recompute{Mode: recipe.RecomputeNone}
	f.problems = s.words(f.problems[:0])
	s.Recompute = asked
	return judge(f.problems)
}

// LegalityOfRecompute judges what runs again.
func (f *Bounder) LegalityOfRecompute(r recipe.Recompute) Legality {
	f.problems = recomputeErrors(f.problems[:0], r)
	return judge(f.problems)
}

// LegalityOfLayout judges the layout of a setup whose model and cluster are sound.
func (f *Bounder) LegalityOfLayout(s *Setup) Legality {
	f.problems = s.RuleCodes(&s.Model, &s.Cluster, f.problems[:0])
	if hasErrors(f.problems) {
		return Legality{}
	}
	f.problems = s.stackWarnings(f.problems, true)
	return judge(f.problems)
}

// LegalityOfSchedule judges a schedule whose counts a legal layout has.
func LegalityOfSchedule(spec schedule.Spec) Legality {
	v := Legality{Legal: true}
	for _, issue := range spec.Check() {
		v.Legal = v.Legal && issue.Warning
		v.Rejected = v.Rejected || rejects(issue.Code)
	}
	return v
}

func judge(problems []Problem) Legality {
	return Legality{Legal: !hasErrors(problems), Rejected: LauncherRejects(problems)}
}
