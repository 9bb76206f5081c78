package pipeline

import (
	"meshscope/engine/schedule"
	"meshscope/ui/widget"
)

// spot is the item under the cursor: an operation, or idle time before the
// operation next (the rank's end where there is none).
type spot struct {
	block    int
	line     *schedule.Timeline
	rank     int
	op       int // index in Order.Ops
	idle     bool
	last     bool // idle after the rank's last operation
	from, to float64
}

func (s *spot) place() schedule.Place { return schedule.Place{Rank: s.rank, Op: s.op} }

// spot finds the cursor's in a layout.
func (v *View) spot(l *layout) spot {
	block := 0
	if v.below && len(l.blocks) > 1 {
		block = 1
	}
	s := spot{block: block, line: l.blocks[block].line}
	s.rank = min(max(0, v.rank), len(s.line.Ranks)-1)
	s.look(v.at * l.axis.Whole)
	return s
}

// look finds what runs at a moment on the spot's rank.
func (s *spot) look(at float64) {
	o := s.line.Order
	first, end := o.Start[s.rank], o.Start[s.rank+1]
	op, runs := s.line.Running(s.rank, at)
	s.op, s.idle, s.last = op, !runs, op >= end
	if runs {
		if op > first && o.Ops[op-1].Paired() {
			s.op--
		}
		s.from, s.to = s.line.Begin[s.op], s.line.End[s.op]
		return
	}
	s.from, s.to = 0, s.line.Makespan
	if op > first {
		s.from = s.line.End[op-1]
	}
	if op < end {
		s.to = s.line.Begin[op]
	}
}

// step moves the cursor to the next (or with -1 the previous) operation or idle
// gap of its rank, at least one column away.
func (v *View) step(l *layout, dir int) {
	s := v.spot(l)
	now := v.at * l.axis.Whole
	column := (l.frame.Time(l.plot-1) - l.frame.Time(0)) / float64(max(1, l.plot-1))
	sliver := 1e-9 * l.axis.Whole
	at := s.to + sliver
	if dir < 0 {
		at = s.from - sliver
	}
	if far := now + float64(dir)*column; l.frame.Column(at) == l.frame.Column(now) &&
		far*float64(dir) > at*float64(dir) {
		at = far
	}
	at = l.axis.Outside(at, dir)
	if at < 0 || at >= l.axis.Whole {
		return
	}
	v.moveTo(l, at)
}

// moveTo puts the cursor into the middle of what lies at a moment.
func (v *View) moveTo(l *layout, at float64) {
	v.at = min(max(0, at/l.axis.Whole), 1)
	s := v.spot(l)
	middle := (s.from + s.to) / 2
	// A wide gap is left where it was entered: its middle may be folded away.
	if l.axis.Outside(middle, 1) == middle {
		v.at = middle / l.axis.Whole
	}
	v.reveal(l)
}

// reveal moves the window so that the cursor is in it.
func (v *View) reveal(l *layout) {
	z := v.zoomed()
	if at := v.at * l.axis.Whole; l.axis.LeftOut(at) { // the picture goes there
		v.about = v.at
		l.axis = l.axis.About(l.plot, v.at)
	}
	place := l.axis.Place(v.at * l.axis.Whole)
	room := 0.05 / z
	if place < v.left+room {
		v.left = place - room
	}
	if place > v.left+1/z-room {
		v.left = place - 1/z + room
	}
	v.left = min(max(0, v.left), 1-1/z)
}

// vertical moves the cursor n ranks down, from one timeline into the other.
func (v *View) vertical(l *layout, n int) {
	p := len(l.blocks[0].line.Ranks)
	at := min(max(0, v.rank), p-1)
	if v.flip && len(l.blocks) > 1 {
		v.rank = widget.Step(at, n, p)
		return
	}
	if v.below && len(l.blocks) > 1 {
		at += p
	}
	at = widget.Step(at, n, p*len(l.blocks))
	v.rank, v.below = at%p, at >= p
}

// idle moves the cursor to the rank's next (or previous) idle gap that the
// picture shows: nearer ones have more of them.
func (v *View) idle(l *layout, dir int) {
	s := v.spot(l)
	o := s.line.Order
	sliver := max(1e-6*l.axis.Whole, 0.5*l.frame.PerColumn())
	k := s.op
	if dir > 0 {
		for k++; k < o.Start[s.rank+1]; k++ {
			if gap := s.line.Begin[k] - s.line.End[k-1]; k > o.Start[s.rank] && gap > sliver &&
				!o.Ops[k-1].Paired() {
				v.moveTo(l, s.line.End[k-1]+gap/2)
				return
			}
		}
		if end := s.line.Ranks[s.rank].Last; end+sliver < s.line.Makespan {
			v.moveTo(l, (end+s.line.Makespan)/2)
		}
		return
	}
	if s.idle {
		k--
	}
	for ; k >= o.Start[s.rank]; k-- {
		before := 0.0
		if k > o.Start[s.rank] {
			before = s.line.End[k-1]
		}
		if gap := s.line.Begin[k] - before; gap > sliver && (k == o.Start[s.rank] || !o.Ops[k-1].Paired()) {
			v.moveTo(l, before+gap/2)
			return
		}
	}
}

// pan moves window and cursor together by a share of the window.
func (v *View) pan(l *layout, share float64) {
	from, _ := v.window()
	by := share / v.zoomed()
	v.left = from + by
	place := l.axis.Place(v.at*l.axis.Whole) + by
	v.left, _ = v.window()
	v.at = min(1, l.axis.Moment(min(max(0, place), 1))/l.axis.Whole)
	v.reveal(l)
}

// magnify changes the zoom and keeps the place about where it is on the screen.
func (v *View) magnify(l *layout, zoom, about float64) {
	// At the end one operation takes up half of the screen.
	zoom = min(max(1, zoom), max(1, l.axis.PerOp()/2))
	from, _ := v.window()
	share := min(max(0, (about-from)*v.zoomed()), 1)
	v.zoom = zoom
	v.left = min(max(0, about-share/zoom), 1-1/zoom)
}

// drain returns when a rank's last forward ends.
func drain(line *schedule.Timeline, rank int) float64 {
	o := line.Order
	for k := o.Start[rank+1] - 1; k >= o.Start[rank]; k-- {
		if o.Ops[k].Kind() == schedule.Forward {
			return line.End[k]
		}
	}
	return 0
}
