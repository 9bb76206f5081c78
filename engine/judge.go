package engine

import (
	"meshscope/engine/recipe"
	"meshscope/engine/schedule"
)

// Judgement is what Check comes to, for who goes through many setups: Refused is where
// some launcher would not run a legal one. A setup is legal where the given, the
// recomputation, the layout and the schedule each are, and refused where any is.
type Judgement struct{ Legal, Refused bool }

// JudgeGiven judges what Begin took.
func (f *Floors) JudgeGiven() Judgement {
	s := &f.e.setup
	if s.Model.Check() != nil || s.Cluster.Check() != nil {
		return Judgement{}
	}
	asked := s.Recompute
	s.Recompute = recipe.Recompute{Mode: recipe.RecomputeNone}
	f.problems = s.words(f.problems[:0])
	s.Recompute = asked
	return judge(f.problems)
}

// JudgeRecompute judges what runs again.
func (f *Floors) JudgeRecompute(r recipe.Recompute) Judgement {
	f.problems = recomputeErrors(f.problems[:0], r)
	return judge(f.problems)
}

// JudgeLayout judges the layout of a setup whose model and cluster are sound.
func (f *Floors) JudgeLayout(s *Setup) Judgement {
	f.problems = s.RuleCodes(&s.Model, &s.Cluster, f.problems[:0])
	if hasErrors(f.problems) {
		return Judgement{}
	}
	f.problems = s.stackWarnings(f.problems, true)
	return judge(f.problems)
}

// JudgeSchedule judges a schedule whose counts a legal layout has.
func JudgeSchedule(spec schedule.Spec) Judgement {
	v := Judgement{Legal: true}
	for _, issue := range spec.Check() {
		v.Legal = v.Legal && issue.Warning
		v.Refused = v.Refused || refuses(issue.Code)
	}
	return v
}

func judge(problems []Problem) Judgement {
	return Judgement{Legal: !hasErrors(problems), Refused: Refused(problems)}
}
