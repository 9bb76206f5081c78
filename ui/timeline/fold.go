package timeline

import (
	"math"
	"strconv"

	"meshscope/engine/schedule"

	"meshscope/ui/widget"
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
	// ganttLegible is how many columns the shortest operation must have in a
	// picture of all that does not repeat itself. With fewer, stretches are cut
	// out; ganttCutScale is how many the usual short one has in these, and
	// ganttCut the width of the mark between them.
	ganttLegible  = 1.75
	ganttCutScale = 4.0
	ganttCut      = 3
)

// periodic is a stretch of the step in which every rank repeats itself.
type periodic struct{ from, to, period float64 }

// count returns how many whole periods it has.
func (p periodic) count() int { return int((p.to - p.from) / p.period * (1 + 1e-9)) }

// spans divides w columns among the parts of the step: all of it where that is
// readable, else without repetitions of the steady state, else three short
// stretches of it.
func (v *Chart) spans(w int, sc timeScale) []interval {
	t := v.Timeline
	whole := placeSpans([]interval{{to: t.Makespan}}, w, sc)
	if !v.Fold || sc.shortest*float64(w) >= sc.readable*t.Makespan {
		return whole
	}
	found := v.periodic()
	if len(found) == 0 {
		found = v.steady()
	}
	best, least := whole, 1.0 // what does not repeat itself is shown whole if it can be
	if folded, ok := v.folded(found, w, sc); ok && perOp(folded, sc) >= ganttFoldGain*perOp(whole, sc) {
		best, least = folded, ganttLegible
	}
	if perOp(best, sc) < least {
		if parts, ok := v.stretches(w, sc); ok {
			return parts
		}
	}
	return best
}

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

// folded leaves as much of the repetitions out as makes the rest readable.
func (v *Chart) folded(found []periodic, w int, sc timeScale) ([]interval, bool) {
	t, foldable := v.Timeline, 0.0
	for _, p := range found {
		foldable += float64(max(0, p.count()-1)) * p.period
	}
	room := float64(w - len(found)*len("<x1000>"))
	if foldable <= 0 || room < ganttMinPlot {
		return nil, false
	}
	share := min(1, (t.Makespan-room*sc.shortest/sc.readable)/foldable)

	var spans []interval
	at := 0.0
	for _, p := range found {
		n := int(math.Ceil(share * float64(p.count()-1)))
		if n < ganttLeastFold || n > p.count()-1 {
			continue
		}
		from := p.from + float64((p.count()-n+1)/2)*p.period
		to := min(from+float64(n)*p.period, t.Makespan) // the sum may round up
		spans = append(spans, interval{from: at, to: from}, interval{
			from: from, to: to, folded: n, cols: widget.Width(foldText(n, true)),
		})
		at = to
	}
	return placeSpans(append(spans, interval{from: at, to: t.Makespan}), w, sc), true
}

// stretches shows the beginning, the middle and the end of the step at a
// readable size and cuts out what lies between.
func (v *Chart) stretches(w int, sc timeScale) ([]interval, bool) {
	total := v.Timeline.Makespan
	// Ranks with little work do not decide the scale as long as their operations
	// have a column each.
	scale := min(ganttCutScale/sc.shortest, max(ganttCutScale/sc.common, 1/sc.shortest))
	each := float64((w-2*ganttCut)/3) / scale
	if w < 3*ganttMinPlot/2+2*ganttCut || 3*each >= total {
		return nil, false
	}
	middle := (total - each) / 2
	return placeSpans([]interval{
		{to: each},
		{from: each, to: middle, cut: true, cols: ganttCut},
		{from: middle, to: middle + each},
		{from: middle + each, to: total - each, cut: true, cols: ganttCut},
		{from: total - each, to: total},
	}, w, sc), true
}

// steady returns the stretch in which every rank has both forwards and backwards to
// run. Uneven stages do not repeat themselves there to the last digit, but the
// slowest rank sets the pace of all, and its micro-batches are counted.
func (v *Chart) steady() []periodic {
	t := v.Timeline
	o := t.Order
	from, to, slowest := 0.0, t.Makespan, 0
	for r := range v.ranks() {
		firstBack, lastForward := t.Makespan, 0.0
		for k := o.Start[r]; k < o.Start[r+1]; k++ {
			if o.Ops[k].Kind() == schedule.Forward {
				lastForward = t.Begin[k]
			} else {
				firstBack = min(firstBack, t.Begin[k])
			}
		}
		from, to = max(from, firstBack), min(to, lastForward)
		if t.Ranks[r].Busy > t.Ranks[slowest].Busy {
			slowest = r
		}
	}
	ops := 0
	for k := o.Start[slowest]; k < o.Start[slowest+1]; k++ {
		if t.Begin[k] >= from && t.End[k] <= to {
			ops++
		}
	}
	perMicroBatch := (o.Start[slowest+1] - o.Start[slowest]) / max(o.Spec.MicroBatches, 1)
	if n := ops / max(perMicroBatch, 1); n >= 2+ganttLeastFold && to > from {
		return []periodic{{from: from, to: to, period: (to - from) / float64(n)}}
	}
	return nil
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
		if room = math.Round(total / sc.shortest * whole); room < wide && whole == 1 && room < total/sc.shortest {
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
