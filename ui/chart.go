package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"meshscope/engine"
	"meshscope/engine/advise"
	"meshscope/engine/knob"
	"meshscope/engine/units"
	"meshscope/ui/screens/explore"
)

// sweep is the chart's data and the command that computes it.
type sweep struct {
	id         knob.ID
	points     []explore.Point
	current    int
	generation int
	pending    bool
	stop       context.CancelFunc
}

// sweptMsg brings the figures of a knob at each of its legal values, and what
// would make the setup fit.
type sweptMsg struct {
	generation int
	id         knob.ID
	points     []explore.Point
	current    int
	remedies   []advise.Move // of a setup that does not fit
}

// sweepDelay lets a held key pass before the chart is computed.
const sweepDelay = 25 * time.Millisecond

// sweepCmd computes the focused knob at each of its legal values. An earlier
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
	remedy := evaluate == nil && !setup.Slow() && m.now.report.Memory != nil && !m.now.report.Memory.Fits
	return m.guard(func() tea.Msg {
		defer stop()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepDelay):
		}
		if evaluate == nil {
			evaluate = (&engine.Evaluator{SkipTimeline: true}).Evaluate
		}
		msg := sweptMsg{generation: generation, id: id, current: -1}
		for _, step := range knob.Steps(setup, id, locks) {
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
			case step.Setup.Slow():
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

func pointOf(text string, r engine.Report) explore.Point {
	p := explore.Point{Text: text}
	if r.Legal && r.Memory != nil && r.Time != nil {
		p.Known, p.Step, p.Peak, p.Fits = true, r.Time.Step, r.Memory.Peak, r.Memory.Fits
		p.Traffic = sent(&r)
	}
	return p
}

// retargetSweep keeps what the chart shows as far as it still holds: the
// values of the knob and the mark are known at once, figures follow.
func (m *Model) retargetSweep() {
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == m.state.Focus {
			known := map[string]explore.Point{}
			if m.sweep.id == r.ID {
				for _, p := range m.sweep.points {
					known[p.Text] = p
				}
			}
			points := make([]explore.Point, 0, len(r.Values))
			for _, v := range r.Values {
				p := known[v]
				p.Text = v
				points = append(points, p)
			}
			m.sweep.id, m.sweep.points, m.sweep.current = r.ID, points, r.Current
		}
	}
}

func (m *Model) takeSweep(msg sweptMsg) {
	if msg.generation != m.sweep.generation {
		return // of a setup that is no longer current
	}
	m.sweep.id, m.sweep.points, m.sweep.current = msg.id, msg.points, msg.current
	m.sweep.pending = false
	m.remedies = msg.remedies
	m.follow()
}

func (m *Model) sweepState() int {
	if m.sweep.pending {
		return 1
	}
	return 0
}

// chart returns the sweep in the words of the chart panel.
func (m *Model) chart() explore.Sweep {
	s := explore.Sweep{Points: m.sweep.points, Current: m.sweep.current, Pending: m.sweep.pending, Usable: m.state.Setup.Cluster.GPU.MemoryUsable}
	for i := range m.rows {
		if r := &m.rows[i]; r.ID == m.sweep.id {
			s.Label, s.Brief = r.Label, r.Short
			shown := make([]explore.Point, len(s.Points))
			copy(shown, s.Points)
			for j := range shown {
				shown[j].Text = r.Brief(shown[j].Text)
			}
			s.Points = shown
		}
	}
	return s
}

// sent returns what a GPU sends in a step, over all dimensions.
func sent(r *engine.Report) units.Bytes {
	sum, _ := r.Sent()
	return sum.Bytes
}
