package lanes

import (
	"cmp"
	"slices"

	"meshscope/engine"
	"meshscope/engine/units"
)

// walker lays the operations of a rank on the axis, one after the other.
type walker struct {
	p    *engine.StepParts
	d    Detail
	step *Step

	shares []units.Seconds // of the data-parallel traffic, by row
	fold   []flow          // what the folded segment holds, by row
	now    units.Seconds   // end of what is drawn
	bubble units.Seconds
	from   int // segment of the first lane that is folded; -1: none
}

// start makes the lanes and draws what comes before the pipeline: exposed weights.
func (w *walker) start() {
	s := w.step
	s.Lanes = make([]Lane, 1+len(s.Traffic))
	w.shares, w.fold, w.from = make([]units.Seconds, len(s.Traffic)), make([]flow, len(s.Traffic)), -1
	whole := units.Seconds(0)
	for i := range s.Traffic {
		s.Lanes[i+1].Dimension = s.Traffic[i].Dimension
		switch s.Traffic[i].Dimension {
		case "dp", "expert-dp", "mirror":
			w.shares[i] = s.Traffic[i].Seconds
			whole += s.Traffic[i].Seconds
		}
	}
	for i := range w.shares {
		if whole > 0 {
			w.shares[i] /= whole
		}
	}
	w.once(0, w.p.Boundary.Gather, true, true)
	w.now = w.p.Boundary.Gather
	w.once(w.now, max(0, w.p.Data[w.p.Boundary.Rank].GatherSeconds-w.p.Boundary.Gather), false, true)
}

// once draws data-parallel traffic that comes once a step, its dimensions one after the other.
func (w *walker) once(at, length units.Seconds, exposed, before bool) {
	for i, share := range w.shares {
		row, g := &w.step.Traffic[i], Segment{
			Kind: Hidden, Start: at, Length: length * share,
			Hidden: length * share, Micro: -1, Stage: -1, Before: before,
		}
		if g.Length <= 0 {
			continue
		}
		if exposed {
			g.Kind, g.Exposed, g.Hidden = Exposed, g.Length, 0
		}
		if row.Seconds > 0 {
			g.Bytes = row.Bytes * units.Bytes(g.Length/row.Seconds)
		}
		at += g.Length
		w.put(i+1, g)
	}
}

// put adds a segment to a lane.
func (w *walker) put(lane int, g Segment) {
	l := &w.step.Lanes[lane]
	l.Segments = append(l.Segments, g)
	l.Hidden += g.Hidden
	l.Exposed += g.Exposed
}

// walk draws the pipeline: the rank's operations, and its waits between them.
func (w *walker) walk() {
	line, rank := w.p.Line, w.p.Rank
	o := line.Order
	origin := w.now
	if split := w.p.Length < units.Seconds(line.Makespan); split {
		origin -= units.Seconds(line.Ranks[rank].First)
	}
	ops := o.Rank(rank)
	var starts []int
	for i := 0; i < len(ops); i++ {
		starts = append(starts, i)
		if ops[i].Paired() {
			i++
		}
	}
	w.step.Ops = len(starts)
	for n, i := range starts {
		k := o.Start[rank] + i
		begin, end := origin+units.Seconds(line.Begin[k]), origin+units.Seconds(line.End[k])
		one := w.work(ops[i])
		if ops[i].Paired() {
			other := w.work(ops[i+1])
			saved := one.time() + other.time() - (end - begin)
			one.add(&other, saved, w.flow(&one, "ep"))
		}
		folded := n >= w.d.Ends && n < len(starts)-w.d.Ends && len(starts) > 2*w.d.Ends+1
		w.idle(begin, folded)
		if folded {
			w.foldIn(&one, end)
		} else {
			w.draw(&one, begin, end)
			if w.sends(ops[i], one.stage) {
				w.send(&one, end)
			}
		}
		w.now = end
	}
	end := w.now + max(0, w.step.Time.Bubble-w.bubble)
	w.idle(end, false)
	w.now = end
}

// time returns how long an operation is.
func (a *work) time() units.Seconds {
	t := a.compute + a.recompute
	for i := range a.flows {
		t += a.flows[i].exposed
	}
	return t
}

// travels reports whether anything is sent in an operation.
func (a *work) travels() bool {
	return slices.ContainsFunc(a.flows, func(f flow) bool { return f.hidden+f.exposed > 0 })
}

// idle draws the wait up to a moment.
func (w *walker) idle(to units.Seconds, folded bool) {
	gap := to - w.now
	if gap <= 1e-12*to {
		return
	}
	w.bubble += gap
	if folded {
		w.extend(to)
		return
	}
	w.put(0, Segment{Kind: Bubble, Start: w.now, Length: gap, Micro: -1, Stage: -1})
}

// extend makes the folded segment reach to a moment.
func (w *walker) extend(to units.Seconds) {
	first := &w.step.Lanes[0]
	if w.from < 0 {
		w.from = len(first.Segments)
		w.put(0, Segment{Kind: Folded, Start: w.now, Micro: -1, Stage: -1})
	}
	g := &first.Segments[w.from]
	g.Length = to - g.Start
}

// foldIn adds an operation to the folded segment.
func (w *walker) foldIn(one *work, end units.Seconds) {
	w.extend(end)
	w.step.Folded++
	for i := range one.flows {
		w.fold[i].hidden += one.flows[i].hidden
		w.fold[i].exposed += one.flows[i].exposed
		w.fold[i].bytes += one.flows[i].bytes
	}
}

// draw draws an operation in pieces: its computing, then what it waits for; hidden traffic
// runs up to there, one dimension after the other, because a second of computing hides one.
func (w *walker) draw(one *work, begin, end units.Seconds) {
	layers := w.step.Stages[one.stage].Layers()
	pieces := max(1, min(w.d.Pieces, layers))
	if !one.travels() {
		pieces = 1
	}
	n := units.Seconds(pieces)
	length := (end - begin) / n
	for piece := range pieces {
		at := begin + units.Seconds(piece)*length
		first, last := piece*layers/pieces, (piece+1)*layers/pieces
		if one.kind != Forward {
			first, last = layers-last, layers-first
		}
		g := Segment{
			Of: one.op, Micro: one.micro, Stage: one.stage, First: first, Layers: last - first,
			Start: at,
		}
		if g.Length = one.recompute / n; g.Length > 0 {
			g.Kind = Recompute
			w.put(0, g)
			at += g.Length
		}
		g.Kind, g.Start, g.Length = one.kind, at, one.compute/n
		w.put(0, g)
		computed := g.End()
		wait, under := computed, computed
		for i, f := range one.flows {
			whole := f.hidden + f.exposed
			if whole <= 0 {
				continue
			}
			if h := f.hidden / n; h > 0 {
				from := max(under-h, begin+units.Seconds(piece)*length)
				if under <= from {
					from = max(computed-h, begin+units.Seconds(piece)*length)
				}
				g := g
				g.Kind, g.Start, g.Length, g.Hidden, g.Bytes = Hidden, from, min(h, computed-from), h,
					f.bytes*units.Bytes(h/whole)
				w.put(i+1, g)
				under = from
			}
			if x := f.exposed / n; x != 0 {
				g := g
				// Rounding may add the pieces up to more than the end, behind what comes next.
				g.Kind, g.Start, g.Length, g.Exposed, g.Bytes = Exposed, min(wait, end), x, x,
					f.bytes*units.Bytes(x/whole)
				w.put(i+1, g)
				wait += x
			}
		}
	}
}

// send draws a message to another rank after an operation, next to what comes after it.
func (w *walker) send(one *work, end units.Seconds) {
	for i := range w.step.Traffic {
		row := &w.step.Traffic[i]
		if row.Dimension == "pp" && row.Seconds > 0 {
			w.put(i+1, Segment{
				Kind: Hidden, Start: end, Length: w.p.Hop, Hidden: w.p.Hop,
				Bytes: row.Bytes * units.Bytes(w.p.Hop/row.Seconds),
				Of:    one.op, Micro: one.micro, Stage: one.stage,
			})
		}
	}
}

// finish draws what comes after the pipeline, the folded traffic and the latency of sends.
func (w *walker) finish() {
	s := w.step
	scatter := max(0, w.p.Data[w.p.Boundary.Rank].ScatterSeconds-w.p.Boundary.Scatter)
	w.once(max(0, w.now-scatter), scatter, false, false)
	w.once(w.now, w.p.Boundary.Scatter, true, false)
	w.now += w.p.Boundary.Scatter
	for i := range s.Traffic {
		if of := w.p.Update.Copies.Of(s.Traffic[i].Dimension); of != nil && of.Seconds > 0 {
			w.put(i+1, Segment{
				Kind: Exposed, Start: w.now, Length: of.Seconds, Exposed: of.Seconds, Bytes: of.Bytes,
				Micro: -1, Stage: -1,
			})
			w.now += of.Seconds
		}
	}
	if t := s.Time.Optimizer; t > 0 {
		w.put(0, Segment{Kind: Update, Start: w.now, Length: t, Micro: -1, Stage: -1})
		w.now += t
	}
	s.Length = w.now
	if w.from >= 0 {
		middle := &s.Lanes[0].Segments[w.from]
		middle.Micros = s.Folded
		for i, f := range w.fold {
			if f.hidden+f.exposed == 0 && s.Traffic[i].Dimension != "pp" {
				continue
			}
			w.put(i+1, Segment{
				Kind: Folded, Start: middle.Start, Length: middle.Length, Bytes: f.bytes, Exposed: f.exposed,
				Hidden: f.hidden,
				Micro:  -1, Stage: -1, Micros: s.Folded,
			})
		}
	}
	w.latency()
	for i := range s.Lanes {
		s.Lanes[i].tidy()
	}
}

// latency draws what sends add to the waits, spread over all of them.
func (w *walker) latency() {
	s := w.step
	for i := range s.Traffic {
		row, lane := &s.Traffic[i], &s.Lanes[i+1]
		if row.Dimension != "pp" || row.Exposed <= 0 {
			continue
		}
		left, share := row.Exposed, units.Seconds(1)
		if w.bubble > 0 {
			share = min(1, row.Exposed/w.bubble)
		}
		for _, g := range s.Lanes[0].Segments {
			if x := g.Length * share; g.Kind == Bubble {
				left -= x
				w.put(i+1, Segment{
					Kind: Exposed, Start: g.End() - x, Length: x, Exposed: x, Micro: -1,
					Stage: -1,
				})
			}
		}
		if w.from >= 0 { // the waits that are folded
			at := slices.IndexFunc(lane.Segments, func(g Segment) bool { return g.Kind == Folded })
			inside := w.bubble
			for _, g := range s.Lanes[0].Segments {
				if g.Kind == Bubble {
					inside -= g.Length
				}
			}
			x := max(0, inside) * share
			left -= x
			lane.Segments[at].Exposed += x
			lane.Exposed += x
		}
		if lane.Elsewhere = left; left < 1e-9*row.Exposed {
			lane.Elsewhere = 0
		}
	}
}

// tidy sorts a lane by time. Where hidden traffic would lie on other traffic of its lane it is
// drawn shorter: its time is in Hidden. Without any room it is part of what it lies on.
func (l *Lane) tidy() {
	slices.SortStableFunc(l.Segments, func(a, b Segment) int { return cmp.Compare(a.Start, b.Start) })
	end, kept := units.Seconds(0), l.Segments[:0]
	var waits Segment // before the first that is kept
	for i, g := range l.Segments {
		if g.Kind == Hidden {
			to := g.End()
			if i+1 < len(l.Segments) {
				to = min(to, max(l.Segments[i+1].Start, end))
			}
			g.Start = max(g.Start, end)
			g.Length = to - g.Start
		}
		end = max(end, g.End())
		switch {
		case g.Kind != Hidden || g.Length > 0:
			g.take(&waits)
			waits = Segment{}
			kept = append(kept, g)
		case len(kept) > 0:
			kept[len(kept)-1].take(&g)
		default:
			waits.take(&g)
		}
	}
	l.Segments = kept
}

// take adds the traffic of another segment.
func (s *Segment) take(of *Segment) {
	s.Bytes += of.Bytes
	s.Hidden += of.Hidden
}
