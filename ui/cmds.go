package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/ui/screens/explore"
)

// sweepDelay lets a held key pass before the chart is worked out.
const sweepDelay = 25 * time.Millisecond

// sweepCmd works out the focused knob at each of its legal values. An earlier
// one that still runs is stopped, and its answer is not taken.
func (m *Model) sweepCmd() tea.Cmd {
	if m.sweep.stop != nil {
		m.sweep.stop()
	}
	ctx, stop := context.WithCancel(context.Background())
	m.sweep.stop = stop
	m.sweep.generation++
	m.sweep.pending = true
	generation, id := m.sweep.generation, m.state.Focus
	setup, locks, evaluate := m.state.Setup, m.state.Locks, m.options.Evaluate
	// Read before the command starts: the next key press replaces the report.
	here, now := m.state.Setup, pointOf("", m.now.report)
	remedy := evaluate == nil && !tooLarge(&setup) && m.now.report.Memory != nil && !m.now.report.Memory.Fits
	return m.guard(func() tea.Msg {
		defer stop()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepDelay):
		}
		if evaluate == nil {
			evaluate = (&engine.Evaluator{Brief: true}).Evaluate
		}
		msg := sweptMsg{generation: generation, id: id, current: -1}
		for _, step := range engine.Steps(setup, id, locks) {
			if ctx.Err() != nil {
				return nil
			}
			if step.Current {
				msg.current = len(msg.points)
			}
			switch {
			case step.Setup == here:
				now.Text = step.Text
				msg.points = append(msg.points, now)
			case tooLarge(&step.Setup):
				msg.points = append(msg.points, explore.Point{Text: step.Text, Large: true})
			default:
				msg.points = append(msg.points, pointOf(step.Text, evaluate(step.Setup)))
			}
		}
		if remedy && ctx.Err() == nil {
			msg.remedies = advise.Fixes(setup, func() bool { return ctx.Err() != nil })
		}
		return msg
	})
}

// scanned is the number of pipeline operations up to which a setup is worked
// out for the chart and for what would make it fit: a step of that many takes
// tens of milliseconds, and a chart has a dozen of them.
const scanned = 200_000

func tooLarge(s *engine.Setup) bool {
	return s.Spec().Work() > scanned
}

func pointOf(text string, r engine.Report) explore.Point {
	p := explore.Point{Text: text}
	if r.Legal && r.Memory != nil && r.Time != nil {
		p.Known, p.Step, p.Peak, p.Fits = true, r.Time.Step, r.Memory.Peak, r.Memory.Fits
		p.Traffic = sent(&r)
	}
	return p
}

func (m *Model) guard(cmd tea.Cmd) tea.Cmd { return guarded(m.options.CrashDir, cmd) }
