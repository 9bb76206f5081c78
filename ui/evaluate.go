package ui

import (
	"slices"

	"meshscope/engine"
	"meshscope/engine/layout"
	"meshscope/ui/knobs"
	"meshscope/ui/screens/explore"
)

// evaluate answers the setup in force and notes what the move changed.
func (m *Model) evaluate() {
	m.serial++
	if m.serial > 1 && m.state.Setup == m.now.setup {
		m.rows = knobs.Rows(m.state.Setup, m.state.Locks)
		return
	}
	m.before = explore.VitalOf(&m.legal.report)
	m.remedies = nil
	m.slow.pending = false
	if m.serial > 1 && m.legal.report.Legal && m.state.Setup == m.legal.setup { // undone before it was worked out
		m.now = m.legal
		m.rows = knobs.Rows(m.state.Setup, m.state.Locks)
		return
	}
	if m.postpone() {
		return
	}
	had := m.now.report.Problems
	m.now = evaluated{setup: m.state.Setup, report: m.answer(m.state.Setup), serial: m.serial}
	if m.now.report.Legal {
		m.legal = m.now
	}
	m.fresh = newWarnings(had, m.now.report.Problems)
	m.rows = knobs.Rows(m.state.Setup, m.state.Locks)
	m.state.Page = min(m.state.Page, m.pages()-1)
}

// newWarnings are the warnings that were not there before; those of the start
// are.
func newWarnings(before, now []engine.Problem) []string {
	var out []string
	for _, p := range now {
		old := slices.ContainsFunc(before, func(b engine.Problem) bool { return b.Code == p.Code && b.Field == p.Field })
		if p.Severity == layout.Warning && !old {
			out = append(out, p.Message)
		}
	}
	return out
}

// answer evaluates with the model's own evaluator, which remembers the last
// schedule's order.
func (m *Model) answer(s engine.Setup) engine.Report {
	if m.options.Evaluate != nil {
		return m.options.Evaluate(s)
	}
	return m.evaluator.Evaluate(s)
}
