package pipeline

import (
	"meshscope/ui/screen"
)

// Name returns the name of the tab.
func (*View) Name() string { return "Pipeline" }

// Keys returns the key table: of the table of schedules while that is open, else of the
// timeline. What plays comes first.
func (v *View) Keys(in *screen.Context) []screen.Key {
	if in != nil && in.Theme == nil {
		return nil
	}
	open := func() bool { return v.table.open }
	line := func() bool { return !v.table.open && drawable(in) }
	on := func(do func(l *layout, n int)) func(int) { // do with the picture that the key is about
		return func(n int) {
			v.said, v.drawn = "", v.layout(in, in.W, in.H)
			do(v.drawn, n)
			if v.head > 0 && !v.playing { // the playback waits where the cursor is
				v.head = max(v.drawn.axis.Place(v.at*v.drawn.axis.Whole), 1e-9)
			}
		}
	}
	see, play := v.seeKeys(in, on), v.playKeys(in, on)
	if v.playing || v.head > 0 {
		see, play = play, see
	}
	keys := append(see, play...)
	for i := range keys {
		if keys[i].When == nil {
			keys[i].When = line
		}
	}
	table := v.tableKeys(in)
	for i := range table {
		table[i].When = open
	}
	return append(table, keys...)
}

// seeKeys move the cursor and change the picture.
func (v *View) seeKeys(in *screen.Context, on func(func(l *layout, n int)) func(int)) []screen.Key {
	compare, both := "compare", ""
	if v.against != "" {
		compare = "one timeline"
	}
	if v.second != nil {
		both = "alternate"
	}
	table := func() bool { return !v.table.open && lineOf(in) != nil }
	return []screen.Key{
		{
			ID: "both", Keys: "v", Help: "alternate between the two schedules in the same place", Hint: both,
			Do: on(v.turns),
		},
		{
			ID: "operation-before operation-after", Keys: "left h | right l", Help: "operation before, after",
			Foot: "arrows", Hint: "move", Do: on(v.step),
		},
		{ID: "rank-up rank-down", Keys: "up k | down j", Help: "rank above, below", Do: on(v.vertical)},
		{
			ID: "zoom-in zoom-out", Keys: "+ = | - _", Help: "zoom in, out", Foot: "+ - 0 1", Hint: "zoom",
			Do: on(v.zoomBy),
		},
		{
			ID: "whole", Keys: "0", Help: "the whole step: shares of time where operations are narrow",
			Do: on(v.whole),
		},
		{
			ID: "near", Keys: "1", Help: "cells that can be read: start, steady state and end",
			Do: on(func(*layout, int) { v.open() }),
		},
		{
			ID: "table", Keys: "t", Help: "table of all schedules", Hint: "all schedules", When: table,
			Ask: func() screen.Request { return v.openTable(in, false) },
		},
		{
			ID: "last-gap next-gap", Keys: "N | n", Help: "previous, next idle gap", Foot: "n N",
			Hint: "next gap", Do: on(v.idle),
		},
		{
			ID: "compare", Keys: "b", Help: "compare with another schedule, and back", Hint: compare,
			When: table, Ask: func() screen.Request { return v.openTable(in, true) },
		},
		{
			ID: "half-earlier half-later", Keys: "shift+left H | shift+right L",
			Help: "half a screen earlier, later",
			Do:   on(func(l *layout, n int) { v.pan(l, 0.5*float64(n)) }),
		},
		{
			ID: "ranks-up ranks-down", Keys: "pgup [ shift+up K | pgdown ] shift+down J",
			Help: "half a screen of ranks up, down",
			Do:   on(func(l *layout, n int) { v.vertical(l, n*max(1, in.H/2)) }),
		},
		{
			ID: "start", Keys: "home w", Help: "start of the step: the warm-up",
			Do: on(func(l *layout, _ int) { v.moveTo(l, 0) }),
		},
		{ID: "drain", Keys: "d", Help: "start of the drain", Do: on(v.toDrain)},
		{ID: "end", Keys: "end G", Help: "end of the rank's work", Do: on(v.toEnd)},
	}
}

// playKeys play the step, and mark or show more of the picture.
func (v *View) playKeys(in *screen.Context, on func(func(l *layout, n int)) func(int)) []screen.Key {
	space, speed, esc := "play", "", ""
	if v.playing || v.head > 0 {
		space, speed, esc = "go on", "speed", "end playback"
	}
	if v.playing {
		space = "pause"
	}
	anything := func() bool { return v.critical || v.microBatch || v.head > 0 || v.against != "" || v.words }
	escapes := func() bool { return !v.table.open && drawable(in) && anything() }
	return []screen.Key{
		{ID: "play", Keys: "space", Help: "play the step, pause", Hint: space, Do: on(v.play)},
		{
			ID: "slower faster", Keys: "< , | > .", Help: "play slower, faster", Foot: "< >", Hint: speed,
			Do: on(func(_ *layout, n int) { v.speed = min(max(slowest, v.speed+n), fastest) }),
		},
		{
			Keys: "esc", Help: "end playback, marks or comparison", Hint: esc, When: escapes,
			Do: func(int) { v.escape() },
		},
		{ID: "fold", Keys: "f", Help: "fold repeats, or not", Hint: "fold", Do: on(v.fold)},
		{
			ID: "micro-batch", Keys: "m", Help: "mark the path of this micro-batch", Hint: "micro-batch",
			Do: on(func(*layout, int) { v.microBatch = !v.microBatch }),
		},
		{
			ID: "critical-path", Keys: "c", Help: "mark the critical path", Hint: "critical path",
			Do: on(func(*layout, int) { v.critical = !v.critical }),
		},
		{
			ID: "memory", Keys: "s", Help: "activation memory below each rank, or not", Hint: "memory",
			Do: on(v.toggleSparks),
		},
		{
			Keys: "enter", Help: "details of the selection, or not", Hint: "details",
			Do: on(func(*layout, int) { v.words = !v.words }),
		},
		{
			ID: "input reader", Keys: "i | o", Help: "go to the operation that feeds it, that needs it",
			Foot: "i o", Hint: "feeds it, needs it", Do: on(v.other),
		},
		{Keys: "shift+left", Foot: "shift+arrows", Hint: "half a screen"},
	}
}

// toDrain moves the cursor to where the rank's last forward ends.
func (v *View) toDrain(l *layout, _ int) {
	s := v.spot(l)
	v.moveTo(l, drain(s.line, s.rank)+1e-9*l.axis.Whole)
}

// toEnd moves the cursor to the last operation of the rank.
func (v *View) toEnd(l *layout, _ int) {
	s := v.spot(l)
	v.moveTo(l, s.line.Ranks[s.rank].Last-1e-9*l.axis.Whole)
}

// zoomBy zooms in for -1 and out for 1, about the cursor. What is left out comes back when one
// zooms out.
func (v *View) zoomBy(l *layout, n int) {
	by := 2.0
	if n > 0 {
		by = 0.5
	}
	if n > 0 && v.zoomed() <= 1 && l.cuts() {
		v.continuous(l, 0.5)
		return
	}
	v.magnify(l, by*v.zoomed(), l.axis.Place(v.at*l.axis.Whole))
}

// whole shows all of the step.
func (v *View) whole(*layout, int) { v.unfolded, v.zoom, v.left = true, 1, 0 }

// open shows what the screen opens with.
func (v *View) open() { v.unfolded, v.about, v.zoom, v.left = false, 0, 1, 0 }

// cuts reports whether the picture leaves anything out.
func (l *layout) cuts() bool { return l.axis.Folded > 0 || l.axis.Cut }

// continuous leaves nothing out, at so many times the present scale, about the cursor.
func (v *View) continuous(l *layout, by float64) {
	perColumn := l.frame.PerColumn()
	v.unfolded, v.zoom, v.left = true, 1, 0
	l.axis = l.axis.Unfolded()
	v.magnify(l, by*l.axis.Whole/(perColumn*float64(max(1, l.plot))), v.at)
	v.reveal(l)
}

// fold leaves out what repeats, or shows everything.
func (v *View) fold(l *layout, _ int) {
	switch {
	case v.unfolded:
		v.open()
	case l.cuts():
		v.continuous(l, 1)
	default:
		v.said = "nothing is left out: everything is readable"
	}
}

// turns shows the two timelines one after the other in the same place.
func (v *View) turns(l *layout, _ int) {
	if len(l.blocks) < 2 {
		v.said = "v alternates between A and B: b compares"
		return
	}
	if v.flip {
		v.below = !v.below
	}
	v.flip = true
}

// toggleSparks shows the memory of each rank, or hides it.
func (v *View) toggleSparks(l *layout, _ int) {
	v.sparks = on
	if l.spark > 0 {
		v.sparks = off
	}
}

// play starts the playback at the window, or stops it with the cursor there.
func (v *View) play(l *layout, _ int) {
	if v.playing = !v.playing; !v.playing {
		v.at = l.axis.Moment(v.head) / l.axis.Whole
	} else if v.head <= 0 {
		v.head, _ = v.window()
		v.head = max(v.head, 1e-9)
	}
}

// openTable shows the table; b picks a second schedule from it, or drops it.
func (v *View) openTable(in *screen.Context, second bool) screen.Request {
	v.said = ""
	if second && v.against != "" {
		v.single()
		return screen.Request{}
	}
	v.table.open, v.table.second, v.table.typed = true, second, ""
	if v.table.current(in.Setup) {
		v.table.pick(in.Setup.Schedule)
		return screen.Request{}
	}
	if v.table.pendingFor(in.Setup) {
		return screen.Request{}
	}
	return v.work(*in.Setup)
}

// other moves the cursor to what feeds the operation for -1, to what needs it for 1.
func (v *View) other(l *layout, n int) {
	s := v.spot(l)
	if s.last {
		return
	}
	find := s.line.Order.Consumer
	if n < 0 {
		find = s.line.Order.Producer
	}
	p, ok := find(s.place())
	if !ok {
		return
	}
	v.rank = p.Rank
	v.at = (s.line.Begin[p.Op] + s.line.End[p.Op]) / 2 / l.axis.Whole
	v.reveal(l)
}

// escape undoes one thing: playback, then highlights, then the second timeline.
func (v *View) escape() {
	switch {
	case v.head > 0:
		v.head, v.playing = 0, false
	case v.critical || v.microBatch:
		v.critical, v.microBatch = false, false
	case v.flip:
		v.flip = false
	case v.words:
		v.words = false
	default:
		v.single()
	}
}

// single ends the comparison.
func (v *View) single() {
	v.jobs.Drop()
	v.second, v.against, v.fetching, v.lost, v.below, v.flip = nil, "", "", "", false, false
}

// Bounds of the playback's speed, as powers of two.
const (
	slowest = -2
	fastest = 4
)
