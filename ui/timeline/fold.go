package timeline

import (
	"math"
	"slices"
	"strconv"

	"meshscope/engine/schedule"
)

// interval is a part of the picture: a stretch of time over some columns, or
// the mark for a stretch left out: that many periods where folded is set.
type interval struct {
	from, to  float64
	col, cols int
	folded    int
	cut       bool
}

// drawn reports whether the span shows its time.
func (s *interval) drawn() bool { return s.folded == 0 && !s.cut && s.to > s.from }

const (
	// ganttLeastFold is the smallest number of periods that are worth a fold mark.
	ganttLeastFold = 2
	// ganttFoldGain is how much wider a fold has to make what is left: its mark takes
	// columns too, and tears the picture.
	ganttFoldGain = 1.1
	// ganttSnap is the share of the width that a picture must keep when it is
	// narrowed to give every operation a whole number of columns.
	ganttSnap = 0.8
	// ganttCut is the width of the mark between two stretches, cutTwo and cutThree are the widths from
	// which so many are shown, cutScale is the fewest columns that the shortest operation has in
	// them, and cutWide the width of a picture that has room for an edge behind each label.
	ganttCut = 3
	cutTwo   = 24
	cutThree = 54
	cutScale = 3.0
	cutMost  = 0.75 // of the step: what narrower operations must show of it
	cutWide  = 96
	// leastStretch is the share of the step that a stretch has at least: less would round away.
	leastStretch = 1e-9
)

// periodic is a stretch of the step in which every rank repeats itself.
type periodic struct{ from, to, period float64 }

// count returns how many whole periods it has.
func (p periodic) count() int { return int((p.to - p.from) / p.period * (1 + 1e-9)) }

// perOp returns how many columns the shortest kind of operation has.
func perOp(spans []interval, sc timeScale) float64 {
	most := 0.0
	for i := range spans {
		if s := &spans[i]; s.drawn() {
			most = max(most, float64(s.cols)/(s.to-s.from)*sc.shortest)
		}
	}
	return most
}

// stretches leaves out all but a few short stretches, at a scale at which operations can be
// read: the beginning, the steady state or what is about a moment, and the end. Of two
// timelines that end far from each other, the middle one has the end of the shorter.
func (a *Axis) stretches(w int, about float64) {
	n, marks := 3, 2
	if w < cutThree {
		n, marks = 2, 1
	}
	if w < cutTwo {
		return
	}
	if n == 2 && about > 0 { // the end may be left out too
		marks++
	}
	need := max(cutScale, a.scale.legible)
	if w >= cutWide {
		need = a.scale.readable
	}
	drawn := float64((w-marks*ganttCut)/n) * a.scale.shortest // columns of a stretch, in operations
	if most := drawn * float64(n) / a.scale.legible; most >= cutMost*a.Whole {
		need = a.scale.legible // little is left out then
	}
	each := drawn / need
	if each < leastStretch*a.Whole {
		return
	}
	from := []float64{0, a.steady - each/2, a.Whole - each}
	switch {
	case about > 0:
		from[1] = about*a.Whole - each/2
		from = from[:n]
	case n == 2:
		from = []float64{0, a.Whole - each}
	case a.Whole-a.least > each/2:
		from[1] = a.least - each + each/4
	}
	for i := range from {
		from[i] = min(max(from[i], 0), a.Whole-each)
	}
	slices.Sort(from)
	a.cuts, a.Folded, a.Length = nil, 0, a.Whole
	for i, at := range from[:len(from)-1] {
		if left := from[i+1] - at - each; left > ganttCut/need*a.scale.shortest {
			a.cuts = append(a.cuts, interval{
				from: at + each, to: from[i+1], folded: 1, cut: true,
				cols: ganttCut,
			})
			a.Length -= left
		}
	}
	if last := from[len(from)-1] + each; about > 0 && last < a.Whole {
		a.cuts = append(a.cuts, interval{from: last, to: a.Whole, folded: 1, cut: true, cols: ganttCut})
		a.Length -= a.Whole - last
	}
	a.Cut = len(a.cuts) > 0
}

// steadyState returns a moment in the middle of the steady state: of the stretch in which every
// rank has both forwards and backwards to run, or where all run backwards in a step without one.
func steadyState(lines []*schedule.Timeline) float64 {
	for _, t := range lines {
		if !drawable(t) {
			continue
		}
		o, from, to := t.Order, 0.0, t.Makespan
		for r := range t.Ranks {
			first, last := o.Start[r], o.Start[r+1]-1
			for first < last && o.Ops[first].Kind() == schedule.Forward {
				first++
			}
			for last > first && o.Ops[last].Kind() != schedule.Forward {
				last--
			}
			if first < len(o.Ops) && last >= 0 {
				from, to = max(from, t.Begin[first]), min(to, t.Begin[last])
			}
		}
		if to < from {
			return from
		}
		return (from + to) / 2
	}
	return 0
}

// placeSpans gives the stretches of time their columns, all to one scale. Where
// durations are multiples of each other the scale is a whole number of columns,
// if that leaves little of the width empty.
func placeSpans(spans []interval, w int, sc timeScale) []interval {
	room, total := float64(w), 0.0
	for _, s := range spans {
		if s.folded > 0 || s.cut {
			room -= float64(s.cols)
		} else {
			total += s.to - s.from
		}
	}
	perOp := room / total * sc.shortest
	if whole := math.Floor(perOp * (1 + 1e-9)); sc.regular && whole >= 1 && whole >= ganttSnap*perOp {
		wide := room
		if room = math.Round(total / sc.shortest * whole); room < wide && whole == 1 &&
			room < total/sc.shortest {
			room++ // with less than a column each they would be blended
		}
	}
	marks, passed := 0, 0.0
	for i := range spans {
		s := &spans[i]
		s.col = marks + int(math.Round(passed/total*room))
		if s.folded > 0 || s.cut {
			marks += s.cols
			continue
		}
		passed += s.to - s.from
		s.cols = marks + int(math.Round(passed/total*room)) - s.col
	}
	return spans
}

// foldText returns the mark of n periods left out.
func foldText(n int, unicode bool) string {
	if !unicode {
		return "<x" + strconv.Itoa(n) + ">"
	}
	return "⋯×" + strconv.Itoa(n) + "⋯"
}

// periodic finds the stretches that all ranks repeat with one period: the
// steady state, or the two halves of a schedule that runs all forwards first.
// It tries repetitions of one micro-batch, of a group, and of several, since
// send/recv latencies make the pattern longer.
func (v *Chart) periodic() []periodic {
	s := v.Timeline.Order.Spec
	group := s.GroupSize
	if group <= 0 {
		group = min(s.Ranks, s.MicroBatches)
	}
	tried := map[int]bool{}
	tries := max(2, 4*foldWork/max(1, len(v.Timeline.Order.Ops)/v.ranks()))
	for _, shift := range []int{1, group, 2, 3, 4, 2 * group, s.Ranks, 3 * group} {
		if shift <= 0 || shift > s.MicroBatches/4 || tried[shift] {
			continue
		}
		tried[shift] = true
		for _, half := range []bool{false, true} {
			if tries--; tries < 0 {
				return nil
			}
			if found := v.repeats(shift, half); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// repeats finds the stretches in which every rank does the same again with each
// micro-batch replaced by the one shift later. With half set it looks for runs
// of one direction only.
func (v *Chart) repeats(shift int, half bool) []periodic {
	t := v.Timeline
	o := t.Order
	var common []periodic
	middle := v.ranks() / 2
	for i := range v.ranks() {
		// The middle rank first: where it has nothing, no other needs a look.
		r := i
		if i == 0 {
			r = middle
		} else if i <= middle {
			r = i - 1
		}
		from, to := o.Start[r], o.Start[r+1]
		n := (to - from) * shift / max(1, o.Spec.MicroBatches)
		if half {
			n /= 2
		}
		if n < 1 {
			return nil
		}
		runs := rankRepeats(o.Ops[from:to], t.Begin[from:to], t.End[from:to], n, schedule.Op(shift))
		if i == 0 {
			common = runs
		} else {
			common = intersect(common, runs)
		}
		if len(common) == 0 {
			return nil
		}
	}
	return common
}

// rankRepeats finds the stretches in which operation j+n of a rank is operation
// j with a later micro-batch, always one period later.
func rankRepeats(ops []schedule.Op, begin, end []float64, n int, shift schedule.Op) []periodic {
	if n >= len(ops) {
		return nil
	}
	var runs []periodic
	later, soon := ops[n:], begin[n:][:len(ops)-n]
	now, at := ops[:len(later)], begin[:len(later)]
	for j := 0; j < len(later); {
		if later[j]-now[j] != shift {
			j++
			continue
		}
		first, period := j, soon[j]-at[j]
		slack := 1e-6 * period
		for j < len(later) && later[j]-now[j] == shift && math.Abs(soon[j]-at[j]-period) <= slack {
			j++
		}
		if j-first >= 3*n && period > 0 {
			runs = append(runs, periodic{from: begin[first], to: end[j-1+n], period: period})
		}
		j = max(j, first+1)
	}
	return runs
}

// intersect keeps what two lists have in common at the same period, when it is
// long enough to leave something out. Both are ascending, and so is the result.
func intersect(a, b []periodic) []periodic {
	return overlaps(a, b, func(x, y periodic) (float64, bool) {
		return x.period, math.Abs(x.period-y.period) <= 1e-6*x.period
	})
}

// overlaps walks two ascending lists together; same says whether two stretches
// repeat alike, and with which period.
func overlaps(a, b []periodic, same func(x, y periodic) (float64, bool)) []periodic {
	var common []periodic
	for i, j := 0, 0; i < len(a) && j < len(b); {
		both := periodic{from: max(a[i].from, b[j].from), to: min(a[i].to, b[j].to)}
		if period, ok := same(a[i], b[j]); ok && both.to > both.from {
			both.period = period
			if both.count() >= 2+ganttLeastFold {
				common = append(common, both)
			}
		}
		if a[i].to < b[j].to {
			i++
		} else {
			j++
		}
	}
	return common
}
