package engine

import (
	"meshscope/engine/recipe"
	"meshscope/engine/units"
)

// Cautious returns a setup with all doubtful overlap exposed (recipe.OverlapCautious):
// its step is the slow end of the setup's own. The second value is false where the setup says
// itself how much overlap works; it is then returned as it is.
func Cautious(s Setup) (Setup, bool) {
	if s.Overlap != "" && s.Overlap != recipe.OverlapAuto {
		return s, false
	}
	s.Overlap = recipe.OverlapCautious
	return s, true
}

// Doubtful reports whether a setup has traffic of which few published runs show that it
// overlaps: the all-to-all of experts, and ZeRO traffic of every micro-batch. Where it has
// none, its step is that of Cautious.
func Doubtful(s *Setup) bool {
	return s.Model.IsMoE() && (s.EP > 1 || s.ETP > 1) || s.ZeRO >= 2
}

// CautiousStep returns the slow end of a step: how long it takes where no doubtful overlap
// works. It is the step of the report where nothing is doubtful.
func CautiousStep(s *Setup, r *Report) units.Seconds {
	e := Evaluator{SkipTimeline: true}
	step, _, _ := e.CautiousStep(s, r, nil)
	return step
}

// CautiousStep is the function of that name that can be stopped, as EvaluateUntil can. It
// returns too the memory of the end that needs more: the order of an automatic schedule, and
// so its memory, follows from the times.
func (e *Evaluator) CautiousStep(s *Setup, r *Report, stop func() bool) (step units.Seconds, fuller *Memory, done bool) {
	if r.Time == nil {
		return 0, r.Memory, true
	}
	c, open := Cautious(*s)
	if !r.Legal || !open || !Doubtful(s) {
		return r.Time.Step, r.Memory, true
	}
	slow, done := e.EvaluateUntil(c, stop)
	if !done || slow.Time == nil {
		return r.Time.Step, r.Memory, done
	}
	if fuller = r.Memory; slow.Memory.Peak > fuller.Peak {
		fuller = slow.Memory
	}
	return slow.Time.Step, fuller, true
}
