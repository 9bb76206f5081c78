package timeline

import (
	"strings"

	"meshscope/engine/schedule"
	"meshscope/themes"
	"meshscope/ui/widget"
)

// multipleRanks is the most ranks that a Multiple draws.
const multipleRanks = 4

// Multiple is one of many small timelines: the first ranks and the last, and the part of the step whose
// operations are readable at a given width. It stores these operations only.
type Multiple struct {
	line  *schedule.Timeline
	frame Frame
	ranks []int
}

// NewMultiple reads a timeline, for a picture w cells wide.
func NewMultiple(line *schedule.Timeline, w int) *Multiple {
	m := &Multiple{}
	if !drawable(line) || w <= 0 {
		return m
	}
	chart := Chart{Timeline: line}
	axis := NewAxis([]*schedule.Timeline{line}, true, w, 0)
	m.ranks, m.frame = chart.Rows(multipleRanks), axis.Frame(0, 1, w)
	o := schedule.Order{
		Spec: line.Order.Spec, Placement: line.Order.Placement,
		Start: make([]int, len(line.Order.Start)),
	}
	m.line = &schedule.Timeline{
		Order: &o, Makespan: line.Makespan, Ranks: line.Ranks,
		Recompute: line.Recompute,
	}
	next := 0
	for rank := range line.Ranks {
		if o.Start[rank] = len(o.Ops); next < len(m.ranks) && rank == m.ranks[next] {
			m.take(line, rank)
			next++
		}
	}
	for rank := len(line.Ranks); rank < len(o.Start); rank++ {
		o.Start[rank] = len(o.Ops)
	}
	return m
}

// take adds the operations of a rank that are shown.
func (m *Multiple) take(line *schedule.Timeline, rank int) {
	for k := line.Order.Start[rank]; k < line.Order.Start[rank+1]; k++ {
		for _, s := range m.frame.spans {
			if s.folded == 0 && line.Begin[k] < s.to && line.End[k] > s.from {
				m.line.Order.Ops = append(m.line.Order.Ops, line.Order.Ops[k])
				m.line.Begin, m.line.End = append(m.line.Begin, line.Begin[k]),
					append(m.line.End, line.End[k])
				break
			}
		}
	}
}

// Wide returns the width that it is for.
func (m *Multiple) Wide() int { return m.frame.Cols }

// Ranks returns the ranks that it draws, a line each.
func (m *Multiple) Ranks() []int { return m.ranks }

// Render draws it.
func (m *Multiple) Render(t *themes.Theme, g widget.Glyphs) []string {
	rows := NewRows(m.line, &m.frame, t, g, false)
	if rows == nil {
		return nil
	}
	lines := make([]string, 0, len(m.ranks))
	var b strings.Builder
	for _, rank := range m.ranks {
		b.Reset()
		rows.Draw(&b, rank, &Marks{})
		lines = append(lines, b.String())
	}
	return lines
}
