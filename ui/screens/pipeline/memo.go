package pipeline

import (
	"meshscope/engine"
	"meshscope/engine/schedule"
)

// memo holds the results computed once for a timeline: each of its parts walks all
// operations, too much for every frame and every key.
type memo struct {
	line   *schedule.Timeline
	waits  map[int]schedule.Waits
	path   []schedule.Place
	curves map[int]curve
}

// curve is the memory of a rank's activations over the step.
type curve struct {
	times, values []float64
	peak          float64
}

// memoOf returns the memo of a timeline; those of the two that were asked for last
// are kept.
func (v *View) memoOf(line *schedule.Timeline) *memo {
	for i, m := range v.memos {
		if m != nil && m.line == line {
			if i > 0 {
				v.memos[0], v.memos[1] = v.memos[1], v.memos[0]
			}
			return m
		}
	}
	v.memos[1], v.memos[0] = v.memos[0], &memo{line: line, curves: map[int]curve{}}
	return v.memos[0]
}

// waits returns the causes of a rank's idle time.
func (v *View) waits(line *schedule.Timeline, rank int) schedule.Waits {
	m := v.memoOf(line)
	if w, ok := m.waits[rank]; ok {
		return w
	}
	if m.waits == nil {
		m.waits = map[int]schedule.Waits{}
	}
	m.waits[rank] = line.WaitsOf(rank)
	return m.waits[rank]
}

// criticalPath returns the timeline's.
func (v *View) criticalPath(line *schedule.Timeline) []schedule.Place {
	m := v.memoOf(line)
	if m.path == nil {
		m.path = line.CriticalPath()
	}
	return m.path
}

// curveOf returns the memory of a rank of a report.
func (v *View) curveOf(r *engine.Report, rank int) curve {
	m := v.memoOf(r.Timeline)
	if c, ok := m.curves[rank]; ok {
		return c
	}
	samples := r.MemoryOver(nil, rank)
	c := curve{times: make([]float64, len(samples)), values: make([]float64, len(samples))}
	for i, s := range samples {
		c.times[i], c.values[i] = s.Time, s.Activations+s.WeightInputs
		c.peak = max(c.peak, c.values[i])
	}
	m.curves[rank] = c
	return c
}
