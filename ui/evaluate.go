package ui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/knob"
	"meshscope/engine/layout"
	"meshscope/ui/knobs"
	"meshscope/ui/screens/explore"
)

// evaluated is a setup with its report.
type evaluated struct {
	setup  engine.Setup
	report engine.Report
	serial int
}

// evaluate answers the current setup and notes the effect of the change.
func (m *Model) evaluate() {
	m.serial++
	m.rows = knobs.Rows(m.state.Setup, m.state.Locks)
	if m.serial > 1 && m.state.Setup == m.now.setup {
		return
	}
	m.before = explore.VitalOf(&m.legal.report)
	m.remedies, m.noEffect = nil, m.stillWithout()
	m.slow.pending = false
	switch {
	// undone before it was computed, or back from what is illegal
	case m.serial > 1 && m.legal.report.Legal && m.state.Setup == m.legal.setup:
		m.now, m.fresh = m.legal, nil // its warnings were said
		m.now.serial = m.serial       // what is drawn compares it with another one before
	case !m.postpone():
		m.take(m.answer(m.state.Setup), m.now.report.Problems)
	}
}

// stillWithout returns the knobs without effect that have the same value as before: the sweep
// tells soon whether it still changes nothing.
func (m *Model) stillWithout() (list []engine.NoEffect) {
	for _, n := range m.noEffect {
		if k, ok := knob.Find(n.Field); ok && k.Text(m.state.Setup) == n.Value {
			list = append(list, n)
		}
	}
	return list
}

// take makes a report that of the current setup; before are the problems of the last.
func (m *Model) take(r engine.Report, before []engine.Problem) {
	if m.state.Fixed.Has(knob.GBS) {
		r.Problems = knob.GivenBatch(r.Problems, &m.state.Setup)
	}
	m.now = evaluated{setup: m.state.Setup, report: r, serial: m.serial}
	if r.Legal {
		m.legal = m.now
	}
	m.fresh = newWarnings(before, r.Problems)
	m.state.Page = min(m.state.Page, m.pages()-1)
}

// newWarnings returns the warnings that were not there before; those of the start
// are.
func newWarnings(before, now []engine.Problem) []string {
	var out []string
	for _, p := range now {
		old := slices.ContainsFunc(before,
			func(b engine.Problem) bool { return b.Code == p.Code && b.Field == p.Field })
		if p.Severity == layout.Warning && !old {
			out = append(out, p.Message)
		}
	}
	return out
}

// answer evaluates with the model's own evaluator, which remembers the last
// schedule's order.
func (m *Model) answer(s engine.Setup) engine.Report {
	if p := m.refusing(&s); p.Message != "" {
		return engine.Report{Problems: []engine.Problem{p}}
	}
	if m.options.Evaluate != nil {
		return m.options.Evaluate(s)
	}
	if m.options.Turns != nil { // what it remembers is a tenth of an explorer's memory
		return engine.Evaluate(s)
	}
	return m.evaluator.Evaluate(s)
}

// refusing returns why a setup is not computed here; without a message: it is.
func (m *Model) refusing(s *engine.Setup) (p engine.Problem) {
	if m.options.Refuse == nil || !engine.Legal(*s) {
		return p
	}
	return m.options.Refuse(s)
}

// slow is an evaluation that takes longer than a frame allows: it runs in the background
// the handling of keys while the last picture stays, dimmed.
type slow struct {
	pending bool
	stop    context.CancelFunc
	turn    chan struct{} // one evaluation at a time: each may take hundreds of megabytes
}

// slowDelay lets a held key pass before a slow evaluation starts.
const slowDelay = 40 * time.Millisecond

// evaluatedMsg brings the report of a slow setup.
type evaluatedMsg struct {
	serial int
	report engine.Report
}

// postpone notes a legal setup that is slow to evaluate; false for any other. It
// needs a picture to keep meanwhile.
func (m *Model) postpone() bool {
	s := &m.state.Setup
	if m.options.Evaluate != nil || !m.legal.report.Legal || !s.Slow() || !engine.Legal(*s) ||
		m.refusing(s).Message != "" {
		return false
	}
	m.now = evaluated{setup: *s, serial: m.serial}
	m.slow.pending = true
	m.fresh = nil
	return true
}

// slowCmd computes what postpone noted; an earlier one is stopped.
func (m *Model) slowCmd() tea.Cmd {
	m.hold()
	if !m.slow.pending {
		return nil
	}
	if m.slow.turn == nil {
		m.slow.turn = make(chan struct{}, 1)
	}
	ctx, stop := context.WithCancel(context.Background())
	m.slow.stop = stop
	setup, serial, turn := m.state.Setup, m.serial, m.slow.turn
	return m.guard(func() tea.Msg {
		defer stop()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(slowDelay):
		}
		select {
		case <-ctx.Done():
			return nil
		case turn <- struct{}{}:
		}
		defer func() { <-turn }()
		var e engine.Evaluator
		report, done := e.EvaluateUntil(setup, func() bool { return ctx.Err() != nil })
		if !done || ctx.Err() != nil {
			return nil
		}
		return evaluatedMsg{serial: serial, report: report}
	})
}

// hold stops a slow evaluation.
func (m *Model) hold() {
	if m.slow.stop != nil {
		m.slow.stop()
		m.slow.stop = nil
	}
}

// takeSlow takes the report of a slow setup, if it is still current.
func (m *Model) takeSlow(msg evaluatedMsg) tea.Cmd {
	if !m.slow.pending || msg.serial != m.serial {
		return nil
	}
	m.slow.pending = false
	m.serial++
	m.before = explore.VitalOf(&m.legal.report)
	m.take(msg.report, m.legal.report.Problems)
	m.retargetSweep()
	return tea.Batch(m.sweepCmd(), m.refreshScreen(), m.tick())
}
