package memory

import (
	"math"

	"meshscope/engine/memory"
	"meshscope/engine/units"
)

// steps are the first step of a rank and the one after it, one behind the
// other, in seconds from the start of the first.
type steps struct {
	profiles *[2]memory.Profile
	overhead [2]units.Bytes // beyond allocated memory
	length   float64        // of one step
}

// stepsOf returns the steps of a rank; false when there are none.
func (a *answers) stepsOf(rank int) (steps, bool) {
	if rank < 0 || rank >= len(a.over.Ranks) {
		return steps{}, false
	}
	r := &a.over.Ranks[rank]
	s := steps{profiles: &r.Profiles, length: float64(r.Profiles[0].Length())}
	for k := range r.Profiles {
		s.overhead[k] = max(0, r.Peaks[k]-r.Profiles[k].Peak().Allocated())
	}
	return s, s.length > 0 && !math.IsInf(s.length, 0)
}

// most returns the sample with most allocated from t to u, both in the same step,
// and which step that is. Its time is in seconds from the start of that step.
func (s *steps) most(t, u float64) (best memory.Sample, step int) {
	if t >= s.length {
		step = 1
		t, u = t-s.length, u-s.length
	}
	return s.profiles[step].Most(units.Seconds(t), units.Seconds(u)), step
}

// piece is a stretch of time on so many columns from x on.
type piece struct {
	from, to float64
	x, w     int
}

// axis lays stretches of the two steps on columns. Between two pieces that do
// not touch there is a column that shows the break.
type axis struct {
	pieces []piece
	w      int
	folded bool
}

// newAxis shows the whole of both steps, the middle of long ones left out, or
// the window that zoom and from ask for. A step has so many micro-batches on so
// many ranks.
func (v *View) newAxis(length float64, ranks, microBatches, w int) axis {
	a := axis{w: w}
	if v.zoom > 0 {
		window := 2 * length / math.Pow(2, float64(v.zoom))
		from := min(max(v.from*2*length, 0), 2*length-window)
		a.add(length, from, from+window, 0, w)
		return a
	}
	half := w / 2
	// At the ends enough micro-batches to fill the pipeline, and no more than
	// can be told apart.
	const apart = 4
	count := max(ranks+2, half/2/apart)
	ends := float64(count) / float64(max(microBatches+ranks, 1)) * length
	if 2*ends > 0.7*length || half < 8 {
		a.pieces = []piece{{0, length, 0, half}, {length, 2 * length, half, w - half}}
		return a
	}
	a.folded = true
	for step := range 2 {
		x, wide := step*half, half
		if step == 1 {
			wide = w - half
		}
		start, head := float64(step)*length, (wide-1)/2
		a.pieces = append(a.pieces,
			piece{start, start + ends, x, head},
			piece{start + length - ends, start + length, x + head + 1, wide - 1 - head})
	}
	return a
}

// add shows from to to on w columns, in two pieces where a step ends between.
func (a *axis) add(length, from, to float64, x, w int) {
	if from < length && to > length {
		first := min(max(int(math.Round((length-from)/(to-from)*float64(w))), 1), w-1)
		a.pieces = append(a.pieces, piece{from, length, x, first}, piece{length, to, x + first, w - first})
		return
	}
	a.pieces = append(a.pieces, piece{from, to, x, w})
}

// span returns the time of a column; false for a break.
func (a *axis) span(x int) (from, to float64, ok bool) {
	for _, p := range a.pieces {
		if x >= p.x && x < p.x+p.w {
			each := (p.to - p.from) / float64(p.w)
			from = p.from + float64(x-p.x)*each
			return from, from + each, true
		}
	}
	return 0, 0, false
}

// column returns where a moment is, or the nearest column to it.
func (a *axis) column(t float64) int {
	best, far := 0, math.Inf(1)
	for _, p := range a.pieces {
		if p.w <= 0 || p.to <= p.from {
			continue
		}
		x := p.x + min(max(int((t-p.from)/(p.to-p.from)*float64(p.w)), 0), p.w-1)
		if off := max(p.from-t, t-p.to, 0); off < far || off == 0 {
			best, far = x, off
		}
	}
	return best
}
