// Package pipeline is the Pipeline screen: the timeline of one step, or of two
// schedules above each other, with zoom, a cursor that explains what it is on,
// playback, and the table of all schedules.
package pipeline

import (
	"meshscope/engine"
	"meshscope/engine/compare"
	"meshscope/engine/schedule"
	"meshscope/ui/screen"
	"meshscope/ui/widget"
)

// View is the state of the screen. The zero value is ready. Places and times are
// shares of the axis, so that they stay meaningful when a setting changes.
type View struct {
	rank  int     // of the cursor
	below bool    // the cursor is in the second timeline
	at    float64 // the cursor's time, a share of the whole
	zoom  float64 // how often the window goes into the axis; up to 1: all of it
	left  float64 // where the window starts on the axis

	unfolded   bool    // nothing is left out
	about      float64 // the moment that the picture leaves in, a share of the whole; 0: the steady state
	sparks     toggle  // memory under each rank
	microBatch bool    // only the cursor's micro-batch is lit
	critical   bool    // only the critical path is lit

	words bool   // the sentence about the cursor in full
	flip  bool   // of two timelines only the cursor's is shown
	said  string // what the last key could not do

	playing bool
	head    float64 // where on the axis the playback is; 0: nowhere
	speed   int     // power of two

	second *compare.ScheduleRow // the schedule to compare with; nil: none
	table  table

	against  schedule.Kind // the schedule to compare with, also while it has no timeline
	secondOf engine.Setup  // what the second one was computed for
	fetching schedule.Kind // the second one, while it is computed
	jobs     widget.Jobs   // those that work it out
	lost     schedule.Kind // the second one, while it cannot run the setup

	memos [2]*memo
	drawn *layout // what the last key, click or frame was computed for
}

// New makes a screen.
func New() *View { return new(View) }

// Copy returns the screen with its cursor and what it compares; what runs still and what is drawn
// for a size stays behind.
func (v *View) Copy() screen.Screen {
	c := *v
	c.jobs, c.fetching, c.drawn, c.memos, c.playing = widget.Jobs{}, "", nil, [2]*memo{}, false
	c.table.jobs, c.table.done, c.table.drawn, c.table.wanted = widget.Jobs{}, nil, pictures{}, c.table.of
	return &c
}

// Fits reports whether the pictures of the table are there where the window has room for them.
func (v *View) Fits(in *screen.Context) bool {
	left := v.table.pictured(in.W, in.H)
	return in.Setup == nil || !v.table.open || left == 0 || v.table.drawn.asked == in.W-left
}

// toggle is something that shows by itself where there is room.
type toggle uint8

const (
	automatic toggle = iota
	on
	off
)

// lineOf is the timeline of the setup, nil where there is none.
func lineOf(in *screen.Context) *schedule.Timeline {
	if in.Report == nil || in.Setup == nil || in.Report.Pipeline == nil || in.Report.Memory == nil {
		return nil
	}
	t := in.Report.Timeline.OpTimes()
	if t == nil || t.Order == nil || len(t.Ranks) == 0 || len(t.Ranks) != len(t.Order.Start)-1 ||
		!(t.Makespan > 0) || len(t.Begin) != len(t.Order.Ops) || len(t.End) != len(t.Order.Ops) {
		return nil
	}
	return t
}

// Refresh tells the screen that the setup or the report changed; what it compares
// with and the table are then computed again.
func (v *View) Refresh(in *screen.Context) screen.Request {
	switch {
	case in.Setup == nil:
	case v.table.open:
		if !v.table.current(in.Setup) && !v.table.pendingFor(in.Setup) {
			return v.work(*in.Setup)
		}
		if left := v.table.pictured(in.W, in.H); v.table.current(in.Setup) && left > 0 &&
			v.table.drawn.asked != in.W-left {
			return v.draw(*in.Setup, in.W-left)
		}
	case v.against != "" && v.secondOf != *in.Setup:
		return v.simulateSecond(*in.Setup, v.against)
	}
	return screen.Request{}
}

// Playing reports whether Tick is wanted: for the playback, or because the table
// shows how far it is.
func (v *View) Playing() bool { return v.playing || v.working() }

// working reports whether schedules are being computed in sight.
func (v *View) working() bool { return v.table.jobs.Running() && v.table.open }

// playSeconds is how long a whole step takes to play at normal speed.
const playSeconds = 12

// Tick moves the playback by one frame. It tells whether anything changed: after
// the end, and when nothing plays, it is false and no more ticks are wanted.
func (v *View) Tick() bool {
	if !v.playing {
		return v.working()
	}
	rate := 1.0
	for range v.speed {
		rate *= 2
	}
	for range -v.speed {
		rate /= 2
	}
	v.head += rate / (screen.TicksPerSecond * playSeconds)
	if v.head >= 1 {
		v.head, v.playing = 0, false
	}
	if z := v.zoomed(); z > 1 && v.head > 0 && (v.head < v.left || v.head > v.left+0.95/z) {
		v.left = min(v.head, 1-1/z)
	}
	return true
}

// zoomed returns the zoom, at least 1.
func (v *View) zoomed() float64 { return max(1, v.zoom) }

// window returns what part of the axis is shown.
func (v *View) window() (from, to float64) {
	z := v.zoomed()
	from = min(max(0, v.left), 1-1/z)
	return from, min(1, from+1/z)
}
